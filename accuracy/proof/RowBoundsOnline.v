(* SPDX-License-Identifier: Apache-2.0 *)
(* The formula of RowFormula.v bounds the error of an online sum: any tree of rounded merges, any order. *)
Require Import Reals List Permutation Lra Lia Arith ZArith.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.HeightCap Assay.LeafDepth Assay.FloatSum Assay.OwnDepths Assay.HeadTail Assay.OnlineHeadAbove Assay.WholeRow Assay.RowFormula Assay.RowBounds.
Import ListNotations.
Open Scope R_scope.

Section Online.
Variable A : arith.
Hypothesis Hn : nearest A.
Hypothesis Htau0 : tau_ A = 0.
Variable fused : bool.
Notation u := (u_ A). Notation v := (v_ A). Notation eta := (eta_ A). Notation eps0 := (eps0_ A). Notation slope := (slope_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).

(* the log-error of a logit's term before the additions: one exp's argument error is known exactly, of several each may be off by v *)
Definition shift_error (xs : list R) (h : nat) (x : R) : R :=
  if Nat.leb (Nat.min (h + 1) (above xs x)) 1 then Rabs (arg (x - max_of xs) - (x - max_of xs)) else v * Rabs (x - max_of xs).
Definition pre (xs : list R) (h : nat) (x : R) : R :=
  shift_error xs h x + slope * (1 + v) * Rabs (x - max_of xs) + (INR (Nat.min (h + 1) (above xs x)) * eps0 + INR (Nat.min h (above xs x)) * lam u).
Definition grown_sum (xs : list R) (h : nat) (l : list R) : R := sum_over (fun x => exp (x - max_of xs + pre xs h x)) l.

Lemma pre_pos xs h x : 0 <= pre xs h x.
Proof.
  unfold pre, shift_error. pose proof (Heps0 A) as E0. pose proof (lam_pos A) as Lp. pose proof (Hslope A). pose proof (Hv A).
  assert (0 <= (if Nat.leb (Nat.min (h + 1) (above xs x)) 1 then Rabs (arg (x - max_of xs) - (x - max_of xs)) else v * Rabs (x - max_of xs))).
  { destruct (Nat.leb _ _); [apply Rabs_pos|]. apply Rmult_le_pos; [lra|apply Rabs_pos]. }
  assert (0 <= slope * (1 + v) * Rabs (x - max_of xs)) by (repeat apply Rmult_le_pos; try lra; apply Rabs_pos).
  pose proof (Rmult_le_pos _ _ (pos_INR (Nat.min (h + 1) (above xs x))) E0). pose proof (Rmult_le_pos _ _ (pos_INR (Nat.min h (above xs x))) Lp). lra.
Qed.
Lemma grown_ge xs h l : sum_over (fun x => exp (x - max_of xs)) l <= grown_sum xs h l.
Proof. apply sum_over_le. intros x _. apply exp_le. pose proof (pre_pos xs h x). lra. Qed.

(* one term of a tree's program *)
Lemma term_pre xs h k c : F (max_of xs) -> F (logit c) -> (k <= h)%nat -> (exp_count c <= Nat.min (k + 1) (above xs (logit c)))%nat -> (product_count c <= Nat.min k (above xs (logit c)))%nat ->
  travel (max_of xs) c = Rabs (logit c - max_of xs) -> Rabs (arg_error c) <= v * Rabs (logit c - max_of xs) ->
  ((exp_count c <= 1)%nat -> arg_error c = arg (logit c - max_of xs) - (logit c - max_of xs)) ->
  Rabs (arg_error c) + INR (exp_count c) * eps0 + slope * (1 + v) * travel (max_of xs) c + INR (product_count c) * lam u <= pre xs h (logit c).
Proof.
  intros Fm Fc Hk H1 H2 H3 H4 H5. unfold pre. pose proof (Heps0 A) as E0. pose proof (lam_pos A) as Lp.
  assert (G1 : INR (exp_count c) <= INR (Nat.min (h + 1) (above xs (logit c)))) by (apply le_INR; lia).
  assert (G2 : INR (product_count c) <= INR (Nat.min h (above xs (logit c)))) by (apply le_INR; lia).
  pose proof (Rmult_le_compat_r _ _ _ E0 G1). pose proof (Rmult_le_compat_r _ _ _ Lp G2). rewrite H3.
  assert (Rabs (arg_error c) <= shift_error xs h (logit c)); [|lra].
  unfold shift_error. destruct (Nat.leb_spec (Nat.min (h + 1) (above xs (logit c))) 1); [|assumption]. rewrite H5 by lia. lra.
Qed.

Definition enough (times h : nat) (xs : list R) : Prop := forall x, In x xs -> (1 + Nat.min 1 (Nat.min (h + 1) (above xs x)) <= times)%nat.

(* the program of a tree, with what the proofs below need of each term *)
Lemma program_terms t h times : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) -> (merge_height t <= h)%nat -> enough times h (finite (leaves t)) ->
  let xs := finite (leaves t) in let m := max_of xs in
  exists P, rounded_eval A fused t = Some (m, computed A P) /\ program_of fused t = Some P /\ well_formed A P /\ reference P = m /\ Permutation (map logit (terms A P)) xs /\ height P = merge_height t /\ 1 <= computed A P /\
    (forall c, In c (terms A P) -> Rabs (arg_error c) + INR (exp_count c) * eps0 + slope * (1 + v) * travel m c + INR (product_count c) * lam u <= pre xs h (logit c)) /\
    (forall c, In c (terms A P) -> charge A c <= INR times) /\
    (let a := INR (length xs) * INR times * eta / exp_sum m xs in a * exp (2 * b1 A P) < 1 -> Rabs (ln (computed A P / exp_sum m xs)) <= b1 A P + lam (a * exp (2 * b1 A P))).
