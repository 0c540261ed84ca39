(* SPDX-License-Identifier: Apache-2.0 *)
(* binary32, binary16, bfloat16: nothing left to assume but the exp; and an exp that meets it. Counterexamples. *)
Require Import Reals List Permutation Lra Lia ZArith Bool.
From Flocq Require Import Core BinarySingleNaN Relative.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.BitsCommute Assay.BitsTree.
Import ListNotations.
Open Scope R_scope.

Lemma lam_small k u : 0 < u <= / 256 -> 0 <= k <= 16 -> 0 <= lam (k * u) <= / 8.
Proof.
  intros Hu Hk. assert (0 <= k * u <= / 16) by (split; [nra|]; apply Rle_trans with (16 * / 256); [apply Rmult_le_compat|]; lra).
  unfold lam. split.
  - rewrite <- Ropp_0. apply Ropp_le_contravar. rewrite <- ln_1. apply ln_le'; lra.
  - apply Ropp_le_cancel. rewrite Ropp_involutive. rewrite <- (ln_exp (- / 8)). apply ln_le'; [apply exp_pos|]. rewrite exp_Ropp.
    pose proof (exp_ineq1_le (/ 8)). apply Rle_trans with (/ (1 + / 8)); [apply Rinv_le; lra|]. lra.
Qed.

Section Format.
Variables prec emax : Z.
Context (P0 : Prec_gt_0 prec) (PE : Prec_lt_emax prec emax).
Hypothesis Hprec : (8 <= prec)%Z.
Notation emin := (3 - emax - prec)%Z.
Hypothesis Hemin : (emin + prec - 1 <= -14)%Z.
Hypothesis Hbig : (emax + prec - 2 <= 2 ^ (emax - 1))%Z.
Notation bf := (binary_float prec emax).
Notation u := (unit_roundoff prec).
Notation ne := (fun x => negb (Z.even x)).

(* the correctly rounded exp, on bits *)
Definition bits_rounded_exp (t : bf) : bf :=
  match t with
  | B754_zero _ => @Bone prec emax _ _
  | B754_infinity true => B754_zero false
  | B754_infinity false => B754_infinity false
  | B754_nan => B754_nan
  | t => bits_of prec emax _ _ (round_to prec emin ne (exp (B2R t)))
  end.
Lemma bits_rounded_exp_spec t : is_finite t = true -> B2R t <= 0 ->
  is_finite (bits_rounded_exp t) = true /\ 0 <= B2R (bits_rounded_exp t) <= 1 /\
  exists th z, Rabs th <= lam (1 * u) + 0 * Rabs (B2R t) /\ Rabs z <= half_subnormal emin /\ (z = 0 \/ exp (B2R t) < min_normal prec emin) /\ B2R (bits_rounded_exp t) = exp (B2R t + th) + z.
