(* SPDX-License-Identifier: Apache-2.0 *)
(* The outputs of any program whose reference is the row's maximum. The last theorem applies this to late rescaling. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.LateAndTiles Assay.FloatSum Assay.Outputs Assay.WholeRow.
Import ListNotations.
Open Scope R_scope.

Section Program.
Variable A : arith.
Notation u := (u_ A). Notation eta := (eta_ A). Notation tau := (tau_ A). Notation F := (F_ A). Notation EX := (EX_ A).

(* Three claims on a row: the sum D is positive and within b of its exact value (in logarithms), each output ph x is within
   its bound, and so is the sum of the outputs. *)
Definition outputs_within (l : list R) (D b T w0 : R) (ph : R -> R) : Prop :=
  let m := max_of l in let s := exp_sum m l in let n := INR (length l) in
  let W := eta / s * exp (b + T) + w0 in
  0 < D /\ Rabs (ln (D / s)) <= b /\
  (forall x, In x l -> let p := exp (x - m) / s in let Ax := own_error A m x + T + b in
     p * exp (- Ax) - W <= ph x <= p * exp Ax + W /\ (W * exp Ax / p < 1 -> 0 < ph x /\ Rabs (ln (ph x / p)) <= Ax + lam (W * exp Ax / p))) /\
  let Q := ln (sum_over (fun x => exp (x - m + own_error A m x)) l / s) in
  exp (- (b + Q + T)) - n * W <= sum_over ph l <= exp (b + Q + T) + n * W /\ Rabs (sum_over ph l - 1) <= exp (b + Q + T) - 1 + n * W.

Theorem program_softmax P T w0 ph : well_formed A P -> reference P = max_of (row A P) -> (forall x, In x (row A P) -> F x) -> 0 <= T -> 0 <= w0 ->
  let l := row A P in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let D := computed A P in
  let a := n * (2 * exp tau) * eta / s in let b := b1 A P + lam (a * exp (2 * b1 A P)) in
  a * exp (2 * b1 A P) < 1 -> (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  outputs_within l D b T w0 ph.
Proof.
  intros WP Hr HF HT Hw l m s n D a b Hlt Ho. unfold outputs_within. fold m s n. set (W := eta / s * exp (b + T) + w0).
  assert (Hne : l <> []).
  { intros E. pose proof (terms_len_pos A P) as H. unfold l, row in E. apply (f_equal (@length R)) in E. rewrite map_length in E. cbn in E. lia. }
  assert (Es : Theorem1.ssum A P = s) by (unfold Theorem1.ssum, s, m, l; now rewrite Hr).
  destruct (theorem1 A P (2 * exp tau) WP (fun c _ => charge_le A c)) as [D0 Hb].
  { rewrite Es. exact Hlt. }
  rewrite Es in Hb. change (Rabs (ln (D / s)) <= b) in Hb.
  assert (Im : In m l) by now apply max_of_in. assert (Fm : F m) by now apply HF.
  assert (Hl : forall x, In x l -> F x /\ x <= m) by (intros x Hx; split; [now apply HF|now apply max_of_ge]).
  assert (b0 : 0 <= b) by (eapply Rle_trans; [apply Rabs_pos|exact Hb]).
  split; [assumption|]. split; [assumption|]. split.
  - apply elements with (1 := Fm) (2 := Hl) (D := D); try assumption.
  - destruct (list_choice (fun x nu => Rabs nu <= own_error A m x /\ Rabs (EX (x - m) - exp (x - m + nu)) <= eta) l) as (nu & Hnu).
    { intros x Hx. destruct (Hl x Hx). now apply numerator. }
    pose proof (rowsum_online (fun x => x - m) nu (own_error A m) (fun x => EX (x - m)) ph l eta D b T w0) as Q.
    cbv beta zeta in Q. rewrite <- exp_sum_is_sum_over in Q. fold s in Q. apply Q; try assumption. apply eta_pos.
Qed.

(* Late rescaling (serial). The exps of the outputs use the final maximum. *)
Variable Adm_dec : forall a, {Adm_ A a} + {~ Adm_ A a}.
Theorem late_softmax x0 xs T w0 ph : (forall x, In x (x0 :: xs) -> F x) -> 0 <= T -> 0 <= w0 ->
  let P := late_rescaling A Adm_dec x0 xs in
  let l := x0 :: xs in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let D := computed A P in
  let a := n * (2 * exp tau) * eta / s in let b := b1 A P + lam (a * exp (2 * b1 A P)) in
  a * exp (2 * b1 A P) < 1 -> (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  outputs_within l D b T w0 ph.
Proof.
  intros HF HT Hw P l m s n D a b Hlt Ho. destruct (late_sound A Adm_dec x0 xs HF) as (WP & Er & Em & _). fold P in WP, Er, Em.
  change (row A P = l) in Er. change (reference P = m) in Em.
  pose proof (program_softmax P T w0 ph WP) as H. cbv zeta in H. rewrite Er, Em in H. fold m s n D a in H. fold b in H.
  apply H; try assumption. reflexivity.
Qed.
End Program.
