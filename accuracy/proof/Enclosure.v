(* SPDX-License-Identifier: Apache-2.0 *)
(* The formula of RowFormula.v over intervals: related numbers give related results, so every interval contains what the
   formula says over R. *)
Require Import Reals ZArith List Lra Lia Bool.
From Interval Require Import Interval.Interval Interval.Float_full Float.Specific_ops Float.Specific_stdz Real.Xreal Float.Basic.
Require Import Assay.ExactOperator Assay.FloatSum Assay.RowFormula Assay.RowBounds.
Import ListNotations.

(* Any two kinds of numbers whose operations keep a relation *)
Section Related.
Variables O P : ops.
Variable r : num O -> num P -> Prop.
Record related_ops : Prop := {
  r_Z : forall z, r (of_Z O z) (of_Z P z); r_pow2 : forall e, r (pow2 O e) (pow2 P e);
  r_add : forall a b c d, r a b -> r c d -> r (add O a c) (add P b d); r_sub : forall a b c d, r a b -> r c d -> r (sub O a c) (sub P b d);
  r_mul : forall a b c d, r a b -> r c d -> r (mul O a c) (mul P b d); r_div : forall a b c d, r a b -> r c d -> r (div O a c) (div P b d);
  r_top : forall a b c d, r a b -> r c d -> r (top O a c) (top P b d); r_exp : forall a b, r a b -> r (exp_ O a) (exp_ P b);
  r_ln : forall a b, r a b -> r (ln_ O a) (ln_ P b);
  r_lower : forall g g' a b c d, r g g' -> r a b -> r c d -> r (lower_if O g a c) (lower_if P g' b d) }.
Hypothesis R_ : related_ops.
Lemma q_Z z : r (of_Z O z) (of_Z P z). Proof. apply (r_Z R_). Qed.
Lemma q_pow2 e : r (pow2 O e) (pow2 P e). Proof. apply (r_pow2 R_). Qed.
Lemma q_add a b c d : r a b -> r c d -> r (add O a c) (add P b d). Proof. apply (r_add R_). Qed.
Lemma q_sub a b c d : r a b -> r c d -> r (sub O a c) (sub P b d). Proof. apply (r_sub R_). Qed.
Lemma q_mul a b c d : r a b -> r c d -> r (mul O a c) (mul P b d). Proof. apply (r_mul R_). Qed.
Lemma q_div a b c d : r a b -> r c d -> r (div O a c) (div P b d). Proof. apply (r_div R_). Qed.
Lemma q_top a b c d : r a b -> r c d -> r (top O a c) (top P b d). Proof. apply (r_top R_). Qed.
Lemma q_exp a b : r a b -> r (exp_ O a) (exp_ P b). Proof. apply (r_exp R_). Qed.
Lemma q_ln a b : r a b -> r (ln_ O a) (ln_ P b). Proof. apply (r_ln R_). Qed.
Lemma q_lower g g' a b c d : r g g' -> r a b -> r c d -> r (lower_if O g a c) (lower_if P g' b d). Proof. apply (r_lower R_). Qed.
Hint Resolve q_Z q_pow2 q_add q_sub q_mul q_div q_top q_exp q_ln q_lower : rel.
Definition r_entry (a : entry O) (b : entry P) : Prop := key a = key b /\ r (exact a) (exact b) /\ r (grown a) (grown b) /\ r (absolute a) (absolute b).
Notation rs := (Forall2 r). Notation es := (Forall2 r_entry).

Lemma r_nat k : r (of_nat O k) (of_nat P k). Proof. apply (r_Z R_). Qed.
Lemma r_dyadic d : r (dyadic O d) (dyadic P d). Proof. unfold dyadic. auto with rel. Qed.
Lemma r_lam a b : r a b -> r (lam_ O a) (lam_ P b). Proof. unfold lam_. auto with rel. Qed.
Lemma r_total {X Y} (q : X -> Y -> Prop) f g l l' : (forall x y, q x y -> r (f x) (g y)) -> Forall2 q l l' -> r (total O f l) (total P g l').
Proof. intros H. induction 1; cbn; auto with rel. Qed.
Lemma r_exacts l l' : es l l' -> r (total O exact l) (total P exact l'). Proof. apply r_total. unfold r_entry. tauto. Qed.
Lemma r_growns l l' : es l l' -> r (total O grown l) (total P grown l'). Proof. apply r_total. unfold r_entry. tauto. Qed.
Lemma r_absolutes l l' : es l l' -> r (total O absolute l) (total P absolute l'). Proof. apply r_total. unfold r_entry. tauto. Qed.
Lemma r_length {X Y} (q : X -> Y -> Prop) l l' : Forall2 q l l' -> length l = length l'. Proof. induction 1; cbn; congruence. Qed.
Hint Resolve r_nat r_dyadic r_lam r_exacts r_growns r_absolutes : rel.

Section Sum.
Variables (L : num O) (L' : num P) (h : nat) (merged : bool) (times : nat) (row : list (entry O)) (row' : list (entry P)).
Hypotheses (HL : r L L') (Hrow : es row row').
Lemma r_sum : r (sum O row) (sum P row'). Proof. unfold sum. auto with rel. Qed.
Lemma r_tree : r (tree O L h) (tree P L' h). Proof. unfold tree. auto with rel. Qed.
Hint Resolve r_sum r_tree HL Hrow : rel.
Lemma r_plain : r (plain O L h row) (plain P L' h row'). Proof. unfold plain, before. auto 8 with rel. Qed.
Hint Resolve r_plain : rel.
Lemma r_plain_lost : r (plain_lost O L h times row) (plain_lost P L' h times row'). Proof. unfold plain_lost. auto 8 with rel. Qed.
Hint Resolve r_plain_lost : rel.
Lemma r_plain_bound : r (plain_bound O L h times row) (plain_bound P L' h times row'). Proof. unfold plain_bound. auto with rel. Qed.
Lemma filter_es (p : Z -> bool) l l' : es l l' -> es (filter (fun x => p (key x)) l) (filter (fun x => p (key x)) l').
Proof. induction 1 as [|a b l l' H Hl IH]; cbn; [constructor|]. rewrite <- (proj1 H). destruct (p (key a)); auto. Qed.
Lemma firstn_es k l l' : es l l' -> es (firstn k l) (firstn k l'). Proof. intros H. revert k. induction H; intros [|k]; cbn; auto. Qed.
Lemma skipn_es k l l' : es l l' -> es (skipn k l) (skipn k l'). Proof. intros H. revert k. induction H; intros [|k]; cbn; auto. Qed.
Lemma nth_es k l l' : es l l' -> match nth_error l k, nth_error l' k with Some a, Some b => r_entry a b | None, None => True | _, _ => False end.
Proof. intros H. revert k. induction H; intros [|k]; cbn; auto. apply IHForall2. Qed.
Lemma r_split k : es (fst (split O merged row k)) (fst (split P merged row' k)) /\ es (snd (split O merged row k)) (snd (split P merged row' k)).
Proof.
  unfold split. destruct merged; cbn [fst snd]; [|split; [now apply firstn_es|now apply skipn_es]].
  pose proof (nth_es (k - 1) row row' Hrow) as H. destruct (nth_error row (k - 1)) as [a|], (nth_error row' (k - 1)) as [b|]; try contradiction; [|split; [assumption|constructor]].
  destruct H as [-> _]. cbn [fst snd]. split; [apply (filter_es (fun z => Z.leb (key b) z))|apply (filter_es (fun z => negb (Z.leb (key b) z)))]; assumption.
Qed.
Lemma r_among l l' : es l l' -> r (among O L h l) (among P L' h l').
Proof. intros H. unfold among. rewrite (r_length _ _ _ H). auto with rel. Qed.
Hint Resolve r_among : rel.
Lemma r_above l l' t t' : es l l' -> es t t' -> r (above_head O L h merged row l t) (above_head P L' h merged row' l' t').
Proof. intros H T. unfold above_head. destruct merged; auto 12 with rel. Qed.
Lemma r_alone l l' : es l l' -> r (alone O L h l) (alone P L' h l'). Proof. intros H. unfold alone. auto 8 with rel. Qed.
Hint Resolve r_above r_alone : rel.
Lemma r_lost l l' : es l l' -> r (head_lost O L h times l) (head_lost P L' h times l'). Proof. intros H. unfold head_lost. auto 8 with rel. Qed.
Hint Resolve r_lost : rel.
Lemma r_below l l' : es l l' -> r (below_head O L h times row l) (below_head P L' h times row' l'). Proof. intros H. unfold below_head. auto 8 with rel. Qed.
Definition r_pair (a : num O * num O) (b : num P * num P) : Prop := r (fst a) (fst b) /\ r (snd a) (snd b).
Lemma r_head k : r_pair (head_bound O L h merged times row k) (head_bound P L' h merged times row' k).
Proof.
  pose proof (r_split k) as [H T]. unfold head_bound. destruct (split O merged row k) as [a b], (split P merged row' k) as [a' b']. cbn [fst snd] in H, T.
  split; cbn [fst snd]; [auto with rel|]. apply (r_top R_); [auto with rel|now apply r_below].
Qed.
Lemma r_sizes : head_sizes O merged row = head_sizes P merged row'.
Proof.
  unfold head_sizes. rewrite (r_length _ _ _ Hrow). apply filter_ext. intros k. pose proof (r_split k) as [_ T]. inversion T; reflexivity.
Qed.
Lemma r_tops l l' : rs l l' -> rs (suffix_tops O l) (suffix_tops P l').
Proof. induction 1 as [|a b l l' H Hl IH]; cbn; [constructor|]. inversion IH; auto with rel. Qed.
Lemma r_powers c c' x x' k : r c c' -> r x x' -> rs (power_list O c x k) (power_list P c' x' k).
Proof. revert x x'. induction k as [|k IH]; intros x x' Hc Hx; cbn; auto with rel. Qed.
Lemma r_nth l l' k d d' : rs l l' -> r d d' -> r (nth k l d) (nth k l' d').
Proof. intros H Hd. revert k. induction H; intros [|k]; cbn; auto. Qed.
Lemma r_worst f f' n k l l' : rs f f' -> rs l l' -> r (worst O h f n k l) (worst P h f' n k l').
Proof. intros Hf H. revert k. induction H; intros k; cbn [worst]; auto with rel. apply (r_add R_); [|apply IHForall2]. apply (r_mul R_); [assumption|]. apply r_nth; auto with rel. Qed.
Lemma r_depth l l' : rs l l' -> r (depth_bound O L h times row l) (depth_bound P L' h times row' l').
Proof.
  intros H. unfold depth_bound. apply (r_add R_); [|auto with rel]. apply (r_ln R_), (r_div R_); [|auto with rel]. rewrite (r_length _ _ _ H).
  apply r_worst; [apply r_powers; auto with rel|now apply r_tops].
Qed.
Lemma r_candidates l l' : rs l l' -> Forall2 r_pair (candidates O L h merged times row l) (candidates P L' h merged times row' l').
Proof.
  intros H. unfold candidates. rewrite (r_length _ _ _ Hrow), r_sizes. destruct (Nat.ltb short_sum h); [|constructor]. apply Forall2_app.
  - destruct (Nat.ltb _ _); constructor; [|constructor]. split; [apply r_plain_lost|now apply r_depth].
  - induction (head_sizes P merged row'); cbn; constructor; [apply r_head|assumption].
Qed.
Lemma r_lowest b b' l l' : r b b' -> Forall2 r_pair l l' -> r (lowest_of O L h times row b l) (lowest_of P L' h times row' b' l').
Proof. intros Hb. unfold lowest_of. induction 1 as [|x y l1 l2 [H1 H2] HC IH]; cbn [fold_right]; [apply r_plain_bound|]. auto with rel. Qed.
Lemma r_row_bound l l' b b' : rs l l' -> r b b' -> r (row_bound O L h merged times row l b) (row_bound P L' h merged times row' l' b').
Proof. intros H Hb. unfold row_bound. apply r_lowest; [assumption|now apply r_candidates]. Qed.
End Sum.

Section Case.
Variable c : case.
Definition r_constants (a : constants O) (b : constants P) : Prop :=
  r (lam_of_u O a) (lam_of_u P b) /\ r (one_v O a) (one_v P b) /\ r (eps0 O a) (eps0 P b) /\ r (slope O a) (slope P b) /\ r (eta O a) (eta P b) /\ r (unit O a) (unit P b) /\ r (rel_v O a) (rel_v P b).
Lemma r_constants_in : r_constants (constants_in O c) (constants_in P c).
Proof. unfold r_constants, constants_in, constants_of. cbn. repeat split; auto 8 with rel. Qed.
Variables (C : constants O) (C' : constants P).
Hypothesis HC : r_constants C C'.
Lemma r_val z : r (val O C z) (val P C' z).
Proof. destruct HC as (_ & _ & _ & _ & _ & H & _). unfold val. auto with rel. Qed.
Hint Resolve r_val : rel.
Lemma r_own m y : r (own_of O C m y) (own_of P C' m y).
Proof. destruct HC as (_ & _ & H1 & H2 & _ & _ & _). unfold own_of. destruct (Z.eqb _ _); auto with rel. Qed.
Lemma r_safe m s y : r_entry (safe_entry O C m s y) (safe_entry P C' m s y).
Proof.
  pose proof HC as (_ & _ & _ & _ & H5 & _ & _). unfold safe_entry, r_entry, term_own, term_absolute. cbn [key exact grown absolute].
  split; [reflexivity|]. split; [auto with rel|]. destruct (stored_of s y); (split; [|auto with rel]); apply (r_exp R_), (r_add R_); auto with rel. apply r_own.
Qed.
Lemma r_online m zs h y : r_entry (online_entry O C m zs h y) (online_entry P C' m zs h y).
Proof.
  pose proof HC as (H1 & H2 & H3 & H4 & H5 & _ & H7). unfold online_entry, rescaled_by. repeat split; cbn [key exact grown absolute]; auto with rel.
  apply (r_exp R_), (r_add R_); [auto with rel|]. destruct (Nat.leb _ _); auto 12 with rel.
Qed.
Lemma r_entry_of zs y : r_entry (entry_of O c C zs y) (entry_of P c C' zs y).
Proof. unfold entry_of. destruct (online c); [apply r_online|apply r_safe]. Qed.
Lemma r_map {X} (f : X -> entry O) g l : (forall y, r_entry (f y) (g y)) -> es (map f l) (map g l).
Proof. intros H. induction l; cbn; auto. Qed.
Lemma same {X} (l : list X) : Forall2 eq l l.
Proof. induction l; auto. Qed.
Lemma r_least : r (least_of O c C) (least_of P c C').
Proof.
  unfold least_of, floor_of. pose proof HC as (H1 & _). apply (r_add R_); [|auto with rel]. apply (r_ln R_), (r_div R_).
  - destruct (online c).
    + apply r_total with (q := eq); [|apply same]. intros x y <-. apply (r_exp R_), (r_add R_); [auto with rel|apply r_own].
    + apply r_growns, r_map. intros y. apply r_safe.
  - apply r_total with (q := eq); [|apply same]. intros x y <-. auto with rel.
Qed.
End Case.
Theorem r_case_bound c : r (case_bound O c) (case_bound P c).
Proof.
  unfold case_bound. pose proof (r_constants_in c) as HC. apply r_row_bound.
  - apply HC.
  - apply r_map. intros y. now apply r_entry_of.
  - induction (heaviest c); cbn; constructor; [|assumption]. now apply r_entry_of.
  - now apply r_least.
Qed.
Theorem r_case_lost c : r (case_lost_ O c) (case_lost_ P c).
Proof. pose proof (r_constants_in c) as HC. apply r_plain_lost; [apply HC|]. apply r_map. intros y. now apply r_entry_of. Qed.
Theorem r_ranges c divided rounded w0 : Forall2 r_pair (output_ranges O c divided rounded w0) (output_ranges P c divided rounded w0).
Proof.
  unfold output_ranges. pose proof (r_constants_in c) as HC. pose proof (r_val _ _ HC) as Hv. pose proof HC as (_ & _ & _ & _ & He & _ & _).
  pose proof (r_case_bound c) as Hb.
  assert (Hs : r (total O (fun y => exp_ O (val O (constants_in O c) (fst y - subtracted c))) (logits c)) (total P (fun y => exp_ P (val P (constants_in P c) (fst y - subtracted c))) (logits c))).
  { apply r_total with (q := eq); [|apply same]. intros x y <-. apply q_exp, Hv. }
  assert (Ht : r (quotient_error O divided rounded) (quotient_error P divided rounded)) by (unfold quotient_error; auto with rel).
  set (s := total O _ _) in *. set (s' := total P _ _) in *. clearbody s s'. induction (logits c) as [|y l IH]; cbn [map]; [constructor|]. constructor; [|exact IH].
  unfold output_range. pose proof (r_own _ _ HC (subtracted c) y). pose proof (Hv (fst y - subtracted c)%Z). split; cbn [fst snd]; auto 14 with rel.
Qed.
End Related.

(* Intervals with bounds of 80 bits. Integers carry them, so no axiom of machine numbers is used. *)
Module FloatsOfZ := SpecificFloat StdZRadix2.
Module I := FloatIntervalFull FloatsOfZ.
Definition bits : I.precision := FloatsOfZ.PtoP 80.
Definition Z_ : Z -> I.type := I.fromZ bits.
Definition half_ (x : I.type) : I.type := I.div bits x (Z_ 2).
Definition gap (a b : I.type) : I.type := I.abs (I.sub bits a b).
Definition min_ (a b : I.type) : I.type := half_ (I.sub bits (I.add bits a b) (gap a b)).
Definition lower_ (g a b : I.type) : I.type :=
  match I.sign_strict (I.sub bits g (Z_ 1)) with Xlt => min_ a b | _ =>
  match I.sign_large (I.sub bits g (Z_ 1)) with Xgt | Xeq => b | _ => I.nai end end.
Definition I_ops : ops := Ops I.type Z_ (fun e => I.power_int bits (Z_ 2) e) (I.add bits) (I.sub bits) (I.mul bits) (I.div bits)
  (fun a b => half_ (I.add bits (I.add bits a b) (gap a b))) (I.exp bits) (I.ln bits) lower_.
Definition inside (i : I.type) (x : R) : Prop := contains (I.convert i) (Xreal x).

Open Scope R_scope.
Lemma no_number i x : contains (I.convert i) Xnan -> inside i x.
Proof. unfold inside. destruct (I.convert i) as [|l u]; [reflexivity|intros []]. Qed.
Lemma inside_div a b x y : inside a x -> inside b y -> inside (I.div bits a b) (x / y).
Proof.
  intros H1 H2. pose proof (I.div_correct bits a b (Xreal x) (Xreal y) H1 H2) as H. cbn in H. unfold Xdiv' in H.
  destruct (is_zero y); [now apply no_number|exact H].
Qed.
Lemma inside_half a x : inside a x -> inside (half_ a) (x / 2).
Proof. intros H. apply inside_div; [assumption|apply I.fromZ_correct]. Qed.
Lemma inside_gap a b x y : inside a x -> inside b y -> inside (gap a b) (Rabs (x - y)).
Proof. intros H1 H2. apply (I.abs_correct _ (Xreal (x - y))). apply (I.sub_correct bits _ _ (Xreal x) (Xreal y)); assumption. Qed.
Lemma inside_min a b x y : inside a x -> inside b y -> inside (min_ a b) (Rmin x y).
Proof.
  intros H1 H2. replace (Rmin x y) with ((x + y - Rabs (x - y)) / 2) by (unfold Rmin; destruct (Rle_dec x y); [rewrite Rabs_left1|rewrite Rabs_right]; lra).
  apply inside_half. apply (I.sub_correct bits _ _ (Xreal (x + y)) (Xreal (Rabs (x - y)))); [|now apply inside_gap].
  apply (I.add_correct bits _ _ (Xreal x) (Xreal y)); assumption.
Qed.
Lemma inside_max a b x y : inside a x -> inside b y -> inside (half_ (I.add bits (I.add bits a b) (gap a b))) (Rmax x y).
Proof.
  intros H1 H2. replace (Rmax x y) with ((x + y + Rabs (x - y)) / 2) by (unfold Rmax; destruct (Rle_dec x y); [rewrite Rabs_left1|rewrite Rabs_right]; lra).
  apply inside_half. apply (I.add_correct bits _ _ (Xreal (x + y)) (Xreal (Rabs (x - y)))); [|now apply inside_gap].
  apply (I.add_correct bits _ _ (Xreal x) (Xreal y)); assumption.
Qed.
Lemma inside_lower g a b x y z : inside g x -> inside a y -> inside b z -> inside (lower_ g a b) (if Rlt_dec x 1 then Rmin y z else z).
Proof.
  intros Hg Ha Hb. unfold lower_. set (d := I.sub bits g (Z_ 1)).
  assert (Hd : contains (I.convert d) (Xreal (x - 1))) by (apply (I.sub_correct bits _ _ (Xreal x) (Xreal 1)); [assumption|apply I.fromZ_correct]).
  pose proof (I.sign_strict_correct d) as S. pose proof (I.sign_large_correct d) as T.
  assert (G : inside (match I.sign_large d with Xgt | Xeq => b | _ => I.nai end) (if Rlt_dec x 1 then Rmin y z else z)).
  { destruct (I.sign_large d); try (apply no_number; rewrite I.nai_correct; exact Logic.I).
    - pose proof (f_equal proj_val (T _ Hd)) as T'. cbn in T'. destruct (Rlt_dec x 1); [lra|assumption].
    - destruct (T _ Hd) as [_ T']. cbn in T'. destruct (Rlt_dec x 1); [lra|assumption]. }
  destruct (I.sign_strict d); try exact G. destruct (S _ Hd) as [_ S']. cbn in S'. destruct (Rlt_dec x 1); [now apply inside_min|lra].
Qed.
Theorem intervals_related : related_ops I_ops R_ops inside.
Proof.
  constructor; cbn; intros.
  - apply I.fromZ_correct.
  - pose proof (I.power_int_correct bits e (Z_ 2) (Xreal 2) (I.fromZ_correct bits 2)) as H. cbn in H. unfold Xpower_int in H. cbn in H. unfold inside.
    destruct e; cbn in *; try exact H. destruct (is_zero 2) eqn:E; [apply no_number; exact H|exact H].
  - apply (I.add_correct bits _ _ (Xreal b) (Xreal d)); assumption.
  - apply (I.sub_correct bits _ _ (Xreal b) (Xreal d)); assumption.
  - apply (I.mul_correct bits _ _ (Xreal b) (Xreal d)); assumption.
  - now apply inside_div.
  - now apply inside_max.
  - apply (I.exp_correct bits _ (Xreal b)); assumption.
  - pose proof (I.ln_correct bits _ (Xreal b) H) as G. cbn in G. unfold Xln' in G. destruct (is_positive b); [exact G|now apply no_number].
  - now apply inside_lower.
Qed.
Theorem case_enclosed c : inside (case_bound I_ops c) (case_bound R_ops c).
Proof. apply r_case_bound, intervals_related. Qed.

(* what signs say of a number and a dyadic *)
Definition at_most (i : I.type) (d : Z * Z) : bool := match I.sign_large (I.sub bits i (dyadic I_ops d)) with Xlt | Xeq => true | _ => false end.
Definition at_least (i : I.type) (d : Z * Z) : bool := match I.sign_large (I.sub bits i (dyadic I_ops d)) with Xgt | Xeq => true | _ => false end.
Definition below (i : I.type) (d : Z * Z) : bool := match I.sign_strict (I.sub bits i (dyadic I_ops d)) with Xlt => true | _ => false end.
Definition beyond (i : I.type) (d : Z * Z) : bool := match I.sign_strict (I.sub bits i (dyadic I_ops d)) with Xgt => true | _ => false end.
Section Signs.
Variables (i : I.type) (x : R) (d : Z * Z).
Hypothesis H : inside i x.
Lemma difference : contains (I.convert (I.sub bits i (dyadic I_ops d))) (Xreal (x - dyadic R_ops d)).
Proof. apply (I.sub_correct bits _ _ (Xreal x) (Xreal (dyadic R_ops d))); [exact H|]. apply (r_dyadic _ _ _ intervals_related). Qed.
Notation gap_ := (I.sub bits i (dyadic I_ops d)).
Lemma at_most_true : at_most i d = true -> x <= dyadic R_ops d.
Proof.
  unfold at_most. pose proof (I.sign_large_correct gap_) as S. pose proof difference as D. destruct (I.sign_large gap_); try discriminate; intros _.
  - pose proof (f_equal proj_val (S _ D)) as E. cbn [proj_val] in E. lra.
  - destruct (S _ D) as [_ E]. cbn [proj_val] in E. lra.
Qed.
Lemma at_least_true : at_least i d = true -> dyadic R_ops d <= x.
Proof.
  unfold at_least. pose proof (I.sign_large_correct gap_) as S. pose proof difference as D. destruct (I.sign_large gap_); try discriminate; intros _.
  - pose proof (f_equal proj_val (S _ D)) as E. cbn [proj_val] in E. lra.
  - destruct (S _ D) as [_ E]. cbn [proj_val] in E. lra.
Qed.
Lemma below_true : below i d = true -> x < dyadic R_ops d.
Proof.
  unfold below. pose proof (I.sign_strict_correct gap_) as S. pose proof difference as D. destruct (I.sign_strict gap_); try discriminate; intros _.
  destruct (S _ D) as [_ E]. cbn [proj_val] in E. lra.
Qed.
Lemma beyond_true : beyond i d = true -> dyadic R_ops d < x.
Proof.
  unfold beyond. pose proof (I.sign_strict_correct gap_) as S. pose proof difference as D. destruct (I.sign_strict gap_); try discriminate; intros _.
  destruct (S _ D) as [_ E]. cbn [proj_val] in E. lra.
Qed.
End Signs.