Proof.
  intros Ft Ht.
  pose proof (HEpos (rounded_exp_arith prec emin Hprec Hemin ne 0 (Rle_refl 0))) as Q1. pose proof (HEle1 (rounded_exp_arith prec emin Hprec Hemin ne 0 (Rle_refl 0))) as Q2.
  assert (Rg : 0 <= round_to prec emin ne (exp (B2R t)) <= 1).
  { split; [rewrite <- (format_M3_float prec emin ne 0 (format_0 prec emin)); apply format_M3; [assumption|left; apply exp_pos]|].
    rewrite <- (format_M3_float prec emin ne 1 (format_1 prec emin Hprec Hemin)). apply format_M3; [assumption|now apply exp_le1]. }
  assert (Bv : is_finite (bits_rounded_exp t) = true /\ B2R (bits_rounded_exp t) = round_to prec emin ne (exp (B2R t))).
  { destruct t as [s|s| |s m e H]; try discriminate; cbn [bits_rounded_exp].
    - cbn [B2R]. rewrite exp_0, (format_M3_float prec emin ne 1 (format_1 prec emin Hprec Hemin)). split; [apply is_finite_Bone|apply Bone_correct].
    - apply and_comm. apply bits_of_correct; [apply round_to_in_format; assumption|].
      rewrite Rabs_right by lra. apply Rle_lt_trans with 1; [apply Rg|]. change 1 with (bpow radix2 0). apply bpow_lt.
      unfold Prec_lt_emax in *. lia. }
  destruct Bv as [B1 B2]. split; [assumption|]. rewrite B2. split; [assumption|].
  (* the model's own proof for the correctly rounded exp *)
  set (x := B2R t) in *.
  pose proof (HE (rounded_exp_arith prec emin Hprec Hemin ne 0 (Rle_refl 0)) x 0) as H. cbn [F_ Adm_ eps0_ slope_ arg_ eta_ N_ EX_ rounded_exp_arith format_arith] in H.
  rewrite Rminus_0_r in H. rewrite (format_M3_float prec emin ne x) in H by apply generic_format_B2R.
  destruct H as (th & z & H); [apply generic_format_B2R|apply format_0|assumption|]. exists th, z. rewrite Rmult_1_l. exact H.
Qed.

(* any exp with relative error k u + slope |t| where its result is normal, eta below *)
Variable fused : bool.
Definition any_exp (k slope eta : R) (bE : bf -> bf) : Prop :=
  (forall s, bE (B754_zero s) = @Bone prec emax _ _) /\ bE (B754_infinity true) = B754_zero false /\
  forall t, is_finite t = true -> B2R t <= 0 -> is_finite (bE t) = true /\ 0 <= B2R (bE t) <= 1 /\
    exists th z, Rabs th <= lam (k * u) + slope * Rabs (B2R t) /\ Rabs z <= eta /\ (z = 0 \/ exp (B2R t) < min_normal prec emin) /\ B2R (bE t) = exp (B2R t + th) + z.

Theorem bits_rounded_exp_any : any_exp 1 0 (half_subnormal emin) bits_rounded_exp.
Proof. split; [reflexivity|]. split; [reflexivity|]. apply bits_rounded_exp_spec. Qed.

(* For any tree of merges of floats: m is the maximum; 1 <= d <= n; the log bound. All constants written out. *)
Definition beta_of (k slope : R) (xs : list R) (h : nat) (x : R) : R :=
  u * Rabs (x - max_of xs) + INR (Nat.min (h + 1) (above xs x)) * lam (k * u) + slope * (1 + u) * Rabs (x - max_of xs)
  + INR (Nat.min h (above xs x) + h) * lam u.
Definition wsum (f : R -> R) (xs : list R) : R := weighted_sum R (fun x => x - max_of xs) f xs.   (* sum e^(x_i - m + f x_i) *)
Theorem bits_bound k slope eta bE (t : bits_tree prec emax) : 0 <= k <= 16 -> 0 <= slope <= 3 / 4 -> half_subnormal emin <= eta ->
  any_exp k slope eta bE -> finite_or_minus_inf prec emax t -> logits prec emax t <> [] -> no_overflow prec emax t ->
  let xs := logits prec emax t in let n := INR (length xs) in let s := exp_sum (max_of xs) xs in
  let h := merge_height (to_tree prec emax t) in
  let b1 := ln (wsum (beta_of k slope xs h) xs / s) in let a := 2 * n * eta / s in
  let m := fst (bits_eval prec emax _ _ bE fused t) in let d := snd (bits_eval prec emax _ _ bE fused t) in
  is_finite m = true /\ B2R m = max_of xs /\ is_finite d = true /\ 1 <= B2R d <= n * (1 + u) ^ h /\
  ((Z.of_nat (length xs) <= 2 ^ prec)%Z -> B2R d <= n) /\
  (a * exp (2 * b1) < 1 -> Rabs (ln (B2R d / s)) <= b1 + lam (a * exp (2 * b1))).
Proof.
  intros Hk Hs He (HE1 & HE2 & HE3) Hl Hne Hn xs n s h b1 a m d.
  pose proof (bits_tree_closed prec emax _ _ Hprec Hemin Hbig (lam (k * u)) slope eta bE fused (lam_small k u (unit_roundoff_range prec Hprec) Hk) Hs He HE1 HE2 HE3 t Hl Hne Hn) as H.
  cbv zeta in H. destruct H as (H1 & H2 & H3 & H4 & H4' & H5). repeat (split; [assumption|]).
  unfold a_all, b1_all, beta_all in H5. cbn [tau_ eta_ ieee_arith eps0_ slope_ v_ u_] in H5. rewrite exp_0, Rmult_1_r, (Rmult_comm _ 2) in H5.
  exact H5.
Qed.
End Format.

(* The formats. Nothing is left to assume but the exp. *)
Section Formats.
Variable fused : bool.
Ltac fmt := first [lia | vm_compute; congruence | reflexivity].
Lemma P24 : Prec_gt_0 24. Proof. reflexivity. Qed.
Lemma E24 : Prec_lt_emax 24 128. Proof. reflexivity. Qed.
Lemma P11 : Prec_gt_0 11. Proof. reflexivity. Qed.
Lemma E11 : Prec_lt_emax 11 16. Proof. reflexivity. Qed.
Lemma P8 : Prec_gt_0 8. Proof. reflexivity. Qed.
Lemma E8 : Prec_lt_emax 8 128. Proof. reflexivity. Qed.
Definition binary32_bound := bits_bound 24 128 P24 E24 ltac:(fmt) ltac:(fmt) ltac:(fmt) fused.
Definition binary16_bound := bits_bound 11 16 P11 E11 ltac:(fmt) ltac:(fmt) ltac:(fmt) fused.
Definition bfloat16_bound := bits_bound 8 128 P8 E8 ltac:(fmt) ltac:(fmt) ltac:(fmt) fused.
(* a kernel's constants: an exp of 2 ulp, 5 u, eta = 5 2^-150 *)
Theorem binary32_expf bE : any_exp 24 128 P24 E24 5 0 (5 * bpow radix2 (-150)) bE -> forall t,
  finite_or_minus_inf 24 128 t -> logits 24 128 t <> [] -> (Z.of_nat (length (logits 24 128 t)) <= 2 ^ 24)%Z ->
  let xs := logits 24 128 t in let n := INR (length xs) in let s := exp_sum (max_of xs) xs in
  let h := merge_height (to_tree 24 128 t) in
  let b1 := ln (wsum (beta_of 24 5 0 xs h) xs / s) in let a := 2 * n * (5 * bpow radix2 (-150)) / s in
  let m := fst (bits_eval 24 128 P24 E24 bE fused t) in let d := snd (bits_eval 24 128 P24 E24 bE fused t) in
  is_finite m = true /\ B2R m = max_of xs /\ is_finite d = true /\ 1 <= B2R d <= n /\
  (a * exp (2 * b1) < 1 -> Rabs (ln (B2R d / s)) <= b1 + lam (a * exp (2 * b1))).
Proof.
  intros H t H1 H2 H3.
  assert (He : half_subnormal (3 - 128 - 24) <= 5 * bpow radix2 (-150)).
  { unfold half_subnormal. change (3 - 128 - 24)%Z with (1 + -150)%Z. rewrite bpow_plus. pose proof (bpow_gt_0 radix2 (-150)).
    change (bpow radix2 1) with 2. lra. }
  pose proof (binary32_bound 5 0 (5 * bpow radix2 (-150)) bE t ltac:(lra) ltac:(lra) He H H1 H2 (or_introl H3)) as Q.
  cbv zeta in *. destruct Q as (Q1 & Q2 & Q3 & [Q4 _] & Q5 & Q6). auto 10.
Qed.
(* the correctly rounded exp: no hypothesis at all *)
Theorem binary32_rounded_exp (t : bits_tree 24 128) :
  finite_or_minus_inf 24 128 t -> logits 24 128 t <> [] -> (Z.of_nat (length (logits 24 128 t)) <= 2 ^ 24)%Z ->
  let xs := logits 24 128 t in let n := INR (length xs) in let s := exp_sum (max_of xs) xs in
  let h := merge_height (to_tree 24 128 t) in
  let b1 := ln (wsum (beta_of 24 1 0 xs h) xs / s) in let a := 2 * n * half_subnormal (-149) / s in
  let d := snd (bits_eval 24 128 P24 E24 (bits_rounded_exp 24 128 P24 E24) fused t) in
  is_finite d = true /\ 1 <= B2R d <= n /\
  (a * exp (2 * b1) < 1 -> Rabs (ln (B2R d / s)) <= b1 + lam (a * exp (2 * b1))).
Proof.
  intros H1 H2 H3. pose proof (binary32_bound 1 0 (half_subnormal (3 - 128 - 24)) (bits_rounded_exp 24 128 P24 E24) t ltac:(lra) ltac:(lra) ltac:(lra)
    (bits_rounded_exp_any 24 128 P24 E24 ltac:(fmt) ltac:(fmt)) H1 H2 (or_introl H3)) as H.
  cbv zeta in H. destruct H as (_ & _ & Q1 & [Q2 _] & Q3 & Q4). auto.
Qed.
End Formats.

(* Counterexamples, computed on bits. *)
Local Existing Instance P24.
Local Existing Instance E24.
Definition f32 (z : Z) (e : Z) : binary_float 24 128 := binary_normalize 24 128 P24 E24 mode_NE z e false.
(* Theorem 2's j <= 2^p is needed: 8,388,609 + 8,388,610 = 16,777,220 *)
Example beyond_2p : Beqb (Bplus mode_NE (f32 8388609 0) (f32 8388610 0)) (f32 16777220 0) = true.
Proof. vm_compute. reflexivity. Qed.
(* a serial sum of ones stops at 2^24 *)
Example stagnates : Beqb (Bplus mode_NE (f32 16777216 0) (f32 1 0)) (f32 16777216 0) = true.
Proof. vm_compute. reflexivity. Qed.
(* bit-exact commutativity needs E(0) = 1: with E(0) = 1 - 2^-24 a tie of d = 1 and d = 3 gives two results *)
Example tie_needs_E0 : let E := fun _ : binary_float 24 128 => f32 16777215 (-24) in
  let a := (f32 0 0, f32 1 0) in let b := (f32 0 0, f32 3 0) in
  Beqb (snd (bits_op 24 128 P24 E24 E false a b)) (snd (bits_op 24 128 P24 E24 E false b a)) = false.
Proof. vm_compute. reflexivity. Qed.
(* at a tie of zeros of opposite signs the exp is asked for -0 in one order and +0 in the other *)
Example tie_zeros : Bminus mode_NE (B754_zero true) (B754_zero false) = (B754_zero true : binary_float 24 128)
  /\ Bminus mode_NE (B754_zero false) (B754_zero true) = (B754_zero false : binary_float 24 128).
Proof. split; reflexivity. Qed.
