(* SPDX-License-Identifier: Apache-2.0 *)
(* The select-form operator on IEEE-754 bits: commutative bit for bit, fused or not. *)
Require Import Reals ZArith Lia Lra Bool.
From Flocq Require Import Core BinarySingleNaN.
Open Scope R_scope.

Section Bits.
Variables prec emax : Z.
Context (prec_gt_0_ : Prec_gt_0 prec) (prec_lt_emax_ : Prec_lt_emax prec emax).
Notation bf := (binary_float prec emax).
Notation plus := (@Bplus prec emax _ _ mode_NE).
Notation minus := (@Bminus prec emax _ _ mode_NE).
Notation mult := (@Bmult prec emax _ _ mode_NE).
Notation fma := (@Bfma prec emax _ _ mode_NE).
Notation one := (@Bone prec emax _ _).
Variable E : bf -> bf.
Variable fused : bool.

Definition is_minus_inf (m : bf) : bool := match m with B754_infinity true => true | _ => false end.
Definition is_inf_or_nan (m : bf) : bool := match m with B754_infinity false | B754_nan => true | _ => false end.
Definition accumulate (h l e : bf) : bf := if fused then fma l e h else plus h (mult l e).
Definition bits_merge (hi lo : bf * bf) : bf * bf :=
  (fst hi, if is_inf_or_nan (fst hi) then B754_nan else accumulate (snd hi) (snd lo) (E (minus (fst lo) (fst hi)))).
Definition bits_op (a b : bf * bf) : bf * bf :=
  if is_minus_inf (fst a) then b else if is_minus_inf (fst b) then a else
  match Bcompare (fst a) (fst b) with
  | None => (B754_nan, B754_nan)
  | Some Lt => bits_merge b a
  | Some _ => bits_merge a b
  end.

Theorem Bplus_comm (x y : bf) : plus x y = plus y x.
Proof.
  destruct x as [sx|sx| |sx mx ex Hx], y as [sy|sy| |sy my ey Hy]; cbn; try reflexivity; try (now destruct sx, sy).
  rewrite Z.min_comm. f_equal. unfold Fplus_naive. apply Z.add_comm.
Qed.

Lemma one_fin : is_finite one = true. Proof. apply is_finite_Bone. Qed.
Lemma one_strict : exists m e H, one = B754_finite false m e H.
Proof. pose proof (is_finite_strict_Bone prec emax _ _) as H. pose proof (Bsign_Bone prec emax _ _) as H1.
  destruct one as [s|s| |s m e He]; try discriminate. cbn in H1. subst. now exists m, e, He. Qed.
Lemma rnd_B2R (x : bf) : round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE) (B2R x) = B2R x.
Proof. apply round_generic; [apply valid_rnd_round_mode|apply generic_format_B2R]. Qed.

Lemma mult_one (x : bf) : mult x one = x.
Proof.
  destruct (is_finite x) eqn:Fx.
  - pose proof (Bmult_correct prec emax _ _ mode_NE x one) as H.
    rewrite Bone_correct, Rmult_1_r, rnd_B2R in H.
    rewrite Rlt_bool_true in H by apply abs_B2R_lt_emax. destruct H as (H1 & H2 & H3). rewrite Fx, one_fin in H2.
    apply B2R_Bsign_inj; auto. rewrite H3; [|now destruct (mult x one)]. rewrite Bsign_Bone. apply xorb_false_r.
  - destruct one_strict as (m & e & H & ->). destruct x; try discriminate; cbn; [now rewrite xorb_false_r|reflexivity].
Qed.