Proof.
  intros Hne HF Hh Ht xs m. destruct (tree_bound A fused t Hne HF) as (P & D & Q1 & Q2 & Q3 & Q4 & Q5 & Q6 & Q7 & Q8 & _ & Q10 & _).
  fold xs m in Q1, Q4, Q5, Q10. exists P.
  pose proof (tree_program A fused t HF) as [Ev _]. rewrite Q2, Q1 in Ev. cbn in Ev. unfold value in Ev. injection Ev as _ EvD. subst D.
  assert (Hin : forall c, In c (terms A P) -> In (logit c) xs) by (intros c Hc; apply (Permutation_in _ Q5); now apply in_map).
  assert (Fm : F m) by (apply HF, max_of_in, Hne).
  assert (Hch : forall c, In c (terms A P) -> charge A c <= INR times).
  { intros c Hc. destruct (Q10 c Hc) as (R1 & _). eapply Rle_trans; [apply charge_min|]. rewrite Htau0, exp_0, Rmult_1_r. 
    replace (1 + INR (Nat.min 1 (length (moves c)))) with (INR (1 + Nat.min 1 (length (moves c)))) by (rewrite plus_INR; reflexivity). apply le_INR.
    pose proof (Ht (logit c) (Hin c Hc)) as G. fold xs in G. unfold exp_count in R1. lia. }
  split; [assumption|]. split; [assumption|]. split; [assumption|]. split; [assumption|]. split; [assumption|]. split; [assumption|]. split; [apply Q8|]. split; [|split; [exact Hch|]].
  - intros c Hc. destruct (Q10 c Hc) as (R1 & R2 & R3 & R4 & R5). apply (term_pre xs h (merge_height t)); auto.
  - intros a Ha. assert (Es : Theorem1.ssum A P = exp_sum m xs) by (unfold Theorem1.ssum; rewrite Q4; now apply exp_sum_perm).
    assert (El : length (row A P) = length xs) by (unfold row; now apply Permutation_length).
    destruct (theorem1 A P (INR times) Q3 Hch) as [_ G]; rewrite ?El, ?Es in *; [exact Ha|exact G].
Qed.

Lemma b1_le t h P : finite (leaves t) <> [] -> let xs := finite (leaves t) in let m := max_of xs in reference P = m -> Permutation (map logit (terms A P)) xs -> (height P <= h)%nat ->
  (forall c, In c (terms A P) -> Rabs (arg_error c) + INR (exp_count c) * eps0 + slope * (1 + v) * travel m c + INR (product_count c) * lam u <= pre xs h (logit c)) ->
  b1 A P <= ln (grown_sum xs h xs / exp_sum m xs) + INR h * lam u.
Proof.
  intros Hne xs m Hr Hp Hh Hc. pose proof (lam_pos A) as Lp. assert (Hs : 1 <= exp_sum m xs) by (apply exp_sum_ge1; now apply max_of_in).
  assert (Gp : 0 < grown_sum xs h xs) by (now apply sum_over_exp_pos).
  rewrite <- (ln_exp (INR h * lam u)), <- ln_mult by (try apply exp_pos; apply Rdiv_lt_0_compat; lra). unfold b1.
  assert (Es : Theorem1.ssum A P = exp_sum m xs) by (unfold Theorem1.ssum; rewrite Hr; now apply exp_sum_perm). rewrite Es.
  replace (grown_sum xs h xs / exp_sum m xs * exp (INR h * lam u)) with (exp (INR h * lam u) * grown_sum xs h xs / exp_sum m xs) by (field; lra).
  apply ln_le'.
  - apply Rdiv_lt_0_compat; [|lra]. unfold perturbed_bound. pose proof (terms_len_pos A P). destruct (terms A P) as [|c T]; [cbn in *; lia|]. cbn [sum_terms].
    pose proof (exp_pos (logit c - reference P + beta A P c)). assert (0 <= sum_terms (fun c => exp (logit c - reference P + beta A P c)) T); [|lra].
    apply sum_terms_pos. intros. left. apply exp_pos.
  - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. unfold grown_sum. rewrite <- sum_over_scal, <- (sum_over_perm _ _ _ Hp), sum_over_map.
    unfold perturbed_bound. assert (G : forall T, incl T (terms A P) -> sum_terms (fun c => exp (logit c - reference P + beta A P c)) T <= sum_over (fun x => exp (INR h * lam u) * exp (logit x - max_of xs + pre xs h (logit x))) T).
    { induction T as [|c T IH]; intros Hi; cbn [sum_terms sum_over]; [lra|]. apply Rplus_le_compat; [|apply IH; intros x Hx; apply Hi; now right].
      rewrite <- exp_plus. apply exp_le. specialize (Hc c (Hi c (or_introl eq_refl))). unfold beta. rewrite Hr. fold m. rewrite plus_INR.
      assert (INR (height P) * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|now apply le_INR]). lra. }
    apply G, incl_refl.
Qed.

(* by the height *)
Theorem online_plain t h times : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) -> (merge_height t <= h)%nat -> enough times h (finite (leaves t)) ->
  let xs := finite (leaves t) in let m := max_of xs in let s := exp_sum m xs in let p := ln (grown_sum xs h xs / s) + INR h * lam u in
  let g := INR times * (INR (length xs) * eta) / s * exp (2 * p) in g < 1 ->
  exists D, rounded_eval A fused t = Some (m, D) /\ 1 <= D /\ Rabs (ln (D / s)) <= p + lam g.
Proof.
  intros Hne HF Hh Ht xs m s p g Hg. destruct (program_terms t h times Hne HF Hh Ht) as (P & E1 & E2 & WP & Hr & Hp & HP & D1 & Hc & _ & Hb). cbv zeta in Hb. fold xs m in E1, Hr, Hp, Hc, Hb. fold s in Hb.
  pose proof (b1_le t h P Hne Hr Hp ltac:(lia) Hc) as Hle. fold xs in Hle. fold m in Hle. fold s in Hle. fold p in Hle.
  exists (computed A P). split; [assumption|]. split; [assumption|].
  assert (s1 : 1 <= s) by (apply exp_sum_ge1; now apply max_of_in). pose proof (eta_pos A) as He.
  apply (weaker (b1 A P) p (INR (length xs) * INR times * eta / s * exp (2 * b1 A P)) g); try assumption.
  unfold g. replace (INR times * (INR (length xs) * eta) / s) with (INR (length xs) * INR times * eta / s) by (field; lra).
  apply Rmult_le_compat_l; [|apply exp_le; lra]. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra]. apply Rmult_le_pos; [apply Rmult_le_pos; apply pos_INR|assumption].
Qed.

