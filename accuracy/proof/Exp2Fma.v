(* SPDX-License-Identifier: Apache-2.0 *)
(* Class exp2_fma: arguments fma (x, L, - fl (m L)), L = fl (log2 e), of a computed 2^t. The shift's error, the anchor, the
   online kernel's last step, the outputs. BOUNDS.md section 2, THEOREM_ONLINE.md section 5. *)
Require Import Reals List Lra Lia ZArith.
From Flocq Require Import Core Relative Mult_error.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.LeafDepth Assay.FloatSum Assay.Outputs Assay.Exp2Argument.
Open Scope R_scope.

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
(* with |rho| <= 0.2241 u (Exp2Argument.v): 1.2242 u |d| + u |gamma| ln 2 *)
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
