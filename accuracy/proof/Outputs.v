(* SPDX-License-Identifier: Apache-2.0 *)
(* From the sum to the outputs: division, the element bound, lse and log-softmax, the row's sum. *)
Require Import Reals List Permutation Lra Lia Arith ZArith.
From Flocq Require Import Core Relative.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.HeightCap Assay.LeafDepth Assay.FloatSum Assay.HeadTail.
Import ListNotations.
Open Scope R_scope.

(* out is q up to a factor between e^-T and e^T, and w *)
Definition approx (T w q out : R) : Prop := q * exp (- T) - w <= out <= q * exp T + w.

Lemma lam_factor t d : 0 <= t < 1 -> Rabs d <= t -> exp (- lam t) <= 1 + d <= exp (lam t).
Proof.
  intros Ht Hd. apply Rabs_le_inv in Hd. unfold lam. rewrite Ropp_involutive, exp_ln, exp_Ropp, exp_ln by lra.
  split; [lra|]. apply Rmult_le_reg_r with (1 - t); [lra|]. rewrite Rinv_l by lra. nra.
Qed.
Lemma lam_ge0 t : 0 <= t < 1 -> 0 <= lam t.
Proof. intros H. unfold lam. rewrite <- Ropp_0. apply Ropp_le_contravar. rewrite <- ln_1. apply ln_le'; lra. Qed.

(* any division with a relative and an absolute error *)
Lemma div_any Dv w q d c : 0 <= q -> 0 <= Dv < 1 -> Rabs d <= Dv -> Rabs c <= w -> approx (lam Dv) w q (q * (1 + d) + c).
Proof. intros Hq HD Hd Hc. destruct (lam_factor Dv d HD Hd) as [L U]. apply Rabs_le_inv in Hc. unfold approx.
  pose proof (Rmult_le_compat_l q _ _ Hq L). pose proof (Rmult_le_compat_l q _ _ Hq U). lra. Qed.

Section Div.
Variable A : arith.
Notation u := (u_ A). Notation omega := (omega_ A). Notation fl := (fl_ A).
Theorem div_ieee N D : 0 <= N -> 0 < D -> approx (lam u) omega (N / D) (fl (N / D)).
Proof.
  intros HN HD. pose proof (Hu A). destruct (M2 A (N / D)) as (d & c & H1 & H2 & -> & _). apply div_any; try assumption; [|lra].
  apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat].
