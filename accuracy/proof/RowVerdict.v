(* SPDX-License-Identifier: Apache-2.0 *)
(* A row's verdict: where the outputs of every kernel of a class lie, by RowFormula.v, and a check of given outputs that
   Coq runs by itself (`assay coq`). *)
Require Import Reals ZArith List Permutation Lra Lia Bool.
From Interval Require Import Real.Xreal.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.LeafDepth Assay.FloatSum Assay.HeadTail Assay.Outputs Assay.WholeRow Assay.RowFormula Assay.RowBounds Assay.RowBoundsOnline Assay.Enclosure.
Import ListNotations.
Open Scope R_scope.

Section Kernel.
Variable A : arith.
Hypothesis Hn : nearest A.
Variable c : case.
Notation C := (constants_in R_ops c). Notation m := (subtracted c). Notation pair := (Z * Z)%type. Notation x_ := (val R_ops C).
Notation F := (F_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).

(* the case describes this row of this arithmetic *)
Record describes : Prop := {
  d_u : dyadic R_ops (c_u c) = u_ A; d_v : dyadic R_ops (c_v c) = v_ A; d_eps0 : dyadic R_ops (c_eps0 c) = eps0_ A;
  d_slope : dyadic R_ops (c_slope c) = slope_ A; d_eta : dyadic R_ops (c_eta c) = eta_ A; d_stored : stored_errors c = [];
  d_max : In m (map fst (logits c)) /\ forall y, In y (logits c) -> (fst y <= m)%Z;
  d_float : forall y, In y (logits c) -> F (x_ (fst y));
  d_arg : forall y, In y (logits c) -> arg (x_ (fst y) - x_ m) = x_ (snd y);
  d_same : Permutation (heaviest c) (logits c) }.
Hypothesis Hc : describes.

Lemma agree : constants_agree A C.
Proof.
  destruct Hc as [H1 H2 H3 H4 H5 _ _ _ _ _]. unfold constants_agree, constants_in, constants_of. cbn [lam_of_u one_v eps0 slope eta rel_v unit].
  rewrite H1, H2, H3, H4, H5. repeat split; try reflexivity; [apply lam_lam|]. cbn. apply powerRZ_lt. lra.
Qed.
Lemma own_of_error y : In y (logits c) -> own_of R_ops C m y = own_error A (x_ m) (x_ (fst y)).
Proof.
  intros Hy. pose proof agree as G. pose proof G as (_ & _ & E0 & Sl & _ & _ & _). unfold own_of, own_error. rewrite !(val_abs A C G), !(val_minus C), E0, Sl, (d_arg Hc y Hy).
  cbn [add mul of_Z R_ops]. apply Rplus_eq_compat_l. destruct (Z.eqb_spec (fst y) m) as [E1|E1]; destruct (Req_EM_T (x_ (fst y)) (x_ m)) as [E2|E2]; try reflexivity; exfalso.
  - apply E2. now rewrite E1.
  - apply E1. exact (val_inj A C G _ _ E2).
Qed.
Lemma w_minus y : w_ c y = x_ (fst y) - x_ m.
Proof. unfold w_. apply (val_minus C). Qed.
Lemma numerator_of y : In y (logits c) -> exists nu, Rabs nu <= own_of R_ops C m y /\ Rabs (EX (x_ (fst y) - x_ m) - exp (w_ c y + nu)) <= eta_ A.
Proof.
  intros Hy. rewrite own_of_error, w_minus by assumption. destruct (d_max Hc) as [M1' M2']. apply numerator.
  - apply in_map_iff in M1'. destruct M1' as (z & E & Hz). rewrite <- E. now apply (d_float Hc).
  - now apply (d_float Hc).
  - apply (val_le A C agree). now apply M2'.
Qed.

(* the sum: safe, by any tree; online, by any tree of merges *)
Theorem softmax_case (t : sum_tree pair) : online c = false -> (sum_height pair t <= additions c)%nat -> Permutation (sleaves pair t) (logits c) -> case_lost_ R_ops c < 1 ->
  let D := sum_value A pair (fun y => EX (x_ (fst y) - x_ m)) t in 0 < D /\ Rabs (ln (D / case_sum c)) <= case_bound R_ops c.
