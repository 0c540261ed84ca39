(* SPDX-License-Identifier: Apache-2.0 *)
(* Theorem 1: from the representation to the bound of |ln (D / s)|, for any program. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel.
Import ListNotations.
Open Scope R_scope.

Section Log.
(* Weighted sums over a list of (exponent, perturbation bound). *)
Variable B : Type.
Variables (w be : B -> R).          (* exact exponents, bounds of their perturbations *)
Fixpoint weighted_sum (f : B -> R) (l : list B) : R := match l with [] => 0 | c :: l => exp (w c + f c) + weighted_sum f l end.

Lemma weighted_sum_pos f l : l <> [] -> 0 < weighted_sum f l.
Proof. destruct l as [|c l]; [congruence|]. intros _. cbn. pose proof (exp_pos (w c + f c)).
  assert (0 <= weighted_sum f l); [|lra]. clear. induction l as [|c l IH]; cbn; [lra|]. pose proof (exp_pos (w c + f c)). lra. Qed.
Lemma weighted_sum_mono f g l : (forall c, In c l -> f c <= g c) -> weighted_sum f l <= weighted_sum g l.
Proof. induction l as [|c l IH]; intros H; cbn; [lra|]. apply Rplus_le_compat.
  - apply exp_le. specialize (H c (or_introl eq_refl)). lra.
  - apply IH. intros. apply H. now right. Qed.
(* (sum w e^-b)(sum w e^b) >= (sum w)^2, by e^-b >= 2c - c^2 e^b *)
Lemma weighted_sum_below k l : 2 * k * weighted_sum (fun _ => 0) l - k * k * weighted_sum be l <= weighted_sum (fun c => - be c) l.
Proof. induction l as [|c l IH]; cbn; [lra|].
  assert (2 * k * exp (w c + 0) - k * k * exp (w c + be c) <= exp (w c + - be c)); [|lra].
  rewrite !exp_plus, exp_0, Rmult_1_r, exp_Ropp. pose proof (exp_pos (w c)) as Hw. pose proof (exp_pos (be c)) as Hb.
  set (a := exp (be c)) in *. set (v := exp (w c)) in *.
  assert (/ a - 2 * k + k * k * a = / a * Rsqr (1 - k * a)) as H by (unfold Rsqr; field; lra).
  assert (0 <= / a * Rsqr (1 - k * a)). { apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply Rle_0_sqr]. }
  nra. Qed.
End Log.

Lemma ln_le' x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros H [H1| ->]; [left; now apply ln_increasing|right; reflexivity]. Qed.

(* The logarithm of a sum with relative perturbations and an absolute error. *)
Lemma log_form s S1 P V Z a : 0 < s -> s * s <= S1 * P -> P <= S1 -> 0 < P -> V = P + Z -> s <= S1 ->
  Rabs Z <= a * S1 -> 0 <= a -> a * (S1 / s * (S1 / s)) < 1 ->
  0 < V /\ Rabs (ln (V / s)) <= ln (S1 / s) + lam (a * (S1 / s * (S1 / s))).
