(* Needs Coq-Interval: the argument of exp2, THEOREM_ONLINE.md section 5: 2.2242 u per nat, away from underflow. *)
Require Import Reals Lra Lia ZArith.
From Flocq Require Import Core.
From Interval Require Import Tactic.
Require Import Assay.RoundedModel Assay.FlocqFormats.
Open Scope R_scope.

Definition L : R := 12102203 / 8388608.   (* fl(log2 e), 0x1.715476p+0 *)
Lemma L_rel : Rabs (L * ln 2 - 1) <= 0.2241 * / 16777216.
Proof. unfold L. interval with (i_prec 80). Qed.
(* it is the nearest float: off by less than half an ulp, 2^-24 *)
Lemma L_nearest : Rabs (L - / ln 2) <= / 16777216.
Proof. unfold L. interval with (i_prec 80). Qed.

Lemma exp2_arg (emin : Z) choice x r : (emin + 24 - 1 <= -14)%Z -> in_format 24 emin x -> in_format 24 emin r ->
  let a := x - r in let t := round_to 24 emin choice (round_to 24 emin choice a * L) in
  min_normal 24 emin <= Rabs (round_to 24 emin choice a * L) -> Rabs (t * ln 2 - a) <= 2.2242 * unit_roundoff 24 * Rabs a.
Proof.
  intros He Hx Hr a t Hn.
  destruct (format_M1 24 emin ltac:(lia) choice x (- r) Hx (format_opp 24 emin r Hr)) as (d1 & D1 & E1).
  destruct (format_M2 24 emin ltac:(lia) choice (round_to 24 emin choice a * L)) as (d2 & c & D2 & _ & E2 & [-> |C]); [|lra].
  change (round_to 24 emin choice a = a * (1 + d1)) in E1.
  assert (unit_roundoff 24 = / 16777216) as U by (unfold unit_roundoff; cbn; lra). rewrite U in *.
  pose proof L_rel as HL. set (rho := L * ln 2 - 1) in *.
  unfold t. rewrite E2, E1. replace ((a * (1 + d1) * L * (1 + d2) + 0) * ln 2 - a) with (((1 + d1) * (1 + d2) * (1 + rho) - 1) * a) by (unfold rho; ring).
  rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  apply Rabs_le_inv in D1. apply Rabs_le_inv in D2. apply Rabs_le_inv in HL. interval with (i_prec 80, i_taylor d1).
Qed.
