(* SPDX-License-Identifier: Apache-2.0 *)
(* First-order forms: the logarithm of a weighted mean of e^beta is the mean of beta, up to the largest beta. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.LeafDepth Assay.FloatSum.
Import ListNotations.
Open Scope R_scope.

Lemma exp_le_quadratic b : 0 <= b <= / 2 -> exp b <= 1 + b + 2 * (b * b).
Proof.
  intros Hb. rewrite <- (Rinv_inv (exp b)), <- exp_Ropp. pose proof (exp_ineq1_le (- b)) as H.
  apply Rle_trans with (/ (1 - b)); [apply Rinv_le_contravar; lra|].
  apply Rmult_le_reg_r with (1 - b); [lra|]. rewrite Rinv_l by lra.
  assert (0 <= b * b * (1 - 2 * b)) by (apply Rmult_le_pos; nra). nra.
Qed.
Theorem mean_log {X} (w be : X -> R) (l : list X) top : l <> [] -> (forall x, In x l -> 0 <= be x <= top) -> top <= / 2 ->
  let s := sum_over (fun x => exp (w x)) l in
  ln (sum_over (fun x => exp (w x + be x)) l / s) <= (1 + 2 * top) * (sum_over (fun x => exp (w x) * be x) l / s).
Proof.
  intros Hne Hb Ht s. assert (Hs : 0 < s) by now apply sum_over_exp_pos.
  set (M := sum_over (fun x => exp (w x) * be x) l).
  assert (H : sum_over (fun x => exp (w x + be x)) l <= s + (1 + 2 * top) * M).
  { unfold s, M. rewrite <- sum_over_scal, <- sum_over_plus. apply sum_over_le. intros x Hx. destruct (Hb x Hx) as [B1 B2]. rewrite exp_plus.
    pose proof (exp_le_quadratic (be x) ltac:(lra)). pose proof (exp_pos (w x)).
    apply Rle_trans with (exp (w x) * (1 + be x + 2 * (be x * be x))); [apply Rmult_le_compat_l; lra|].
    assert (be x * be x <= top * be x) by (apply Rmult_le_compat_r; lra).
    assert (exp (w x) * (be x * be x) <= exp (w x) * (top * be x)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (M0 : 0 <= M). { apply sum_over_pos. intros x Hx. destruct (Hb x Hx). apply Rmult_le_pos; [left; apply exp_pos|assumption]. }
  assert (Hl : l <> [] -> 0 < sum_over (fun x => exp (w x + be x)) l) by (intros; now apply sum_over_exp_pos). specialize (Hl Hne).
  destruct l as [|x0 l0]; [congruence|]. assert (0 <= top) by (destruct (Hb x0 (or_introl eq_refl)); lra).
  rewrite <- (ln_exp ((1 + 2 * top) * (M / s))). apply ln_le'; [now apply Rdiv_lt_0_compat|].
  eapply Rle_trans; [|apply exp_ineq1_le]. apply Rmult_le_reg_r with s; [assumption|].
  replace (sum_over (fun x => exp (w x + be x)) (x0 :: l0) / s * s) with (sum_over (fun x => exp (w x + be x)) (x0 :: l0)) by (field; lra).
  replace ((1 + (1 + 2 * top) * (M / s)) * s) with (s + (1 + 2 * top) * M) by (field; lra). exact H.
Qed.

(* Theorem 1 to first order, for every tree of merges and every order of the logits: the p-weighted mean of beta_i *)
Theorem tree_first_order (A : arith) xs h top : xs <> [] -> (forall x, In x xs -> beta_all A xs h x <= top) -> top <= / 2 ->
  b1_all A xs h <= (1 + 2 * top) * (sum_over (fun x => exp (x - max_of xs) * beta_all A xs h x) xs / exp_sum (max_of xs) xs).
Proof.
  intros Hne Hb Ht. unfold b1_all. rewrite weighted_sum_over.
  assert (E : exp_sum (max_of xs) xs = sum_over (fun x => exp (x - max_of xs)) xs).
  { generalize (max_of xs). clear. intros m. induction xs as [|x l IH]; cbn; [reflexivity|]. now rewrite IH. }
  rewrite E. apply mean_log; try assumption. intros x Hx. split; [|now apply Hb].
  unfold beta_all. pose proof (Heps0 A). pose proof (Hslope A). pose proof (Hv A). pose proof (lam_pos A). pose proof (Rabs_pos (x - max_of xs)).
  repeat apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try apply pos_INR; lra.
Qed.