(* one fused rounding of x 1 + y is the sum *)
Lemma fma_one (x y : bf) : fma x one y = plus y x.
Proof.
  destruct (is_finite x) eqn:Fx; [destruct (is_finite y) eqn:Fy|].
  - pose proof (Bfma_correct prec emax _ _ mode_NE x one y Fx one_fin Fy) as H. cbv zeta in H.
    rewrite Bone_correct, Rmult_1_r in H.
    pose proof (Bplus_correct prec emax _ _ mode_NE y x Fy Fx) as H'. rewrite (Rplus_comm (B2R y)) in H'.
    destruct (Rlt_bool _ _) eqn:Hlt.
    + destruct H as (A1 & A2 & A3), H' as (B1 & B2 & B3). apply B2R_Bsign_inj; auto; [congruence|]. rewrite A3, B3.
      destruct (Rcompare _ _); try reflexivity. unfold Bfma_szero. rewrite Bsign_Bone, xorb_false_r.
      destruct (Bsign x), (Bsign y); reflexivity.
    + apply B2SF_inj. destruct H' as (B1 & B2). rewrite H, B1. f_equal.
      (* the sign of an overflowing sum is that of both summands *)
      assert (Sx : Bsign x = Bsign y) by congruence.
      assert (Nz : B2R x + B2R y <> 0).
      { intros Hz. rewrite Hz in Hlt. rewrite round_0 in Hlt by apply valid_rnd_round_mode. rewrite Rabs_R0 in Hlt.
        rewrite Rlt_bool_true in Hlt; [discriminate|]. apply bpow_gt_0. }
      rewrite <- Sx. destruct (Bsign x) eqn:S.
      * apply Rlt_bool_true. assert (B2R x <= 0 /\ B2R y <= 0) as [Lx Ly].
        { split; [destruct x|destruct y]; cbn in *; try lra; subst; try (now apply F2R_le_0). }
        lra.
      * apply Rlt_bool_false. assert (0 <= B2R x /\ 0 <= B2R y) as [Lx Ly].
        { split; [destruct x|destruct y]; cbn in *; try lra; subst; try (now apply F2R_ge_0). }
        lra.
  - destruct one_strict as (m & e & H & ->). destruct x, y; try discriminate; reflexivity.
  - destruct one_strict as (m & e & H & ->). destruct x as [s|s| |s mx ex Hx], y as [s'|s'| |s' my ey Hy]; try discriminate; cbn; try reflexivity;
      try (rewrite xorb_false_r); try reflexivity; destruct s, s'; reflexivity.
Qed.

Lemma acc_one h l : accumulate h l one = plus h l.
Proof. unfold accumulate. destruct fused; [apply fma_one|now rewrite mult_one]. Qed.

Lemma minus_tie (x y : bf) : is_finite x = true -> is_finite y = true -> B2R x = B2R y -> exists s, minus x y = B754_zero s.
Proof.
  intros Fx Fy He. pose proof (Bminus_correct prec emax _ _ mode_NE x y Fx Fy) as H.
  rewrite He, Rminus_diag_eq, round_0, Rabs_R0 in H by (reflexivity || apply valid_rnd_round_mode).
  rewrite Rlt_bool_true in H by apply bpow_gt_0. destruct H as (H1 & H2 & _).
  destruct (minus x y) as [s|s| |s m e B]; try discriminate; [now exists s|]. cbn in H1.
  apply eq_0_F2R in H1. destruct s; discriminate.
Qed.

(* equal as floats: by value, NaN by class *)
Definition eqm (x y : bf) : Prop := x = y \/ Bcompare x y = Some Eq.

Theorem bits_op_comm a b :
  (forall s, E (B754_zero s) = one) ->
  (is_minus_inf (fst a) = true -> snd a = B754_zero false) -> (is_minus_inf (fst b) = true -> snd b = B754_zero false) ->
  eqm (fst (bits_op a b)) (fst (bits_op b a)) /\ snd (bits_op a b) = snd (bits_op b a).
Proof.
  intros HE Ia Ib. destruct a as [ma da], b as [mb db]. unfold bits_op. cbn [fst snd] in *.
  destruct (is_minus_inf ma) eqn:Ea, (is_minus_inf mb) eqn:Eb; cbn [fst snd]; try (split; [now left|reflexivity]).
  - rewrite Ia, Ib by reflexivity. split; [|reflexivity]. left.
    destruct ma as [|[|]| |], mb as [|[|]| |]; try discriminate; reflexivity.
  - rewrite (Bcompare_swap prec emax ma mb). destruct (Bcompare ma mb) as [[| |]|] eqn:C; cbn [CompOpp]; try (split; [now left|reflexivity]).
    unfold bits_merge. cbn [fst snd]. split; [now right|].
    destruct (is_finite ma) eqn:Fa; [destruct (is_finite mb) eqn:Fb|].
    + rewrite Bcompare_correct in C by assumption. injection C as C. apply Rcompare_Eq_inv in C.
      destruct (minus_tie mb ma Fb Fa (eq_sym C)) as [s ->]. destruct (minus_tie ma mb Fa Fb C) as [s' ->].
      rewrite !HE, !acc_one. replace (is_inf_or_nan ma) with false by (destruct ma; easy). replace (is_inf_or_nan mb) with false by (destruct mb; easy).
      apply Bplus_comm.
    + destruct ma as [|[|]| |[|] ? ? ?], mb as [|[|]| |[|] ? ? ?]; try discriminate.
    + destruct ma as [|[|]| |], mb as [[|]|[|]| |[|] ? ? ?]; try discriminate; reflexivity.
Qed.
End Bits.
