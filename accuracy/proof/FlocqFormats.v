(* SPDX-License-Identifier: Apache-2.0 *)
(* Flocq: any binary FLT format with round to nearest, any tie rule, is such an arithmetic; binary32. *)
Require Import Reals List Lra Lia ZArith.
From Flocq Require Import Core Relative Plus_error.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree.
Import ListNotations.
Open Scope R_scope.

Section Flt.
Variables prec emin : Z.
Hypothesis Hprec : (8 <= prec)%Z.
Hypothesis Hemin : (emin + prec - 1 <= -14)%Z.
Variable choice : Z -> bool.
Local Instance prec_gt_0_ : Prec_gt_0 prec. unfold Prec_gt_0. lia. Qed.
Notation fexp := (FLT_exp emin prec).
Definition in_format (x : R) : Prop := generic_format radix2 fexp x.
Definition round_to (x : R) : R := round radix2 fexp (Znearest choice) x.
Definition unit_roundoff : R := bpow radix2 (- prec).
Definition min_normal : R := bpow radix2 (emin + prec - 1).
Definition half_subnormal : R := / 2 * bpow radix2 emin.

Lemma unit_roundoff_flocq : u_ro radix2 prec = unit_roundoff.
Proof. unfold u_ro, unit_roundoff. rewrite bpow_plus. cbn [bpow]. change (Z.pow_pos radix2 1) with 2%Z. field. Qed.
Lemma unit_roundoff_range : 0 < unit_roundoff <= / 256.
Proof. unfold unit_roundoff. split; [apply bpow_gt_0|]. apply Rle_trans with (bpow radix2 (-8)); [apply bpow_le; lia|]. cbn. lra. Qed.
Lemma unit_roundoff_le1 : 0 <= unit_roundoff <= 1. Proof. pose proof unit_roundoff_range. lra. Qed.
Lemma min_normal_range : 0 < min_normal <= / 16384.
Proof. unfold min_normal. split; [apply bpow_gt_0|]. apply Rle_trans with (bpow radix2 (-14)); [apply bpow_le; lia|]. cbn. lra. Qed.
Lemma half_subnormal_pos : 0 <= half_subnormal.
Proof. unfold half_subnormal. pose proof (bpow_gt_0 radix2 emin). lra. Qed.

Lemma format_M1 a b : in_format a -> in_format b -> exists d, Rabs d <= unit_roundoff /\ round_to (a + b) = (a + b) * (1 + d).
Proof. intros Ha Hb. destruct (FLT_plus_error_N_ex radix2 emin prec choice a b Ha Hb) as (d & H1 & H2).
  exists d. split; [|exact H2]. rewrite <- unit_roundoff_flocq. eapply Rle_trans; [exact H1|]. apply u_rod1pu_ro_le_u_ro. Qed.
Lemma format_M2 x : exists d c, Rabs d <= unit_roundoff /\ Rabs c <= half_subnormal /\ round_to x = x * (1 + d) + c /\ (c = 0 \/ (Rabs x < min_normal)).
Proof.
  destruct (Rle_or_lt min_normal (Rabs x)) as [H|H].
  - destruct (relative_error_N_FLT_ex radix2 emin prec ltac:(lia) choice x H) as (d & H1 & H2).
    exists d, 0. rewrite Rabs_R0, Rplus_0_r. repeat split; auto; [|apply half_subnormal_pos].
    unfold u_ro in *. rewrite <- unit_roundoff_flocq. exact H1.
  - exists 0, (round_to x - x). rewrite Rabs_R0. pose proof unit_roundoff_range. repeat split; [lra| |ring|now right].
    eapply Rle_trans; [apply error_le_half_ulp; apply FLT_exp_valid, prec_gt_0_|].
    unfold half_subnormal. rewrite ulp_FLT_small; [lra|apply prec_gt_0_|]. unfold min_normal in H. eapply Rlt_le_trans; [exact H|]. apply bpow_le. lia.