Proof.
  intros Hk Hh Hp Hl D. assert (Hi : forall y, In y (sleaves pair t) -> In y (logits c)) by (intros y; apply (Permutation_in _ Hp)).
  assert (Hnu : exists nu, forall y, In y (logits c) -> Rabs (nu y) <= own_of R_ops C m y /\ Rabs (EX (x_ (fst y) - x_ m) - exp (w_ c y + nu y)) <= eta_ A).
  { pose proof numerator_of as N. clear Hp Hi. induction (logits c) as [|y l IH]; [exists (fun _ => 0); intros ? []|].
    destruct IH as [f Hf]; [intros; apply N; now right|]. destruct (N y (or_introl eq_refl)) as [k Hk'].
    assert (Dec : forall a b : pair, {a = b} + {a <> b}) by (repeat decide equality).
    exists (fun z => if Dec z y then k else f z). intros z Hz. destruct (Dec z y) as [->|Ne]; [assumption|]. destruct Hz as [->|Hz]; [congruence|]. now apply Hf. }
  destruct Hnu as [nu Hnu]. apply (safe_case A Hn c t _ nu); try assumption; try apply (d_u Hc); try apply (d_same Hc).
  - intros y Hy. split; [apply FEX|apply HEpos].
  - intros y Hy. unfold own_, zet_, term_own, term_absolute, stored_of. rewrite (d_stored Hc). cbn [find]. destruct (Hnu y (Hi y Hy)) as [N1 N2]. split; [exact N1|].
    pose proof agree as (_ & _ & _ & _ & E & _). rewrite E. exact N2.
Qed.
Theorem online_case fused t : tau_ A = 0 -> online c = true -> (merge_height t <= additions c)%nat -> Permutation (finite (leaves t)) (map (fun y => x_ (fst y)) (logits c)) -> case_lost_ R_ops c < 1 ->
  exists D, rounded_eval A fused t = Some (x_ m, D) /\ 0 < D /\ Rabs (ln (D / case_sum c)) <= case_bound R_ops c.
Proof.
  intros Ht Hk Hh Hp Hl. pose proof agree as G. destruct (d_max Hc) as [M1' M2']. pose proof G as (EL & _).
  unfold case_lost_, entry_of, times_of in Hl. rewrite Hk, EL in Hl.
  destruct (online_row A Hn Ht fused C G t (additions c) (1 + Nat.min 2 (most_exps (distinct c) (additions c) (logits c))) m (logits c) (distinct c)
    (map (fun y => grown (online_entry R_ops C m (distinct c) (additions c) y)) (heaviest c)) (least_of R_ops c C)) as (D & D1 & D2 & D3); try assumption.
  - intros E. rewrite E in M1'. destruct M1'.
  - intros x Hx. apply (Permutation_in _ Hp) in Hx. apply in_map_iff in Hx. destruct Hx as (y & <- & Hy). now apply (d_float Hc).
  - apply NoDup_nodup.
  - intros z. apply nodup_In.
  - apply (d_arg Hc).
  - lia.
  - rewrite map_map. apply Permutation_map, (d_same Hc).
  - exists D. split; [assumption|]. split; [lra|]. unfold case_bound, entry_of, times_of. rewrite Hk, EL.
    assert (Es : sum R_ops (map (online_entry R_ops C m (distinct c) (additions c)) (logits c)) = case_sum c) by (unfold sum; now rewrite total_sum, sum_over_map).
    rewrite Es in D3. exact D3.
Qed.

(* the outputs of either *)
Theorem outputs_lie divided rounded w0 D out y : 0 < D -> Rabs (ln (D / case_sum c)) <= case_bound R_ops c -> In y (logits c) ->
  let T := quotient_error R_ops divided rounded in 0 <= T -> approx T (dyadic R_ops w0) (EX (x_ (fst y) - x_ m) / D) out ->
  let (low, high) := output_range R_ops c w0 C (case_bound R_ops c) (case_sum c) T y in low <= out <= high.
Proof.
  intros HD Hb Hy T HT Ho. destruct (numerator_of y Hy) as (nu & N1 & N2). pose proof agree as (_ & _ & _ & _ & Ee & _).
  assert (Sp : 0 < case_sum c) by (apply sum_over_exp_pos; destruct (logits c); [destruct Hy|discriminate]).
  destruct (element (w_ c y) nu (own_of R_ops C m y) _ (eta_ A) (case_sum c) D (case_bound R_ops c) T (dyadic R_ops w0) out Sp HD (eta_pos A) HT Hb N1 N2 Ho) as [L U].
  unfold output_range. rewrite Ee. fold (w_ c y). cbn [add sub mul div exp_ of_Z R_ops].
  set (a := own_of R_ops C m y + T + case_bound R_ops c) in *.
  replace (exp (w_ c y - a)) with (exp (w_ c y) * exp (0 - a)) in L by (rewrite <- exp_plus; f_equal; ring). rewrite exp_plus in U. unfold Rdiv in *. split; [eapply Rle_trans; [|exact L]|eapply Rle_trans; [exact U|]]; right; ring.
Qed.
End Kernel.

(* The check: outputs as dyadics, against intervals. *)
Section Check.
Variable c : case.
Variables divided rounded w0 : Z * Z.
Notation pair := (Z * Z)%type.
Definition ranges : list (R * R) := output_ranges R_ops c divided rounded w0.
(* the formula holds for this row *)
Definition well_posed : Prop := case_lost_ R_ops c < 1 /\ 0 <= quotient_error R_ops divided rounded /\ Permutation (heaviest c) (logits c) /\
  In (subtracted c) (map fst (logits c)) /\ (forall y, In y (logits c) -> (fst y <= subtracted c)%Z) /\ stored_errors c = [].
(* every output lies in its range; one does not *)
Definition allowed (o : list pair) : Prop := Forall2 (fun p d => fst p <= dyadic R_ops d <= snd p) ranges o.
Definition refused (o : list pair) : Prop := exists k p d, nth_error ranges k = Some p /\ nth_error o k = Some d /\ (dyadic R_ops d < fst p \/ snd p < dyadic R_ops d).

(* what is refused is computed by no kernel of the class: no arithmetic, no tree, no order *)
Theorem refused_by_all A (o : list pair) D : describes A c -> refused o -> 0 <= quotient_error R_ops divided rounded -> 0 < D -> Rabs (ln (D / case_sum c)) <= case_bound R_ops c ->
  ~ Forall2 (fun y d => approx (quotient_error R_ops divided rounded) (dyadic R_ops w0) (EX_ A (val R_ops (constants_in R_ops c) (fst y) - val R_ops (constants_in R_ops c) (subtracted c)) / D) (dyadic R_ops d)) (logits c) o.
Proof.
  intros Hd (k & p & d & K1 & K2 & K3) HT HD Hb Ho.
  assert (G : forall l o k, (forall y, In y l -> In y (logits c)) -> Forall2 (fun y d => approx (quotient_error R_ops divided rounded) (dyadic R_ops w0) (EX_ A (val R_ops (constants_in R_ops c) (fst y) - val R_ops (constants_in R_ops c) (subtracted c)) / D) (dyadic R_ops d)) l o ->
    forall p d, nth_error (map (output_range R_ops c w0 (constants_in R_ops c) (case_bound R_ops c) (case_sum c) (quotient_error R_ops divided rounded)) l) k = Some p -> nth_error o k = Some d -> fst p <= dyadic R_ops d <= snd p).
  { clear - Hd HT HD Hb. intros l o k Hl H. revert k. induction H as [|y d l o H H' IH]; intros [|k] p q K1 K2; cbn in K1, K2; try discriminate.
    - injection K1 as <-. injection K2 as <-. pose proof (outputs_lie A c Hd divided rounded w0 D (dyadic R_ops d) y HD Hb (Hl y (or_introl eq_refl)) HT H) as Q.
      destruct (output_range _ _ _ _ _ _ _ y). exact Q.
    - apply (IH (fun z Hz => Hl z (or_intror Hz)) k); assumption. }
  unfold ranges, output_ranges in K1. change (total R_ops (fun y => exp_ R_ops (val R_ops (constants_in R_ops c) (fst y - subtracted c))) (logits c)) with (total R_ops (fun y => exp (w_ c y)) (logits c)) in K1.
  rewrite total_sum in K1. specialize (G (logits c) o k (fun y H => H) Ho p d K1 K2). destruct p as [lo hi]. cbn [fst snd] in G, K3. destruct K3; lra.
Qed.

Fixpoint take (x : pair) (l : list pair) : option (list pair) :=
  match l with [] => None | y :: l => if (Z.eqb (fst x) (fst y) && Z.eqb (snd x) (snd y))%bool then Some l else option_map (cons y) (take x l) end.
Fixpoint same_pairs (a b : list pair) : bool := match a with [] => match b with [] => true | _ => false end | x :: a => match take x b with Some b => same_pairs a b | None => false end end.
Lemma take_perm x l r : take x l = Some r -> Permutation (x :: r) l.
Proof.
  revert r. induction l as [|y l IH]; intros r; cbn; [discriminate|]. destruct (Z.eqb_spec (fst x) (fst y)), (Z.eqb_spec (snd x) (snd y)); cbn;
    try (destruct (take x l) as [q|]; [|discriminate]; intros [= <-]; rewrite perm_swap; apply perm_skip; now apply IH).
  intros [= <-]. destruct x, y. cbn in *. subst. apply Permutation_refl.
Qed.
Lemma same_pairs_perm a b : same_pairs a b = true -> Permutation a b.
Proof.
  revert b. induction a as [|x a IH]; intros b; cbn; [destruct b; [constructor|discriminate]|]. destruct (take x b) as [r|] eqn:E; [|discriminate].
  intros H. rewrite <- (take_perm _ _ _ E). apply perm_skip. now apply IH.
Qed.
Definition posed : bool :=
  below (case_lost_ I_ops c) (1, 0)%Z && at_least (quotient_error I_ops divided rounded) (0, 0)%Z && same_pairs (heaviest c) (logits c) &&
  existsb (fun y => Z.eqb (fst y) (subtracted c)) (logits c) && forallb (fun y => Z.leb (fst y) (subtracted c)) (logits c) && match stored_errors c with [] => true | _ => false end.
Theorem posed_true : posed = true -> well_posed.
Proof.
  unfold posed. rewrite !andb_true_iff. intros [[[[[H1 H2] H3] H4] H5] H6]. split; [|split; [|split; [|split; [|split]]]].
  - replace 1 with (dyadic R_ops (1, 0)%Z) by (cbn; ring). apply (below_true _ _ _ (r_case_lost _ _ _ intervals_related c) H1).
  - replace 0 with (dyadic R_ops (0, 0)%Z) by (cbn; ring). refine (at_least_true _ (quotient_error R_ops divided rounded) _ _ H2).
    unfold quotient_error. apply (r_add _ _ _ intervals_related); apply (r_lam _ _ _ intervals_related); apply (r_dyadic _ _ _ intervals_related).
  - now apply same_pairs_perm.
  - apply existsb_exists in H4. destruct H4 as (y & Hy & E). apply Z.eqb_eq in E. rewrite <- E. now apply in_map.
  - intros y Hy. rewrite forallb_forall in H5. now apply Z.leb_le, H5.
  - destruct (stored_errors c); [reflexivity|discriminate].
Qed.
Fixpoint all_in (r : list (I.type * I.type)) (o : list pair) : bool :=
  match r, o with [], [] => true | p :: r, d :: o => (at_most (fst p) d && at_least (snd p) d && all_in r o)%bool | _, _ => false end.
Definition passes (o : list pair) : bool := posed && all_in (output_ranges I_ops c divided rounded w0) o.
Definition fails (k : nat) (o : list pair) : bool := posed &&
  match nth_error (output_ranges I_ops c divided rounded w0) k, nth_error o k with Some p, Some d => (beyond (fst p) d || below (snd p) d)%bool | _, _ => false end.
Theorem passes_true o : passes o = true -> well_posed /\ allowed o.
Proof.
  unfold passes. rewrite andb_true_iff. intros [H1 H2]. split; [now apply posed_true|]. unfold allowed, ranges. pose proof (r_ranges _ _ _ intervals_related c divided rounded w0) as Q.
  revert o H2. induction Q as [|a b l l' [A1 A2] Q IH]; intros [|d o]; cbn [all_in]; try discriminate; [constructor|]. rewrite !andb_true_iff. intros [[B1 B2] B3].
  constructor; [|now apply IH]. split; [exact (at_most_true _ _ _ A1 B1)|exact (at_least_true _ _ _ A2 B2)].
Qed.
Theorem fails_true k o : fails k o = true -> well_posed /\ refused o.
Proof.
  unfold fails. rewrite andb_true_iff. intros [H1 H2]. split; [now apply posed_true|]. pose proof (r_ranges _ _ _ intervals_related c divided rounded w0) as Q.
  assert (N : forall j, match nth_error (output_ranges I_ops c divided rounded w0) j, nth_error ranges j with Some a, Some b => inside (fst a) (fst b) /\ inside (snd a) (snd b) | None, None => True | _, _ => False end).
  { unfold ranges. clear - Q. induction Q as [|a b l l' H Q IH]; intros j; destruct j as [|j]; cbn [nth_error]; [exact I|exact I|exact H|exact (IH j)]. }
  specialize (N k). destruct (nth_error (output_ranges I_ops c divided rounded w0) k) as [a|]; [|discriminate]. destruct (nth_error ranges k) as [b|] eqn:Eb; [|contradiction].
  destruct (nth_error o k) as [d|] eqn:Ed; [|discriminate]. destruct N as [N1 N2]. exists k, b, d. split; [exact Eb|]. split; [exact Ed|].
  apply orb_true_iff in H2. destruct H2 as [H2|H2]; [left; exact (beyond_true _ _ _ N1 H2)|right; exact (below_true _ _ _ N2 H2)].
Qed.
End Check.

(* What the C++ computed, against the formula: each number at least it, and above it by a factor of 1 + slack at most. *)
Section Tie.
Variable c : case.
Variable slack : Z * Z.
Definition tied (i : I.type) (d : Z * Z) : bool := (at_most i d && at_least (I.mul bits i (I.add bits (Z_ 1) (dyadic I_ops slack))) d)%bool.
Fixpoint untied_bounds (k : Z) (l : list (I.type * I.type)) (seen : list (option (Z * Z))) : list Z :=
  match l, seen with
  | [], [] => []
  | p :: l, Some d :: seen => (if tied (snd p) d then [] else [k]) ++ untied_bounds (k + 1) l seen
  | p :: l, None :: seen => untied_bounds (k + 1) l seen   (* infinite in the C++ *)
  | _, _ => [k] end.
(* The names of what differs: 0 plain, 1 absolute, 2 b, 3 and more the sharper bounds: depths if they are used, then the heads *)
Definition untied (plain absolute b : Z * Z) (seen : list (option (Z * Z))) : list Z :=
  let '(p, a, l, q) := case_parts I_ops c in
  (if tied p plain then [] else [0%Z]) ++ (if tied a absolute then [] else [1%Z]) ++ (if tied q b then [] else [2%Z]) ++ untied_bounds 3 l seen.
Theorem untied_none plain absolute b seen : untied plain absolute b seen = [] -> case_bound R_ops c <= dyadic R_ops b <= case_bound R_ops c * (1 + dyadic R_ops slack).
Proof.
  unfold untied. change (case_bound R_ops c) with (snd (case_parts R_ops c)). pose proof (case_enclosed c) as H. change (case_bound I_ops c) with (snd (case_parts I_ops c)) in H.
  change (case_bound R_ops c) with (snd (case_parts R_ops c)) in H. destruct (case_parts I_ops c) as [[[p a] l] q]. cbn [snd] in H.
  intros E. apply app_eq_nil in E. destruct E as [_ E]. apply app_eq_nil in E. destruct E as [_ E]. apply app_eq_nil in E. destruct E as [E _].
  destruct (tied q b) eqn:T; [|discriminate]. unfold tied in T. apply andb_true_iff in T. destruct T as [T1 T2]. split; [exact (at_most_true _ _ _ H T1)|].
  refine (at_least_true _ _ _ _ T2). apply (r_mul _ _ _ intervals_related); [exact H|]. apply (r_add _ _ _ intervals_related); [apply (r_Z _ _ _ intervals_related)|apply (r_dyadic _ _ _ intervals_related)].
Qed.
End Tie.
