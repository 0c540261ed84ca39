(* SPDX-License-Identifier: Apache-2.0 *)
(* The other checks of a row: ROW_CHECKS.md sections 1, 3, 4, 6, 7; what BOUNDS.md section 1 takes of a table of functions;
   examples where a statement fails without its hypothesis. *)
Require Import Reals List Permutation Lra Lia Arith ZArith.
From Flocq Require Import Core BinarySingleNaN Relative.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.RoundedTree Assay.FlocqFormats Assay.Outputs.
Import ListNotations.
Open Scope R_scope.

(* ROW_CHECKS.md sections 1, 3, 4, from out = v + z, |z| <= w *)
Theorem coherence va vj pa pj g S w : 0 < va -> 0 < vj -> w < pa -> w < pj -> 0 <= w -> Rabs (pa - va) <= w -> Rabs (pj - vj) <= w ->
  Rabs (ln (vj / va) - g) <= S -> Rabs (ln (pj / pa) - g) <= S + lam (w / pj) + lam (w / pa).
Proof.
  intros Va Vj Ha Hj Hw Da Dj HS.
  assert (G : forall p v, w < p -> 0 < v -> Rabs (p - v) <= w -> Rabs (ln v - ln p) <= lam (w / p)).
  { intros p v Hp Hv Hd. apply Rabs_le_inv in Hd. assert (0 < p) by lra.
    assert (E : ln v - ln p = ln (v / p)) by (unfold Rdiv; rewrite ln_mult, ln_Rinv by (try apply Rinv_0_lt_compat; lra); ring). rewrite E.
    set (t := w / p). assert (Ht : 0 <= t < 1).
    { unfold t. split; [apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]|]. apply Rmult_lt_reg_r with p; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (Hq : 1 - t <= v / p <= 1 + t).
    { unfold t. split; (apply Rmult_le_reg_r with p; [assumption|]); unfold Rdiv; rewrite (Rmult_assoc v), Rinv_l by lra.
      - replace ((1 - w * / p) * p) with (p - w) by (field; lra). lra.
      - replace ((1 + w * / p) * p) with (p + w) by (field; lra). lra. }
    assert (0 < v / p) by now apply Rdiv_lt_0_compat. apply Rabs_le. unfold lam. split.
    - rewrite Ropp_involutive. apply ln_le'; lra.
    - apply Rle_trans with (ln (1 + t)); [apply ln_le'; lra|]. assert (ln (1 + t) + ln (1 - t) <= 0); [|lra].
      rewrite <- ln_mult by lra. rewrite <- ln_1. apply ln_le'; nra. }
  pose proof (G pa va Ha Va Da) as Ga. pose proof (G pj vj Hj Vj Dj) as Gj.
  unfold Rdiv in HS. rewrite ln_mult, ln_Rinv in HS by (try apply Rinv_0_lt_compat; lra).
  unfold Rdiv at 1. rewrite ln_mult, ln_Rinv by (try apply Rinv_0_lt_compat; lra).
  apply Rabs_le_inv in Ga, Gj, HS. apply Rabs_le. lra.
Qed.
(* order, for a larger logit and for the maximum: S needs 2 lam (u_out), and 2 w *)
Theorem order vi vj pi pj S w : 0 <= vj -> 0 <= pi -> 0 <= pj -> 0 <= w -> 0 <= S -> exp (- S) * vj <= vi -> Rabs (pi - vi) <= w -> Rabs (pj - vj) <= w ->
  pj * (1 - S) - 2 * w <= pi.
Proof.
  intros Vj Pi Pj Hw HS Hv Di Dj. apply Rabs_le_inv in Di, Dj. destruct (Rle_or_lt 1 S).
  - assert (0 <= pj * (S - 1)) by (apply Rmult_le_pos; lra). lra.
  - pose proof (exp_ineq1_le (- S)). assert ((1 + - S) * vj <= exp (- S) * vj) by (now apply Rmult_le_compat_r).
    assert ((1 - S) * (pj - w) <= (1 - S) * vj) by (apply Rmult_le_compat_l; lra). assert (0 <= S * w) by now apply Rmult_le_pos. lra.
Qed.
(* ROW_CHECKS.md section 4, argmax, without 2 lam (u_out): two f32 quotients 2 ulp (< 2 D = 10 u) out of order become two
   different bf16 numbers, 2^-7 apart *)
Example argmax_needs_u_out :
  let r z := binary_normalize 8 128 ltac:(reflexivity) ltac:(reflexivity) mode_NE z (-24) false in
  Beqb (r 8421375%Z) (r 8388608%Z) = true /\ Beqb (r 8421377%Z) (r 8454144%Z) = true.
Proof. split; vm_compute; reflexivity. Qed.

(* Range: at most 1 for IEEE division, and for the product with a correctly rounded reciprocal *)
Section Range.
Variable A : arith.
Theorem range_ieee N D : 0 <= N <= D -> 0 < D -> 0 <= fl_ A (N / D) <= 1.
Proof.
  intros [H0 H1] HD. split.
  - apply fl_pos. apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat].
  - rewrite <- (M3F A 1 (F1 A)). apply M3. apply Rmult_le_reg_r with D; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
End Range.
(* Order, exactly: what is monotone stays so. N the exps of two logits; IEEE division, a reciprocal, log-softmax in both forms;
   stored_between (BitsOutput.v) is the output's rounding. *)
Section Exact.
Variable A : arith.
Notation F := (F_ A). Notation fl := (fl_ A).
Theorem order_exact Ni Nj D : Nj <= Ni -> 0 < D -> fl (Nj / D) <= fl (Ni / D).
Proof. intros H HD. apply M3. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|assumption]. Qed.
Theorem order_exact_recip Ni Nj r : Nj <= Ni -> 0 <= r -> fl (Nj * r) <= fl (Ni * r).
Proof. intros H Hr. apply M3. now apply Rmult_le_compat_r. Qed.
Theorem log_order fi fj l : fj <= fi -> fl (fj - l) <= fl (fi - l).
Proof. intros H. apply M3. lra. Qed.
(* no log-probability above 0: l >= 0 is the log of a sum of at least 1 *)
Theorem log_range_shifted f l : f <= 0 -> 0 <= l -> fl (f - l) <= 0.
Proof. intros Hf Hl. rewrite <- (M3F A 0 (F0 A)). apply M3. lra. Qed.
Theorem log_range_absorb x m l : F m -> x <= m -> 0 <= l -> fl (x - fl (m + l)) <= 0.
Proof.
  intros Fm Hx Hl. assert (m <= fl (m + l)) by (rewrite <- (M3F A m Fm) at 1; apply M3; lra).
  rewrite <- (M3F A 0 (F0 A)). apply M3. lra.
Qed.
End Exact.
Section RangeFlt.
Variables prec emin : Z.
Hypothesis Hprec : (8 <= prec)%Z.
Hypothesis Hemin : (emin + prec - 1 <= -14)%Z.
Variable choice : Z -> bool.
Notation fl := (round_to prec emin choice). Notation u := (unit_roundoff prec).
Lemma below_mid x : x < 1 + u -> fl x <= 1.
Proof.
  intros Hx. destruct (Rle_or_lt x 1) as [H|H].
  - rewrite <- (format_M3_float prec emin choice 1 (format_1 prec emin Hprec Hemin)). now apply format_M3.
  - apply Rnot_lt_le. intros Hc. pose proof (FLT_exp_valid emin prec (prec_gt_0_ := prec_gt_0_ prec Hprec)) as V.
    destruct (round_N_pt radix2 (FLT_exp emin prec) choice x) as [Ff Hn]. specialize (Hn 1 (format_1 prec emin Hprec Hemin)).
    change (round radix2 (FLT_exp emin prec) (Znearest choice) x) with (fl x) in *.
    rewrite (Rabs_left (1 - x)) in Hn by lra. apply Rabs_le_inv in Hn.
    pose proof (succ_le_lt radix2 (FLT_exp emin prec) 1 (fl x) (format_1 prec emin Hprec Hemin) Ff Hc) as Hs.
    rewrite succ_eq_pos in Hs by lra. replace (ulp radix2 (FLT_exp emin prec) 1) with (2 * u) in Hs; [lra|].
    change 1 with (bpow radix2 0). rewrite ulp_bpow. unfold FLT_exp. replace (Z.max (0 + 1 - prec) emin) with (1 + - prec)%Z by lia.
    rewrite bpow_plus. reflexivity.
Qed.
Theorem range_recip N D : 0 <= N <= D -> 0 < D -> min_normal prec emin <= 1 / D -> 0 <= fl (N * fl (1 / D)) <= 1.
Proof.
  intros [H0 H1] HD Hr. assert (Hi : 0 < 1 / D) by (apply Rdiv_lt_0_compat; lra). pose proof (unit_roundoff_range prec Hprec) as U.
  assert (Z0 : forall x, 0 <= x -> 0 <= fl x) by (intros x Hx; rewrite <- (format_M3_float prec emin choice 0 (format_0 prec emin)); now apply format_M3).
  split; [apply Z0, Rmult_le_pos; [assumption|apply Z0; lra]|]. apply below_mid.
  destruct (relative_error_N_FLX'_ex radix2 prec ltac:(lia) choice (1 / D)) as (d & Hd & E).
  rewrite <- (round_FLT_FLX radix2 emin) in E by (rewrite Rabs_right by lra; exact Hr).
  change (round radix2 (FLT_exp emin prec) (Znearest choice) (1 / D)) with (fl (1 / D)) in E. rewrite E.
  rewrite (unit_roundoff_flocq prec) in Hd. apply Rabs_le_inv in Hd.
  assert (d < u). { destruct Hd as [_ Hd]. eapply Rle_lt_trans; [exact Hd|]. apply Rmult_lt_reg_r with (1 + u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  replace (N * (1 / D * (1 + d))) with (N / D * (1 + d)) by (field; lra).
  assert (0 <= N / D <= 1).
  { split; [apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]|]. apply Rmult_le_reg_r with D; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (- u < d). { destruct Hd as [Hd _]. assert (u / (1 + u) < u); [|lra]. apply Rmult_lt_reg_r with (1 + u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  apply Rle_lt_trans with (1 * (1 + d)); [apply Rmult_le_compat_r; lra|lra].
Qed.
End RangeFlt.

(* D = 2 u + u^2 for x (1 / y) needs 1 / y >= N (div_recip): in f16, 1962 / 2048 times the reciprocal of 61120 *)
Example recip_subnormal_f16 :
  let f z e := binary_normalize 11 16 ltac:(reflexivity) ltac:(reflexivity) mode_NE z e false in
  let q := 1962 / 2048 / 61120 in
  Beqb (@Bmult 11 16 ltac:(reflexivity) ltac:(reflexivity) mode_NE (f 1962 (-11)) (@Bdiv 11 16 ltac:(reflexivity) ltac:(reflexivity) mode_NE (f 1 0) (f 1910 5)))%Z (f 262 (-24))%Z = true /\
  262 / 16777216 < q * (1 - (2 * / 2048 + / 2048 * / 2048)) - / 33554432.
Proof. split; [vm_compute; reflexivity|]. cbv zeta. lra. Qed.

(* Section 6: selection by probabilities. C the row's common factor, Zb the absolute errors. *)
Theorem topk_probs C c0 pi pl ki kl oi ol Zb Pi Pl : exp (- c0) <= C -> 0 <= pi -> 0 <= pl -> 0 <= Zb -> Rabs ki <= oi -> Rabs kl <= ol ->
  Rabs (Pi - C * pi * exp ki) <= Zb -> Rabs (Pl - C * pl * exp kl) <= Zb -> Pl <= Pi ->
  pl * exp (- ol) - Zb * exp c0 <= pi * exp oi + Zb * exp c0.
Proof.
  intros HC Hpi Hpl HZ Hi Hl Ei El Hle. apply Rabs_le_inv in Hi, Hl, Ei, El. pose proof (exp_pos (- c0)) as C1. pose proof (exp_pos c0) as C2.
  assert (H1 : C * pi * exp ki <= C * pi * exp oi) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|apply exp_le; lra]).
  assert (H2 : C * pl * exp (- ol) <= C * pl * exp kl) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|apply exp_le; lra]).
  assert (H3 : Zb <= C * (Zb * exp c0)).
  { apply Rle_trans with (exp (- c0) * (Zb * exp c0)).
    - replace (exp (- c0) * (Zb * exp c0)) with (Zb * (exp (- c0) * exp c0)) by ring. rewrite <- exp_plus, Rplus_opp_l, exp_0. lra.
    - apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|assumption]. }
  apply Rmult_le_reg_l with C; [lra|]. lra.
Qed.

(* Section 7: log-softmax, any two elements; v the first rounding, y the stored one *)
Lemma log_stored E u uo d do c wo : 0 <= u -> 0 <= uo -> u + uo + u * uo <= / 4 -> Rabs d <= u -> Rabs do <= uo -> Rabs c <= wo -> (c = 0 \/ do = 0) ->
  let u' := u + uo + u * uo in let y := E * (1 + d) * (1 + do) + c in
  Rabs (y - E) <= u' / (1 - u') * Rabs y + wo * (1 + 2 * u').
Proof.
  intros Hu Huo Hs Hd Hdo Hc Hcase u' y. assert (U0 : 0 <= u * uo) by now apply Rmult_le_pos.
  assert (W0 : 0 <= wo) by (pose proof (Rabs_pos c); lra). assert (HU : 0 <= u' <= / 4) by (unfold u'; lra).
  assert (G : forall e z, 0 <= e <= u' -> Rabs z <= wo -> y - E = E * 0 + (y - E) -> Rabs (y - E) <= e * Rabs E + Rabs z ->
    Rabs E * (1 - e) <= Rabs y + Rabs z -> Rabs z * (1 + e / (1 - e)) <= wo * (1 + 2 * u') -> Rabs (y - E) <= u' / (1 - u') * Rabs y + wo * (1 + 2 * u')).
  { intros e z He Hz _ H1 H2 H3. assert (Ie : 0 < / (1 - e)) by (apply Rinv_0_lt_compat; lra).
    assert (H4 : Rabs E <= (Rabs y + Rabs z) / (1 - e)).
    { apply Rmult_le_reg_r with (1 - e); [lra|]. unfold Rdiv. rewrite (Rmult_assoc (Rabs y + Rabs z)), Rinv_l by lra. lra. }
    assert (H5 : e * Rabs E <= e * ((Rabs y + Rabs z) / (1 - e))) by (apply Rmult_le_compat_l; lra).
    assert (H6 : e / (1 - e) <= u' / (1 - u')).
    { apply Rmult_le_compat; try lra. apply Rinv_le; lra. }
    assert (H7 : e / (1 - e) * Rabs y <= u' / (1 - u') * Rabs y) by (apply Rmult_le_compat_r; [apply Rabs_pos|assumption]).
    unfold Rdiv in *. lra. }
  destruct Hcase as [->| ->].
  - apply (G u' 0); [lra|rewrite Rabs_R0; lra|ring| | |rewrite Rabs_R0, Rmult_0_l; apply Rmult_le_pos; lra].
    + rewrite Rabs_R0, Rplus_0_r. unfold y. replace (E * (1 + d) * (1 + do) + 0 - E) with ((d + do + d * do) * E) by ring.
      rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|]. unfold u'. eapply Rle_trans; [apply Rabs_triang|].
      pose proof (Rabs_triang d do). rewrite Rabs_mult. pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos d) (Rabs_pos do) Hd Hdo). lra.
    + rewrite Rabs_R0, Rplus_0_r. unfold y. rewrite Rplus_0_r, Rmult_assoc, Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|].
      replace ((1 + d) * (1 + do)) with (1 - - (d + do + d * do)) by ring. eapply Rle_trans; [|apply Rabs_triang_inv]. rewrite Rabs_R1, Rabs_Ropp.
      pose proof (Rabs_triang (d + do) (d * do)). pose proof (Rabs_triang d do). rewrite Rabs_mult in H.
      pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos d) (Rabs_pos do) Hd Hdo). unfold u'. lra.
  - apply (G u c); [unfold u' in *; lra|assumption|ring| | |].
    + unfold y. replace (E * (1 + d) * (1 + 0) + c - E) with (d * E + c) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
      apply Rplus_le_compat_r, Rmult_le_compat_r; [apply Rabs_pos|assumption].
    + assert (E * (1 + d) = y - c) as Q by (unfold y; ring).
      assert (Rabs (E * (1 + d)) <= Rabs y + Rabs c). { rewrite Q. unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
      rewrite Rabs_mult in H. eapply Rle_trans; [|exact H]. apply Rmult_le_compat_l; [apply Rabs_pos|]. apply Rabs_le_inv in Hd. rewrite Rabs_right; lra.
    + assert (u <= u') by (unfold u'; lra). assert (u / (1 - u) <= 2 * u').
      { apply Rmult_le_reg_r with (1 - u); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
      apply Rmult_le_compat; try lra; [apply Rabs_pos|]. assert (0 <= u / (1 - u)); [|lra]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra].
Qed.
Theorem log_coherence fj fa l dj sig yj ya B1 B2 : Rabs (yj - (fj - l)) <= B1 -> Rabs (ya - (fa - l)) <= B2 -> Rabs (fj - fa - dj) <= sig ->
  Rabs (yj - ya - dj) <= sig + B1 + B2.
Proof. intros H1 H2 H3. apply Rabs_le_inv in H1, H2, H3. apply Rabs_le. lra. Qed.

(* BOUNDS.md section 1: the slope of lam, and k ulp from the correctly rounded result *)
Theorem lam_slope a c x X : 0 <= a -> 0 <= c -> 0 <= x <= X -> a + c * X < 1 -> lam (a + c * x) <= lam a + c * x / (1 - a - c * X).
Proof.
  intros Ha Hc [Hx HX] Hlt. assert (Hy : 0 <= c * x <= c * X) by (split; [now apply Rmult_le_pos|now apply Rmult_le_compat_l]).
  set (y := c * x) in *. set (Y := c * X) in *. unfold lam.
  assert (Hr : ln (1 - a) - ln (1 - (a + y)) <= y / (1 - (a + y))).
  { replace (ln (1 - a) - ln (1 - (a + y))) with (ln ((1 - a) / (1 - (a + y)))) by (unfold Rdiv; rewrite ln_mult, ln_Rinv by (try apply Rinv_0_lt_compat; lra); ring).
    replace ((1 - a) / (1 - (a + y))) with (1 + y / (1 - (a + y))) by (field; lra).
    assert (0 <= y / (1 - (a + y))) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
    rewrite <- (ln_exp (y / (1 - (a + y)))) at 2. apply ln_le'; [lra|]. apply exp_ineq1_le. }
  assert (y / (1 - (a + y)) <= y / (1 - a - Y)). { apply Rmult_le_compat_l; [lra|]. apply Rinv_le; lra. }
  lra.
Qed.
Section Ulp.
Variables prec emin : Z.
Hypothesis Hprec : (8 <= prec)%Z.
Variable choice : Z -> bool.
Notation u := (unit_roundoff prec). Notation ulp := (ulp radix2 (FLT_exp emin prec)).
(* ulp: that of the correctly rounded result, the larger of the two at a power of two *)
Theorem ulp_error y yh k : 0 < y -> bpow radix2 (emin + prec - 1) <= y -> 0 <= k -> (2 * k + 1) * u <= 1 ->
  Rabs (yh - round_to prec emin choice y) <= k * ulp (round_to prec emin choice y) -> Rabs (yh - y) <= (2 * k + 1) * u * y.
Proof.
  intros Hy Hn Hk Hku H. set (r := round_to prec emin choice y) in *. pose proof (unit_roundoff_range prec Hprec) as U.
  pose proof (FLT_exp_valid emin prec (prec_gt_0_ := prec_gt_0_ prec Hprec)) as V.
  destruct (mag radix2 y) as [e He]. specialize (He (Rgt_not_eq _ _ Hy)). rewrite (Rabs_right y) in He by lra.
  assert (Hge : (emin + prec <= e)%Z). { assert (emin + prec - 1 < e)%Z; [|lia]. apply (lt_bpow radix2). lra. }
  assert (Fe : forall j, (emin + prec <= j)%Z -> FLT_exp emin prec j = (j - prec)%Z) by (intros; unfold FLT_exp; lia).
  assert (Ey : ulp y = 2 * u * bpow radix2 (e - 1)).
  { rewrite ulp_neq_0 by lra. unfold cexp. rewrite (mag_unique radix2 y e) by (rewrite Rabs_right; lra). rewrite Fe by assumption.
    unfold unit_roundoff. replace (e - prec)%Z with (1 + (- prec + (e - 1)))%Z by lia. rewrite !bpow_plus. change (bpow radix2 1) with 2. ring. }
  assert (Hr1 : bpow radix2 (e - 1) <= r <= bpow radix2 e).
  { split; [apply round_ge_generic|apply round_le_generic]; try apply valid_rnd_N; try lra; try assumption;
      apply generic_format_bpow; unfold FLT_exp; lia. }
  assert (Hd : Rabs (r - y) <= / 2 * ulp y) by (apply error_le_half_ulp; assumption).
  pose proof (bpow_gt_0 radix2 (e - 1)) as Pb.
  destruct (Rle_lt_or_eq_dec _ _ (proj2 Hr1)) as [Hlt|Heq].
  - assert (Er : ulp r = ulp y).
    { rewrite Ey, ulp_neq_0 by lra. unfold cexp. rewrite (mag_unique radix2 r e) by (rewrite Rabs_right; lra). rewrite Fe by assumption.
      unfold unit_roundoff. replace (e - prec)%Z with (1 + (- prec + (e - 1)))%Z by lia. rewrite !bpow_plus. change (bpow radix2 1) with 2. ring. }
    rewrite Er in H. replace (yh - y) with ((yh - r) + (r - y)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (k * ulp y + / 2 * ulp y <= (2 * k + 1) * u * y); [|lra]. rewrite Ey.
    replace (k * (2 * u * bpow radix2 (e - 1)) + / 2 * (2 * u * bpow radix2 (e - 1))) with ((2 * k + 1) * u * bpow radix2 (e - 1)) by field.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra].
  - assert (Er : ulp r = 4 * u * bpow radix2 (e - 1)).
    { rewrite Heq, ulp_bpow, Fe by lia. unfold unit_roundoff. replace (e + 1 - prec)%Z with (2 + (- prec + (e - 1)))%Z by lia. rewrite !bpow_plus.
      change (bpow radix2 2) with 4. ring. }
    assert (Eb : bpow radix2 e = 2 * bpow radix2 (e - 1)).
    { replace e with (1 + (e - 1))%Z at 1 by lia. rewrite bpow_plus. reflexivity. }
    rewrite Er in H. rewrite Ey in Hd. set (b := bpow radix2 (e - 1)) in *. rewrite Heq, Eb in *. apply Rabs_le_inv in H, Hd.
    assert (b * (2 - u) <= y) by lra.
    assert (G : k * (4 * u * b) + u * b <= (2 * k + 1) * u * (b * (2 - u))).
    { assert (0 <= u * b * (1 - (2 * k + 1) * u)) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]). lra. }
    assert ((2 * k + 1) * u * (b * (2 - u)) <= (2 * k + 1) * u * y) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|assumption]).
    apply Rabs_le. lra.
Qed.
End Ulp.
