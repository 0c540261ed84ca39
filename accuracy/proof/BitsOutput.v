(* SPDX-License-Identifier: Apache-2.0 *)
(* Outputs on IEEE bits: Bdiv (E (x - m)) d of any tree of merges; the height capped. *)
Require Import Reals List Permutation Lra Lia ZArith Bool.
From Flocq Require Import Core BinarySingleNaN Relative.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.BitsCommute Assay.BitsTree Assay.HeightCap Assay.LeafDepth Assay.FloatSum Assay.HeadTail Assay.Outputs Assay.WholeRow Assay.RowChecks Assay.BitsFormats.
Import ListNotations.
Open Scope R_scope.

Section Bits.
Variables prec emax : Z.
Context (prec_gt_0_ : Prec_gt_0 prec) (prec_lt_emax_ : Prec_lt_emax prec emax).
Hypothesis Hprec : (8 <= prec)%Z.
Notation emin := (3 - emax - prec)%Z.
Hypothesis Hemin : (emin + prec - 1 <= -14)%Z.
Hypothesis Hbig : (emax + prec - 2 <= 2 ^ (emax - 1))%Z.
Notation bf := (binary_float prec emax).
Notation minus := (@Bminus prec emax _ _ mode_NE).
Notation bdiv := (@Bdiv prec emax _ _ mode_NE).
Notation one := (@Bone prec emax _ _).
Notation ne := (fun x => negb (Z.even x)).
Notation fl := (round_to prec emin ne).
Notation u := (unit_roundoff prec).
Notation N := (min_normal prec emin).
Notation om := (half_subnormal emin).
Variables eps0 slope eta : R.
Variable bE : bf -> bf.
Variable fused : bool.
Hypothesis He0 : 0 <= eps0 <= / 8.  Hypothesis Hsl : 0 <= slope <= 3 / 4.
Hypothesis Heta : om <= eta.
Hypothesis bE0 : forall s, bE (B754_zero s) = one.
Hypothesis bEinf : bE (B754_infinity true) = B754_zero false.
Hypothesis bEspec : forall t, is_finite t = true -> B2R t <= 0 ->
  is_finite (bE t) = true /\ 0 <= B2R (bE t) <= 1 /\
  exists th z, Rabs th <= eps0 + slope * Rabs (B2R t) /\ Rabs z <= eta /\ (z = 0 \/ exp (B2R t) < N) /\ B2R (bE t) = exp (B2R t + th) + z.
Notation IA := (ieee_arith prec emax _ _ Hprec Hemin Hbig eps0 slope eta bE He0 Hsl Heta bE0 bEspec).
Notation to_tree := (to_tree prec emax). Notation logits := (logits prec emax). Notation bits_eval := (bits_eval prec emax _ _ bE fused).
Notation finite_or_minus_inf := (finite_or_minus_inf prec emax). Notation no_overflow := (no_overflow prec emax).

Theorem div_bits (n d : bf) : is_finite n = true -> 0 <= B2R n <= B2R d -> 1 <= B2R d ->
  is_finite (bdiv n d) = true /\ B2R (bdiv n d) = fl (B2R n / B2R d) /\ 0 <= B2R (bdiv n d) <= 1.
Proof.
  intros Fn [H0 H1] Hd. pose proof (range_ieee IA (B2R n) (B2R d) (conj H0 H1) ltac:(lra)) as Rg. cbn [fl_ ieee_arith] in Rg.
  pose proof (Bdiv_correct prec emax _ _ mode_NE n d ltac:(lra)) as H.
  change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE) (B2R n / B2R d)) with (fl (B2R n / B2R d)) in H.
  rewrite Rlt_bool_true in H.
  - destruct H as (E1 & E2 & _). rewrite E1, E2. auto.
  - rewrite Rabs_right by lra. apply Rle_lt_trans with 1; [lra|]. change 1 with (bpow radix2 0). apply bpow_lt. unfold Prec_lt_emax in *. lia.
Qed.

Definition bits_output (md : bf * bf) (x : bf) : bf := bdiv (bE (minus x (fst md))) (snd md).

(* one softmax output, from the bits of the logits to the bits of the output *)
Theorem bits_softmax (t : bits_tree prec emax) H : finite_or_minus_inf t -> logits t <> [] -> no_overflow t -> (tree_height (to_tree t) <= H)%nat ->
  let l := logits t in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let h := Nat.min H (length l - 1) in
  let b := b1_all IA l h + lam (a_all IA l * exp (2 * b1_all IA l h)) in
  let W := eta / s * exp (b + lam u) + om in
  a_all IA l * exp (2 * b1_all IA l h) < 1 ->
  let md := bits_eval t in
  is_finite (fst md) = true /\ B2R (fst md) = m /\ is_finite (snd md) = true /\ 1 <= B2R (snd md) /\ Rabs (ln (B2R (snd md) / s)) <= b /\
  (forall x, is_minus_inf prec emax x = true -> bits_output md x = B754_zero false) /\
  (forall x, is_finite x = true -> In (B2R x) l -> let p := exp (B2R x - m) / s in let Ax := own_error IA m (B2R x) + lam u + b in
     is_finite (bits_output md x) = true /\ 0 <= B2R (bits_output md x) <= 1 /\ p * exp (- Ax) - W <= B2R (bits_output md x) <= p * exp Ax + W /\
     (W * exp Ax / p < 1 -> Rabs (ln (B2R (bits_output md x) / p)) <= Ax + lam (W * exp Ax / p))) /\
  let P := ln (sum_over (fun x => exp (x - m + own_error IA m x)) l / s) in
  forall xs, (forall x, In x xs -> is_finite x = true) -> map B2R xs = l ->
    Rabs (sum_over (fun x => B2R (bits_output md x)) xs - 1) <= exp (b + P + lam u) - 1 + n * W.
