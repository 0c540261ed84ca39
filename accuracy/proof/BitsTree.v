(* SPDX-License-Identifier: Apache-2.0 *)
(* From IEEE-754 bits to the model: trees of merges of binary floats, infinities, overflowing subtractions and all. *)
Require Import Reals List Permutation Lra Lia ZArith Bool.
From Flocq Require Import Core BinarySingleNaN Relative Plus_error.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.BitsCommute.
Import ListNotations.
Open Scope R_scope.

Section Ieee.
Variables prec emax : Z.
Context (prec_gt_0_ : Prec_gt_0 prec) (prec_lt_emax_ : Prec_lt_emax prec emax).
Hypothesis Hprec : (8 <= prec)%Z.
Notation emin := (3 - emax - prec)%Z.
Hypothesis Hemin : (emin + prec - 1 <= -14)%Z.
Hypothesis Hbig : (emax + prec - 2 <= 2 ^ (emax - 1))%Z.

Notation bf := (binary_float prec emax).
Notation plus := (@Bplus prec emax _ _ mode_NE).
Notation minus := (@Bminus prec emax _ _ mode_NE).
Notation mult := (@Bmult prec emax _ _ mode_NE).
Notation fma := (@Bfma prec emax _ _ mode_NE).
Notation one := (@Bone prec emax _ _).
Notation fexp := (FLT_exp emin prec).
Notation ne := (fun x => negb (Z.even x)).
Notation fl := (round_to prec emin ne).
Notation F := (in_format prec emin).
Notation u := (unit_roundoff prec).
Notation N := (min_normal prec emin).
Notation om := (half_subnormal emin).
Notation big := (bpow radix2 emax).

Definition bits_of (t : R) : bf :=
  binary_normalize prec emax _ _ mode_NE (Ztrunc (scaled_mantissa radix2 fexp t)) (cexp radix2 fexp t) false.
Lemma bits_of_correct t : F t -> Rabs t < big -> B2R (bits_of t) = t /\ is_finite (bits_of t) = true.
Proof.
  intros Ft Ht. pose proof (binary_normalize_correct prec emax _ _ mode_NE (Ztrunc (scaled_mantissa radix2 fexp t)) (cexp radix2 fexp t) false) as H.
  cbv zeta in H. change (SpecFloat.fexp prec emax) with fexp in H.
  replace (F2R _) with t in H by (rewrite Ft at 1; reflexivity).
  rewrite round_generic in H by (apply valid_rnd_round_mode || exact Ft).
  rewrite Rlt_bool_true in H by assumption. destruct H as (H1 & H2 & _). now split.
Qed.

Section Exp.
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

Lemma He8 : eps0 + slope * 0 <= / 8. Proof. rewrite Rmult_0_r, Rplus_0_r. apply He0. Qed.
Definition ok (a : R) : bool := Rle_bool a 0 && Rlt_bool (Rabs (fl a)) big.
Definition iEX (a : R) : R := if ok a then B2R (bE (bits_of (fl a))) else 0.
Definition iarg (a : R) : R := if Rlt_bool (Rabs (fl a)) big then fl a else a.

Lemma fl_neg a : a <= 0 -> fl a <= 0.
Proof. intros H. rewrite <- (format_M3_float prec emin ne 0 (format_0 prec emin)). now apply format_M3. Qed.

Lemma iE_fin a : ok a = true -> let t := bits_of (fl a) in is_finite t = true /\ B2R t = fl a /\ B2R t <= 0.
Proof.
  unfold ok. intros H. apply andb_prop in H. destruct H as [H1 H2].
  destruct (Rle_bool_spec a 0) as [Ha|]; [|discriminate]. destruct (Rlt_bool_spec (Rabs (fl a)) big) as [Hb|]; [|discriminate].
  destruct (bits_of_correct (fl a)) as [E1 E2]; [apply round_to_in_format; assumption|assumption|]. cbv zeta. rewrite E1. auto using fl_neg.
Qed.

Lemma exp2n n : (0 <= n)%Z -> bpow radix2 n <= exp (IZR n).
Proof.
  intros Hn. rewrite <- (Z2Nat.id n Hn). generalize (Z.to_nat n). clear. intros k. induction k as [|k IH].
  - cbn. rewrite exp_0. lra.
  - rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite plus_IZR, bpow_plus, exp_plus. cbn [bpow]. change (IZR (Z.pow_pos radix2 1)) with 2.
    pose proof (exp_ineq1_le 1). pose proof (bpow_gt_0 radix2 (Z.of_nat k)). apply Rmult_le_compat; lra.