Proof.
  intros Hs H1 H2 HP HV HsS HZ Ha Hlt. subst V.
  assert (0 < S1) by lra.
  set (e := S1 / s) in *. assert (1 <= e). { unfold e. apply Rmult_le_reg_r with s; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (P / s <= e) as U1 by (unfold e; apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|assumption]).
  assert (/ e <= P / s) as L1.
  { unfold e. replace (/ (S1 / s)) with (s / S1) by (field; lra). apply Rmult_le_reg_r with (S1 * s); [nra|].
    replace (s / S1 * (S1 * s)) with (s * s) by (field; lra). replace (P / s * (S1 * s)) with (S1 * P) by (field; lra). assumption. }
  assert (Rabs (Z / s) <= a * e) as HZs.
  { unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ s)) by (left; now apply Rinv_0_lt_compat).
    unfold e, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|assumption]. }
  apply Rabs_le_inv in HZs.
  assert (/ e * (1 - a * (e * e)) <= (P + Z) / s) as Lo.
  { replace ((P + Z) / s) with (P / s + Z / s) by (field; lra).
    replace (/ e * (1 - a * (e * e))) with (/ e - a * e) by (field; lra). lra. }
  assert ((P + Z) / s <= e * (1 + a)) as Up.
  { replace ((P + Z) / s) with (P / s + Z / s) by (field; lra). lra. }
  assert (0 < / e) by (apply Rinv_0_lt_compat; lra).
  assert (0 < (P + Z) / s). { eapply Rlt_le_trans; [|exact Lo]. apply Rmult_lt_0_compat; lra. }
  split. { replace (P + Z) with ((P + Z) / s * s) by (field; lra). now apply Rmult_lt_0_compat. }
  unfold lam. apply Rabs_le. split.
  - replace (- (ln e + - ln (1 - a * (e * e)))) with (- ln e + ln (1 - a * (e * e))) by ring.
    rewrite <- ln_Rinv by lra. rewrite <- ln_mult by lra. apply ln_le'; [apply Rmult_lt_0_compat; lra|assumption].
  - apply Rle_trans with (ln (e * (1 + a))); [now apply ln_le'|]. rewrite ln_mult by lra. apply Rplus_le_compat_l.
    assert (ln (1 + a) + ln (1 - a * (e * e)) <= 0); [|lra]. rewrite <- ln_mult by lra. rewrite <- ln_1.
    apply ln_le'; [apply Rmult_lt_0_compat; lra|].
    assert (a <= a * (e * e)). { rewrite <- (Rmult_1_r a) at 1. apply Rmult_le_compat_l; nra. } nra.
Qed.

Section Thm.
Variable A : arith.
Notation u := (u_ A). Notation v := (v_ A). Notation N := (N_ A). Notation eta := (eta_ A). Notation omega := (omega_ A).
Notation eps0 := (eps0_ A). Notation slope := (slope_ A). Notation tau := (tau_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).
Notation reference := (reference). Notation computed := (computed A). Notation terms := (terms A). Notation well_formed := (well_formed A).

Definition row (P : program) : list R := map logit (terms P).
Definition ssum (P : program) : R := exp_sum (reference P) (row P).

(* beta_i, with the subtractions' exact total error |arg_error| in the place of sigma_i *)
Definition beta (P : program) (c : term) : R :=
  Rabs (arg_error c) + INR (exp_count c) * eps0 + slope * (1 + v) * travel (reference P) c + INR (product_count c + height P) * lam u.
Definition perturbed_bound (P : program) : R := sum_terms (fun c => exp (logit c - reference P + beta P c)) (terms P).
Definition b1 (P : program) : R := ln (perturbed_bound P / ssum P).

Lemma additions_le_height P : Forall (fun c => (addition_count c <= height P)%nat) (terms P).
Proof. induction P; cbn [RoundedModel.terms height].
  - constructor; [cbn; lia|constructor].
  - apply Forall_map. eapply Forall_impl; [|exact IHP]. cbn. auto.
  - apply Forall_map, Forall_app. split; (eapply Forall_impl; [|eassumption]); cbn; intros; lia.
  - apply Forall_map, Forall_app. split; [|apply Forall_map]; (eapply Forall_impl; [|eassumption]); cbn; intros; lia.
Qed.

Lemma perturbed_sum_weighted r L : perturbed_sum r L = weighted_sum _ (fun y => logit (fst y) - r) snd L.
Proof. induction L as [|y L IH]; cbn; [reflexivity|]. now rewrite IH. Qed.
Lemma exp_sum_weighted r L : exp_sum r (map logit (map fst L)) = weighted_sum (term * R) (fun y => logit (fst y) - r) (fun _ => 0) L.
Proof. induction L as [|y L IH]; cbn; [reflexivity|]. now rewrite IH, Rplus_0_r. Qed.
Lemma sum_terms_weighted r f L : sum_terms (fun c => exp (logit c - r + f c)) (map fst L)
  = weighted_sum (term * R) (fun y => logit (fst y) - r) (fun y => f (fst y)) L.
Proof. induction L as [|y L IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

(* Theorem 1: any program, K any bound of a term's charges *)
Theorem theorem1 P K :
  well_formed P -> (forall c, In c (terms P) -> charge A c <= K) ->
  let a := INR (length (row P)) * K * eta / ssum P in
  a * exp (2 * b1 P) < 1 ->
  0 < computed P /\ Rabs (ln (computed P / ssum P)) <= b1 P + lam (a * exp (2 * b1 P)).
Proof.
  intros WP HK a Hlt. destruct (representation A P WP) as (L & HL1 & HL2 & HL3).
  assert (Lne : L <> []). { intros ->. pose proof (terms_len_pos A P) as H. rewrite <- HL1 in H. cbn in H. lia. }
  assert (Es : ssum P = weighted_sum (term * R) (fun y => logit (fst y) - reference P) (fun _ => 0) L).
  { unfold ssum, row. rewrite <- HL1. apply exp_sum_weighted. }
  assert (EB : perturbed_bound P = weighted_sum (term * R) (fun y => logit (fst y) - reference P) (fun y => beta P (fst y)) L).
  { unfold perturbed_bound. rewrite <- HL1. apply sum_terms_weighted. }
  assert (EP : perturbed_sum (reference P) L = weighted_sum (term * R) (fun y => logit (fst y) - reference P) snd L) by apply perturbed_sum_weighted.
  assert (Hpos : 0 < ssum P) by (rewrite Es; now apply weighted_sum_pos).
  assert (Hsp : 0 < perturbed_bound P) by (rewrite EB; now apply weighted_sum_pos).
  pose proof (lam_pos A) as Hlam. pose proof (Hu A) as U. pose proof (eta_pos A) as Heta.
  assert (Hb : forall y, In y L -> Rabs (snd y) <= beta P (fst y)).
  { intros y Hy. rewrite Forall_forall in HL2. destruct (HL2 y Hy) as [H1 H2]. unfold rounding_bound in H1. unfold beta.
    assert ((addition_count (fst y) <= height P)%nat) as Ht.
    { pose proof (additions_le_height P) as Hh. rewrite Forall_forall in Hh. apply Hh. rewrite <- HL1. now apply in_map. }
    replace (snd y) with (arg_error (fst y) + (snd y - arg_error (fst y))) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    assert (INR (product_count (fst y) + addition_count (fst y)) * lam u <= INR (product_count (fst y) + height P) * lam u).
    { apply Rmult_le_compat_r; [assumption|]. apply le_INR. lia. }
    lra. }
  assert (Hbh : forall y, In y L -> INR (height P) * lam u <= beta P (fst y)).
  { intros y Hy. rewrite Forall_forall in HL2. destruct (HL2 y Hy) as [_ H2]. unfold beta, travel.
    pose proof (Rabs_pos (arg_error (fst y))). pose proof (pos_INR (exp_count (fst y))). pose proof (Heps0 A). pose proof (Hslope A).
    pose proof (Rabs_pos (logit (fst y) - start (fst y))). rewrite plus_INR. pose proof (pos_INR (product_count (fst y))).
    pose proof (Hv A). assert (0 <= slope * (1 + v) * (Rabs (logit (fst y) - start (fst y)) + (reference P - start (fst y)))) by (repeat apply Rmult_le_pos; lra).
    assert (0 <= INR (exp_count (fst y)) * eps0) by (now apply Rmult_le_pos).
    assert (0 <= INR (product_count (fst y)) * lam u) by (now apply Rmult_le_pos). lra. }
  assert (Hb0 : forall y, In y L -> 0 <= beta P (fst y)) by (intros y Hy; eapply Rle_trans; [apply Rabs_pos|apply Hb, Hy]).
  assert (HPS : perturbed_sum (reference P) L <= perturbed_bound P).
  { rewrite EP, EB. apply weighted_sum_mono. intros y Hy. specialize (Hb y Hy). apply Rabs_le_inv in Hb. lra. }
  assert (HsS : ssum P <= perturbed_bound P). { rewrite Es, EB. apply weighted_sum_mono. assumption. }
  assert (HPpos : 0 < perturbed_sum (reference P) L) by (rewrite EP; now apply weighted_sum_pos).
  assert (Hcs : ssum P * ssum P <= perturbed_sum (reference P) L * perturbed_bound P).
  { apply Rle_trans with (weighted_sum (term * R) (fun y => logit (fst y) - reference P) (fun y => - beta P (fst y)) L * perturbed_bound P).
    - pose proof (weighted_sum_below _ (fun y => logit (fst y) - reference P) (fun y => beta P (fst y)) (ssum P / perturbed_bound P) L) as H.
      rewrite <- Es, <- EB in H.
      replace (2 * (ssum P / perturbed_bound P) * ssum P - ssum P / perturbed_bound P * (ssum P / perturbed_bound P) * perturbed_bound P)
        with (ssum P * ssum P / perturbed_bound P) in H by (field; lra).
      apply Rmult_le_compat_r with (r := perturbed_bound P) in H; [|lra].
      replace (ssum P * ssum P / perturbed_bound P * perturbed_bound P) with (ssum P * ssum P) in H by (field; lra). exact H.
    - apply Rmult_le_compat_r; [lra|]. rewrite EP. apply weighted_sum_mono. intros y Hy. specialize (Hb y Hy). apply Rabs_le_inv in Hb. lra. }
  (* (1+u)^h s <= perturbed_bound *)
  assert (HW : (1 + u) ^ height P * ssum P <= perturbed_bound P).
  { assert (Hpow : (1 + u) ^ height P <= exp (INR (height P) * lam u)).
    { generalize (height P). intros n. induction n as [|n IH]; [cbn; rewrite Rmult_0_l, exp_0; lra|].
      rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. cbn [pow]. rewrite Rmult_comm. apply Rmult_le_compat; try assumption.
      - pose proof (pow1u_ge1 A n). lra.
      - lra.
      - unfold lam. rewrite exp_Ropp, exp_ln by lra. apply Rmult_le_reg_r with (1 - u); [lra|]. rewrite Rinv_l by lra. nra. }
    rewrite Es, EB. clear - Hpow Hbh. induction L as [|y L IH]; cbn [weighted_sum]; [lra|].
    rewrite Rmult_plus_distr_l. apply Rplus_le_compat.
    - rewrite Rplus_0_r, exp_plus, Rmult_comm. apply Rmult_le_compat_l; [left; apply exp_pos|].
      eapply Rle_trans; [exact Hpow|]. apply exp_le. apply Hbh. now left.
    - apply IH. intros. apply Hbh. now right. }
  assert (HKs : sum_terms (charge A) (terms P) <= INR (length (row P)) * K).
  { unfold row. rewrite map_length. clear - HK. induction (terms P) as [|c T IH]; [cbn; lra|]. cbn [sum_terms length]. rewrite S_INR.
    assert (sum_terms (charge A) T <= INR (length T) * K) by (apply IH; intros; apply HK; now right).
    specialize (HK c (or_introl eq_refl)). lra. }
  assert (0 <= a).
  { unfold a, Rdiv. apply Rmult_le_pos; [|left; now apply Rinv_0_lt_compat]. apply Rmult_le_pos; [|assumption].
    eapply Rle_trans; [|exact HKs]. apply sum_terms_pos. apply charge_pos. }
  assert (Ee : exp (2 * b1 P) = perturbed_bound P / ssum P * (perturbed_bound P / ssum P)).
  { unfold b1. replace (2 * ln (perturbed_bound P / ssum P)) with (ln (perturbed_bound P / ssum P) + ln (perturbed_bound P / ssum P)) by ring.
    rewrite exp_plus, !exp_ln; [reflexivity|]. apply Rmult_lt_0_compat; [assumption|now apply Rinv_0_lt_compat]. }
  rewrite Ee in *. unfold b1.
  apply log_form with (P := perturbed_sum (reference P) L) (Z := computed P - perturbed_sum (reference P) L); try assumption; try ring.
  - now rewrite (Rmult_comm (perturbed_bound P)).
  - eapply Rle_trans; [exact HL3|]. apply Rle_trans with (INR (length (row P)) * K * (RoundedModel.W A (height P))).
    + apply Rmult_le_compat_r; [apply W_pos|assumption].
    + unfold RoundedModel.W, a. replace (INR (length (row P)) * K * ((1 + u) ^ height P * eta))
        with (INR (length (row P)) * K * eta / ssum P * ((1 + u) ^ height P * ssum P)) by (field; lra).
      apply Rmult_le_compat_l; assumption.
Qed.
End Thm.
