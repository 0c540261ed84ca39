(* SPDX-License-Identifier: Apache-2.0 *)
(* The argument of exp2, THEOREM_ONLINE.md section 5: a product of a difference with fl (log2 e) is off by 2.2242 u a nat, away
   from underflow. ln 2 is enclosed by the alternating series of e^-x. Then exp2_fma. *)
Require Import Reals Lra Lia ZArith List.
From Flocq Require Import Core Relative Mult_error.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.LeafDepth Assay.FloatSum Assay.Outputs.
Open Scope R_scope.

Section Ln2.
Variable x : R.
Hypothesis Hx : 0 <= x <= 1.
Definition power_term (n : nat) : R := x ^ n / INR (fact n).
Lemma power_term_S n : power_term (S n) = power_term n * (x / INR (S n)).
Proof. unfold power_term. rewrite fact_simpl, mult_INR. cbn [pow]. pose proof (INR_fact_neq_0 n). assert (INR (S n) <> 0) by (apply not_0_INR; lia). field. auto. Qed.
Lemma power_term_pos n : 0 <= power_term n.
Proof. apply Rmult_le_pos; [apply pow_le; lra|left; apply Rinv_0_lt_compat, INR_fact_lt_0]. Qed.
Lemma power_term_decreasing : Un_decreasing power_term.
Proof.
  intros n. rewrite power_term_S. rewrite <- (Rmult_1_r (power_term n)) at 2. apply Rmult_le_compat_l; [apply power_term_pos|].
  rewrite S_INR. pose proof (pos_INR n). apply Rmult_le_reg_r with (INR n + 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Lemma exp_neg_alternating N : sum_f_R0 (tg_alt power_term) (S (2 * N)) <= exp (- x) <= sum_f_R0 (tg_alt power_term) (2 * N).
Proof.
  apply alternated_series_ineq; [apply power_term_decreasing|apply cv_speed_pow_fact|].
  unfold exp. destruct (exist_exp (- x)) as [l Hl]. cbn [proj1_sig]. intros e He. destruct (Hl e He) as [n0 H]. exists n0. intros n Hn.
  specialize (H n Hn). replace (sum_f_R0 (tg_alt power_term) n) with (sum_f_R0 (fun i => / INR (fact i) * (- x) ^ i) n); [exact H|].
  apply sum_eq. intros i _. unfold tg_alt, power_term. replace (- x) with (-1 * x) by ring. rewrite Rpow_mult_distr. unfold Rdiv. ring.
Qed.
(* the sum with running terms, for evaluation *)
Fixpoint alternating (n : nat) (k s t : R) : R := match n with O => s | S n => alternating n (k + 1) (s + t) (t * (- x / k)) end.
Lemma alternating_sum n j : alternating (S n) (INR (S j)) (match j with O => 0 | S i => sum_f_R0 (tg_alt power_term) i end) (tg_alt power_term j)
  = sum_f_R0 (tg_alt power_term) (j + n).
Proof.
  revert j. induction n as [|n IH]; intros j.
  - rewrite Nat.add_0_r. destruct j; cbn [alternating sum_f_R0]; ring.
  - specialize (IH (S j)). replace (S j + n)%nat with (j + S n)%nat in IH by lia. rewrite <- IH. 
    change (alternating (S (S n)) (INR (S j)) ?s ?t) with (alternating (S n) (INR (S j) + 1) (s + t) (t * (- x / INR (S j)))).
    cbn [alternating]. rewrite <- (S_INR (S j)).
    assert (E : tg_alt power_term j * (- x / INR (S j)) = tg_alt power_term (S j)).
    { unfold tg_alt. rewrite power_term_S. cbn [pow]. field. apply not_0_INR. lia. }
    rewrite E. assert (E' : match j with O => 0 | S i => sum_f_R0 (tg_alt power_term) i end + tg_alt power_term j = sum_f_R0 (tg_alt power_term) j).
    { destruct j; cbn [sum_f_R0]; ring. }
    rewrite E'. reflexivity.
Qed.
Lemma exp_neg_enclosed n : alternating (S (S (2 * n))) 1 0 1 <= exp (- x) <= alternating (S (2 * n)) 1 0 1.
Proof.
  pose proof (alternating_sum (S (2 * n)) 0) as H1. pose proof (alternating_sum (2 * n) 0) as H2. cbn [Nat.add] in H1, H2.
  assert (E : tg_alt power_term 0 = 1) by (unfold tg_alt, power_term; cbn; field). rewrite E in H1, H2. change (INR 1) with 1 in H1, H2.
  rewrite H1, H2. apply exp_neg_alternating.
Qed.
End Ln2.

Lemma ln_2_enclosed : 693147180559 / 1000000000000 <= ln 2 <= 693147180561 / 1000000000000.
Proof.
  split.
  - rewrite <- (ln_exp (_ / _)). apply ln_le'; [apply exp_pos|]. rewrite <- (Rinv_inv 2), <- (Ropp_involutive (693147180559 / _)), exp_Ropp.
    apply Rinv_le_contravar; [lra|]. destruct (exp_neg_enclosed (693147180559 / 1000000000000) ltac:(lra) 7) as [H _].
    eapply Rle_trans; [|exact H]. cbn [alternating Nat.mul Nat.add]. lra.
  - rewrite <- (ln_exp (_ / _)). apply ln_le'; [lra|]. rewrite <- (Rinv_inv 2), <- (Ropp_involutive (693147180561 / _)), exp_Ropp.
    apply Rinv_le_contravar; [apply exp_pos|]. destruct (exp_neg_enclosed (693147180561 / 1000000000000) ltac:(lra) 7) as [_ H].
    eapply Rle_trans; [exact H|]. cbn [alternating Nat.mul Nat.add]. lra.
Qed.

Definition L : R := 12102203 / 8388608.   (* fl (log2 e), 0x1.715476p+0 *)
Lemma L_rel : Rabs (L * ln 2 - 1) <= 0.2241 * / 16777216.
Proof. pose proof ln_2_enclosed. unfold L. apply Rabs_le. lra. Qed.
(* it is the nearest float: off by less than half an ulp, 2^-24 *)
Lemma L_nearest : Rabs (L - / ln 2) <= / 16777216.
Proof.
  pose proof ln_2_enclosed as H. assert (Q : Rabs (L * ln 2 - 1) <= / 16777216 * ln 2) by (pose proof L_rel; lra).
  replace (L - / ln 2) with ((L * ln 2 - 1) * / ln 2) by (field; lra). rewrite Rabs_mult, (Rabs_right (/ ln 2)) by (left; apply Rinv_0_lt_compat; lra).
  apply Rmult_le_reg_r with (ln 2); [lra|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Theorem exp2_arg (emin : Z) choice x r : (emin + 24 - 1 <= -14)%Z -> in_format 24 emin x -> in_format 24 emin r ->
  let a := x - r in let t := round_to 24 emin choice (round_to 24 emin choice a * L) in
  min_normal 24 emin <= Rabs (round_to 24 emin choice a * L) -> Rabs (t * ln 2 - a) <= 2.2242 * unit_roundoff 24 * Rabs a.
Proof.
  intros He Hx Hr a t Hn.
  destruct (format_M1 24 emin ltac:(lia) choice x (- r) Hx (format_opp 24 emin r Hr)) as (d1 & D1 & E1).
  destruct (format_M2 24 emin ltac:(lia) choice (round_to 24 emin choice a * L)) as (d2 & c & D2 & _ & E2 & [-> |C]); [|lra].
  change (round_to 24 emin choice a = a * (1 + d1)) in E1.
  assert (unit_roundoff 24 = / 16777216) as U by (unfold unit_roundoff; cbn; lra). rewrite U in *.
  pose proof L_rel as HL. set (rho := L * ln 2 - 1) in *. set (w := / 16777216) in *. assert (W : 0 < w <= / 16777216) by (unfold w; lra).
  unfold t. rewrite E2, E1. replace ((a * (1 + d1) * L * (1 + d2) + 0) * ln 2 - a) with (((1 + d1) * (1 + d2) * (1 + rho) - 1) * a) by (unfold rho; ring).
  rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
  replace ((1 + d1) * (1 + d2) * (1 + rho) - 1) with (d1 + (d2 + (rho + (d1 * d2 + ((d1 + d2 + d1 * d2) * rho))))) by ring.
  assert (P : Rabs (d1 * d2) <= w * w) by (rewrite Rabs_mult; apply Rmult_le_compat; try apply Rabs_pos; assumption).
  assert (Ww : w * w <= w * / 16777216) by (apply Rmult_le_compat_l; lra).
  assert (Q : Rabs ((d1 + d2 + d1 * d2) * rho) <= 3 * w * (0.2241 * w)).
  { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [|assumption].
    eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang d1 d2). lra. }
  pose proof (Rabs_triang d1 (d2 + (rho + (d1 * d2 + ((d1 + d2 + d1 * d2) * rho))))).
  pose proof (Rabs_triang d2 (rho + (d1 * d2 + ((d1 + d2 + d1 * d2) * rho)))).
  pose proof (Rabs_triang rho (d1 * d2 + ((d1 + d2 + d1 * d2) * rho))). pose proof (Rabs_triang (d1 * d2) ((d1 + d2 + d1 * d2) * rho)).
  lra.
Qed.

(* ---------------------------------------------------------------------------------------------------- *)
(* Class exp2_fma: arguments fma (x, L, - fl (m L)), L = fl (log2 e), of a computed 2^t. The shift's error, the anchor, the
   online kernel's last step, the outputs. BOUNDS.md section 2, THEOREM_ONLINE.md section 5. *)
(* the argument, in nats, of an FMA with one rounding: d + anchor, anchor = - gamma ln 2, but for sigma. L ln 2 = 1 + rho. *)
Theorem exp2_fma_shift u r L rho gamma d del : 0 <= u -> 0 <= r -> L * ln 2 = 1 + rho -> Rabs rho <= r -> Rabs del <= u ->
  let t := (d * L - gamma) * (1 + del) in let anchor := - gamma * ln 2 in
  Rabs (t * ln 2 - (d + anchor)) <= (r + u + r * u) * Rabs d + u * (Rabs gamma * ln 2).
Proof.
  intros Hu Hr HL H1 H2 t anchor. assert (ln2 : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (E : t * ln 2 - (d + anchor) = d * (rho + del + rho * del) - gamma * ln 2 * del).
  { unfold t, anchor. replace ((d * L - gamma) * (1 + del) * ln 2) with ((d * (L * ln 2) - gamma * ln 2) * (1 + del)) by ring. rewrite HL. ring. }
  rewrite E. unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, !Rabs_mult, (Rabs_right (ln 2)) by lra.
  apply Rplus_le_compat.
  - rewrite Rmult_comm. apply Rmult_le_compat_r; [apply Rabs_pos|]. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
    + eapply Rle_trans; [apply Rabs_triang|]. lra.
    + rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; assumption.
  - rewrite Rmult_comm. apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; [apply Rabs_pos|lra].
Qed.
(* with |rho| <= 0.2241 u (Exp2Fma.v): 1.2242 u |d| + u |gamma| ln 2 *)
Corollary exp2_fma_sigma u L rho gamma d del : 0 <= u <= / 4096 -> L * ln 2 = 1 + rho -> Rabs rho <= 0.2241 * u -> Rabs del <= u ->
  Rabs ((d * L - gamma) * (1 + del) * ln 2 - (d - gamma * ln 2)) <= 1.2242 * u * Rabs d + u * (Rabs gamma * ln 2).
Proof.
  intros Hu HL H1 H2. pose proof (exp2_fma_shift u (0.2241 * u) L rho gamma d del ltac:(lra) ltac:(lra) HL H1 H2) as H. cbv zeta in H.
  replace (d - gamma * ln 2) with (d + - gamma * ln 2) by ring. eapply Rle_trans; [exact H|]. apply Rplus_le_compat_r.
  apply Rmult_le_compat_r; [apply Rabs_pos|]. assert (0.2241 * u * u <= 0.2241 * u * / 4096) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* binary32: L = 0x1.715476p+0 *)
Corollary exp2_fma_sigma_f32 gamma d del : Rabs del <= unit_roundoff 24 ->
  Rabs ((d * L - gamma) * (1 + del) * ln 2 - (d - gamma * ln 2)) <= 1.2242 * unit_roundoff 24 * Rabs d + unit_roundoff 24 * (Rabs gamma * ln 2).
Proof.
  assert (unit_roundoff 24 = / 16777216) as U by (unfold unit_roundoff; cbn; lra). intros H.
  apply exp2_fma_sigma with (rho := L * ln 2 - 1); [rewrite U; lra|ring|rewrite U; apply L_rel|assumption].
Qed.

Section Anchor.
Variables prec emin : Z.
Hypothesis Hprec : (8 <= prec)%Z.
Variable choice : Z -> bool.
Notation fl := (round_to prec emin choice).
(* at the maximum the FMA is exact: the rounding error of a product is a float *)
Theorem exp2_fma_anchor m L : in_format prec emin m -> in_format prec emin L -> (m * L <> 0 -> bpow radix2 (emin + 2 * prec - 1) <= Rabs (m * L)) ->
  fl (m * L - fl (m * L)) = m * L - fl (m * L).
Proof.
  intros Hm HL Hn. pose proof (prec_gt_0_ prec Hprec) as P. apply format_M3_float.
  replace (m * L - fl (m * L)) with (- (fl (m * L) - m * L)) by ring. apply format_opp.
  apply (mult_error_FLT radix2 emin prec (Znearest choice) m L Hm HL Hn).
Qed.
End Anchor.

Section Online.
Variable A : arith.
Notation u := (u_ A). Notation fl := (fl_ A).
(* the last step of an online kernel carries the anchor into the sum: one exp and one product, neither subnormal *)
Theorem exp2_fma_last_step D s b E anchor th eps : 0 < s -> 0 < D -> Rabs (ln (D / s)) <= b -> E = exp (anchor + th) -> Rabs th <= eps -> N_ A <= D * E ->
  0 < fl (D * E) /\ Rabs (ln (fl (D * E) / (s * exp anchor))) <= b + eps + lam u.
Proof.
  intros Hs HD Hb HE Hth Hn. assert (E0 : 0 < E) by (rewrite HE; apply exp_pos).
  assert (P0 : 0 < D * E) by now apply Rmult_lt_0_compat.
  destruct (M2 A (D * E)) as (d & c & H1 & _ & H3 & H4). destruct H4 as [->|H4]; [|rewrite Rabs_right in H4 by lra; lra].
  destruct (lam_delta A d H1) as (beta & B1 & B2). rewrite Rplus_0_r, B1 in H3.
  split; [rewrite H3; apply Rmult_lt_0_compat; [assumption|apply exp_pos]|].
  assert (Q : fl (D * E) / (s * exp anchor) = D / s * exp (th + beta)).
  { rewrite H3, HE, !exp_plus. pose proof (exp_pos anchor). field. split; lra. }
  rewrite Q, ln_mult, ln_exp by (try apply exp_pos; now apply Rdiv_lt_0_compat).
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang th beta). lra.
Qed.
End Online.

(* an output: the same anchor above and below cancels *)
Theorem exp2_fma_element d anchor sigma N th z eps eta s D b T w0 out delta : 0 < s -> 0 < D -> 0 <= eta -> 0 <= T ->
  Rabs (ln (D / (s * exp anchor))) <= b -> Rabs delta <= sigma -> Rabs th <= eps -> Rabs z <= eta -> N = exp (d + anchor + delta + th) + z ->
  approx T w0 (N / D) out ->
  let Aj := sigma + eps + T + b in let W := eta / (s * exp anchor) * exp (b + T) + w0 in
  exp (d - Aj) / s - W <= out <= exp (d + Aj) / s + W.
Proof.
  intros Hs HD He HT Hb Hd Hth Hz HN Ho Aj W. pose proof (exp_pos anchor) as Ea.
  assert (Hsa : 0 < s * exp anchor) by now apply Rmult_lt_0_compat.
  destruct (element (d + anchor) (delta + th) (sigma + eps) N eta (s * exp anchor) D b T w0 out) as [E1 E2]; try assumption.
  - eapply Rle_trans; [apply Rabs_triang|]. lra.
  - rewrite HN. replace (d + anchor + delta + th) with (d + anchor + (delta + th)) by ring.
    match goal with |- Rabs ?a <= _ => replace a with z by ring end. assumption.
  - fold Aj W in E1, E2.
    assert (C : forall a, exp (a + anchor) / (s * exp anchor) = exp a / s) by (intros a; rewrite exp_plus; field; lra).
    replace (d + anchor - Aj) with (d - Aj + anchor) in E1 by ring. replace (d + anchor + Aj) with (d + Aj + anchor) in E2 by ring.
    rewrite C in E1, E2. auto.
Qed.