Qed.

(* an overflowing subtraction loses less than half the smallest subnormal *)
Lemma lost a : a <= 0 -> big <= Rabs (fl a) -> exp a <= om /\ exp a < N.
Proof.
  intros Ha Hb. assert (Hmax : bpow radix2 (emax - 1) < - a).
  { apply Rnot_le_lt. intros H. assert (Rabs (fl a) <= bpow radix2 (emax - 1)).
    { apply abs_round_le_generic; [apply FLT_exp_valid; assumption|apply valid_rnd_N| |rewrite Rabs_left1; lra].
      apply generic_format_bpow. unfold FLT_exp. unfold Prec_lt_emax in *. lia. }
    assert (bpow radix2 (emax - 1) < big) by (apply bpow_lt; lia). lra. }
  assert (He : exp a <= bpow radix2 (- (emax + prec - 2))).
  { replace a with (- - a) by ring. rewrite exp_Ropp, bpow_opp. apply Rinv_le; [apply bpow_gt_0|].
    unfold Prec_lt_emax, Prec_gt_0 in *. eapply Rle_trans; [apply exp2n; lia|]. apply exp_le.
    left. eapply Rle_lt_trans; [|exact Hmax]. eapply Rle_trans; [apply IZR_le, Hbig|]. right.
    change 2%Z with (radix_val radix2). apply IZR_Zpower. lia. }
  assert (bpow radix2 (- (emax + prec - 2)) = om) as <-.
  { unfold half_subnormal. replace (- (emax + prec - 2))%Z with (-1 + emin)%Z by ring. rewrite bpow_plus. reflexivity. }
  split; [assumption|]. eapply Rle_lt_trans; [exact He|]. unfold min_normal. apply bpow_lt. unfold Prec_gt_0 in *. lia.
Qed.

Definition ieee_arith : arith.
Proof.
  refine (Build_arith u u N eta om eps0 slope 0 F fl iarg iEX (fun a => a <= 0)
    (unit_roundoff_range prec Hprec) (unit_roundoff_le1 prec Hprec) (min_normal_range prec emin Hemin) (conj (half_subnormal_pos emin) Heta) (proj1 He0) (proj1 Hsl) (Rle_refl 0) He8
    (format_small_exp prec emin Hprec Hemin eps0 slope 0 Hsl (Rle_refl 0) He8) (format_0 prec emin) (format_1 prec emin Hprec Hemin) (round_to_in_format prec emin Hprec ne) _
    (format_below_1 prec emin Hprec Hemin) (format_M1 prec emin Hprec ne) (format_M2 prec emin Hprec ne) (format_M3 prec emin Hprec ne) (format_M3_float prec emin ne) _ _ _ _ _ _ _).
  - intros a. unfold iEX. destruct (ok a); [apply generic_format_B2R|apply format_0].
  - auto.
  - intros x r Hx Hr. unfold iarg. destruct (Rlt_bool _ _); [now apply format_subtraction|].
    rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. pose proof (unit_roundoff_range prec Hprec). apply Rmult_le_pos; [lra|apply Rabs_pos].
  - intros x r Hx Hr Ha. unfold iarg. destruct (Rlt_bool _ _); [now apply fl_neg|assumption].
  - intros x r Hx Hr Ha. unfold iEX, iarg. destruct (ok (x - r)) eqn:Ok.
    + destruct (iE_fin _ Ok) as (H1 & H2 & H3). unfold ok in Ok. apply andb_prop in Ok. destruct Ok as [_ ->].
      destruct (bEspec _ H1 H3) as (_ & _ & th & z & Q). rewrite H2 in Q. exists th, z. tauto.
    + unfold ok in Ok. rewrite Rle_bool_true in Ok by assumption. cbn [andb] in Ok. rewrite Ok.
      destruct (Rlt_bool_spec (Rabs (fl (x - r))) big) as [|Hb]; [discriminate|]. destruct (lost _ Ha Hb) as [L1 L2].
      exists 0, (- exp (x - r)). rewrite Rabs_R0, Rplus_0_r, Rabs_Ropp, (Rabs_right (exp (x - r))) by (left; apply exp_pos).
      repeat split; [|lra|now right|ring]. destruct He0, Hsl. pose proof (Rabs_pos (x - r)). apply Rplus_le_le_0_compat; [assumption|]. now apply Rmult_le_pos.
  - unfold iEX. assert (ok 0 = true) as Ok.
    { unfold ok. rewrite Rle_bool_true by lra. rewrite (format_M3_float prec emin ne 0 (format_0 prec emin)), Rabs_R0. cbn [andb]. apply Rlt_bool_true, bpow_gt_0. }
    rewrite Ok. destruct (iE_fin 0 Ok) as (H1 & H2 & _). rewrite (format_M3_float prec emin ne 0 (format_0 prec emin)) in *.
    destruct (bits_of 0) as [s|s| |s m e B]; try discriminate; [rewrite bE0; apply Bone_correct|]. cbn in H2. apply eq_0_F2R in H2. destruct s; discriminate.
  - intros a. unfold iEX. destruct (ok a) eqn:Ok; [|lra]. destruct (iE_fin a Ok) as (H1 & H2 & H3). now apply bEspec.
  - intros a _. unfold iEX. destruct (ok a) eqn:Ok; [|lra]. destruct (iE_fin a Ok) as (H1 & H2 & H3). now apply bEspec.