Proof.
  intros Hl Hne Hn HH l m s n h b W Hlt md.
  pose proof (bits_eval_represents prec emax _ _ Hprec Hemin Hbig eps0 slope eta bE fused He0 Hsl Heta bE0 bEinf bEspec t Hl Hn) as Hs.
  pose proof (logits_F prec emax eps0 slope He0 Hsl t) as HF. pose proof (unit_roundoff_range prec Hprec) as U.
  assert (T0 : 0 <= lam u) by (apply lam_ge0; lra).
  set (ph := fun D x => fl (EX_ IA (x - m) / D)).
  destruct (tree_closed_cap IA fused (to_tree t) H Hne HF HH Hlt) as (D & E1 & D1 & Hb).
  destruct (online_softmax IA fused (to_tree t) H (lam u) om (ph D) Hne HF HH T0 (half_subnormal_pos _) Hlt) as (D' & Q1 & _ & _ & Q4 & Q5).
  rewrite E1 in Q1. injection Q1 as <-.
  destruct Q5 as [R1 R2].
  { intros x Hx. apply (div_ieee IA); [apply HEpos|lra]. }
  rewrite E1 in Hs. destruct Hs as (S1 & S2 & S3 & S4). fold md in S1, S2, S3, S4.
  change (B2R (fst md) = m) in S2. change (Rabs (ln (D / s)) <= b) in Hb.
  assert (Hout : forall x, is_finite x = true -> In (B2R x) l -> is_finite (bits_output md x) = true /\ B2R (bits_output md x) = ph D (B2R x) /\ 0 <= B2R (bits_output md x) <= 1).
  { intros x Fx Ix. assert (Lx : B2R x <= B2R (fst md)) by (rewrite S2; now apply max_of_ge).
    destruct (step prec emax _ _ Hprec Hemin Hbig eps0 slope eta bE He0 Hsl Heta bE0 bEinf bEspec x (fst md) Fx S1 Lx) as (K1 & K2 & K3).
    destruct (div_bits (bE (minus x (fst md))) (snd md) K1) as (L1 & L2 & L3); [rewrite K2, S4; lra|rewrite S4; assumption|].
    unfold bits_output. split; [assumption|]. split; [|assumption]. rewrite L2, K2, S2, S4. reflexivity. }
  split; [assumption|]. split; [assumption|]. split; [assumption|]. rewrite S4. split; [assumption|]. split; [assumption|].
  split; [|split].
  - intros x Hx. unfold bits_output. destruct x as [sx|sx| |sx mx ex Bx]; try discriminate. destruct sx; [|discriminate].
    replace (minus (B754_infinity true) (fst md)) with (B754_infinity true : bf) by (destruct (fst md); try discriminate; reflexivity).
    rewrite bEinf. destruct (snd md) as [sd|sd| |sd me ee Be] eqn:Ed; try discriminate.
    + cbn in S4. lra.
    + destruct sd; [|reflexivity]. exfalso. cbn [B2R] in S4. cbn [cond_Zopp] in S4. assert (F2R (Float radix2 (Z.neg me) ee) <= 0) by (now apply F2R_le_0).
      change (F2R (Float radix2 (Z.neg me) ee) = D) in S4. lra.
  - intros x Fx Ix. destruct (Hout x Fx Ix) as (O1 & O2 & O3). destruct (R1 (B2R x) Ix) as [G1 G2].
    split; [assumption|]. split; [assumption|]. rewrite O2. split; [exact G1|]. intros Hw. now apply G2.
  - intros P xs Hfin Hxs. destruct R2 as [_ R2].
    assert (sum_over (fun x => B2R (bits_output md x)) xs = sum_over (ph D) l) as ->; [|exact R2].
    assert (Hin : forall x, In x xs -> In (B2R x) l) by (intros x Hx; rewrite <- Hxs; now apply in_map).
    rewrite <- Hxs, sum_over_map. apply sum_over_ext. intros x Hx. now apply Hout; [apply Hfin|apply Hin].
Qed.
End Bits.

(* binary32, the correctly rounded exp: nothing left to assume. *)
Section B32.
Variable fused : bool.
Ltac fmt := first [lia | vm_compute; congruence | reflexivity].
Lemma l24 : 0 <= lam (1 * unit_roundoff 24) <= / 8.
Proof. apply lam_small; [apply unit_roundoff_range; lia|lra]. Qed.
Lemma h24 : (3 - 128 - 24 + 24 - 1 <= -14)%Z. Proof. lia. Qed.
Lemma b24 : (128 + 24 - 2 <= 2 ^ (128 - 1))%Z. Proof. vm_compute. congruence. Qed.
Lemma s24 : 0 <= 0 <= 3 / 4. Proof. lra. Qed.
Definition binary32_output := bits_softmax 24 128 P24 E24 p24 h24 b24 (lam (1 * unit_roundoff 24)) 0 (half_subnormal (3 - 128 - 24)) (bits_rounded_exp 24 128 P24 E24) fused l24 s24 (Rle_refl _)
  (proj1 (bits_rounded_exp_any 24 128 P24 E24 p24 h24)) (proj1 (proj2 (bits_rounded_exp_any 24 128 P24 E24 p24 h24))) (proj2 (proj2 (bits_rounded_exp_any 24 128 P24 E24 p24 h24))).
End B32.