Qed.
(* the reciprocal must not underflow: 1 / D >= N *)
Theorem div_recip N D : 0 <= N -> 0 < D -> N_ A <= 1 / D -> approx (lam (2 * u + u * u)) omega (N / D) (fl (N * fl (1 / D))).
Proof.
  intros HN HD Hr. pose proof (Hu A) as U. destruct (M2 A (1 / D)) as (d & c & H1 & H2 & H3 & H4).
  assert (Hi : 0 < 1 / D) by (apply Rdiv_lt_0_compat; lra).
  assert (c = 0) as ->. { destruct H4 as [|H4]; [assumption|]. rewrite Rabs_right in H4 by lra. lra. }
  rewrite Rplus_0_r in H3. destruct (M2 A (N * fl (1 / D))) as (d' & c' & K1 & K2 & -> & _). rewrite H3.
  replace (N * (1 / D * (1 + d)) * (1 + d')) with (N / D * (1 + (d + d' + d * d'))) by (field; lra).
  apply div_any; try assumption.
  - apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat].
  - nra.
  - apply Rabs_le_inv in H1, K1. apply Rabs_le. assert (- (u * u) <= d * d' <= u * u); [|lra].
    apply Rabs_le_inv. rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; now apply Rabs_le.
Qed.
End Div.

(* one more rounding, to a narrower format *)
Section Narrow.
Variables preco emino : Z.
Hypothesis Hp : (8 <= preco)%Z.
Variable choice : Z -> bool.
Notation uo := (unit_roundoff preco). Notation wo := (half_subnormal emino). Notation round_out := (round_to preco emino choice).
Lemma round_out_small v : Rabs v < bpow radix2 (emino + preco) -> Rabs (round_out v - v) <= wo.
Proof.
  intros H. eapply Rle_trans; [apply error_le_half_ulp; apply FLT_exp_valid, prec_gt_0_; lia|].
  unfold half_subnormal. rewrite ulp_FLT_small; [lra|apply prec_gt_0_; lia|assumption].
Qed.
Lemma round_out_zero v : 0 <= v < wo -> round_out v = 0.
Proof.
  intros [H0 H1]. destruct (Req_dec v 0) as [->|Hne]; [apply round_0; apply valid_rnd_N|].
  assert (Hb : Rabs v < bpow radix2 (emino - 1)).
  { rewrite Rabs_right by lra. unfold half_subnormal in H1. unfold Z.sub. rewrite bpow_plus. change (bpow radix2 (- (1))) with (/ 2). lra. }
  pose proof (mag_le_bpow radix2 v (emino - 1) Hne Hb) as Hmax.
  apply (round_N_small radix2 (FLT_exp emino preco) choice v (mag radix2 v)).
  - destruct (mag radix2 v) as [e He]. cbn. now apply He.
  - unfold FLT_exp. lia.
Qed.
Theorem narrow q v d c Dv cw : 0 <= q -> 0 <= v -> v = q * (1 + d) + c -> Rabs d <= Dv -> 0 <= Dv <= / 3 -> Rabs c <= cw ->
  (c = 0 \/ v < bpow radix2 (emino + preco)) -> 2 * cw * (bpow radix2 preco + 1) < wo ->
  approx (lam Dv + lam uo) wo q (round_out v).
Proof.
  intros Hq Hv Ev Hd HD Hc Hcase Hsm. pose proof (unit_roundoff_range preco Hp) as U. pose proof (half_subnormal_pos emino) as Wp.
  pose proof (lam_factor Dv d ltac:(lra) Hd) as [L1 U1]. apply Rabs_le_inv in Hd.
  destruct Hcase as [->|Hlt].
  - rewrite Rplus_0_r in Ev.
    assert (exists d' c', Rabs d' <= uo /\ Rabs c' <= wo /\ round_out v = v * (1 + d') + c') as (d' & c' & K1 & K2 & K3).
    { destruct (Rle_or_lt (bpow radix2 (emino + preco - 1)) (Rabs v)) as [H|H].
      - destruct (relative_error_N_FLT_ex radix2 emino preco ltac:(lia) choice v H) as (d' & H1 & H2).
        change (Rabs d' <= u_ro radix2 preco) in H1. rewrite (unit_roundoff_flocq preco) in H1.
        exists d', 0. rewrite Rabs_R0, Rplus_0_r. repeat split; auto.
      - exists 0, (round_out v - v). rewrite Rabs_R0. repeat split; [lra| |ring]. apply round_out_small. eapply Rlt_le_trans; [exact H|]. apply bpow_le. lia. }
    rewrite K3, Ev. destruct (lam_factor uo d' ltac:(lra) K1) as [L2 U2]. apply Rabs_le_inv in K1, K2. unfold approx.
    rewrite Ropp_plus_distr, !exp_plus.
    assert (exp (- lam Dv) * exp (- lam uo) <= (1 + d) * (1 + d')) by (apply Rmult_le_compat; auto; left; apply exp_pos).
    assert ((1 + d) * (1 + d') <= exp (lam Dv) * exp (lam uo)) by (apply Rmult_le_compat; auto; lra).
    rewrite Rmult_assoc. pose proof (Rmult_le_compat_l q _ _ Hq H). pose proof (Rmult_le_compat_l q _ _ Hq H0). lra.
  - assert (Hb : bpow radix2 preco * uo = 1).
    { unfold unit_roundoff. rewrite <- bpow_plus. replace (preco + - preco)%Z with 0%Z by lia. reflexivity. }
    assert (Elow : exp (- (lam Dv + lam uo)) = (1 - Dv) * (1 - uo)).
    { rewrite Ropp_plus_distr, exp_plus. unfold lam. rewrite !Ropp_involutive, !exp_ln by lra. reflexivity. }
    assert (Eup : (1 + Dv) * (1 + uo) <= exp (lam Dv + lam uo)).
    { rewrite exp_plus. apply Rmult_le_compat; try lra.
      - apply (lam_factor Dv Dv); [lra|]. rewrite Rabs_right; lra.
      - apply (lam_factor uo uo); [lra|]. rewrite Rabs_right; lra. }
    unfold approx. rewrite Elow. pose proof (Rmult_le_compat_l q _ _ Hq Eup) as EupQ.
    assert (cw0 : 0 <= cw) by (pose proof (Rabs_pos c); lra). apply Rabs_le_inv in Hc.
    destruct (Rle_or_lt cw (q * (1 - Dv) * uo)) as [Hbig|Htiny].
    + assert (Rabs (round_out v - v) <= wo) as Hr by (apply round_out_small; rewrite Rabs_right; lra). apply Rabs_le_inv in Hr.
      split; [assert (q * (1 - Dv) <= q * (1 + d)) by (apply Rmult_le_compat_l; lra); lra|].
      assert (q * (1 + d) <= q * (1 + Dv)) by (apply Rmult_le_compat_l; lra).
      assert (q * (1 - Dv) * uo <= q * (1 + Dv) * uo) by (apply Rmult_le_compat_r; [lra|]; apply Rmult_le_compat_l; lra). lra.
    + (* q below c / (u_o (1 - D)): rounds to zero *)
      set (bp := bpow radix2 preco) in *. assert (0 < bp) by apply bpow_gt_0.
      assert (Hq3 : q * (1 - Dv) < cw * bp).
      { replace (q * (1 - Dv)) with (q * (1 - Dv) * uo * bp) by (rewrite Rmult_assoc, (Rmult_comm uo), Hb; ring). apply Rmult_lt_compat_r; lra. }
      assert (q * (2 / 3) <= q * (1 - Dv)) by (apply Rmult_le_compat_l; lra).
      assert (q * (1 + d) <= q * (4 / 3)) by (apply Rmult_le_compat_l; lra).
      assert (0 <= cw * bp) by (apply Rmult_le_pos; lra).
      assert (Hv0 : 0 <= v < wo) by lra. rewrite (round_out_zero v Hv0).
      assert (q * ((1 - Dv) * (1 - uo)) <= q * 1) by (apply Rmult_le_compat_l; nra).
      assert (0 <= q * exp (lam Dv + lam uo)) by (apply Rmult_le_pos; [assumption|left; apply exp_pos]).
      split; lra.
Qed.
End Narrow.

(* The element bound, BOUNDS.md section 4. Exponent w = d_j + anchor, S = s e^anchor: e^w / S = p_j. *)
Theorem element w nu own N eta S D b T w0 out : 0 < S -> 0 < D -> 0 <= eta -> 0 <= T -> Rabs (ln (D / S)) <= b -> Rabs nu <= own -> Rabs (N - exp (w + nu)) <= eta ->
  approx T w0 (N / D) out ->
  let A := own + T + b in let W := eta / S * exp (b + T) + w0 in
  exp (w - A) / S - W <= out <= exp (w + A) / S + W.
Proof.
  intros HS HD He HT Hb Hnu HN [O1 O2] A W. apply Rabs_le_inv in Hb, Hnu, HN.
  assert (E : D = S * exp (ln (D / S))). { rewrite exp_ln by now apply Rdiv_lt_0_compat. field. lra. }
  set (k := ln (D / S)) in *.
  assert (Ei : / D = / S * exp (- k)). { rewrite E at 1. rewrite exp_Ropp. field. split; [apply Rgt_not_eq, exp_pos|lra]. }
  assert (Si : 0 < / S) by now apply Rinv_0_lt_compat.
  assert (Hk1 : exp (- b) <= exp (- k)) by (apply exp_le; lra). assert (Hk2 : exp (- k) <= exp b) by (apply exp_le; lra).
  pose proof (exp_pos (- T)) as T1. pose proof (exp_pos T) as T2. assert (T3 : exp (- T) <= exp T) by (apply exp_le; lra).
  unfold Rdiv in *. rewrite Ei in O1, O2.
  assert (Q : forall x : R, exp (x - A) = exp (x - own) * exp (- b) * exp (- T)) by (intros; unfold A; rewrite <- !exp_plus; f_equal; ring).
  assert (Q' : forall x : R, exp (x + A) = exp (x + own) * exp b * exp T) by (intros; unfold A; rewrite <- !exp_plus; f_equal; ring).
  rewrite Q, Q'. unfold W. rewrite (exp_plus b).
  assert (R1 : exp (w - own) <= exp (w + nu)) by (apply exp_le; lra). assert (R2 : exp (w + nu) <= exp (w + own)) by (apply exp_le; lra).
  pose proof (exp_pos (- k)) as K0. pose proof (exp_pos (- b)) as B0. pose proof (exp_pos b) as B1. pose proof (exp_pos (w - own)) as W0.
  assert (G1 : exp (w - own) * exp (- b) <= exp (w + nu) * exp (- k)) by (apply Rmult_le_compat; lra).
  assert (G2 : exp (w + nu) * exp (- k) <= exp (w + own) * exp b) by (apply Rmult_le_compat; lra).
  assert (G3 : eta * exp (- k) <= eta * exp b) by (apply Rmult_le_compat_l; lra).
  assert (G4 : 0 <= eta * exp (- k)) by (apply Rmult_le_pos; lra).
  assert (N1 : exp (w - own) * exp (- b) - eta * exp b <= N * exp (- k)).
  { assert ((exp (w + nu) - eta) * exp (- k) <= N * exp (- k)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (N2 : N * exp (- k) <= exp (w + own) * exp b + eta * exp b).
  { assert (N * exp (- k) <= (exp (w + nu) + eta) * exp (- k)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (S1 : 0 < / S * exp (- T)) by now apply Rmult_lt_0_compat. assert (S2 : 0 < / S * exp T) by now apply Rmult_lt_0_compat.
  pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ S1) N1) as M1. pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ S2) N2) as M2.
  assert (M3 : / S * exp (- T) * (eta * exp b) <= / S * exp T * (eta * exp b)).
  { apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_l; lra. }
  split; [eapply Rle_trans; [|exact O1]|eapply Rle_trans; [exact O2|]]; lra.
Qed.
(* in logarithms *)
Theorem element_log p A W out : 0 < p -> 0 <= A -> 0 <= W -> p * exp (- A) - W <= out <= p * exp A + W -> W * exp A / p < 1 ->
  0 < out /\ Rabs (ln (out / p)) <= A + lam (W * exp A / p).
Proof.
  intros Hp HA HW [L U] Hlt. set (r := W * exp A / p) in *. pose proof (exp_pos A) as A0. pose proof (exp_pos (- A)) as A1.
  assert (EA : exp (- A) * exp A = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
  assert (Er : W / p = r * exp (- A)). { unfold r. replace (W * exp A / p * exp (- A)) with (W / p * (exp (- A) * exp A)) by (field; lra). rewrite EA. ring. }
  assert (r0 : 0 <= r). { unfold r. apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; now apply Rinv_0_lt_compat]. }
  assert (L' : exp (- A) * (1 - r) <= out / p).
  { apply Rmult_le_reg_r with p; [assumption|]. unfold Rdiv. rewrite (Rmult_assoc out), Rinv_l, Rmult_1_r by lra.
    replace (exp (- A) * (1 - r) * p) with (p * exp (- A) - r * exp (- A) * p) by ring. rewrite <- Er. replace (W / p * p) with W by (field; lra). lra. }
  assert (E1 : exp (- A) <= 1) by (apply exp_le1; lra). assert (E2 : 1 <= exp A) by (rewrite <- exp_0; now apply exp_le).
  assert (U' : out / p <= exp A * (1 + r)).
  { apply Rmult_le_reg_r with p; [assumption|]. unfold Rdiv. rewrite (Rmult_assoc out), Rinv_l, Rmult_1_r by lra.
    assert (W <= r * exp A * p). { replace W with (W / p * p) by (field; lra). rewrite Er. apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; lra. }
    lra. }
  assert (0 < exp (- A) * (1 - r)) by (apply Rmult_lt_0_compat; lra).
  assert (0 < out / p) by lra.
  split. { replace out with (out / p * p) by (field; lra). now apply Rmult_lt_0_compat. }
  apply Rabs_le. unfold lam. split.
  - replace (- (A + - ln (1 - r))) with (ln (exp (- A) * (1 - r))); [now apply ln_le'|]. rewrite ln_mult, ln_exp by lra. ring.
  - apply Rle_trans with (ln (exp A * (1 + r))); [now apply ln_le'|]. rewrite ln_mult, ln_exp by lra. apply Rplus_le_compat_l.
    assert (ln (1 + r) + ln (1 - r) <= 0); [|lra]. rewrite <- ln_mult by lra. rewrite <- ln_1. apply ln_le'; nra.
Qed.

(* lse and log-softmax, BOUNDS.md section 5 *)
Theorem log_sum s D b El l : 1 <= s -> 0 < D -> Rabs (ln (D / s)) <= b -> 0 <= El -> Rabs (l - ln D) <= El * Rabs (ln D) ->
  Rabs (l - ln s) <= b + El * (ln s + b).
Proof.
  intros Hs HD Hb HE Hl. assert (0 <= ln s) by (rewrite <- ln_1; apply ln_le'; lra).
  unfold Rdiv in Hb. rewrite ln_mult, ln_Rinv in Hb by (try apply Rinv_0_lt_compat; lra).
  assert (Rabs (ln D) <= ln s + b). { apply Rabs_le_inv in Hb. apply Rabs_le. lra. }
  pose proof (Rmult_le_compat_l El _ _ HE H0). apply Rabs_le_inv in Hb, Hl. apply Rabs_le. lra.
Qed.
(* with an anchor the log's error has a term more *)
Theorem log_sum_anchor s D b El l anc : 1 <= s -> 0 < D -> Rabs (ln (D / (s * exp anc))) <= b -> 0 <= El -> Rabs (l - ln D) <= El * Rabs (ln D) ->
  Rabs (l - ln s) <= b + El * (ln s + b) + Rabs anc + El * Rabs anc.
Proof.
  intros Hs HD Hb HE Hl. assert (0 <= ln s) by (rewrite <- ln_1; apply ln_le'; lra). pose proof (exp_pos anc).
  unfold Rdiv in Hb. rewrite ln_mult, ln_Rinv, ln_mult, ln_exp in Hb by (try apply Rinv_0_lt_compat; try apply Rmult_lt_0_compat; lra).
  assert (Rabs (ln D) <= ln s + b + Rabs anc). { apply Rabs_le_inv in Hb. pose proof (Rle_abs anc). pose proof (Rle_abs (- anc)). rewrite Rabs_Ropp in *. apply Rabs_le. lra. }
  pose proof (Rmult_le_compat_l El _ _ HE H1). apply Rabs_le_inv in Hb, Hl. pose proof (Rle_abs anc). pose proof (Rle_abs (- anc)). rewrite Rabs_Ropp in *. apply Rabs_le. lra.
Qed.
(* e_l = b + E_log (ln s + b) + |anchor|, as BOUNDS.md section 5 has it, is exceeded *)
Example log_sum_anchor_needed : exists s D b El l anc, 1 <= s /\ 0 < D /\ Rabs (ln (D / (s * exp anc))) <= b /\ 0 < El /\
  Rabs (l - ln D) <= El * Rabs (ln D) /\ b + El * (ln s + b) + Rabs anc < Rabs (l - ln s).
Proof.
  exists 1, (exp 1), 0, (/ 4), (5 / 4), 1. rewrite ln_1, ln_exp, Rmult_1_l. pose proof (exp_pos 1).
  replace (exp 1 / exp 1) with 1 by (field; lra). rewrite ln_1, !Rabs_right by lra. repeat split; lra.
Qed.
(* naive: D estimates e^lse *)
Theorem log_naive lse D b El l : 0 < D -> Rabs (ln D - lse) <= b -> 0 <= El -> Rabs (l - ln D) <= El * Rabs (ln D) ->
  Rabs (l - lse) <= b + El * (Rabs lse + b).
Proof.
  intros HD Hb HE Hl. assert (Rabs (ln D) <= Rabs lse + b).
  { replace (ln D) with (lse + (ln D - lse)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  pose proof (Rmult_le_compat_l El _ _ HE H). replace (l - lse) with ((l - ln D) + (ln D - lse)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Section Logs.
Variable A : arith.
Notation u := (u_ A). Notation F := (F_ A). Notation fl := (fl_ A).
Hypothesis Fopp : forall x, F x -> F (- x).
Lemma add_off a b y e : F a -> F b -> Rabs (a + b - y) <= e -> Rabs (fl (a + b) - y) <= e + u * (Rabs y + e).
Proof.
  intros Fa Fb He. destruct (M1 A a b Fa Fb) as (d & Hd & ->). pose proof (Hu A).
  replace ((a + b) * (1 + d) - y) with ((a + b - y) + d * (a + b)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult.
  assert (Rabs (a + b) <= Rabs y + e). { replace (a + b) with (y + (a + b - y)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos d) (Rabs_pos (a + b)) Hd H0). lra.
Qed.
Theorem lse_bound m l lns e : F m -> F l -> Rabs (l - lns) <= e -> Rabs (fl (m + l) - (m + lns)) <= e + u * (Rabs (m + lns) + e).
Proof. intros. apply add_off; try assumption. now replace (m + l - (m + lns)) with (l - lns) by ring. Qed.
(* (x - m) - log D, f the rounded x - m *)
Theorem logsoftmax_shifted f d sig l lns e : F f -> F l -> Rabs (f - d) <= sig -> Rabs (l - lns) <= e ->
  Rabs (fl (f - l) - (d - lns)) <= (e + sig) + u * (Rabs (d - lns) + (e + sig)).
Proof.
  intros Ff Fl H1 H2. unfold Rminus at 2. apply add_off; auto. replace (f + - l - (d - lns)) with ((f - d) + - (l - lns)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.
(* x - lse *)
Theorem logsoftmax_absorb x L lse e : F x -> F L -> Rabs (L - lse) <= e ->
  Rabs (fl (x - L) - (x - lse)) <= e + u * (Rabs (x - lse) + e).
Proof.
  intros Fx FL H. unfold Rminus at 2. apply add_off; auto. replace (x + - L - (x - lse)) with (- (L - lse)) by ring. now rewrite Rabs_Ropp.
Qed.
(* the stored output *)
Theorem stored_log y yh e : Rabs (yh - y) <= e -> Rabs (fl yh - y) <= e + u * (Rabs y + e) + omega_ A.
Proof.
  intros He. destruct (M2 A yh) as (d & c & Hd & Hc & -> & _). pose proof (Hu A).
  replace (yh * (1 + d) + c - y) with ((yh - y) + (d * yh + c)) by ring. eapply Rle_trans; [apply Rabs_triang|].
  pose proof (Rabs_triang (d * yh) c) as H1. rewrite Rabs_mult in H1.
  assert (H2 : Rabs yh <= Rabs y + e). { replace yh with (y + (yh - y)) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos d) (Rabs_pos yh) Hd H2). lra.
Qed.
End Logs.

(* the row's sum, ROW_CHECKS.md section 2 *)
Lemma rowsum_gen {X} (q out : X -> R) l T w0 : (forall x, In x l -> approx T w0 (q x) (out x)) ->
  sum_over q l * exp (- T) - INR (length l) * w0 <= sum_over out l <= sum_over q l * exp T + INR (length l) * w0.
Proof.
  induction l as [|x l IH]; intros H; [cbn; lra|]. cbn [sum_over length]. rewrite S_INR.
  destruct (H x (or_introl eq_refl)). assert (Hl : forall y, In y l -> approx T w0 (q y) (out y)) by (intros; apply H; now right).
  specialize (IH Hl). lra.
Qed.
Lemma expm1_sides T : 1 - exp (- T) <= exp T - 1.
Proof. pose proof (exp_pos T) as H. rewrite exp_Ropp. set (a := exp T) in *.
  assert (0 <= / a * Rsqr (a - 1)) by (apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply Rle_0_sqr]).
  replace (/ a * Rsqr (a - 1)) with (a - 2 + / a) in H0 by (unfold Rsqr; field; lra). lra. Qed.

(* naive and safe: D is a sum of the very numerators, off by a factor of at most e^kap; the exp does not matter *)
Theorem rowsum_safe {X} (N out : X -> R) l D kap T w0 : 0 < D -> 0 < sum_over N l -> Rabs (ln (D / sum_over N l)) <= kap ->
  (forall x, In x l -> approx T w0 (N x / D) (out x)) ->
  exp (- (kap + T)) - INR (length l) * w0 <= sum_over out l <= exp (kap + T) + INR (length l) * w0 /\
  Rabs (sum_over out l - 1) <= exp (kap + T) - 1 + INR (length l) * w0.
Proof.
  intros HD HN Hk Ho. pose proof (rowsum_gen _ _ _ _ _ Ho) as [L U].
  assert (E : sum_over (fun x => N x / D) l = exp (- ln (D / sum_over N l))).
  { rewrite exp_Ropp, exp_ln by now apply Rdiv_lt_0_compat. replace (/ (D / sum_over N l)) with (/ D * sum_over N l) by (field; lra).
    rewrite <- sum_over_scal. apply sum_over_ext. intros. field. lra. }
  rewrite E, <- exp_plus in L, U. apply Rabs_le_inv in Hk.
  assert (exp (- (kap + T)) <= exp (- ln (D / sum_over N l) + - T)) by (apply exp_le; lra).
  assert (exp (- ln (D / sum_over N l) + T) <= exp (kap + T)) by (apply exp_le; lra).
  split; [lra|]. pose proof (expm1_sides (kap + T)). apply Rabs_le. lra.
Qed.
(* online: the numerators and the sum have errors of their own *)
Theorem rowsum_online {X} (w nu own N out : X -> R) l eta D b T w0 : l <> [] -> 0 < D -> 0 <= eta -> 0 <= T ->
  let S := sum_over (fun x => exp (w x)) l in Rabs (ln (D / S)) <= b ->
  (forall x, In x l -> Rabs (nu x) <= own x /\ Rabs (N x - exp (w x + nu x)) <= eta) ->
  (forall x, In x l -> approx T w0 (N x / D) (out x)) ->
  let P := ln (sum_over (fun x => exp (w x + own x)) l / S) in let W := eta / S * exp (b + T) + w0 in
  exp (- (b + P + T)) - INR (length l) * W <= sum_over out l <= exp (b + P + T) + INR (length l) * W /\
  Rabs (sum_over out l - 1) <= exp (b + P + T) - 1 + INR (length l) * W.
Proof.
  intros Hne HD He HT S Hb Ht Ho P W.
  assert (HS : 0 < S) by now apply sum_over_exp_pos.
  (* numerators without their absolute errors *)
  set (N' := fun x => exp (w x + nu x)). assert (HN' : 0 < sum_over N' l) by now apply sum_over_exp_pos.
  assert (HP : Rabs (ln (sum_over N' l / S)) <= P).
  { destruct (perturbed_sum_log w nu own (fun _ => 0) l 0 (sum_over N' l)) as [_ Q]; try assumption.
    - intros x Hx. now apply Ht.
    - assert (sum_over (fun _ : X => 0) l = 0) as -> by (rewrite sum_over_const; ring). rewrite Rplus_0_r. reflexivity.
    - rewrite sum_over_const, Rmult_0_r, Rabs_R0. lra.
    - unfold Rdiv. rewrite !Rmult_0_l. lra.
    - unfold Rdiv in Q at 3. unfold Rdiv in Q at 3. rewrite !Rmult_0_l in Q. unfold lam in Q. rewrite Rminus_0_r, ln_1, Ropp_0, Rplus_0_r in Q. exact Q. }
  assert (Hk : Rabs (ln (D / sum_over N' l)) <= b + P).
  { assert (ln (D / sum_over N' l) = ln (D / S) - ln (sum_over N' l / S)) as ->.
    { unfold Rdiv. rewrite !ln_mult, !ln_Rinv by (try apply Rinv_0_lt_compat; lra). ring. }
    unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra. }
  assert (HDi : / D <= / S * exp b).
  { apply Rabs_le_inv in Hb. replace (/ D) with (/ S * exp (- ln (D / S))).
    - apply Rmult_le_compat_l; [left; now apply Rinv_0_lt_compat|]. apply exp_le. lra.
    - rewrite exp_Ropp, exp_ln by now apply Rdiv_lt_0_compat. field. lra. }
  apply (rowsum_safe N' out l D (b + P) T W); try assumption.
  intros x Hx. destruct (Ho x Hx) as [O1 O2]. destruct (Ht x Hx) as [_ HN]. apply Rabs_le_inv in HN. unfold approx, W. fold (N' x) in HN.
  assert (Di : 0 < / D) by now apply Rinv_0_lt_compat.
  assert (T3 : exp (- T) <= exp T) by (apply exp_le; lra). pose proof (exp_pos (- T)) as T1. pose proof (exp_pos T) as T2.
  assert (G : eta * / D * exp T <= eta / S * exp (b + T)).
  { rewrite exp_plus. unfold Rdiv. rewrite (Rmult_assoc eta), (Rmult_assoc eta), <- (Rmult_assoc (/ S)). apply Rmult_le_compat_l; [assumption|].
    apply Rmult_le_compat_r; [lra|assumption]. }
  assert (G2 : eta * / D * exp (- T) <= eta * / D * exp T) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|assumption]).
  assert ((N' x - eta) * / D <= N x * / D) by (apply Rmult_le_compat_r; lra).
  assert (N x * / D <= (N' x + eta) * / D) by (apply Rmult_le_compat_r; lra).
  unfold Rdiv in O1, O2. unfold Rdiv at 1 3.
  pose proof (Rmult_le_compat_r (exp (- T)) _ _ (Rlt_le _ _ T1) H). pose proof (Rmult_le_compat_r (exp T) _ _ (Rlt_le _ _ T2) H0).
  split; lra.
Qed.
