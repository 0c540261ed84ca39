(* SPDX-License-Identifier: Apache-2.0 *)
(* The terms of the bound: subtraction errors, path lengths, counts, charges; Theorem 2. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1.
Import ListNotations.
Open Scope R_scope.

Section Counts.
Variable A : arith.
Notation u := (u_ A). Notation v := (v_ A). Notation N := (N_ A). Notation eta := (eta_ A). Notation omega := (omega_ A).
Notation eps0 := (eps0_ A). Notation slope := (slope_ A). Notation tau := (tau_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).
Notation computed := (computed A). Notation terms := (terms A). Notation well_formed := (well_formed A).

(* c of the charges: 1 for a term that never moved, 2 for others *)
Lemma charge_min c : charge A c <= (1 + INR (Nat.min 1 (length (moves c)))) * exp tau.
Proof.
  pose proof (exp_tau1 A) as Ht. pose proof (abs1_le c).
  unfold charge. destruct (moves c) as [|r l]; cbn; lra.
Qed.

Fixpoint references (P : program) : list R :=
  match P with Enter r _ => [r] | Move r P => r :: references P | Add P Q => references P ++ references Q | FusedAdd P Q => references P ++ references Q end.
Lemma reference_in_references P : In (reference P) (references P).
Proof. induction P; cbn; try tauto; apply in_or_app; tauto. Qed.

(* what the history of a term looks like *)
Definition term_history (P : program) (c : term) : Prop :=
  start c <= reference P /\ (forall r, In r (moves c) -> start c < r <= reference P) /\ NoDup (moves c) /\
  In (start c) (references P) /\ incl (moves c) (references P) /\
  (moves c = [] -> start c = reference P /\ arg_error c = arg (logit c - start c) - (logit c - start c)) /\
  (forall r, moves c = [r] -> r = reference P /\
     arg_error c = (arg (logit c - start c) - (logit c - start c)) + (arg (start c - r) - (start c - r))) /\
  Rabs (arg_error c) <= v * travel (reference P) c /\ (product_count c <= length (moves c))%nat.

Lemma term_history_moved P r k c : well_formed P -> F r -> reference P < r -> (k <= 1)%nat -> term_history P c -> forall R', incl (references P) R' -> In r R' ->
  forall Q, reference Q = r -> references Q = R' -> term_history Q (moved A (reference P) r k c).
Proof.
  intros WP Fr Hr Hk (H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9) R' HR Hin Q HQ HQR. unfold term_history.
  rewrite HQ, HQR. cbn [start logit moves arg_error product_count moved].
  split; [lra|]. split. { intros r1 [<-|Hi]; [lra|]. specialize (H2 r1 Hi). lra. }
  split. { constructor; [|assumption]. intros Hi. specialize (H2 r Hi). lra. }
  split; [now apply HR|]. split. { intros r1 [<-|Hi]; [assumption|]. now apply HR, H5. }
  split; [discriminate|]. split.
  { intros r1 [= <- Hp]. destruct (H6 Hp) as [-> ->]. split; [reflexivity|]. ring. }
  split; [|cbn; lia]. unfold travel in *. cbn [logit start moved].
  eapply Rle_trans; [apply Rabs_triang|].
  pose proof (Harg A (reference P) r (reference_is_float A P WP) Fr) as Ha. rewrite (Rabs_left (reference P - r)) in Ha by lra. lra.
Qed.
Lemma term_history_added P Q c : term_history P c -> reference Q = reference P -> incl (references P) (references Q) -> term_history Q (added c).
Proof.
  intros (H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9) HQ HR. unfold term_history. rewrite HQ. cbn [start logit moves arg_error product_count added].
  repeat split; auto; try (now apply H2); try (now apply H6); try (now apply H7).
  intros r Hr. now apply HR, H5.
Qed.

Lemma history P : well_formed P -> Forall (term_history P) (terms P).
Proof.
  induction P as [r x|r P IH|P IHP Q IHQ|P IHP Q IHQ]; cbn [RoundedModel.well_formed RoundedModel.terms]; intros H.
  - constructor; [|constructor]. unfold term_history. cbn [start logit moves arg_error product_count reference references].
    split; [lra|]. split; [intros y []|]. split; [constructor|]. split; [now left|]. split; [intros y []|].
    split; [auto|]. split; [discriminate|]. split; [|cbn; lia].
    unfold travel. cbn [logit start]. rewrite (Rminus_diag_eq r r), Rplus_0_r by reflexivity. now apply Harg.
  - destruct H as (WP & An & Fr & Hr). apply Forall_map. eapply Forall_impl; [|now apply IH]. intros c Hc.
    eapply term_history_moved with (R' := r :: references P); try assumption; try reflexivity.
    + destruct P; cbn; lia.
    + apply incl_tl, incl_refl.
    + now left.
  - destruct H as (WP & WQ & Hr). apply Forall_map, Forall_app. split; (eapply Forall_impl; [|eauto]); intros c Hc;
      (eapply term_history_added; [exact Hc| |]); cbn; auto using incl_appl, incl_appr, incl_refl.
  - destruct H as (WP & WQ & An & Hr). apply Forall_map, Forall_app. split; [|apply Forall_map]; (eapply Forall_impl; [|eauto]); intros c Hc.
    + eapply term_history_added; [exact Hc| |]; cbn; auto using incl_appl, incl_refl.
    + eapply term_history_added with (P := Move (reference P) Q); [|reflexivity|].
      * eapply term_history_moved with (R' := reference P :: references Q); try assumption; try reflexivity; try lia.
        -- now apply reference_is_float.
        -- apply incl_tl, incl_refl.
        -- now left.
      * cbn. intros y [<-|Hy]; apply in_or_app; [left; apply reference_in_references|now right].
Qed.

(* sigma_i: v l_i, and the single subtraction's own error where there is one exp *)
Theorem sigma_many P c : well_formed P -> In c (terms P) -> Rabs (arg_error c) <= v * travel (reference P) c.
Proof. intros WP Hc. pose proof (history P WP) as H. rewrite Forall_forall in H. now apply (H c Hc). Qed.
Theorem sigma_one P c : well_formed P -> In c (terms P) -> (exp_count c <= 1)%nat ->
  arg_error c = arg (logit c - reference P) - (logit c - reference P).
Proof.
  intros WP Hc He. pose proof (history P WP) as H. rewrite Forall_forall in H.
  destruct (H c Hc) as (_ & _ & _ & _ & _ & H6 & H7 & _). unfold exp_count, enters_by_exp in He.
  destruct (moves c) as [|r [|r' l]]; cbn in He.
  - destruct (H6 eq_refl) as [<- ->]. reflexivity.
  - destruct (Req_EM_T (logit c) (start c)) as [e|]; [|cbn in He; lia]. destruct (H7 r eq_refl) as [<- ->].
    rewrite e. rewrite (Rminus_diag_eq (start c) (start c)), arg0 by reflexivity. ring.
  - lia.
Qed.

(* l_i = |d_i| + 2 rho_i *)
Theorem travel_rho P c : well_formed P -> In c (terms P) -> logit c <= reference P ->
  travel (reference P) c = Rabs (logit c - reference P) + 2 * Rmax 0 (logit c - start c).
Proof.
  intros WP Hc Hx. unfold travel. rewrite (Rabs_left1 (logit c - reference P)) by lra.
  destruct (Rle_dec (logit c) (start c)).
  - rewrite Rabs_left1, Rmax_left by lra. ring.
  - rewrite Rabs_right, Rmax_right by lra. ring.
Qed.

(* number of distinct members of xs above y *)
Definition above (xs : list R) (y : R) : nat :=
  length (nodup Req_EM_T (filter (fun z => if Rlt_dec y z then true else false) xs)).
Lemma above_ge xs y l : NoDup l -> (forall z, In z l -> y < z /\ In z xs) -> (length l <= above xs y)%nat.
Proof.
  intros Hn Hl. apply NoDup_incl_length; [assumption|]. intros z Hz. apply nodup_In, filter_In.
  destruct (Hl z Hz) as [H1 H2]. split; [assumption|]. destruct (Rlt_dec y z); [reflexivity|contradiction].
Qed.

(* every move is followed by an addition, but for a last one *)
Definition settled (P : program) : Prop := match P with Move _ _ => False | _ => True end.
Lemma anchored_settled P : anchored P -> settled P.
Proof. destruct P; cbn; tauto. Qed.
Lemma moves_adds P : well_formed P -> Forall (fun c => (length (moves c) <= addition_count c + 1)%nat /\ (settled P -> (length (moves c) <= addition_count c)%nat)) (terms P).
Proof.
  induction P as [r x|r P IH|P IHP Q IHQ|P IHP Q IHQ]; cbn [RoundedModel.well_formed RoundedModel.terms settled]; intros H.
  - constructor; [|constructor]. cbn. lia.
  - destruct H as (WP & An & _). apply anchored_settled in An. apply Forall_map. eapply Forall_impl; [|now apply IH]. cbn. intros c [_ Hc].
    specialize (Hc An). split; [lia|tauto].
  - apply Forall_map, Forall_app. split; (eapply Forall_impl; [|first [apply IHP; tauto|apply IHQ; tauto]]); cbn; intros; lia.
  - destruct H as (WP & WQ & An & _). apply anchored_settled in An.
    apply Forall_map, Forall_app. split; [|apply Forall_map]; (eapply Forall_impl; [|first [apply IHP; tauto|apply IHQ; tauto]]); cbn; intros c [H1 H2].
    + lia.
    + specialize (H2 An). lia.
Qed.

(* the counts of Theorem 1; t0 = 0 where no term entered above its reference *)
Theorem counts P xs c t0 : well_formed P -> In c (terms P) -> incl (references P) xs -> 0 <= t0 -> logit c - start c <= t0 ->
  (exp_count c <= height P + 2)%nat /\ (product_count c <= height P + 1)%nat /\
  (exp_count c <= above xs (logit c - t0) + 1)%nat /\ (product_count c <= above xs (logit c - t0))%nat /\
  (settled P -> (exp_count c <= height P + 1)%nat /\ (product_count c <= height P)%nat) /\
  (logit c <= start c -> (exp_count c <= above xs (logit c))%nat /\ (product_count c <= above xs (logit c))%nat).
Proof.
  intros WP Hc Hx Ht0 Hr. pose proof (history P WP) as HH. rewrite Forall_forall in HH. specialize (HH c Hc).
  destruct HH as (H1 & H2 & H3 & H4 & H5 & _ & _ & _ & H9).
  pose proof (moves_adds P WP) as HM. rewrite Forall_forall in HM. destruct (HM c Hc) as [M1 M2].
  pose proof (additions_le_height A P) as Hth. rewrite Forall_forall in Hth. specialize (Hth c Hc).
  assert (enters_by_exp c <= 1)%nat by (unfold enters_by_exp; destruct (Req_EM_T (logit c) (start c)); lia).
  assert (length (moves c) <= above xs (logit c - t0))%nat as K1.
  { apply above_ge; [assumption|]. intros z Hz. specialize (H2 z Hz). split; [lra|]. apply Hx, H5, Hz. }
  unfold exp_count. split; [lia|]. split; [lia|]. split; [lia|]. split; [lia|]. split.
  { intros S. specialize (M2 S). lia. }
  intros Hle. split.
  - unfold enters_by_exp. destruct (Req_EM_T (logit c) (start c)) as [e|ne].
    + cbn. apply above_ge; [assumption|]. intros z Hz. specialize (H2 z Hz). split; [lra|]. apply Hx, H5, Hz.
    + change (1 + length (moves c))%nat with (length (start c :: moves c)). apply above_ge.
      * constructor; [|assumption]. intros Hi. specialize (H2 _ Hi). lra.
      * intros z [<-|Hz]; [split; [lra|now apply Hx]|]. specialize (H2 z Hz). split; [lra|]. apply Hx, H5, Hz.
  - eapply Nat.le_trans; [exact H9|].
    apply above_ge; [assumption|]. intros z Hz. specialize (H2 z Hz). split; [lra|]. apply Hx, H5, Hz.
Qed.

(* where no term enters above its reference, and references are logits of the row, there is no last move *)
Lemma settled_tau0 P : well_formed P -> (forall c, In c (terms P) -> logit c <= start c) -> incl (references P) (map logit (terms P)) -> settled P.
Proof.
  intros WP Hb Hi. destruct P as [r x|r P|P Q|P Q]; cbn; auto.
  destruct WP as (WP & An & Fr & Hr). assert (In r (map logit (terms (Move r P)))) as H by (apply Hi; now left).
  apply in_map_iff in H. destruct H as (c & Hc & Hin). specialize (Hb c Hin). cbn [RoundedModel.terms] in Hin.
  apply in_map_iff in Hin. destruct Hin as (c' & <- & Hin). cbn in Hc, Hb.
  pose proof (history P WP) as HH. rewrite Forall_forall in HH. destruct (HH c' Hin) as (H1 & _). lra.
Qed.

(* Theorem 2, above *)
Definition below (P : program) : Prop := forall c, In c (terms P) -> logit c <= start c.
Lemma computed_le_terms P : well_formed P -> below P -> computed P <= INR (length (terms P)) * (1 + u) ^ height P.
Proof.
  intros WP Hb. revert WP Hb. pose proof (Hu A).
  enough (G : well_formed P -> below P -> computed P <= INR (length (terms P)) * 1 * (1 + u) ^ height P) by (rewrite Rmult_1_r in G; exact G).
  induction P as [r x|r P IH|P IHP Q IHQ|P IHP Q IHQ]; cbn [RoundedModel.well_formed]; intros W Hb.
  - cbn. rewrite !Rmult_1_r. apply HEle1. specialize (Hb _ (or_introl eq_refl)). cbn in Hb. lra.
  - destruct W as (WP & An & Fr & Hr). cbn [RoundedModel.computed RoundedModel.terms height]. rewrite map_length.
    eapply Rle_trans; [|apply IH; try assumption].
    + rewrite <- (M3F A (computed P)) at 2 by now apply computed_is_float. apply M3. pose proof (computed_pos A P WP).
      rewrite <- (Rmult_1_r (computed P)) at 2. apply Rmult_le_compat_l; [assumption|]. apply HEle1. lra.
    + intros c Hc. apply (Hb (moved A (reference P) r (is_sum P) c)). cbn [RoundedModel.terms]. now apply in_map.
  - destruct W as (WP & WQ & Hr). cbn [RoundedModel.computed RoundedModel.terms height]. rewrite map_length, app_length, plus_INR.
    assert (BP : computed P <= INR (length (terms P)) * 1 * (1 + u) ^ height P).
    { apply IHP; [assumption|]. intros c Hc. apply (Hb (added c)). cbn [RoundedModel.terms]. apply in_map, in_or_app. now left. }
    assert (BQ : computed Q <= INR (length (terms Q)) * 1 * (1 + u) ^ height Q).
    { apply IHQ; [assumption|]. intros c Hc. apply (Hb (added c)). cbn [RoundedModel.terms]. apply in_map, in_or_app. now right. }
    eapply Rle_trans; [apply fl_add_ub; auto using computed_is_float, computed_pos|].
    pose proof (pow1u_le A (height P) (Nat.max (height P) (height Q)) ltac:(lia)) as L1.
    pose proof (pow1u_le A (height Q) (Nat.max (height P) (height Q)) ltac:(lia)) as L2.
    cbn [pow]. rewrite Rmult_1_r in *. rewrite (Rmult_comm (1 + u)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    rewrite Rmult_plus_distr_r. apply Rplus_le_compat; (eapply Rle_trans; [eassumption|]); apply Rmult_le_compat_l; auto using pos_INR.
  - destruct W as (WP & WQ & An & Hr). cbn [RoundedModel.computed RoundedModel.terms height]. rewrite map_length, app_length, map_length, plus_INR.
    assert (BP : computed P <= INR (length (terms P)) * 1 * (1 + u) ^ height P).
    { apply IHP; [assumption|]. intros c Hc. apply (Hb (added c)). cbn [RoundedModel.terms]. apply in_map, in_or_app. now left. }
    assert (BQ : computed Q <= INR (length (terms Q)) * 1 * (1 + u) ^ height Q).
    { apply IHQ; [assumption|]. intros c Hc. apply (Hb (added (moved A (reference Q) (reference P) 0 c))). cbn [RoundedModel.terms].
      apply in_map, in_or_app. right. now apply in_map. }
    apply Rle_trans with (fl (computed P + computed Q)).
    { apply M3, Rplus_le_compat_l. rewrite <- (Rmult_1_r (computed Q)) at 2. apply Rmult_le_compat_l; [now apply computed_pos|]. apply HEle1. lra. }
    eapply Rle_trans; [apply fl_add_ub; auto using computed_is_float, computed_pos|].
    pose proof (pow1u_le A (height P) (Nat.max (height P) (height Q)) ltac:(lia)) as L1.
    pose proof (pow1u_le A (height Q) (Nat.max (height P) (height Q)) ltac:(lia)) as L2.
    cbn [pow]. rewrite Rmult_1_r in *. rewrite (Rmult_comm (1 + u)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    rewrite Rmult_plus_distr_r. apply Rplus_le_compat; (eapply Rle_trans; [eassumption|]); apply Rmult_le_compat_l; auto using pos_INR.
Qed.

(* and exactly j while the integers up to j are floats *)
Theorem computed_le_count P : well_formed P -> below P -> (forall i, (i <= length (terms P))%nat -> F (INR i)) -> computed P <= INR (length (terms P)).
Proof.
  induction P as [r x|r P IH|P IHP Q IHQ|P IHP Q IHQ]; cbn [RoundedModel.well_formed]; intros W Hb HF.
  - cbn. apply HEle1. specialize (Hb _ (or_introl eq_refl)). cbn in Hb. lra.
  - destruct W as (WP & An & Fr & Hr). cbn [RoundedModel.computed RoundedModel.terms] in *. rewrite map_length in *.
    eapply Rle_trans; [|apply IH; try assumption].
    + rewrite <- (M3F A (computed P)) at 2 by now apply computed_is_float. apply M3. pose proof (computed_pos A P WP).
      rewrite <- (Rmult_1_r (computed P)) at 2. apply Rmult_le_compat_l; [assumption|]. apply HEle1. lra.
    + intros c Hc. apply (Hb (moved A (reference P) r (is_sum P) c)). cbn [RoundedModel.terms]. now apply in_map.
  - destruct W as (WP & WQ & Hr). cbn [RoundedModel.computed RoundedModel.terms] in *. rewrite map_length, app_length in *.
    assert (BP : computed P <= INR (length (terms P))).
    { apply IHP; [assumption| |]. { intros c Hc. apply (Hb (added c)). cbn [RoundedModel.terms]. apply in_map, in_or_app. now left. }
      intros. apply HF. lia. }
    assert (BQ : computed Q <= INR (length (terms Q))).
    { apply IHQ; [assumption| |]. { intros c Hc. apply (Hb (added c)). cbn [RoundedModel.terms]. apply in_map, in_or_app. now right. }
      intros. apply HF. lia. }
    rewrite <- (M3F A (INR (length (terms P) + length (terms Q)))) by (apply HF; lia).
    apply M3. rewrite plus_INR. lra.
  - destruct W as (WP & WQ & An & Hr). cbn [RoundedModel.computed RoundedModel.terms] in *. rewrite map_length, app_length, map_length in *.
    assert (BP : computed P <= INR (length (terms P))).
    { apply IHP; [assumption| |]. { intros c Hc. apply (Hb (added c)). cbn [RoundedModel.terms]. apply in_map, in_or_app. now left. }
      intros. apply HF. lia. }
    assert (BQ : computed Q <= INR (length (terms Q))).
    { apply IHQ; [assumption| |]. { intros c Hc. apply (Hb (added (moved A (reference Q) (reference P) 0 c))). cbn [RoundedModel.terms].
        apply in_map, in_or_app. right. now apply in_map. }
      intros. apply HF. lia. }
    rewrite <- (M3F A (INR (length (terms P) + length (terms Q)))) by (apply HF; lia).
    apply M3. rewrite plus_INR. apply Rplus_le_compat; [assumption|].
    eapply Rle_trans; [|exact BQ]. rewrite <- (Rmult_1_r (computed Q)) at 2. apply Rmult_le_compat_l; [now apply computed_pos|]. apply HEle1. lra.
Qed.
End Counts.