(* by depths: the additions of a program's terms are the depths of a tree of sums *)
Fixpoint relabelled {X Y} (f : X -> Y) (t : sum_tree X) : sum_tree Y := match t with SumLeaf c => SumLeaf (f c) | SumNode l r => SumNode (relabelled f l) (relabelled f r) end.
Lemma relabelled_depths {X Y} (f : X -> Y) t : leaf_depths Y (relabelled f t) = map (fun y => (f (fst y), snd y)) (leaf_depths X t).
Proof. induction t as [c|l IHl r IHr]; cbn; [reflexivity|]. rewrite IHl, IHr, map_map, <- map_app, !map_map. reflexivity. Qed.
Lemma relabelled_height {X Y} (f : X -> Y) t : sum_height Y (relabelled f t) = sum_height X t.
Proof. induction t as [c|l IHl r IHr]; cbn; congruence. Qed.
Lemma additions_tree P : exists t : sum_tree term, leaf_depths term t = map (fun c => (c, addition_count c)) (terms A P) /\ sum_height term t = height P.
Proof.
  induction P as [r x|r P (t & T1 & T2)|P (t & T1 & T2) Q (t' & U1 & U2)|P (t & T1 & T2) Q (t' & U1 & U2)]; cbn [terms height].
  - exists (SumLeaf (Term x r (arg (x - r) - (x - r)) [] 0 0)). split; reflexivity.
  - exists (relabelled (moved A (reference P) r (is_sum P)) t). rewrite relabelled_depths, relabelled_height, T1, !map_map. split; [reflexivity|assumption].
  - exists (SumNode (relabelled added t) (relabelled added t')). cbn. rewrite !relabelled_depths, !relabelled_height, T1, T2, U1, U2, !map_app, !map_map. split; reflexivity.
  - exists (SumNode (relabelled added t) (relabelled (fun c => added (moved A (reference Q) (reference P) 0 c)) t')). cbn.
    rewrite !relabelled_depths, !relabelled_height, T1, T2, U1, U2, !map_app, !map_map. split; reflexivity.
Qed.

Theorem online_depths t h times ws : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) -> (merge_height t <= h)%nat -> enough times h (finite (leaves t)) ->
  let xs := finite (leaves t) in let m := max_of xs in let s := exp_sum m xs in let p := ln (grown_sum xs h xs / s) + INR h * lam u in
  let g := INR times * (INR (length xs) * eta) / s * exp (2 * p) in g < 1 -> Permutation ws (map (fun x => exp (x - m + pre xs h x)) xs) ->
  exists D, rounded_eval A fused t = Some (m, D) /\ 1 <= D /\
    Rabs (ln (D / s)) <= ln (worst R_ops h (power_list R_ops (exp (lam u)) 1 h) (length ws) 1 (suffix_tops R_ops ws) / s) + lam g.
Proof.
  intros Hne HF Hh Ht xs m s p g Hg Hw. destruct (program_terms t h times Hne HF Hh Ht) as (P & E1 & E2 & WP & Hr & Hp & HP & D1 & Hc & Hch & _). fold xs m in E1, Hr, Hp, Hc.
  exists (computed A P). split; [assumption|]. split; [assumption|].
  assert (s1 : 1 <= s) by (apply exp_sum_ge1; now apply max_of_in). pose proof (eta_pos A) as He. pose proof (lam_pos A) as Lp.
  assert (Es : Theorem1.ssum A P = s) by (unfold Theorem1.ssum; rewrite Hr; now apply exp_sum_perm).
  assert (El : length (row A P) = length xs) by (unfold row; now apply Permutation_length).
  pose proof (theorem1_own_depths A P (INR times) WP Hch) as Q. cbv zeta in Q. rewrite Es, El in Q.
  set (q := ln (sum_over (fun c => exp (logit c - reference P + beta_own A P c)) (terms A P) / s)) in *.
  assert (Tp : 0 < sum_over (fun c => exp (logit c - reference P + beta_own A P c)) (terms A P)).
  { apply sum_over_exp_pos. intros E. pose proof (terms_len_pos A P) as L. rewrite E in L. cbn in L. lia. }
  assert (Gp : 0 < grown_sum xs h xs) by (now apply sum_over_exp_pos).
  assert (Hbo : forall c, In c (terms A P) -> beta_own A P c <= pre xs h (logit c) + INR (addition_count c) * lam u).
  { intros c Hi. specialize (Hc c Hi). unfold beta_own. rewrite Hr. fold m. rewrite plus_INR. lra. }
  assert (Hq : q <= p).
  { unfold p. rewrite <- (ln_exp (INR h * lam u)), <- ln_mult by (try apply exp_pos; apply Rdiv_lt_0_compat; lra). apply ln_le'; [apply Rdiv_lt_0_compat; lra|].
    replace (grown_sum xs h xs / s * exp (INR h * lam u)) with (exp (INR h * lam u) * grown_sum xs h xs / s) by (field; lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. unfold grown_sum. rewrite <- sum_over_scal, <- (sum_over_perm _ _ _ Hp), sum_over_map. apply sum_over_le. intros c Hi.
    rewrite <- exp_plus. apply exp_le. specialize (Hbo c Hi). pose proof (additions_le_height A P) as Hth. rewrite Forall_forall in Hth. specialize (Hth c Hi). rewrite Hr. fold m.
    assert (INR (addition_count c) * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|apply le_INR; lia]). lra. }
  assert (Hqw : q <= ln (worst R_ops h (power_list R_ops (exp (lam u)) 1 h) (length ws) 1 (suffix_tops R_ops ws) / s)).
  { apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
    destruct (additions_tree P) as (tr & T1 & T2). assert (Ts : sleaves term tr = terms A P) by (rewrite <- leaf_depths_fst, T1, map_map; apply map_id).
    eapply Rle_trans; [|apply (worst_tops A (fun c => exp (logit c - m + pre xs h (logit c))) tr h ws)].
    - rewrite T1. assert (G : forall T, incl T (terms A P) -> sum_over (fun c => exp (logit c - reference P + beta_own A P c)) T <=
        wsumd (depth_factor A) (fun c => exp (logit c - m + pre xs h (logit c))) (map (fun c => (c, addition_count c)) T)).
      { induction T as [|c T IH]; intros Hi; cbn [sum_over map wsumd fst snd]; [lra|]. apply Rplus_le_compat; [|apply IH; intros x Hx; apply Hi; now right].
        unfold depth_factor. rewrite <- exp_plus. apply exp_le. specialize (Hbo c (Hi c (or_introl eq_refl))). rewrite Hr. lra. }
      apply G, incl_refl.
    - intros. left. apply exp_pos.
    - rewrite Ts, Hw, <- (map_map logit (fun x => exp (x - m + pre xs h x))). apply Permutation_map. now apply Permutation_sym.
    - lia. }
  assert (Hpl : INR h * lam u <= p).
  { unfold p. assert (0 <= ln (grown_sum xs h xs / s)); [|lra]. rewrite <- ln_1. apply ln_le'; [lra|]. apply Rmult_le_reg_r with s; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    rewrite Rmult_1_l, Rmult_1_r. unfold s. rewrite exp_sum_is_sum_over. apply grown_ge. }
  assert (Hhp : INR (height P) * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|apply le_INR; lia]).
  refine (weaker _ _ (INR (length xs) * INR times * eta / s * exp (INR (height P) * lam u + q)) g _ Hqw _ _ Hg).
  - unfold g. replace (INR times * (INR (length xs) * eta) / s) with (INR (length xs) * INR times * eta / s) by (field; lra).
    apply Rmult_le_compat_l; [|apply exp_le; lra]. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra]. apply Rmult_le_pos; [apply Rmult_le_pos; apply pos_INR|assumption].
  - intros G. now apply Q.
Qed.

(* by head and tail: c any threshold *)
Variable c : R.
Lemma filter_twice (x : R) l : c <= x -> filter (fun z => if Rlt_dec x z then true else false) (filter (fun x => if Rle_dec c x then true else false) l) = filter (fun z => if Rlt_dec x z then true else false) l.
Proof.
  intros H. induction l as [|y l IH]; cbn; [reflexivity|]. destruct (Rle_dec c y); cbn; rewrite IH; [reflexivity|]. destruct (Rlt_dec x y); [lra|reflexivity].
Qed.
Theorem online_head t h times : finite (leaves (drop_below c t)) <> [] -> (forall x, In x (finite (leaves t)) -> F x) -> (merge_height t <= h)%nat -> enough times h (finite (leaves t)) ->
  let xs := finite (leaves t) in let m := max_of xs in let s := exp_sum m xs in let hs := finite (leaves (drop_below c t)) in
  let ts := filter (fun x => negb (if Rle_dec c x then true else false)) xs in
  let am := INR (Nat.min (length hs - 1) h) * lam u in let sh := exp_sum m hs in
  let al := ln (grown_sum xs h hs / sh) + am in let g := INR times * (INR (length hs) * eta) / sh * exp (2 * al) in g < 1 ->
  exists D, rounded_eval A fused t = Some (m, D) /\ 1 <= D /\
    Rabs (ln (D / s)) <= Rmax (ln ((grown_sum xs h hs + 2 * (grown_sum xs h ts + 2 * (INR (length xs) * eta)) * exp (INR h * lam u)) / s) + am) (al + lam g - ln (sh / s)).
Proof.
  intros Hne HF Hh Ht xs m s hs ts am sh al g Hg. pose proof (lam_pos A) as Lp. pose proof (Hu A) as U. pose proof (eta_pos A) as He.
  assert (Ehs : hs = filter (fun x => if Rle_dec c x then true else false) xs) by apply drop_below_leaves.
  assert (Hsub : forall x, In x hs -> In x xs /\ c <= x).
  { intros x Hx. rewrite Ehs in Hx. apply filter_In in Hx. destruct Hx as [H1 H2]. destruct (Rle_dec c x); [auto|discriminate]. }
  assert (Hx : xs <> []). { intros E. apply Hne. fold hs. rewrite Ehs, E. reflexivity. }
  assert (Hm : max_of hs = m).
  { assert (Hi : In (max_of hs) hs) by (now apply max_of_in). apply Rle_antisym; [apply max_of_ge; now apply Hsub|]. apply max_of_ge. rewrite Ehs. apply filter_In. split; [now apply max_of_in|].
    destruct (Rle_dec c m) as [|N]; [reflexivity|]. exfalso. apply N. apply Rle_trans with (max_of hs); [now apply Hsub|]. apply max_of_ge. now apply Hsub. }
  assert (Hab : forall x, In x hs -> above hs x = above xs x).
  { intros x Hi. unfold above. rewrite Ehs, filter_twice; [reflexivity|]. now apply Hsub. }
  set (hc := Nat.min (length hs - 1) h). assert (Hhc : (merge_height (drop_below c t) <= hc)%nat).
  { pose proof (merge_height_count (drop_below c t)) as H1. fold hs in H1.
    assert (merge_height (drop_below c t) <= merge_height t)%nat; [|unfold hc; lia].
    clear. induction t as [x|l IHl r IHr]; cbn [drop_below merge_height]; [lia|]. 
    assert (El : finite (leaves l) = [] -> finite (leaves (drop_below c l)) = []) by (intros E; now rewrite drop_below_leaves, E).
    assert (Er : finite (leaves r) = [] -> finite (leaves (drop_below c r)) = []) by (intros E; now rewrite drop_below_leaves, E).
    pose proof (merge_height_count (drop_below c l)) as Nl. pose proof (merge_height_count (drop_below c r)) as Nr.
    destruct (finite (leaves l)), (finite (leaves r)); rewrite ?El, ?Er in * by reflexivity; destruct (finite (leaves (drop_below c l))), (finite (leaves (drop_below c r))); cbn [length] in *; lia. }
  destruct (program_terms t h times Hx HF Hh Ht) as (P & E1 & E2 & WP & Hr & Hp & HP & D1 & Hc & _ & _). fold xs m in E1, Hr, Hp, Hc.
  exists (computed A P). split; [assumption|]. split; [assumption|]. set (D := computed A P) in *.
  assert (s1 : 1 <= s) by (apply exp_sum_ge1; now apply max_of_in). assert (sh1 : 1 <= sh) by (apply exp_sum_ge1; rewrite <- Hm; now apply max_of_in).
  assert (Hpre : forall x, In x hs -> pre hs hc x <= pre xs h x).
  { intros x Hi. unfold pre, shift_error. rewrite Hab, Hm by assumption. fold m. pose proof (Heps0 A) as E0.
    assert (G1 : INR (Nat.min (hc + 1) (above xs x)) <= INR (Nat.min (h + 1) (above xs x))) by (apply le_INR; unfold hc; lia).
    assert (G2 : INR (Nat.min hc (above xs x)) <= INR (Nat.min h (above xs x))) by (apply le_INR; unfold hc; lia).
    pose proof (Rmult_le_compat_r _ _ _ E0 G1). pose proof (Rmult_le_compat_r _ _ _ Lp G2).
    pose proof (Harg A x m (HF x (proj1 (Hsub x Hi))) (HF m (max_of_in xs Hx))) as Ha.
    destruct (Nat.leb_spec (Nat.min (hc + 1) (above xs x)) 1), (Nat.leb_spec (Nat.min (h + 1) (above xs x)) 1); try lra. exfalso. unfold hc in *. lia. }
  assert (Gh : grown_sum hs hc hs <= grown_sum xs h hs).
  { unfold grown_sum. rewrite Hm. fold m. apply sum_over_le. intros x Hi. apply exp_le. specialize (Hpre x Hi). lra. }
  assert (Gp : 0 < grown_sum hs hc hs) by (now apply sum_over_exp_pos).
  assert (am0 : 0 <= am) by (apply Rmult_le_pos; [apply pos_INR|assumption]).
  assert (Hal : ln (grown_sum hs hc hs / sh) + INR hc * lam u <= al).
  { unfold al, am. fold hc. apply Rplus_le_compat_r. apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|assumption]. }
  assert (Hlost : INR times * (INR (length hs) * eta) / sh * exp (2 * (ln (grown_sum hs hc hs / sh) + INR hc * lam u)) <= g).
  { unfold g. apply Rmult_le_compat_l; [|apply exp_le; lra]. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra]. apply Rmult_le_pos; [apply pos_INR|apply Rmult_le_pos; [apply pos_INR|assumption]]. }
  destruct (online_plain (drop_below c t) hc times) as (D' & F1' & F2' & F3'); try assumption.
  { intros x Hi. apply HF. now apply Hsub. }
  { intros x Hi. fold hs in Hi |- *. rewrite Hab by assumption. pose proof (Ht x (proj1 (Hsub x Hi))) as G. fold xs in G. unfold hc. lia. }
  { fold hs. rewrite Hm. fold sh. eapply Rle_lt_trans; [exact Hlost|exact Hg]. }
  fold hs in F1', F3'. rewrite Hm in F1', F3'. fold sh in F3'.
  pose proof (drop_below_lowers A fused c t) as Low. rewrite F1', E1 in Low. destruct Low as (_ & Hcm & Hd & _).
  apply Rabs_le. split.
  - eapply Rle_trans; [apply Ropp_le_contravar, Rmax_r|]. apply Rabs_le_inv in F3'.
    assert (L2 : ln (D' / s) = ln (D' / sh) + ln (sh / s)) by (rewrite <- ln_mult by (apply Rdiv_lt_0_compat; lra); f_equal; field; lra).
    assert (L3 : ln (D' / s) <= ln (D / s)) by (apply ln_le'; [apply Rdiv_lt_0_compat; lra|]; apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|lra]).
    assert (lam (INR times * (INR (length hs) * eta) / sh * exp (2 * (ln (grown_sum hs hc hs / sh) + INR hc * lam u))) <= lam g) by (now apply lam_mono). lra.
  - eapply Rle_trans; [|apply Rmax_l]. rewrite <- (ln_exp am).
    pose proof (tree_head_and_tail A fused c t HF) as HI. rewrite E2, Hr in HI. destruct (HI Hcm) as (L & L1 & L2).
    pose proof (head_program_above A Hn P L L1) as Up. destruct (head_program_well_formed A P L L1) as (_ & St & _). rewrite Hr in Up.
    assert (Et : Permutation (map (fun y => logit (fst y)) L) xs).
    { rewrite <- Hp. assert (map logit (map strip (map fst L)) = map logit (map strip (terms A P))) as G by now rewrite St.
      rewrite !map_map in G. cbn in G. rewrite G. reflexivity. }
    assert (Hsplit : forall f, sum_over f xs = sum_over f hs + sum_over f ts).
    { intros f. rewrite Ehs. unfold ts. clear. induction xs as [|x l IH]; cbn; [lra|]. rewrite IH. destruct (Rle_dec c x); cbn; lra. }
    assert (Hsum : head_sum A m L <= exp am * grown_sum xs h hs + 2 * exp (INR h * lam u) * grown_sum xs h ts).
    { apply Rle_trans with (sum_over (fun x => (if Rle_dec c x then exp am else 2 * exp (INR h * lam u)) * exp (x - m + pre xs h x)) xs).
      - rewrite <- (sum_over_perm _ _ _ Et), sum_over_map. unfold head_sum. apply sum_over_le. intros y Hy.
        assert (exists z, In z (terms A P) /\ strip z = strip (fst y)) as (z & Z1 & Z2).
        { assert (In (strip (fst y)) (map strip (map fst L))) as G by (apply in_map, in_map; assumption). rewrite St in G. apply in_map_iff in G. destruct G as (z & ? & ?). now exists z. }
        specialize (Hc z Z1). destruct (fst y) as [yx y0 yd yp yk yh] eqn:Ey. destruct z as [zx z0 zd zp zk zh].
        injection Z2 as -> -> -> -> ->. unfold exp_count, enters_by_exp, travel in Hc. cbn [logit start arg_error moves product_count addition_count] in *.
        assert (Hb : yd + rounding_bound A m (Term yx y0 yd yp yk yh) <= pre xs h yx + INR yh * lam u).
        { unfold rounding_bound, exp_count, enters_by_exp, travel. cbn [logit start arg_error moves product_count addition_count]. rewrite (plus_INR yk yh). pose proof (Rle_abs yd). lra. }
        unfold am. fold hc. destruct (L2 y Hy) as [(K1 & K2 & K3)|(K1 & K2 & K3)]; rewrite Ey in K2, K3; cbn [logit addition_count] in K2, K3; rewrite K1; destruct (Rle_dec c yx); try lra.
        + rewrite Rmult_1_l, <- exp_plus. apply exp_le. assert (INR yh * lam u <= INR hc * lam u) by (apply Rmult_le_compat_r; [assumption|apply le_INR; lia]). lra.
        + rewrite Rmult_assoc, <- exp_plus. apply Rmult_le_compat_l; [lra|]. apply exp_le. assert (INR yh * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|apply le_INR; lia]). lra.
      - rewrite Hsplit. unfold grown_sum. rewrite <- !sum_over_scal. fold m. apply Rplus_le_compat; apply sum_over_le; intros x Hi.
        + destruct (Hsub x Hi). destruct (Rle_dec c x); [lra|contradiction].
        + unfold ts in Hi. apply filter_In in Hi. destruct Hi as [_ Hi]. destruct (Rle_dec c x); [discriminate|lra]. }
    assert (Hcharge : 2 * (sum_terms (charge A) (terms A P) * W A (height P)) <= 4 * (INR (length xs) * eta) * exp (INR h * lam u)).
    { pose proof (charge_sum A (terms A P)) as Cs. assert (length (terms A P) = length xs) as El by (rewrite <- (map_length logit); now apply Permutation_length).
      rewrite El, Htau0, exp_0, Rmult_1_r in Cs. pose proof (sum_terms_pos (charge A) (terms A P) (charge_pos A)) as C0. unfold W.
      pose proof (OwnDepths.pow_up A (height P)) as Ph. pose proof (pow1u_ge1 A (height P)) as P1.
      assert (exp (INR (height P) * lam u) <= exp (INR h * lam u)) by (apply exp_le; apply Rmult_le_compat_r; [assumption|apply le_INR; lia]).
      assert (sum_terms (charge A) (terms A P) * ((1 + u) ^ height P * eta) <= INR (length xs) * 2 * (exp (INR h * lam u) * eta)); [|lra].
      apply Rmult_le_compat; try lra; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; lra. }
    assert (ea : 1 <= exp am) by (rewrite <- exp_0; now apply exp_le).
    assert (T0 : 0 <= grown_sum xs h ts) by (apply sum_over_pos; intros; left; apply exp_pos).
    assert (H0 : 0 <= grown_sum xs h hs) by (apply sum_over_pos; intros; left; apply exp_pos).
    assert (N0 : 0 <= INR (length xs) * eta) by (apply Rmult_le_pos; [apply pos_INR|assumption]). pose proof (exp_pos (INR h * lam u)) as Ep.
    assert (Hpos : 0 < grown_sum xs h hs) by (now apply sum_over_exp_pos).
    assert (X0 : 0 <= 2 * (grown_sum xs h ts + 2 * (INR (length xs) * eta)) * exp (INR h * lam u)) by (apply Rmult_le_pos; lra).
    rewrite <- ln_mult by (try apply exp_pos; apply Rdiv_lt_0_compat; lra). apply ln_le'; [apply Rdiv_lt_0_compat; lra|].
    replace ((grown_sum xs h hs + 2 * (grown_sum xs h ts + 2 * (INR (length xs) * eta)) * exp (INR h * lam u)) / s * exp am)
      with ((exp am * grown_sum xs h hs + exp am * (2 * (grown_sum xs h ts + 2 * (INR (length xs) * eta)) * exp (INR h * lam u))) / s) by (field; lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. unfold D.
    assert (2 * (grown_sum xs h ts + 2 * (INR (length xs) * eta)) * exp (INR h * lam u) <= exp am * (2 * (grown_sum xs h ts + 2 * (INR (length xs) * eta)) * exp (INR h * lam u))).
    { rewrite <- (Rmult_1_l (2 * _ * _)) at 1. now apply Rmult_le_compat_r. }
    lra.
Qed.
End Online.

(* The same for the terms that RowFormula.v makes of logits z 2^e and of the computed arguments of their exps. *)
Section OnlineRow.
Variable A : arith.
Hypothesis Hn : nearest A.
Hypothesis Htau0 : tau_ A = 0.
Variable fused : bool.
Notation u := (u_ A). Notation v := (v_ A). Notation F := (F_ A). Notation arg := (arg_ A).
Variable C : constants R_ops.
Definition constants_agree : Prop := lam_of_u R_ops C = lam u /\ one_v R_ops C = 1 + v /\ eps0 R_ops C = eps0_ A /\ slope R_ops C = slope_ A /\ eta R_ops C = eta_ A /\ rel_v R_ops C = v /\ 0 < unit R_ops C.
Hypothesis HC : constants_agree.
Notation x_ := (val R_ops C).

Lemma val_def z : x_ z = IZR z * unit R_ops C :> R.
Proof. reflexivity. Qed.
Lemma val_minus a b : x_ (a - b) = x_ a - x_ b.
Proof. rewrite !val_def, minus_IZR. apply Rmult_minus_distr_r. Qed.
Lemma val_abs z : x_ (Z.abs z) = Rabs (x_ z).
Proof. destruct HC as (_ & _ & _ & _ & _ & _ & U). rewrite !val_def, abs_IZR, Rabs_mult, (Rabs_right (unit R_ops C)); lra. Qed.
Lemma val_lt a b : (a < b)%Z <-> x_ a < x_ b.
Proof.
  destruct HC as (_ & _ & _ & _ & _ & _ & U). rewrite !val_def. split; intros H.
  - apply Rmult_lt_compat_r; [assumption|now apply IZR_lt].
  - apply lt_IZR. now apply Rmult_lt_reg_r with (unit R_ops C).
Qed.
Lemma val_le a b : (a <= b)%Z <-> x_ a <= x_ b.
Proof. pose proof (val_lt b a) as [H1 H2]. split; intros H; [apply Rnot_lt_le|apply Z.nlt_ge]; intros G; [apply H2 in G; lia|apply H1 in G; lra]. Qed.
Lemma val_inj a b : x_ a = x_ b -> a = b.
Proof. intros H. pose proof (proj2 (val_le a b) (Req_le _ _ H)). pose proof (proj2 (val_le b a) (Req_le _ _ (eq_sym H))). lia. Qed.

Theorem online_row t h times m row zs deep least : row <> [] -> Permutation (finite (leaves t)) (map (fun y => x_ (fst y)) row) ->
  (forall x, In x (finite (leaves t)) -> F x) -> (merge_height t <= h)%nat -> In m (map fst row) -> (forall y, In y row -> (fst y <= m)%Z) ->
  NoDup zs -> (forall z, In z zs <-> In z (map fst row)) -> (forall y, In y row -> arg (x_ (fst y) - x_ m) = x_ (snd y)) ->
  (1 + Nat.min 1 (most_exps zs h row) <= times)%nat -> let E := map (online_entry R_ops C m zs h) row in Permutation deep (map grown E) ->
  plain_lost R_ops (lam u) h times E < 1 ->
  exists D, rounded_eval A fused t = Some (x_ m, D) /\ 1 <= D /\ Rabs (ln (D / sum R_ops E)) <= row_bound R_ops (lam u) h true times E deep least.
Proof.
  intros Hr Hp HF Hh Hm Hmax Nz Iz Harg' Htimes E Hd Hg. set (xs := finite (leaves t)) in *. pose proof HC as (C1 & C2 & C3 & C4 & C5 & C6 & C7).
  assert (Hne : xs <> []). { intros X. rewrite X in Hp. apply Permutation_length in Hp. rewrite map_length in Hp. destruct row; [congruence|cbn in Hp; lia]. }
  assert (Hin : forall y, In y row -> In (x_ (fst y)) xs) by (intros y Hy; apply (Permutation_in _ (Permutation_sym Hp)); apply in_map_iff; now exists y).
  assert (Hmx : max_of xs = x_ m).
  { apply Rle_antisym.
    - pose proof (max_of_in xs Hne) as Hi. apply (Permutation_in _ Hp) in Hi. apply in_map_iff in Hi. destruct Hi as (y & <- & Hy). apply val_le. now apply Hmax.
    - apply in_map_iff in Hm. destruct Hm as (y & <- & Hy). apply max_of_ge. now apply Hin. }
  assert (Hab : forall y, In y row -> above xs (x_ (fst y)) = count_above zs (fst y)).
  { intros y Hy. unfold above, count_above. rewrite <- (map_length x_). apply Permutation_length. apply NoDup_Permutation.
    - apply NoDup_nodup.
    - apply FinFun.Injective_map_NoDup; [intros a b; apply val_inj|now apply NoDup_filter].
    - intros z. rewrite nodup_In, filter_In, in_map_iff. split.
      + intros [H1 H2]. apply (Permutation_in _ Hp) in H1. apply in_map_iff in H1. destruct H1 as (y' & <- & Hy'). exists (fst y'). split; [reflexivity|]. apply filter_In. split.
        * apply Iz. now apply in_map.
        * apply Z.ltb_lt. destruct (Rlt_dec (x_ (fst y)) (x_ (fst y'))); [now apply val_lt|discriminate].
      + intros (z' & <- & H1). apply filter_In in H1. destruct H1 as [H1 H2]. apply Iz in H1. apply in_map_iff in H1. destruct H1 as (y' & <- & Hy'). split; [now apply Hin|].
        apply Z.ltb_lt, val_lt in H2. now destruct (Rlt_dec (x_ (fst y)) (x_ (fst y'))). }
  assert (Hpre : forall y, In y row -> rescaled_by R_ops C m zs h y = pre A xs h (x_ (fst y))).
  { intros y Hy. unfold rescaled_by, pre, shift_error. rewrite Hab, Hmx, !val_abs, !val_minus, !of_nat_INR, C1, C2, C3, C4, C6 by assumption. rewrite (Harg' y Hy). reflexivity. }
  assert (Eex : forall l, incl l row -> total R_ops exact (map (online_entry R_ops C m zs h) l) = exp_sum (max_of xs) (map (fun y => x_ (fst y)) l)).
  { intros l Hl. rewrite total_sum, exp_sum_is_sum_over, !sum_over_map, Hmx. apply sum_over_ext. intros y Hy. cbn [online_entry exact exp_ R_ops]. now rewrite val_minus. }
  assert (Egr : forall l, incl l row -> total R_ops grown (map (online_entry R_ops C m zs h) l) = grown_sum A xs h (map (fun y => x_ (fst y)) l)).
  { intros l Hl. unfold grown_sum. rewrite total_sum, !sum_over_map. apply sum_over_ext. intros y Hy. cbn [online_entry grown exp_ add R_ops]. rewrite Hpre by auto. now rewrite val_minus, Hmx. }
  assert (Eab : forall l, total R_ops absolute (map (online_entry R_ops C m zs h) l) = INR (length l) * eta_ A).
  { intros l. rewrite total_sum, sum_over_map. cbn [online_entry absolute]. rewrite sum_over_const, C5. reflexivity. }
  assert (Gp : forall l l', Permutation l l' -> grown_sum A xs h l = grown_sum A xs h l') by (intros; now apply sum_over_perm).
  assert (Es : sum R_ops E = exp_sum (max_of xs) xs) by (unfold sum, E; rewrite (Eex row (incl_refl _)); symmetry; now apply exp_sum_perm).
  assert (Eg : total R_ops grown E = grown_sum A xs h xs) by (unfold E; rewrite (Egr row (incl_refl _)); symmetry; now apply Gp).
  assert (Elen : length row = length xs) by (apply Permutation_length in Hp; now rewrite map_length in Hp).
  assert (Ez : total R_ops absolute E = INR (length xs) * eta_ A) by (unfold E; now rewrite Eab, Elen).
  assert (Ht : enough times h xs).
  { intros x Hx. apply (Permutation_in _ Hp) in Hx. apply in_map_iff in Hx. destruct Hx as (y & <- & Hy). rewrite Hab by assumption.
    assert (Nat.min (h + 1) (count_above zs (fst y)) <= most_exps zs h row)%nat; [|lia]. clear - Hy. unfold most_exps. induction row as [|a l IH]; [destruct Hy|]. cbn. destruct Hy as [->|Hy]; [lia|]. specialize (IH Hy). lia. }
  assert (Ep : plain R_ops (lam u) h E = ln (grown_sum A xs h xs / exp_sum (max_of xs) xs) + INR h * lam u).
  { unfold plain, before, RowFormula.tree. rewrite Eg, Es, of_nat_INR. reflexivity. }
  assert (El : plain_lost R_ops (lam u) h times E = INR times * (INR (length xs) * eta_ A) / exp_sum (max_of xs) xs * exp (2 * plain R_ops (lam u) h E)).
  { unfold plain_lost. rewrite Ez, Es, of_nat_INR. reflexivity. }
  rewrite El, Ep in Hg. destruct (online_plain A Htau0 fused t h times Hne HF Hh Ht Hg) as (D & D1 & D2 & D3). fold xs in D1, D3.
  exists D. rewrite <- Hmx. split; [assumption|]. split; [assumption|]. rewrite Es. unfold row_bound, lowest_of, candidates.
  assert (Hpl : Rabs (ln (D / exp_sum (max_of xs) xs)) <= plain_bound R_ops (lam u) h times E).
  { unfold plain_bound. rewrite lam_lam, El, Ep. exact D3. }
  destruct (Nat.ltb short_sum h); [|exact Hpl]. apply lowest; [exact Hpl|]. intros g b Hi Hg1. apply in_app_or in Hi. destruct Hi as [Hi|Hi].
  - destruct (Nat.ltb (length E) (2 * h)); [|destruct Hi]. destruct Hi as [Hi|[]]. apply pair_equal_spec in Hi. destruct Hi as [<- <-]. unfold depth_bound. rewrite lam_lam, El, Ep, Es.
    destruct (online_depths A Htau0 fused t h times deep Hne HF Hh Ht Hg) as (D' & F1 & _ & F3).
    { fold xs. rewrite Hd. unfold E. rewrite map_map. eapply Permutation_trans; [|apply Permutation_map; apply Permutation_sym, Hp]. rewrite map_map.
      assert (G : map (fun y => grown (online_entry R_ops C m zs h y)) row = map (fun y => exp (x_ (fst y) - max_of xs + pre A xs h (x_ (fst y)))) row).
      { apply map_ext_in. intros y Hy. cbn [online_entry grown exp_ add R_ops]. now rewrite Hpre, val_minus, Hmx by assumption. }
      rewrite G. apply Permutation_refl. }
    fold xs in F1, F3. rewrite D1 in F1. injection F1 as <-. exact F3.
  - apply in_map_iff in Hi. destruct Hi as (r & Hr' & Hi). apply filter_In in Hi. destruct Hi as [_ Hi]. unfold head_bound, split in Hr', Hi.
    destruct (nth_error E (r - 1)) as [y|] eqn:Ey; [|].
    + apply pair_equal_spec in Hr'. destruct Hr' as [<- <-]. apply nth_error_In in Ey. unfold E in Ey. apply in_map_iff in Ey. destruct Ey as (y0 & <- & Hy0).
      change (key (online_entry R_ops C m zs h y0)) with (fst y0) in *. set (c := x_ (fst y0)).
      set (hr := filter (fun y => Z.leb (fst y0) (fst y)) row). set (tr := filter (fun y => negb (Z.leb (fst y0) (fst y))) row).
      assert (FE : forall p l, filter (fun e : entry R_ops => p (key e)) (map (online_entry R_ops C m zs h) l) = map (online_entry R_ops C m zs h) (filter (fun y => p (fst y)) l)).
      { intros p l. induction l as [|a l IH]; cbn; [reflexivity|]. rewrite IH. destruct (p (fst a)); reflexivity. }
      assert (EH : filter (fun e : entry R_ops => Z.leb (fst y0) (key e)) E = map (online_entry R_ops C m zs h) hr) by apply (FE (fun k => Z.leb (fst y0) k)).
      assert (ET : filter (fun e : entry R_ops => negb (Z.leb (fst y0) (key e))) E = map (online_entry R_ops C m zs h) tr) by apply (FE (fun k => negb (Z.leb (fst y0) k))).
      rewrite EH, ET in *.
      assert (Hi1 : incl hr row) by (intros a Ha; now apply filter_In in Ha). assert (Hi2 : incl tr row) by (intros a Ha; now apply filter_In in Ha).
      assert (FM : forall (p : R -> bool) q, (forall z, p (x_ z) = q z) -> Permutation (filter p xs) (map (fun y => x_ (fst y)) (filter (fun y => q (fst y)) row))).
      { intros p q Hpq. eapply Permutation_trans; [apply filter_perm, Hp|]. clear - Hpq. induction row as [|a l IH]; cbn [map filter]; [constructor|]. rewrite Hpq. destruct (q (fst a)); cbn [map]; auto. }
      assert (Ple : forall z, (if Rle_dec c (x_ z) then true else false) = Z.leb (fst y0) z).
      { intros z. unfold c. destruct (Rle_dec (x_ (fst y0)) (x_ z)) as [H1|H1], (Z.leb_spec (fst y0) z) as [H2|H2]; try reflexivity; exfalso.
        - apply val_le in H1. lia.
        - apply val_le in H2. lra. }
      assert (PH : Permutation (finite (leaves (drop_below c t))) (map (fun y => x_ (fst y)) hr)) by (rewrite drop_below_leaves; apply (FM (fun x => if Rle_dec c x then true else false) (fun z => Z.leb (fst y0) z)); exact Ple).
      assert (PT : Permutation (filter (fun x => negb (if Rle_dec c x then true else false)) xs) (map (fun y => x_ (fst y)) tr)).
      { apply (FM (fun x => negb (if Rle_dec c x then true else false)) (fun z => negb (Z.leb (fst y0) z))). intros z. now rewrite Ple. }
      pose proof (online_head A Hn Htau0 fused c t h times) as Q. fold xs in Q. cbv zeta in Q.
      rewrite (Gp _ _ PH), (Gp _ _ PT), (exp_sum_perm _ _ _ PH), (Permutation_length PH), map_length in Q.
      unfold above_head, below_head, head_lost, alone, among, RowFormula.tree in *.
      rewrite ?map_length, ?(Eex hr Hi1), ?(Egr hr Hi1), ?(Egr tr Hi2), ?Eab, ?of_nat_INR, ?lam_lam, ?Es in *. cbn [mul div exp_ of_Z R_ops add sub ln_ top] in *.
      assert (Hsum : INR (length hr) * eta_ A + INR (length tr) * eta_ A = INR (length xs) * eta_ A).
      { rewrite <- Rmult_plus_distr_r, <- plus_INR, <- Elen. do 2 f_equal. unfold hr, tr. clear. induction row as [|a l IH]; cbn; [reflexivity|]. destruct (Z.leb (fst y0) (fst a)); cbn; lia. }
      rewrite Hsum. destruct Q as (D' & F1 & _ & F3); try assumption.
      * intros X. rewrite X in PH. apply Permutation_length in PH. rewrite map_length in PH. assert (In y0 hr) by (apply filter_In; split; [assumption|apply Z.leb_refl]). destruct hr; [contradiction|cbn in PH; lia].
      * rewrite D1 in F1. injection F1 as <-. exact F3.
    + discriminate.
Qed.
End OnlineRow.