Defined.

Lemma zero_of (x : bf) : is_finite x = true -> B2R x = 0 -> exists s, x = B754_zero s.
Proof. destruct x as [s|s| |s m e B]; try discriminate; [now exists s|]. intros _ H. cbn in H. apply eq_0_F2R in H. destruct s; discriminate. Qed.
Lemma sign_pos (x : bf) : is_finite x = true -> Bsign x = false -> 0 <= B2R x.
Proof. destruct x; cbn; try discriminate; intros; try lra. subst. now apply F2R_ge_0. Qed.
Lemma sign_neg (x : bf) : is_finite x = true -> Bsign x = true -> B2R x <= 0.
Proof. destruct x; cbn; try discriminate; intros; try lra. subst. now apply F2R_le_0. Qed.

(* the computed exp of the computed difference is the model's *)
Lemma step (x r : bf) : is_finite x = true -> is_finite r = true -> B2R x <= B2R r ->
  is_finite (bE (minus x r)) = true /\ B2R (bE (minus x r)) = iEX (B2R x - B2R r) /\ 0 <= iEX (B2R x - B2R r) <= 1.
Proof.
  intros Fx Fr Hle. assert (Ha : B2R x - B2R r <= 0) by lra.
  assert (P : 0 <= iEX (B2R x - B2R r) <= 1) by (split; [apply (HEpos ieee_arith)|now apply (HEle1 ieee_arith)]).
  pose proof (Bminus_correct prec emax _ _ mode_NE x r Fx Fr) as H.
  change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE) (B2R x - B2R r)) with (fl (B2R x - B2R r)) in H.
  unfold iEX, ok in *. rewrite (Rle_bool_true _ _ Ha) in *. cbn [andb] in *.
  destruct (Rlt_bool_spec (Rabs (fl (B2R x - B2R r))) big) as [Hb|Hb].
  - destruct H as (H1 & H2 & _). destruct (bits_of_correct (fl (B2R x - B2R r))) as [E1 E2]; [apply round_to_in_format; assumption|assumption|].
    assert (bE (minus x r) = bE (bits_of (fl (B2R x - B2R r)))) as ->.
    { destruct (Req_dec (fl (B2R x - B2R r)) 0) as [z|nz].
      - rewrite z in *. destruct (zero_of _ H2 H1) as [s ->]. destruct (zero_of _ E2 E1) as [s' ->]. now rewrite !bE0.
      - f_equal. apply B2R_inj; try (rewrite H1, E1; reflexivity); apply is_finite_strict_B2R; congruence. }
    split; [|now split]. apply bEspec; [assumption|]. rewrite E1. now apply fl_neg.
  - destruct H as (H1 & H2). assert (Sx : Bsign x = true).
    { destruct (Bsign x) eqn:S; [reflexivity|]. exfalso. destruct (Bsign r) eqn:S'; [|discriminate].
      pose proof (sign_pos x Fx S). pose proof (sign_neg r Fr S'). assert (B2R x - B2R r = 0) as Z by lra.
      rewrite Z, (format_M3_float prec emin ne 0 (format_0 prec emin)), Rabs_R0 in Hb. pose proof (bpow_gt_0 radix2 emax). lra. }
    rewrite Sx in H1. assert (minus x r = B754_infinity true) as ->.
    { destruct (minus x r) as [s|s| |s m e B]; try discriminate. cbn in H1. congruence. }
    rewrite bEinf. cbn. auto.
Qed.

Inductive bits_tree := BitsLeaf (x : bf) | BitsNode (l r : bits_tree).
Fixpoint to_tree (t : bits_tree) : tree :=
  match t with BitsLeaf x => Leaf (if is_minus_inf prec emax x then None else Some (B2R x)) | BitsNode l r => Node (to_tree l) (to_tree r) end.
Fixpoint bits_eval (t : bits_tree) : bf * bf :=
  match t with
  | BitsLeaf x => (x, if is_minus_inf prec emax x then B754_zero false else one)
  | BitsNode l r => bits_op prec emax _ _ bE fused (bits_eval l) (bits_eval r)
  end.
(* every leaf finite or -inf *)
Fixpoint finite_or_minus_inf (t : bits_tree) : Prop :=
  match t with BitsLeaf x => is_finite x = true \/ is_minus_inf prec emax x = true | BitsNode l r => finite_or_minus_inf l /\ finite_or_minus_inf r end.
Definition logits (t : bits_tree) : list R := finite (leaves (to_tree t)).

Definition represents (p : bf * bf) (q : partial) : Prop :=
  match q with
  | None => is_minus_inf prec emax (fst p) = true
  | Some (m, d) => is_finite (fst p) = true /\ B2R (fst p) = m /\ is_finite (snd p) = true /\ B2R (snd p) = d
  end.

Lemma logits_F t : forall x, In x (logits t) -> F x.
Proof. unfold logits. induction t as [x|l IHl r IHr]; cbn.
  - destruct (is_minus_inf prec emax x); cbn; [tauto|]. intros y [<-|[]]. apply generic_format_B2R.
  - rewrite finite_app. intros x Hx. apply in_app_or in Hx. destruct Hx; auto. Qed.

(* No sum of this tree overflows. *)
Definition no_overflow (t : bits_tree) : Prop :=
  (Z.of_nat (length (logits t)) <= 2 ^ prec)%Z \/
  INR (length (logits t)) * (1 + u) ^ merge_height (to_tree t) <= bpow radix2 (emax - 1).

Lemma rounded_eval_bounds t m d : rounded_eval ieee_arith fused (to_tree t) = Some (m, d) ->
  0 <= d <= INR (length (logits t)) * (1 + u) ^ merge_height (to_tree t) /\
  ((Z.of_nat (length (logits t)) <= 2 ^ prec)%Z -> d <= INR (length (logits t))).
Proof.
  intros Hf. destruct (tree_program ieee_arith fused (to_tree t) (logits_F t)) as [Ev Hp]. rewrite Hf in Ev.
  destruct (program_of fused (to_tree t)) as [P|]; [|discriminate]. injection Ev as -> ->. destruct Hp as [((WP & AP) & Pm & _ & Be & _) Hh].
  assert (length (terms ieee_arith P) = length (logits t)) as El by (rewrite <- (map_length logit); now apply Permutation_length).
  rewrite <- El, <- Hh. split; [split; [now apply computed_pos|now apply (computed_le_terms ieee_arith)]|].
  intros Hn. apply computed_le_count; try assumption. intros i Hi. apply format_integers; try assumption. lia.
Qed.

Lemma no_overflow_node l r : no_overflow (BitsNode l r) -> no_overflow l /\ no_overflow r /\ forall ml dl mr dr,
  rounded_eval ieee_arith fused (to_tree l) = Some (ml, dl) -> rounded_eval ieee_arith fused (to_tree r) = Some (mr, dr) -> dl + dr <= bpow radix2 (emax - 1).
Proof.
  pose proof (unit_roundoff_range prec Hprec) as U. pose proof (pow1u_le ieee_arith) as PL. pose proof (pow1u_ge1 ieee_arith) as PG.
  unfold no_overflow, logits. cbn [to_tree leaves merge_height]. rewrite finite_app, app_length. fold (logits l) (logits r).
  intros [H|H].
  - split; [left; lia|]. split; [left; lia|]. intros ml dl mr dr El Er.
    destruct (rounded_eval_bounds l ml dl El) as [_ Bl]. destruct (rounded_eval_bounds r mr dr Er) as [_ Br].
    specialize (Bl ltac:(lia)). specialize (Br ltac:(lia)).
    apply Rle_trans with (INR (length (logits l) + length (logits r))); [rewrite plus_INR; lra|]. rewrite INR_IZR_INZ.
    apply Rle_trans with (IZR (2 ^ prec)); [apply IZR_le; lia|]. change 2%Z with (radix_val radix2).
    rewrite IZR_Zpower by (unfold Prec_gt_0 in *; lia). apply bpow_le. unfold Prec_lt_emax in *. lia.
  - change (finite (leaves (to_tree l))) with (logits l) in *. change (finite (leaves (to_tree r))) with (logits r) in *.
    pose proof (rounded_eval_bounds l) as Bl. pose proof (rounded_eval_bounds r) as Br.
    destruct (logits l) as [|xl ll] eqn:E1; [|destruct (logits r) as [|xr lr] eqn:E2].
    + split; [left; cbn; unfold Prec_gt_0 in *; lia|]. split; [right; exact H|]. intros ml dl mr dr El Er.
      destruct (Bl ml dl El) as [[B1 B2] _]. destruct (Br mr dr Er) as [[B3 B4] _]. cbn [length INR Nat.add] in *. rewrite Rmult_0_l in B2. lra.
    + split; [right; rewrite Nat.add_0_r in H; exact H|]. split; [left; cbn; unfold Prec_gt_0 in *; lia|]. intros ml dl mr dr El Er.
      destruct (Bl ml dl El) as [[B1 B2] _]. destruct (Br mr dr Er) as [[B3 B4] _]. rewrite Nat.add_0_r in H. cbn [length INR] in B4. rewrite Rmult_0_l in B4. lra.
    + set (nl := length (xl :: ll)) in *. set (nr := length (xr :: lr)) in *. rewrite plus_INR, Rmult_plus_distr_r in H.
      set (hl := merge_height (to_tree l)) in *. set (hr := merge_height (to_tree r)) in *.
      assert (INR nl * (1 + u) ^ hl <= INR nl * (1 + u) ^ S (Nat.max hl hr)) as Kl by (apply Rmult_le_compat_l; [apply pos_INR|apply PL; lia]).
      assert (INR nr * (1 + u) ^ hr <= INR nr * (1 + u) ^ S (Nat.max hl hr)) as Kr by (apply Rmult_le_compat_l; [apply pos_INR|apply PL; lia]).
      assert (0 <= INR nl * (1 + u) ^ S (Nat.max hl hr)) by (apply Rmult_le_pos; [apply pos_INR|apply pow_le; lra]).
      assert (0 <= INR nr * (1 + u) ^ S (Nat.max hl hr)) by (apply Rmult_le_pos; [apply pos_INR|apply pow_le; lra]).
      split; [right; lra|]. split; [right; lra|]. intros ml dl mr dr El Er.
      destruct (Bl ml dl El) as [[B1 B2] _]. destruct (Br mr dr Er) as [[B3 B4] _]. lra.
Qed.

Lemma p2big x : 0 <= x <= bpow radix2 (emax - 1) -> Rabs (fl x) < big.
Proof.
  intros [H0 H1]. eapply Rle_lt_trans; [|apply (bpow_lt radix2 (emax - 1)); lia].
  apply abs_round_le_generic; [apply FLT_exp_valid; assumption|apply valid_rnd_N| |rewrite Rabs_right; lra].
  apply generic_format_bpow. unfold FLT_exp, Prec_gt_0, Prec_lt_emax in *. lia.
Qed.

Lemma accumulate_represents (h l e : bf) : is_finite h = true -> is_finite l = true -> is_finite e = true ->
  0 <= B2R h -> 0 <= B2R l -> 0 <= B2R e <= 1 -> B2R h + B2R l <= bpow radix2 (emax - 1) ->
  is_finite (accumulate prec emax _ _ fused h l e) = true /\
  B2R (accumulate prec emax _ _ fused h l e) = fl (B2R h + (if fused then B2R l * B2R e else fl (B2R l * B2R e))).
Proof.
  intros Fh Fl Fe Hh Hl He Hs. unfold accumulate.
  assert (M0 : 0 <= B2R l * B2R e) by (apply Rmult_le_pos; lra).
  assert (M1' : B2R l * B2R e <= B2R l) by (rewrite <- (Rmult_1_r (B2R l)) at 2; apply Rmult_le_compat_l; lra).
  destruct fused.
  - pose proof (Bfma_correct prec emax _ _ mode_NE l e h Fl Fe Fh) as H. cbv zeta in H. rewrite Rplus_comm in H.
    change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl in H.
    rewrite Rlt_bool_true in H by (apply p2big; lra). tauto.
  - pose proof (Bmult_correct prec emax _ _ mode_NE l e) as H.
    change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl in H.
    rewrite Rlt_bool_true in H by (apply p2big; lra). destruct H as (H1 & H2 & _). rewrite Fl, Fe in H2.
    pose proof (Bplus_correct prec emax _ _ mode_NE h (mult l e) Fh H2) as H. rewrite H1 in H.
    change (round radix2 (SpecFloat.fexp prec emax) (round_mode mode_NE)) with fl in H.
    assert (0 <= fl (B2R l * B2R e) <= B2R l).
    { split; [now apply (fl_pos ieee_arith)|]. rewrite <- (format_M3_float prec emin ne (B2R l)) at 2 by apply generic_format_B2R. now apply format_M3. }
    rewrite Rlt_bool_true in H by (apply p2big; lra). tauto.
Qed.

Lemma merge_represents (hi lo : bf * bf) mh dh ml dl : represents hi (Some (mh, dh)) -> represents lo (Some (ml, dl)) -> ml <= mh ->
  0 <= dh -> 0 <= dl -> dh + dl <= bpow radix2 (emax - 1) ->
  represents (bits_merge prec emax _ _ bE fused hi lo) (merge ieee_arith fused mh dh ml dl).
Proof.
  destruct hi as [bmh bdh], lo as [bml bdl]. cbn. intros (F1' & <- & F2' & <-) (F3 & <- & F4 & <-) Hle H0 H1 Hs.
  destruct (step bml bmh F3 F1' Hle) as (S1 & S2 & S3). unfold bits_merge, merge. cbn [fst snd].
  replace (is_inf_or_nan prec emax bmh) with false by (destruct bmh; easy).
  destruct (accumulate_represents bdh bdl (bE (minus bml bmh)) F2' F4 S1 H0 H1) as [A1 A2]; [rewrite S2; exact S3|assumption|].
  rewrite S2 in A2. cbn. auto.
Qed.

Theorem bits_eval_represents t : finite_or_minus_inf t -> no_overflow t -> represents (bits_eval t) (rounded_eval ieee_arith fused (to_tree t)).
Proof.
  induction t as [x|l IHl r IHr]; cbn [finite_or_minus_inf bits_eval to_tree rounded_eval].
  - intros H _. cbn. destruct (is_minus_inf prec emax x) eqn:E; cbn; [assumption|]. destruct H as [H|]; [|discriminate].
    rewrite is_finite_Bone, Bone_correct. auto.
  - intros [Ll Lr] Hn. destruct (no_overflow_node l r Hn) as (Rl & Rr & Hsum). specialize (IHl Ll Rl). specialize (IHr Lr Rr).
    pose proof (rounded_eval_bounds l) as Bl. pose proof (rounded_eval_bounds r) as Br.
    destruct (rounded_eval ieee_arith fused (to_tree l)) as [[ml dl]|], (rounded_eval ieee_arith fused (to_tree r)) as [[mr dr]|]; cbn [rounded_op].
    + destruct (Bl ml dl eq_refl) as [[Bl0 _] _]. destruct (Br mr dr eq_refl) as [[Br0 _] _].
      pose proof (Hsum ml dl mr dr eq_refl eq_refl).
      pose proof IHl as (A1 & A2 & _). pose proof IHr as (B1 & B2 & _). unfold bits_op.
      replace (is_minus_inf prec emax (fst (bits_eval l))) with false by (destruct (fst (bits_eval l)); easy).
      replace (is_minus_inf prec emax (fst (bits_eval r))) with false by (destruct (fst (bits_eval r)); easy).
      rewrite Bcompare_correct, A2, B2 by assumption.
      destruct (Rcompare_spec ml mr), (Rle_dec mr ml); try lra; apply merge_represents; auto; lra.
    + cbn in IHr. unfold bits_op. destruct IHl as (A1 & A2 & A3). replace (is_minus_inf prec emax (fst (bits_eval l))) with false by (destruct (fst (bits_eval l)); easy).
      rewrite IHr. cbn. auto.
    + cbn in IHl. unfold bits_op. rewrite IHl. exact IHr.
    + cbn in IHl, IHr. unfold bits_op. rewrite IHl. exact IHr.
Qed.

(* Theorems 1 and 2 for the bits that a tree of merges computes. *)
Theorem bits_tree_bound t : finite_or_minus_inf t -> logits t <> [] -> no_overflow t ->
  let xs := logits t in let m := max_of xs in let s := exp_sum m xs in
  exists P, program_of fused (to_tree t) = Some P /\ Permutation (map logit (terms ieee_arith P)) xs /\ height P = merge_height (to_tree t) /\
    is_finite (fst (bits_eval t)) = true /\ B2R (fst (bits_eval t)) = m /\ is_finite (snd (bits_eval t)) = true /\
    1 <= B2R (snd (bits_eval t)) <= INR (length xs) * (1 + u) ^ merge_height (to_tree t) /\
    ((Z.of_nat (length xs) <= 2 ^ prec)%Z -> B2R (snd (bits_eval t)) <= INR (length xs)) /\
    (forall c, In c (terms ieee_arith P) ->
       (exp_count c <= Nat.min (height P + 1) (above xs (logit c)))%nat /\ (product_count c <= Nat.min (height P) (above xs (logit c)))%nat /\
       travel m c = Rabs (logit c - m) /\ Rabs (arg_error c) <= u * Rabs (logit c - m)) /\
    (forall kmax, (forall c, In c (terms ieee_arith P) -> (length (moves c) <= kmax)%nat) ->
       let a := INR (length xs) * (1 + INR (Nat.min 1 kmax)) * eta / s in
       a * exp (2 * b1 ieee_arith P) < 1 ->
       Rabs (ln (B2R (snd (bits_eval t)) / s)) <= b1 ieee_arith P + lam (a * exp (2 * b1 ieee_arith P))).
Proof.
  intros Hl Hne Hn xs m s. pose proof (bits_eval_represents t Hl Hn) as Hs.
  destruct (tree_bound ieee_arith fused (to_tree t) Hne (logits_F t)) as (P & D & Q1 & Q2 & Q3 & Q4 & Q5 & Q6 & Q7 & Q8 & Q9 & Q10 & Q11).
  rewrite Q1 in Hs. cbn in Hs. destruct Hs as (S1 & S2 & S3 & S4). exists P. rewrite S4.
  split; [assumption|]. split; [exact Q5|]. split; [exact Q6|]. split; [exact S1|]. split; [exact S2|]. split; [exact S3|].
  split; [exact Q8|]. split; [|split].
  - intros Hp. apply Q9. intros i Hi. apply format_integers; try assumption. change (i <= length xs)%nat in Hi. lia.
  - intros c Hc. rewrite Q6. destruct (Q10 c Hc) as (R1 & R2 & R3 & R4 & _). auto.
  - intros em Hem a Ha. specialize (Q11 em Hem). cbv zeta in Q11. cbn [tau_ eta_ ieee_arith] in Q11. rewrite exp_0, Rmult_1_r in Q11.
    exact (Q11 Ha).
Qed.

(* The same, one formula for all trees. *)
Theorem bits_tree_closed t : finite_or_minus_inf t -> logits t <> [] -> no_overflow t ->
  let xs := logits t in let h := merge_height (to_tree t) in
  let b1 := b1_all ieee_arith xs h in let a := a_all ieee_arith xs in
  is_finite (fst (bits_eval t)) = true /\ B2R (fst (bits_eval t)) = max_of xs /\
  is_finite (snd (bits_eval t)) = true /\ 1 <= B2R (snd (bits_eval t)) <= INR (length xs) * (1 + u) ^ h /\
  ((Z.of_nat (length xs) <= 2 ^ prec)%Z -> B2R (snd (bits_eval t)) <= INR (length xs)) /\
  (a * exp (2 * b1) < 1 -> Rabs (ln (B2R (snd (bits_eval t)) / exp_sum (max_of xs) xs)) <= b1 + lam (a * exp (2 * b1))).
Proof.
  intros Hl Hne Hn xs h b1 a. destruct (bits_tree_bound t Hl Hne Hn) as (P & _ & _ & _ & F1 & F2 & F3 & F4 & F5 & _).
  repeat (split; [assumption|]). intros Hlt.
  destruct (tree_closed ieee_arith fused (to_tree t) Hne (logits_F t) Hlt) as (D & E1 & _ & E2).
  pose proof (bits_eval_represents t Hl Hn) as Hs. rewrite E1 in Hs. destruct Hs as (_ & _ & _ & ->). exact E2.
Qed.
End Exp.
End Ieee.