Qed.
Lemma format_M3 x y : x <= y -> round_to x <= round_to y.
Proof. intros H. apply round_le; [apply FLT_exp_valid, prec_gt_0_|apply valid_rnd_N|assumption]. Qed.
Lemma format_M3_float x : in_format x -> round_to x = x.
Proof. intros H. apply round_generic; [apply valid_rnd_N|assumption]. Qed.
Lemma round_to_in_format x : in_format (round_to x).
Proof. apply generic_format_round; [apply FLT_exp_valid, prec_gt_0_|apply valid_rnd_N]. Qed.
Lemma format_0 : in_format 0. Proof. apply generic_format_0. Qed.
Lemma format_1 : in_format 1.
Proof. change 1 with (bpow radix2 0). apply generic_format_bpow. unfold FLT_exp. lia. Qed.
Lemma format_below_1 e : in_format e -> e < 1 -> e <= 1 - unit_roundoff.
Proof. intros Fe He. change 1 with (bpow radix2 0) in *.
  apply (pred_ge_gt radix2 fexp) in He; [|assumption|exact format_1]. rewrite pred_bpow in He.
  unfold FLT_exp in He. replace (Z.max (0 - prec) emin) with (- prec)%Z in He by lia. exact He. Qed.
Lemma format_opp x : in_format x -> in_format (- x). Proof. apply generic_format_opp. Qed.
Lemma format_subtraction x r : in_format x -> in_format r -> Rabs (round_to (x - r) - (x - r)) <= unit_roundoff * Rabs (x - r).
Proof. intros Hx Hr. destruct (format_M1 x (- r) Hx (format_opp r Hr)) as (d & H1 & H2). replace (x - r) with (x + - r) by ring. rewrite H2. unfold Rminus.
  replace ((x + - r) * (1 + d) + - (x + - r)) with (d * (x + - r)) by ring. rewrite Rabs_mult.
  apply Rmult_le_compat_r; [apply Rabs_pos|assumption]. Qed.
(* integers up to 2^p are floats *)
Lemma format_integers i : (Z.of_nat i <= 2 ^ prec)%Z -> in_format (INR i).
Proof.
  intros Hi. rewrite INR_IZR_INZ. destruct (Z.eq_dec (Z.of_nat i) (2 ^ prec)) as [->|ne].
  - change 2%Z with (radix_val radix2). rewrite IZR_Zpower by lia. apply generic_format_bpow. unfold FLT_exp. lia.
  - apply generic_format_FLT. exists (Float radix2 (Z.of_nat i) 0); cbn [Fnum Fexp]; [|change (Zpower radix2 prec) with (2 ^ prec)%Z; lia|lia].
    unfold F2R. cbn. ring.
Qed.

(* What a late-rescaling test gives: fl (x - r) <= tau for a float tau implies x - r <= tau (1 + u). *)
Lemma late_rescaling x r t : in_format x -> in_format r -> 0 <= t -> round_to (x - r) <= t -> x - r <= t * (1 + unit_roundoff).
Proof.
  intros Hx Hr Ht H. destruct (FLT_plus_error_N_ex radix2 emin prec choice x (- r) Hx (format_opp r Hr)) as (d & H1 & H2).
  change (round radix2 fexp (Znearest choice) (x + - r)) with (round_to (x - r)) in H2. rewrite unit_roundoff_flocq in H1. pose proof unit_roundoff_range as U.
  destruct (Rle_dec (x - r) 0) as [Hn|Hn]; [nra|].
  assert (1 - unit_roundoff / (1 + unit_roundoff) <= 1 + d). { apply Rabs_le_inv in H1. lra. }
  replace (1 - unit_roundoff / (1 + unit_roundoff)) with (/ (1 + unit_roundoff)) in H0 by (field; lra).
  assert (/ (1 + unit_roundoff) * (x - r) <= t).
  { apply Rle_trans with (round_to (x - r)); [|assumption]. rewrite H2. rewrite Rmult_comm. apply Rmult_le_compat_l; [unfold Rminus in *; lra|assumption]. }
  replace (x - r) with (/ (1 + unit_roundoff) * (x - r) * (1 + unit_roundoff)) by (field; lra). apply Rmult_le_compat_r; lra.
Qed.

