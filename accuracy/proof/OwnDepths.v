(* SPDX-License-Identifier: Apache-2.0 *)
(* Each term's own additions in the place of the height: sums of nonnegative floats, and any program of enter, move, add.
   Then first-order forms. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.LeafDepth Assay.FloatSum.
Import ListNotations.
Open Scope R_scope.

(* BOUNDS.md, lemma 2, with weights that may be 0: a sum whose terms are off by factors e^f, |f| <= be *)
Theorem weighted_log {X} (g f be : X -> R) (l : list X) : (forall x, In x l -> 0 <= g x /\ Rabs (f x) <= be x) -> 0 < sum_over g l ->
  let V := sum_over (fun x => g x * exp (f x)) l in
  0 < V /\ Rabs (ln (V / sum_over g l)) <= ln (sum_over (fun x => g x * exp (be x)) l / sum_over g l).
Proof.
  intros H Hs V. set (s := sum_over g l) in *. set (U := sum_over (fun x => g x * exp (be x)) l).
  assert (VU : V <= U).
  { apply sum_over_le. intros x Hx. destruct (H x Hx) as [H1 H2]. apply Rabs_le_inv in H2. apply Rmult_le_compat_l; [assumption|]. apply exp_le. lra. }
  assert (sU : s <= U).
  { apply sum_over_le. intros x Hx. destruct (H x Hx) as [H1 H2]. pose proof (Rabs_pos (f x)).
    rewrite <- (Rmult_1_r (g x)) at 1. apply Rmult_le_compat_l; [assumption|]. rewrite <- exp_0. apply exp_le. lra. }
  assert (Hk : forall k, 2 * k * s - k * k * U <= V).
  { intros k. unfold s, U, V. assert (G : forall x, In x l -> 2 * k * g x - k * k * (g x * exp (be x)) <= g x * exp (f x)).
    { intros x Hx. destruct (H x Hx) as [H1 H2]. apply Rabs_le_inv in H2.
      assert (exp (- be x) <= exp (f x)) as E1 by (apply exp_le; lra). rewrite exp_Ropp in E1.
      pose proof (exp_pos (be x)) as Hb. set (a := exp (be x)) in *.
      assert (E2 : / a - 2 * k + k * k * a = / a * Rsqr (1 - k * a)) by (unfold Rsqr; field; lra).
      assert (0 <= / a * Rsqr (1 - k * a)) by (apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply Rle_0_sqr]).
      assert (g x * (2 * k - k * k * a) <= g x * exp (f x)) by (apply Rmult_le_compat_l; lra). lra. }
    clear - G. induction l as [|x l IH]; cbn; [lra|].
    assert (G' : forall y, In y l -> 2 * k * g y - k * k * (g y * exp (be y)) <= g y * exp (f y)) by (intros y Hy; apply G; now right).
    specialize (IH G'). specialize (G x (or_introl eq_refl)). lra. }
  assert (HV : s * s / U <= V).
  { specialize (Hk (s / U)). replace (2 * (s / U) * s - s / U * (s / U) * U) with (s * s / U) in Hk by (field; lra). exact Hk. }
  assert (0 < s * s / U) by (apply Rdiv_lt_0_compat; nra).
  split; [lra|]. apply Rabs_le. split.
  - rewrite <- ln_Rinv by (apply Rdiv_lt_0_compat; lra). replace (/ (U / s)) with (s * s / U / s) by (field; lra).
    apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|assumption].
  - apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|assumption].
Qed.

Section Sum.
Variable A : arith.
Variable B : Type.
Variable lv : B -> R.
Notation u := (u_ A).
(* No neglected terms: s^ the computed sum of floats >= 0 by any tree, p_i = a_i / s the terms' shares, depth_i the additions
   on the path of term i alone: |ln (s^ / s)| <= ln (sum p_i e^(depth_i lam u)). *)
Theorem sum_depth_weighted (t : sum_tree B) : nonneg_floats A B lv t -> 0 < ssum B lv t ->
  0 < sum_value A B lv t /\
  Rabs (ln (sum_value A B lv t / ssum B lv t)) <= ln (sum_over (fun y => lv (fst y) * exp (INR (snd y) * lam u)) (leaf_depths B t) / ssum B lv t).
Proof.
  intros Ht Hs. destruct (sum_own_depths A B lv t Ht) as (L & L1 & L2 & L3).
  assert (Es : ssum B lv t = sum_over (fun y => lv (fst (fst y))) L).
  { unfold ssum. rewrite <- leaf_depths_fst, <- L1, !sum_over_map. reflexivity. }
  assert (Eb : sum_over (fun y => lv (fst y) * exp (INR (snd y) * lam u)) (leaf_depths B t)
             = sum_over (fun y => lv (fst (fst y)) * exp (INR (snd (fst y)) * lam u)) L) by (now rewrite <- L1, sum_over_map).
  rewrite Eb, L3, Es in *. apply weighted_log; [|assumption]. intros y Hy. split; [|now apply L2].
  apply Ht. rewrite <- leaf_depths_fst, <- L1, map_map. now apply in_map with (f := fun y => fst (fst y)).
Qed.
(* any upper bound of the depths will do *)
Corollary sum_depth_weighted_le (t : sum_tree B) (dep : B -> nat) : nonneg_floats A B lv t -> 0 < ssum B lv t ->
  (forall y, In y (leaf_depths B t) -> (snd y <= dep (fst y))%nat) ->
  Rabs (ln (sum_value A B lv t / ssum B lv t)) <= ln (sum_over (fun c => lv c * exp (INR (dep c) * lam u)) (sleaves B t) / ssum B lv t).
Proof.
  intros Ht Hs Hd. destruct (sum_depth_weighted t Ht Hs) as [V0 V1]. eapply Rle_trans; [exact V1|].
  assert (Lp := lam_pos A).
  assert (Q : ssum B lv t <= sum_over (fun y => lv (fst y) * exp (INR (snd y) * lam u)) (leaf_depths B t)).
  { unfold ssum. rewrite <- leaf_depths_fst, sum_over_map. apply sum_over_le. intros y Hy.
    assert (0 <= lv (fst y)) by (apply Ht; rewrite <- leaf_depths_fst; now apply in_map).
    rewrite <- (Rmult_1_r (lv (fst y))) at 1. apply Rmult_le_compat_l; [assumption|]. rewrite <- exp_0. apply exp_le.
    apply Rmult_le_pos; [apply pos_INR|assumption]. }
  apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
  rewrite <- (leaf_depths_fst B t), sum_over_map. apply sum_over_le. intros y Hy.
  apply Rmult_le_compat_l; [apply Ht; rewrite <- leaf_depths_fst; now apply in_map|].
  apply exp_le. apply Rmult_le_compat_r; [assumption|]. apply le_INR. now apply Hd.
Qed.
End Sum.

Lemma pow_up A k : (1 + u_ A) ^ k <= exp (INR k * lam (u_ A)).
Proof.
  pose proof (Hu A) as U. induction k as [|k IH]; [cbn; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. cbn [pow]. rewrite Rmult_comm. apply Rmult_le_compat; try assumption.
  - pose proof (pow1u_ge1 A k). lra.
  - lra.
  - unfold lam. rewrite exp_Ropp, exp_ln by lra. apply Rmult_le_reg_r with (1 - u_ A); [lra|]. rewrite Rinv_l by lra. nra.
Qed.

Section Program.
Variable A : arith.
Notation u := (u_ A). Notation v := (v_ A). Notation eta := (eta_ A). Notation eps0 := (eps0_ A). Notation slope := (slope_ A).
(* Theorem 1 with each term's own additions *)
Definition beta_own (P : program) (c : term) : R :=
  Rabs (arg_error c) + INR (exp_count c) * eps0 + slope * (1 + v) * travel (reference P) c + INR (product_count c + addition_count c) * lam u.
Theorem theorem1_own_depths P K : well_formed A P -> (forall c, In c (terms A P) -> charge A c <= K) ->
  let s := Theorem1.ssum A P in let b1 := ln (sum_over (fun c => exp (logit c - reference P + beta_own P c)) (terms A P) / s) in
  let a := INR (length (row A P)) * K * eta / s in
  a * exp (INR (height P) * lam u + b1) < 1 ->
  0 < computed A P /\ Rabs (ln (computed A P / s)) <= b1 + lam (a * exp (INR (height P) * lam u + b1)).
Proof.
  intros WP HK s b1 a Hlt. destruct (representation A P WP) as (L & HL1 & HL2 & HL3).
  set (T := terms A P) in *. set (r := reference P) in *.
  assert (Lne : L <> []). { intros ->. pose proof (terms_len_pos A P) as H. fold T in H. rewrite <- HL1 in H. cbn in H. lia. }
  assert (Es : s = weighted_sum (term * R) (fun y => logit (fst y) - r) (fun _ => 0) L).
  { unfold s, Theorem1.ssum, row. fold T r. rewrite <- HL1. apply exp_sum_weighted. }
  assert (EB : sum_over (fun c => exp (logit c - r + beta_own P c)) T = weighted_sum (term * R) (fun y => logit (fst y) - r) (fun y => beta_own P (fst y)) L).
  { rewrite <- HL1, sum_over_map, weighted_sum_over. reflexivity. }
  assert (EP : perturbed_sum r L = weighted_sum (term * R) (fun y => logit (fst y) - r) snd L) by apply perturbed_sum_weighted.
  assert (Hb : forall y, In y L -> Rabs (snd y) <= beta_own P (fst y)).
  { intros y Hy. rewrite Forall_forall in HL2. destruct (HL2 y Hy) as [H1 _]. unfold rounding_bound in H1. unfold beta_own. fold r.
    replace (snd y) with (arg_error (fst y) + (snd y - arg_error (fst y))) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. fold r in H1. lra. }
  assert (Hs : 0 < s) by (rewrite Es; now apply weighted_sum_pos).
  set (S1 := sum_over (fun c => exp (logit c - r + beta_own P c)) T) in *.
  assert (HS1 : 0 < S1) by (rewrite EB; now apply weighted_sum_pos).
  assert (Hup : perturbed_sum r L <= S1).
  { rewrite EP, EB. apply weighted_sum_mono. intros y Hy. specialize (Hb y Hy). apply Rabs_le_inv in Hb. lra. }
  assert (HsS : s <= S1).
  { rewrite Es, EB. apply weighted_sum_mono. intros y Hy. eapply Rle_trans; [apply Rabs_pos|now apply Hb]. }
  assert (HP : 0 < perturbed_sum r L) by (rewrite EP; now apply weighted_sum_pos).
  assert (Hcs : s * s <= S1 * perturbed_sum r L).
  { pose proof (weighted_sum_below _ (fun y => logit (fst y) - r) (fun y => beta_own P (fst y)) (s / S1) L) as H.
    rewrite <- Es, <- EB in H. replace (2 * (s / S1) * s - s / S1 * (s / S1) * S1) with (s * s / S1) in H by (field; lra).
    assert (s * s / S1 <= perturbed_sum r L).
    { eapply Rle_trans; [exact H|]. rewrite EP. apply weighted_sum_mono. intros y Hy. specialize (Hb y Hy). apply Rabs_le_inv in Hb. lra. }
    apply Rmult_le_compat_l with (r := S1) in H0; [|lra]. replace (S1 * (s * s / S1)) with (s * s) in H0 by (field; lra). exact H0. }
  assert (HKs : sum_terms (charge A) T <= INR (length (row A P)) * K).
  { unfold row. rewrite map_length. fold T. clear - HK. induction T as [|c l IH]; [cbn; lra|]. cbn [sum_terms length]. rewrite S_INR.
    assert (sum_terms (charge A) l <= INR (length l) * K) by (apply IH; intros; apply HK; now right).
    specialize (HK c (or_introl eq_refl)). lra. }
  assert (C0 : 0 <= sum_terms (charge A) T) by (apply sum_terms_pos, charge_pos).
  pose proof (eta_pos A) as He. set (e := exp (INR (height P) * lam u)) in *.
  assert (He1 : (1 + u) ^ height P <= e) by apply pow_up. pose proof (pow1u_ge1 A (height P)) as Hp1.
  set (a' := INR (length (row A P)) * K * eta * e / S1).
  assert (Ea : a * exp (INR (height P) * lam u + b1) = a' * (S1 / s * (S1 / s))).
  { unfold a, a', b1. rewrite exp_plus, exp_ln by (now apply Rdiv_lt_0_compat). fold e. field. lra. }
  rewrite Ea in *. unfold b1. apply log_form with (P := perturbed_sum r L) (Z := computed A P - perturbed_sum r L); try assumption; try ring.
  - eapply Rle_trans; [exact HL3|]. unfold a', RoundedModel.W. replace (INR (length (row A P)) * K * eta * e / S1 * S1) with (INR (length (row A P)) * K * (e * eta)) by (field; lra).
    apply Rmult_le_compat; try assumption; [apply Rmult_le_pos; lra|]. now apply Rmult_le_compat_r.
  - unfold a', Rdiv. apply Rmult_le_pos; [|left; now apply Rinv_0_lt_compat].
    apply Rmult_le_pos; [apply Rmult_le_pos; [eapply Rle_trans; [exact C0|exact HKs]|assumption]|lra].
Qed.
End Program.

(* ---------------------------------------------------------------------------------------------------- *)
(* First-order forms: the logarithm of a weighted mean of e^beta is the mean of beta, up to the largest beta. *)
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
