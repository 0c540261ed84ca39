(* SPDX-License-Identifier: Apache-2.0 *)
(* Kept numerators: an exp taken with an older maximum, then rescaled with every later one. BOUNDS.md section 4. *)
Require Import Reals List Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.FloatSum Assay.Outputs.
Open Scope R_scope.

Section Kept.
Variable A : arith.
Notation u := (u_ A). Notation v := (v_ A). Notation N := (N_ A). Notation eta := (eta_ A). Notation omega := (omega_ A).
Notation eps0 := (eps0_ A). Notation slope := (slope_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).

(* kept x r k n: n is the exp of logit x, taken with some maximum and rescaled k times, the last time to r *)
Inductive kept (x : R) : R -> nat -> R -> Prop :=
| kept_exp r : F x -> F r -> x <= r -> kept x r 0 (EX (x - r))
| kept_move r r' k n : kept x r k n -> F r' -> r < r' -> kept x r' (S k) (fl (n * EX (r - r'))).

(* its log-error: the shifts' u |d|, k + 1 exps, k products; its absolute error: (k + 5/4) eta *)
Definition kept_own (k : nat) (d : R) : R := v * d + INR (S k) * eps0 + slope * (1 + v) * d + INR k * lam u.
Theorem kept_error x r k n : kept x r k n -> F n /\ F r /\ 0 <= n <= 1 /\ x <= r /\
  exists nu z, Rabs nu <= kept_own k (r - x) /\ Rabs z <= (INR k + 5 / 4) * eta /\ n = exp (x - r + nu) + z.
Proof.
  pose proof (Hu A) as U. pose proof (Hom A) as UO. pose proof (eta_pos A) as He.
  induction 1 as [r Fx Fr Hx|r r' k n Hk (Fn & Fr & [n0 n1] & Hx & nu & z & B1 & B2 & En) Fr' Hr].
  - split; [apply FEX|]. split; [assumption|]. split; [split; [apply HEpos|apply HEle1; lra]|]. split; [assumption|].
    destruct (HE A x r Fx Fr) as (t & z & H1 & H2 & _ & H4); [apply Adm_neg; lra|].
    pose proof (Harg A x r Fx Fr) as Ha. pose proof (arg_abs A x r Fx Fr) as Hb. rewrite (Rabs_left1 (x - r)) in Ha, Hb by lra.
    exists ((arg (x - r) - (x - r)) + t), z. split; [|split].
    + eapply Rle_trans; [apply Rabs_triang|]. unfold kept_own. cbn [INR]. pose proof (Hslope A).
      assert (slope * Rabs (arg (x - r)) <= slope * ((1 + v) * - (x - r))) by (apply Rmult_le_compat_l; assumption). lra.
    + cbn [INR]. assert (0 <= eta) by assumption. lra.
    + rewrite H4. do 2 f_equal. ring.
  - set (E := EX (r - r')) in *. pose proof (HEpos A (r - r')) as E0. pose proof (HEle1 A (r - r') ltac:(lra)) as E1. fold E in E0, E1.
    assert (P0 : 0 <= n * E) by now apply Rmult_le_pos.
    assert (P1 : n * E <= 1) by (replace 1 with (1 * 1) by ring; now apply Rmult_le_compat).
    split; [apply Ffl|]. split; [assumption|]. split.
    { split; [now apply fl_pos|]. rewrite <- (M3F A 1 (F1 A)). now apply M3. }
    split; [lra|].
    destruct (move_exp A r r' Fr Fr' Hr) as (t & ze & T1 & T2 & T3 & T4). fold E in T3.
    destruct (prod_spec A n E Fn (FEX A _)) as (d & c & Q1 & Q2 & Q3 & _ & _ & Q6).
    destruct (lam_delta A d Q1) as (beta & L1 & L2). apply Rabs_le_inv in Q1 as Q1'.
    set (Y := exp (arg (r - r') + t)) in *. assert (HY : 0 < Y) by apply exp_pos.
    exists (nu + (arg (r - r') - (r - r')) + t + beta), (z * (Y * (1 + d)) + (n * ze * (1 + d) + c)).
    split; [|split].
    + pose proof (Harg A r r' Fr Fr') as Ha. rewrite (Rabs_left (r - r')) in Ha by lra.
      eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|].
      unfold kept_own in *. rewrite !S_INR in *. lra.
    + assert (Hze : Rabs (n * ze * (1 + d)) <= eta * (1 + u)).
      { rewrite !Rabs_mult, (Rabs_right n), (Rabs_right (1 + d)) by lra. apply Rmult_le_compat; try lra; [apply Rmult_le_pos; [lra|apply Rabs_pos]|].
        replace eta with (1 * eta) by ring. apply Rmult_le_compat; try lra; [apply Rabs_pos]. }
      assert (K0 := pos_INR k). rewrite S_INR.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_mult z), (Rabs_right (Y * (1 + d))) by (apply Rle_ge, Rmult_le_pos; lra).
      destruct T4 as [z0|Hs].
      * (* the exp is normal, or exact: the factor is at most 1 *)
        assert (Hf : 0 <= Y * (1 + d) <= 1).
        { apply scalar_factor with u; try tauto. rewrite z0, Rplus_0_r in T3. rewrite <- T3.
          destruct (Req_dec E 1) as [e|e]; [left; split; [assumption|now apply Q6]|right; apply Fpred1; [apply FEX|lra]]. }
        rewrite z0. replace (n * 0 * (1 + d) + c) with c by ring.
        assert (Rabs z * (Y * (1 + d)) <= Rabs z * 1) by (apply Rmult_le_compat_l; [apply Rabs_pos|lra]). lra.
      * assert (Hf : Y * (1 + d) <= / 8) by (eapply Rle_trans; [|exact Hs]; apply Rmult_le_compat_l; lra).
        assert (Rabs z * (Y * (1 + d)) <= Rabs z * / 8) by (apply Rmult_le_compat_l; [apply Rabs_pos|assumption]).
        pose proof (Rabs_triang (n * ze * (1 + d)) c).
        assert (eta * (1 + u) <= eta * (1 + / 256)) by (apply Rmult_le_compat_l; lra). 
        assert (0 <= INR k * eta) by now apply Rmult_le_pos. lra.
    + replace (x - r' + (nu + (arg (r - r') - (r - r')) + t + beta)) with ((x - r + nu) + ((arg (r - r') + t) + beta)) by ring.
      rewrite (exp_plus (x - r + nu)), (exp_plus (arg (r - r') + t)), <- L1. fold Y. rewrite Q3, T3.
      set (M := exp (x - r + nu)) in *. replace z with (n - M) by lra. ring.
Qed.

(* at most two rescales: below the 4 eta of the code *)
Corollary kept_twice x r k n : kept x r k n -> (k <= 2)%nat -> exists nu,
  Rabs nu <= kept_own k (r - x) /\ Rabs (n - exp (x - r + nu)) <= 4 * eta.
Proof.
  intros H Hk. destruct (kept_error x r k n H) as (_ & _ & _ & _ & nu & z & B1 & B2 & ->). exists nu. split; [assumption|].
  replace (exp (x - r + nu) + z - exp (x - r + nu)) with z by ring. eapply Rle_trans; [exact B2|].
  apply Rmult_le_compat_r; [apply eta_pos|]. apply le_INR in Hk. cbn in Hk. lra.
Qed.
(* the element bound of a kept numerator *)
Theorem kept_element x m k n D s b T w0 out : kept x m k n -> (k <= 2)%nat -> 0 < s -> 0 < D -> 0 <= T -> Rabs (ln (D / s)) <= b ->
  approx T w0 (n / D) out ->
  let Ax := kept_own k (m - x) + T + b in let W := 4 * eta / s * exp (b + T) + w0 in
  exp (x - m - Ax) / s - W <= out <= exp (x - m + Ax) / s + W.
Proof.
  intros H Hk Hs HD HT Hb Ho. destruct (kept_twice x m k n H Hk) as (nu & N1 & N2).
  apply (element (x - m) nu (kept_own k (m - x)) n (4 * eta) s D b T w0 out); try assumption. pose proof (eta_pos A). lra.
Qed.
End Kept.
