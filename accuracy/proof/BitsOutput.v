(* SPDX-License-Identifier: Apache-2.0 *)
(* Outputs on IEEE bits: Bdiv (E (x - m)) d of any tree of merges; the height capped. Then the last rounding. *)
Require Import Reals List Permutation Lra Lia ZArith Bool.
From Flocq Require Import Core BinarySingleNaN Relative.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.BitsCommute Assay.BitsTree Assay.BitsFormats Assay.HeightCap Assay.LeafDepth Assay.FloatSum Assay.HeadTail Assay.Outputs Assay.WholeRow Assay.RowChecks.
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

(* ---------------------------------------------------------------------------------------------------- *)
(* The last rounding. It is monotone, so a stored output lies between the rounded ends of its quotient's interval. On IEEE
   bits: a binary32 quotient is converted to bfloat16 or binary16. *)
(* (M3) again, for the output's format: an interval of the quotient, rounded, is an interval of the stored output *)
Theorem stored_between prec emin choice lo q hi : (8 <= prec)%Z -> lo <= q <= hi ->
  round_to prec emin choice lo <= round_to prec emin choice q <= round_to prec emin choice hi.
Proof. intros Hp [H1 H2]. split; now apply format_M3. Qed.
(* the element bound, followed by the output's rounding *)
Corollary element_stored prec emin choice w nu own N eta S D b T w0 q : (8 <= prec)%Z ->
  0 < S -> 0 < D -> 0 <= eta -> 0 <= T -> Rabs (ln (D / S)) <= b -> Rabs nu <= own -> Rabs (N - exp (w + nu)) <= eta ->
  approx T w0 (N / D) q ->
  let Aj := own + T + b in let W := eta / S * exp (b + T) + w0 in
  round_to prec emin choice (exp (w - Aj) / S - W) <= round_to prec emin choice q <= round_to prec emin choice (exp (w + Aj) / S + W).
Proof. intros Hp H1 H2 H3 H4 H5 H6 H7 H8 Aj W. apply stored_between; [assumption|]. eapply element; eassumption. Qed.

Section Convert.
Variables prec emax preco emaxo : Z.
Context (P0 : Prec_gt_0 prec) (PE : Prec_lt_emax prec emax) (Po : Prec_gt_0 preco) (PEo : Prec_lt_emax preco emaxo).
Hypothesis Hpreco : (8 <= preco)%Z.
Notation emino := (3 - emaxo - preco)%Z.
Notation ne := (fun x => negb (Z.even x)).
Definition convert (x : binary_float prec emax) : binary_float preco emaxo :=
  match x with
  | B754_zero s => B754_zero s | B754_infinity s => B754_infinity s | B754_nan => B754_nan
  | B754_finite s m e _ => binary_normalize preco emaxo Po PEo mode_NE (cond_Zopp s (Zpos m)) e s
  end.
Theorem convert_correct x : is_finite x = true -> Rabs (round_to preco emino ne (B2R x)) < bpow radix2 emaxo ->
  B2R (convert x) = round_to preco emino ne (B2R x) /\ is_finite (convert x) = true.
Proof.
  intros Fx Hb. destruct x as [s|s| |s m e H]; try discriminate; cbn [convert B2R].
  - split; [|reflexivity]. symmetry. apply format_M3_float. apply generic_format_0.
  - pose proof (binary_normalize_correct preco emaxo Po PEo mode_NE (cond_Zopp s (Zpos m)) e s) as Q.
    cbv zeta in Q. change (round radix2 (SpecFloat.fexp preco emaxo) (round_mode mode_NE) (F2R (Float radix2 (cond_Zopp s (Zpos m)) e)))
      with (round_to preco emino ne (B2R (B754_finite s m e H))) in Q.
    rewrite Rlt_bool_true in Q by exact Hb. destruct Q as (Q1 & Q2 & _). auto.
Qed.
(* an output of at most 1 does not overflow *)
Corollary convert_unit x : (emino + preco - 1 <= -14)%Z -> is_finite x = true -> 0 <= B2R x <= 1 ->
  B2R (convert x) = round_to preco emino ne (B2R x) /\ is_finite (convert x) = true /\ 0 <= B2R (convert x) <= 1.
Proof.
  intros He Fx [H0 H1].
  assert (Rg : 0 <= round_to preco emino ne (B2R x) <= 1).
  { destruct (stored_between preco emino ne 0 (B2R x) 1 Hpreco (conj H0 H1)) as [Q1 Q2].
    rewrite (format_M3_float preco emino ne 0 (format_0 preco emino)) in Q1. rewrite (format_M3_float preco emino ne 1 (format_1 preco emino Hpreco He)) in Q2. lra. }
  destruct (convert_correct x Fx) as [Q1 Q2]; [|rewrite Q1; auto].
  rewrite Rabs_right by lra. apply Rle_lt_trans with 1; [lra|]. change 1 with (bpow radix2 0). apply bpow_lt. unfold Prec_lt_emax in *.
  unfold Prec_gt_0 in *. lia.
Qed.
End Convert.

(* binary32 arithmetic with any exp that meets (E), IEEE division, outputs converted to bfloat16 or binary16 *)
Section Narrow32.
Variables eps0 slope eta : R.
Variable bE : binary_float 24 128 -> binary_float 24 128.
Variable fused : bool.
Hypothesis He0 : 0 <= eps0 <= / 8.  Hypothesis Hsl : 0 <= slope <= 3 / 4.
Hypothesis Heta : half_subnormal (3 - 128 - 24) <= eta.
Hypothesis bE0 : forall s, bE (B754_zero s) = @Bone 24 128 P24 E24.
Hypothesis bEinf : bE (B754_infinity true) = B754_zero false.
Hypothesis bEspec : forall t, is_finite t = true -> B2R t <= 0 ->
  is_finite (bE t) = true /\ 0 <= B2R (bE t) <= 1 /\
  exists th z, Rabs th <= eps0 + slope * Rabs (B2R t) /\ Rabs z <= eta /\ (z = 0 \/ exp (B2R t) < min_normal 24 (3 - 128 - 24)) /\ B2R (bE t) = exp (B2R t + th) + z.
Notation IA := (ieee_arith 24 128 P24 E24 p24 h24 b24 eps0 slope eta bE He0 Hsl Heta bE0 bEspec).
Notation to_tree := (to_tree 24 128). Notation logits := (logits 24 128). Notation bits_eval := (bits_eval 24 128 P24 E24 bE fused).
Notation bits_output := (bits_output 24 128 P24 E24 bE).
Notation ne := (fun x => negb (Z.even x)).

(* the bits of an output are the rounded quotient of the model *)
Theorem bits_output_quotient (t : bits_tree 24 128) x : finite_or_minus_inf 24 128 t -> logits t <> [] -> no_overflow 24 128 t ->
  is_finite x = true -> In (B2R x) (logits t) ->
  let md := bits_eval t in let D := B2R (snd md) in
  1 <= D /\ is_finite (bits_output md x) = true /\ B2R (bits_output md x) = fl_ IA (EX_ IA (B2R x - max_of (logits t)) / D) /\ 0 <= B2R (bits_output md x) <= 1.
Proof.
  intros Hl Hne Hn Fx Ix md D. set (m := max_of (logits t)).
  pose proof (bits_tree_closed 24 128 P24 E24 p24 h24 b24 eps0 slope eta bE fused He0 Hsl Heta bE0 bEinf bEspec t Hl Hne Hn) as Q.
  cbv zeta in Q. fold md m D in Q. destruct Q as (S1 & S2 & S3 & [D1 _] & _).
  assert (Lx : B2R x <= B2R (fst md)) by (rewrite S2; now apply max_of_ge).
  destruct (step 24 128 P24 E24 p24 h24 b24 eps0 slope eta bE He0 Hsl Heta bE0 bEinf bEspec x (fst md) Fx S1 Lx) as (K1 & K2 & K3).
  destruct (div_bits 24 128 P24 E24 p24 h24 b24 eps0 slope eta bE He0 Hsl Heta bE0 bEspec (bE (Bminus mode_NE x (fst md))) (snd md) K1) as (L1 & L2 & L3).
  { rewrite K2. fold D. lra. } { exact D1. }
  split; [assumption|]. unfold BitsOutput.bits_output. split; [assumption|]. split; [|assumption].
  rewrite L2, K2, S2. reflexivity.
Qed.

(* The proof of the two theorems below: the stored value is that of bits_output_quotient, rounded to the output's format. *)
Ltac stored_as prec emax P E stored :=
  intros Hl Hne Hn Fx Ix md y; destruct (bits_output_quotient _ _ Hl Hne Hn Fx Ix) as (D1 & F1' & E1 & R1); fold md in D1, F1', E1, R1;
  destruct (convert_unit 24 128 prec emax P E ltac:(lia) (bits_output md _) ltac:(lia) F1' R1) as (C1 & C2 & C3);
  split; [exact C2|]; split; [exact C3|]; unfold y; rewrite C1, E1;
  apply (stored IA ne eq_refl eq_refl); [apply HEpos|lra].

(* An output stored as bfloat16 or binary16 is within lam u + lam u_out, and half a subnormal, of the exact quotient. *)
Theorem bits_stored_bf16 (t : bits_tree 24 128) x : finite_or_minus_inf 24 128 t -> logits t <> [] -> no_overflow 24 128 t ->
  is_finite x = true -> In (B2R x) (logits t) ->
  let md := bits_eval t in let y := convert 24 128 8 128 P8 E8 (bits_output md x) in
  is_finite y = true /\ 0 <= B2R y <= 1 /\
  approx (lam (unit_roundoff 24) + lam (unit_roundoff 8)) (half_subnormal (-133)) (EX_ IA (B2R x - max_of (logits t)) / B2R (snd md)) (B2R y).
Proof. stored_as 8%Z 128%Z P8 E8 stored_bf16. Qed.
Theorem bits_stored_f16 (t : bits_tree 24 128) x : finite_or_minus_inf 24 128 t -> logits t <> [] -> no_overflow 24 128 t ->
  is_finite x = true -> In (B2R x) (logits t) ->
  let md := bits_eval t in let y := convert 24 128 11 16 P11 E11 (bits_output md x) in
  is_finite y = true /\ 0 <= B2R y <= 1 /\
  approx (lam (unit_roundoff 24) + lam (unit_roundoff 11)) (half_subnormal (-24)) (EX_ IA (B2R x - max_of (logits t)) / B2R (snd md)) (B2R y).
Proof. stored_as 11%Z 16%Z P11 E11 stored_f16. Qed.
End Narrow32.