Section Exp.
Variables eps0 slope eta tau : R.
Variable E : R -> R.
Hypothesis He0 : 0 <= eps0.  Hypothesis Hsl : 0 <= slope <= 3 / 4.  Hypothesis Htau : 0 <= tau.
Hypothesis Heta : half_subnormal <= eta.
Hypothesis Heps : eps0 + slope * tau <= / 8.
(* (E) *)
Hypothesis FE : forall t, in_format (E t).
Hypothesis E0 : E 0 = 1.
Hypothesis Epos : forall t, in_format t -> 0 <= E t.
Hypothesis Ele1 : forall t, in_format t -> t <= 0 -> E t <= 1.
Hypothesis Espec : forall t, in_format t -> t <= tau -> exists th z,
  Rabs th <= eps0 + slope * Rabs t /\ Rabs z <= eta /\ (z = 0 \/ exp t < min_normal) /\ E t = exp (t + th) + z.

(* N <= 2^-14 and slope <= 3/4 make an exp that loses accuracy small: this is where the slope has to be limited. *)
Lemma format_small_exp t th : exp t < min_normal -> Rabs th <= eps0 + slope * Rabs t -> exp (t + th) * (1 + unit_roundoff) <= / 8.
Proof.
  intros Ht Hth. pose proof min_normal_range as HN. pose proof unit_roundoff_range as HU.
  assert (t < ln min_normal) as H1. { rewrite <- (ln_exp t). apply ln_increasing; [apply exp_pos|assumption]. }
  assert (ln min_normal <= - (14 * ln 2)) as H2.
  { replace (- (14 * ln 2)) with (ln (/ 16384)); [apply ln_le'; lra|].
    rewrite ln_Rinv by lra. f_equal. replace 16384 with (2 ^ 14) by ring. rewrite ln_pow by lra. cbn. ring. }
  pose proof ln_lt_2 as H3.
  rewrite (Rabs_left t) in Hth by lra. apply Rabs_le_inv in Hth.
  assert (He8 : eps0 <= / 8). { pose proof (Rmult_le_pos slope tau (proj1 Hsl) Htau). lra. }
  assert (t + th <= - (7 / 2 * ln 2) + / 8).
  { assert ((1 - slope) * t <= / 4 * t) by (rewrite !(Rmult_comm _ t); apply Rmult_le_compat_neg_l; lra). lra. }
  assert (exp (t + th) <= / 11 * (8 / 7)).
  { apply Rle_trans with (exp (- (7 / 2 * ln 2) + / 8)); [now apply exp_le|]. rewrite exp_plus.
    apply Rmult_le_compat; try (left; apply exp_pos); [|apply exp18].
    rewrite exp_Ropp. apply Rinv_le; [lra|].
    replace (7 / 2 * ln 2) with (3 * ln 2 + / 2 * ln 2) by field. rewrite exp_plus.
    replace (exp (3 * ln 2)) with 8.
    - (* sqrt 2 >= 11/8 *)
      assert (exp (/ 2 * ln 2) * exp (/ 2 * ln 2) = 2) as Sq.
      { rewrite <- exp_plus. replace (/ 2 * ln 2 + / 2 * ln 2) with (ln 2) by field. apply exp_ln. lra. }
      pose proof (exp_pos (/ 2 * ln 2)). assert (11 / 8 <= exp (/ 2 * ln 2)); [|lra].
      apply Rnot_lt_le. intros Hc. nra.
    - replace (3 * ln 2) with (ln 2 + ln 2 + ln 2) by ring. rewrite !exp_plus, !exp_ln by lra. ring. }
  apply Rle_trans with (/ 11 * (8 / 7) * (1 + unit_roundoff)); [apply Rmult_le_compat_r; lra|]. lra.
Qed.

Definition format_arith : arith.
Proof.
  refine (Build_arith unit_roundoff unit_roundoff min_normal eta half_subnormal eps0 slope tau in_format round_to round_to (fun a => E (round_to a)) (fun a => round_to a <= tau)
    unit_roundoff_range unit_roundoff_le1 min_normal_range (conj half_subnormal_pos Heta) He0 (proj1 Hsl) Htau Heps format_small_exp format_0 format_1 round_to_in_format (fun a => FE _) format_below_1 format_M1 format_M2 format_M3 format_M3_float _ format_subtraction _ _ _ _ _).
  - intros a Ha. apply Rle_trans with 0; [|assumption]. rewrite <- (format_M3_float 0 format_0). now apply format_M3.
  - auto.
  - intros x r Hx Hr Ha. apply Espec; [apply round_to_in_format|assumption].
  - rewrite (format_M3_float 0 format_0). apply E0.
  - intros a. apply Epos, round_to_in_format.
  - intros a Ha. apply Ele1; [apply round_to_in_format|]. rewrite <- (format_M3_float 0 format_0). now apply format_M3.
Defined.
End Exp.

(* The model is not empty: the correctly rounded exp, every argument. *)
Definition rounded_exp (t : R) : R := round_to (exp t).
Definition rounded_exp_arith (tau : R) (Htau : 0 <= tau) : arith.
Proof.
  refine (format_arith (lam unit_roundoff) 0 half_subnormal tau rounded_exp _ _ Htau (Rle_refl _) _ _ _ _ _ _).
  - pose proof unit_roundoff_range. unfold lam. rewrite <- Ropp_0. apply Ropp_le_contravar. rewrite <- ln_1. apply ln_le'; lra.
  - lra.
  - pose proof unit_roundoff_range. unfold lam. rewrite Rmult_0_l, Rplus_0_r. apply Ropp_le_cancel. rewrite Ropp_involutive.
    rewrite <- (ln_exp (- / 8)). apply ln_le'; [apply exp_pos|]. rewrite exp_Ropp. pose proof (exp_ineq1_le (/ 8)).
    apply Rle_trans with (/ (1 + / 8)); [apply Rinv_le; lra|]. lra.
  - intros t. apply round_to_in_format.
  - unfold rounded_exp. rewrite exp_0. apply format_M3_float, format_1.
  - intros t _. unfold rounded_exp. rewrite <- (format_M3_float 0 format_0). apply format_M3. left. apply exp_pos.
  - intros t _ Ht. unfold rounded_exp. rewrite <- (format_M3_float 1 format_1). apply format_M3. now apply exp_le1.
  - intros t _ _. pose proof unit_roundoff_range as U. unfold rounded_exp. destruct (Rle_or_lt min_normal (exp t)) as [H|H].
    + destruct (relative_error_N_FLT_ex radix2 emin prec ltac:(lia) choice (exp t)) as (d & H1 & H2).
      { rewrite Rabs_right by (left; apply exp_pos). exact H. }
      change (Rabs d <= u_ro radix2 prec) in H1. rewrite unit_roundoff_flocq in H1. change (round_to (exp t) = exp t * (1 + d)) in H2.
      exists (ln (1 + d)), 0. apply Rabs_le_inv in H1 as H1'. rewrite exp_plus, exp_ln, Rmult_0_l, !Rplus_0_r, Rabs_R0 by lra.
      repeat split; auto using half_subnormal_pos. unfold lam. apply Rabs_le. split.
      * rewrite Ropp_involutive. apply ln_le'; lra.
      * assert (ln (1 + d) + ln (1 - unit_roundoff) <= 0); [|lra]. rewrite <- ln_mult by lra. rewrite <- ln_1. apply ln_le'; [apply Rmult_lt_0_compat; lra|nra].
    + exists 0, (round_to (exp t) - exp t). rewrite Rabs_R0, !Rplus_0_r, Rmult_0_l, Rplus_0_r. repeat split; [| |now right|ring].
      * unfold lam. rewrite <- Ropp_0. apply Ropp_le_contravar. rewrite <- ln_1. apply ln_le'; lra.
      * eapply Rle_trans; [apply error_le_half_ulp; apply FLT_exp_valid, prec_gt_0_|].
        unfold half_subnormal. rewrite ulp_FLT_small; [lra|apply prec_gt_0_|]. rewrite Rabs_right by (left; apply exp_pos).
        unfold min_normal in H. eapply Rlt_le_trans; [exact H|]. apply bpow_le. lia.
Defined.
End Flt.
