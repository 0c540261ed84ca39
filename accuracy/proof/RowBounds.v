(* SPDX-License-Identifier: Apache-2.0 *)
(* The formula of RowFormula.v over R, and the theorem for sums of terms that are never rescaled (safe, naive, stored
   numerators): b is at least the error of every computed sum. *)
Require Import Reals List Permutation Lra Lia Arith ZArith.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.LeafDepth Assay.FloatSum Assay.HeadTail Assay.Outputs Assay.WholeRow Assay.RowFormula.
Import ListNotations.
Open Scope R_scope.

Definition R_ops : ops := Ops R IZR (powerRZ 2) Rplus Rminus Rmult Rdiv Rmax exp ln (fun g x a => if Rlt_dec g 1 then Rmin x a else a).
Lemma total_sum {X} (f : X -> R) l : total R_ops f l = sum_over f l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. now rewrite <- IH. Qed.
Lemma of_nat_INR k : of_nat R_ops k = INR k.
Proof. cbn. now rewrite <- INR_IZR_INZ. Qed.
Lemma lam_lam t : lam_ R_ops t = lam t.
Proof. cbn. unfold lam. ring. Qed.
Lemma sum_over_perm {X} (f : X -> R) a b : Permutation a b -> sum_over f a = sum_over f b.
Proof. induction 1; cbn; lra. Qed.
Lemma power_exp x k : power R_ops (exp x) k = exp (INR k * x).
Proof. induction k as [|k IH]; [cbn; now rewrite Rmult_0_l, exp_0|]. rewrite S_INR. cbn [power]. rewrite IH. cbn. rewrite <- exp_plus. f_equal. ring. Qed.
Lemma power_list_nth c x k j : (j <= k)%nat -> nth j (power_list R_ops c x k) 0 = x * power R_ops c j.
Proof.
  revert x j. induction k as [|k IH]; intros x j H; destruct j as [|j]; cbn; try lra; try lia.
  cbn in IH. rewrite (IH (c * x)) by lia. cbn. ring.
Qed.

(* Suffix maxima, in the place of a sort: in any order they bound the sorted weights. *)
Lemma suffix_tops_length l : length (suffix_tops R_ops l) = length l.
Proof. induction l as [|w l IH]; [reflexivity|]. cbn. destruct (suffix_tops R_ops l); cbn in *; lia. Qed.
Lemma suffix_tops_head l : (forall w, In w l -> 0 <= w) -> descending_reals (suffix_tops R_ops l) /\
  match suffix_tops R_ops l with [] => l = [] | v :: _ => 0 <= v /\ forall w, In w l -> w <= v end.
Proof.
  induction l as [|w l IH]; intros H; cbn; [split; [constructor|reflexivity]|].
  destruct IH as [D M]; [intros; apply H; now right|]. pose proof (H w (or_introl eq_refl)) as W.
  destruct (suffix_tops R_ops l) as [|v r].
  - subst l. split; [constructor; [intros ? []|assumption|constructor]|]. split; [assumption|]. intros x [<-|[]]. lra.
  - destruct M as [V M]. pose proof (Rmax_l w v). pose proof (Rmax_r w v). split.
    + constructor; [|lra|assumption]. intros y [<-|Hy]; [lra|]. inversion D as [|? ? D1 D2 D3]; subst. specialize (D1 y Hy). lra.
    + split; [lra|]. intros x [<-|Hx]; [lra|]. specialize (M x Hx). lra.
Qed.
Fixpoint insert_R (x : R) (l : list R) : list R := match l with [] => [x] | y :: r => if Rle_dec y x then x :: l else y :: insert_R x r end.
Fixpoint sort_R (l : list R) : list R := match l with [] => [] | x :: l => insert_R x (sort_R l) end.
Lemma insert_R_perm x l : Permutation (insert_R x l) (x :: l).
Proof. induction l as [|y l IH]; cbn; [reflexivity|]. destruct (Rle_dec y x); [reflexivity|]. rewrite IH. apply perm_swap. Qed.
Lemma sort_R_perm l : Permutation (sort_R l) l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. now rewrite insert_R_perm, IH. Qed.
Lemma insert_R_descending x l : 0 <= x -> descending_reals l -> descending_reals (insert_R x l).
Proof.
  intros X. induction 1 as [|y l Hy Y Hd IH]; cbn; [constructor; [intros ? []|assumption|constructor]|]. destruct (Rle_dec y x).
  - constructor; [|assumption|now constructor]. intros z [<-|Hz]; [lra|]. specialize (Hy z Hz). lra.
  - constructor; [|assumption|assumption]. intros z Hz. apply (Permutation_in _ (insert_R_perm x l)) in Hz. destruct Hz as [<-|Hz]; [lra|]. now apply Hy.
Qed.
Lemma sort_R_descending l : (forall w, In w l -> 0 <= w) -> descending_reals (sort_R l).
Proof. induction l as [|x l IH]; intros H; cbn; [constructor|]. apply insert_R_descending; [apply H; now left|]. apply IH. intros. apply H. now right. Qed.
Lemma insert_R_tops w s t M : Forall2 Rle s t -> descending_reals t -> w <= M -> (forall b, In b t -> b <= M) -> Forall2 Rle (insert_R w s) (M :: t).
Proof.
  intros H. revert M. induction H as [|a b s t Hab H IH]; intros M Dt Hw Ht; cbn [insert_R]; [constructor; [assumption|constructor]|].
  inversion Dt as [|? ? D1 D2 D3]; subst. destruct (Rle_dec a w) as [|Hn]; [constructor; [assumption|now constructor]|].
  constructor; [specialize (Ht b (or_introl eq_refl)); lra|]. apply IH; [assumption|lra|]. intros c Hc. now apply D1.
Qed.
Lemma sorted_le_tops l : (forall w, In w l -> 0 <= w) -> Forall2 Rle (sort_R l) (suffix_tops R_ops l).
Proof.
  induction l as [|w l IH]; intros H; cbn; [constructor|]. assert (H' : forall x, In x l -> 0 <= x) by (intros; apply H; now right).
  specialize (IH H'). destruct (suffix_tops_head l H') as [D M]. destruct (suffix_tops R_ops l) as [|v r].
  - inversion IH. cbn. constructor; [lra|constructor].
  - apply insert_R_tops; [assumption|assumption|apply Rmax_l|]. pose proof (Rmax_r w v). inversion D as [|? ? D1 D2 D3]; subst.
    intros b [<-|Hb]; [assumption|]. specialize (D1 b Hb). lra.
Qed.
Lemma worst_depths_le f n h k a b : (forall j, 0 <= f j) -> Forall2 Rle a b -> worst_depths_sum f n h k a <= worst_depths_sum f n h k b.
Proof.
  intros Hf H. revert k. induction H as [|x y a b Hxy H IH]; intros k; cbn; [lra|]. apply Rplus_le_compat; [|apply IH]. now apply Rmult_le_compat_r.
Qed.
Lemma worst_sum A h n k ws : worst R_ops h (power_list R_ops (exp (lam (u_ A))) 1 h) n k ws = worst_depths_sum (depth_factor A) n h k ws.
Proof.
  revert k. induction ws as [|w ws IH]; intros k; [reflexivity|]. cbn [worst worst_depths_sum]. rewrite IH. cbn. f_equal. f_equal.
  rewrite power_list_nth by apply Nat.le_min_l. rewrite power_exp, Rmult_1_l. reflexivity.
Qed.
(* any weights: the sum of weight times depth factor, over the leaves of a tree of at most h additions *)
Lemma worst_tops A {B} (g : B -> R) (t : sum_tree B) h ws : (forall c, In c (sleaves B t) -> 0 <= g c) -> Permutation ws (map g (sleaves B t)) -> (sum_height B t <= h)%nat ->
  wsumd (depth_factor A) g (leaf_depths B t) <= worst R_ops h (power_list R_ops (exp (lam (u_ A))) 1 h) (length ws) 1 (suffix_tops R_ops ws).
Proof.
  intros Hg Hp Hh. pose proof (lam_pos A) as Lp. rewrite worst_sum.
  assert (Hw : forall w, In w ws -> 0 <= w).
  { intros w Hw. apply (Permutation_in _ Hp) in Hw. apply in_map_iff in Hw. destruct Hw as (c & <- & Hc). now apply Hg. }
  assert (Fm : forall j k, (j <= k)%nat -> depth_factor A j <= depth_factor A k).
  { intros j k H. apply exp_le. apply Rmult_le_compat_r; [assumption|now apply le_INR]. }
  assert (El : length ws = size B t) by (apply Permutation_length in Hp; now rewrite map_length in Hp).
  eapply Rle_trans; [apply (sorted_depths _ Fm g t (sort_R ws)); [now rewrite sort_R_perm|now apply sort_R_descending]|].
  rewrite El. apply Rle_trans with (worst_depths_sum (depth_factor A) (size B t) h 1 (sort_R ws)).
  - pose proof (sort_R_descending ws Hw) as Hd. clear - Hd Fm Hh. generalize 1%nat as k. induction Hd as [|x l H1 H2 H3 IH]; intros k; cbn; [lra|]. apply Rplus_le_compat; [|apply IH].
    apply Rmult_le_compat_l; [assumption|]. apply Fm. unfold Dk. lia.
  - apply worst_depths_le; [intros; left; apply exp_pos|now apply sorted_le_tops].
Qed.

(* the minimum of the bounds that hold *)
Lemma lowest x p l least : x <= p -> (forall g v, In (g, v) l -> g < 1 -> x <= v) ->
  x <= fold_right (fun c b => lower_if R_ops (fst c) (top R_ops (snd c) least) b) p l.
Proof.
  intros Hp. induction l as [|[g v] l IH]; intros H; cbn; [assumption|].
  assert (G : x <= fold_right (fun c b => lower_if R_ops (fst c) (top R_ops (snd c) least) b) p l) by (apply IH; intros; apply (H g0); [now right|assumption]).
  destruct (Rlt_dec g 1); [|exact G]. apply Rmin_glb; [|exact G]. eapply Rle_trans; [apply (H g v); [now left|assumption]|apply Rmax_l].
Qed.

(* a tree's leaves paired with anything *)
Lemma relabel {B C} (t : sum_tree B) (L : list (B * C)) : map fst L = sleaves B t -> exists t' : sum_tree (B * C), sleaves (B * C) t' = L /\ sum_height (B * C) t' = sum_height B t /\
  (forall A (lv : B -> R), sum_value A (B * C) (fun c => lv (fst c)) t' = sum_value A B lv t).
Proof.
  revert L. induction t as [c|l IHl r IHr]; intros L H; cbn in H.
  - destruct L as [|y [|z L]]; try discriminate. injection H as <-. exists (SumLeaf y). repeat split.
  - apply map_eq_app in H. destruct H as (L1 & L2 & -> & H1 & H2). destruct (IHl _ H1) as (tl & A1 & A2 & A3), (IHr _ H2) as (tr & B1 & B2 & B3).
    exists (SumNode tl tr). cbn. rewrite A1, B1, A2, B2. repeat split. intros A lv. now rewrite A3, B3.
Qed.

Section Safe.
Variable A : arith.
Hypothesis Hn : nearest A.
Notation u := (u_ A). Notation F := (F_ A).
Variable B : Type.
Variables (lv w nu own zet : B -> R) (name : B -> Z).
Notation sum_tree := (sum_tree B). Notation sleaves := (sleaves B). Notation leaf_depths := (leaf_depths B). Notation sum_height := (sum_height B).
Definition errs (l : list B) : Prop := forall c, In c l -> Rabs (nu c) <= own c /\ Rabs (lv c - exp (w c + nu c)) <= zet c.
Definition ent (c : B) : entry R_ops := @Entry R_ops (name c) (exp (w c)) (exp (w c + own c)) (zet c).
Notation Sw := (sum_over (fun c => exp (w c))). Notation Sg := (sum_over (fun c => exp (w c + own c))). Notation Sz := (sum_over zet).

Lemma zet_pos l : errs l -> 0 <= Sz l.
Proof. intros H. apply sum_over_pos. intros c Hc. eapply Rle_trans; [apply Rabs_pos|]. now apply H. Qed.
Lemma weaker b b' g g' x : b <= b' -> g <= g' -> (g < 1 -> Rabs x <= b + lam g) -> g' < 1 -> Rabs x <= b' + lam g'.
Proof. intros H1 H2 H H3. eapply Rle_trans; [apply H; lra|]. apply Rplus_le_compat; [assumption|]. now apply lam_mono. Qed.

(* by depths: B1 bounds the weighted sum of the leaves' own depths, P is at least that and h lam u *)
Lemma by_depths t h B1 P : nonneg_floats A B lv t -> errs (sleaves t) -> (sum_height t <= h)%nat -> let S := Sw (sleaves t) in
  ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t) / S) <= B1 -> B1 <= P -> INR h * lam u <= P ->
  let g := Sz (sleaves t) / S * exp (2 * P) in g < 1 -> 0 < sum_value A B lv t /\ Rabs (ln (sum_value A B lv t / S)) <= B1 + lam g.
Proof.
  intros Ho He Hh S H1 H2 H3 g Hg. pose proof (lam_pos A) as Lp. pose proof (zet_pos _ He) as Z0.
  assert (Sp : 0 < S) by (apply sum_over_exp_pos, sleaves_ne).
  destruct (sum_own_depths A B lv t Ho) as (L & L1 & L2 & L3).
  set (W := fun y : (B * nat) * R => w (fst (fst y))).
  set (f := fun y : (B * nat) * R => nu (fst (fst y)) + snd y).
  set (be := fun y : (B * nat) * R => own (fst (fst y)) + INR (snd (fst y)) * lam u).
  set (z := fun y : (B * nat) * R => (lv (fst (fst y)) - exp (w (fst (fst y)) + nu (fst (fst y)))) * exp (snd y)).
  assert (Hks : forall G : B -> R, sum_over (fun y : (B * nat) * R => G (fst (fst y))) L = sum_over G (sleaves t)).
  { intros G. rewrite <- leaf_depths_fst, <- L1, !sum_over_map. reflexivity. }
  assert (Hin : forall y, In y L -> In (fst (fst y)) (sleaves t)).
  { intros y Hy. rewrite <- leaf_depths_fst, <- L1. apply in_map, in_map. assumption. }
  assert (HS : sum_over (fun y => exp (W y)) L = S) by (apply (Hks (fun c => exp (w c)))).
  assert (HB : sum_over (fun y => exp (W y + be y)) L = sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t)).
  { rewrite <- L1, sum_over_map. reflexivity. }
  assert (HZ : Rabs (sum_over z L) <= Sz (sleaves t) * exp (INR h * lam u)).
  { eapply Rle_trans; [apply sum_over_abs|]. rewrite <- (Hks zet), Rmult_comm, <- sum_over_scal. apply sum_over_le. intros y Hy. unfold z. rewrite Rabs_mult, Rmult_comm.
    apply Rmult_le_compat; try apply Rabs_pos; [|now apply He, Hin].
    rewrite Rabs_right by (left; apply exp_pos). apply exp_le. specialize (L2 y Hy). apply Rabs_le_inv in L2.
    eapply Rle_trans; [apply L2|]. apply Rmult_le_compat_r; [assumption|]. apply le_INR. eapply Nat.le_trans; [|exact Hh]. apply leaf_depths_height.
    rewrite <- L1. now apply in_map. }
  pose proof (perturbed_sum_log W f be z L (Sz (sleaves t) * exp (INR h * lam u)) (sum_value A B lv t)) as Q. cbv zeta in Q. rewrite HS, HB in Q.
  set (b1 := ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t) / S)) in *.
  assert (Hgg : Sz (sleaves t) * exp (INR h * lam u) / S * exp b1 <= g).
  { unfold g. replace (Sz (sleaves t) * exp (INR h * lam u) / S * exp b1) with (Sz (sleaves t) / S * exp (INR h * lam u + b1)) by (rewrite exp_plus; field; lra).
    apply Rmult_le_compat_l; [apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]|]. apply exp_le. lra. }
  destruct Q as [Q1 Q2]; try assumption.
  - intros ->. cbn in L1. pose proof (leaf_depths_fst B t) as E. rewrite <- L1 in E. cbn in E. symmetry in E. now apply sleaves_ne in E.
  - intros y Hy. unfold f, be. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [now apply He, Hin|now apply L2].
  - rewrite L3, <- sum_over_plus. apply sum_over_ext. intros y _. unfold W, f, z. rewrite <- Rplus_assoc, (exp_plus (w _ + nu _)). ring.
  - lra.
  - split; [assumption|]. eapply Rle_trans; [exact Q2|]. apply Rplus_le_compat; [assumption|]. now apply lam_mono.
Qed.

Lemma own_pos' l c : errs l -> In c l -> 0 <= own c.
Proof. intros H Hc. eapply Rle_trans; [apply Rabs_pos|]. now apply H. Qed.
Lemma before_pos l : l <> [] -> errs l -> 0 <= ln (Sg l / Sw l).
Proof.
  intros Hne He. assert (Sp : 0 < Sw l) by now apply sum_over_exp_pos.
  rewrite <- ln_1. apply ln_le'; [lra|]. apply Rmult_le_reg_r with (Sw l); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_l, Rmult_1_r.
  apply sum_over_le. intros c Hc. apply exp_le. pose proof (own_pos' l c He Hc). lra.
Qed.
Lemma by_height t h : nonneg_floats A B lv t -> errs (sleaves t) -> (sum_height t <= h)%nat -> let S := Sw (sleaves t) in
  let P := ln (Sg (sleaves t) / S) + INR h * lam u in ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t) / S) <= P /\ INR h * lam u <= P.
Proof.
  intros Ho He Hh S P. pose proof (lam_pos A) as Lp. assert (Sp : 0 < S) by (apply sum_over_exp_pos, sleaves_ne).
  assert (Gp : 0 < Sg (sleaves t)) by (apply sum_over_exp_pos, sleaves_ne).
  pose proof (before_pos (sleaves t) (sleaves_ne B t) He) as Hb. fold S in Hb. split; [|unfold P; lra].
  unfold P. rewrite <- (ln_exp (INR h * lam u)), <- ln_mult by (try apply exp_pos; now apply Rdiv_lt_0_compat). apply ln_le'.
  - apply Rdiv_lt_0_compat; [|assumption]. apply sum_over_exp_pos. intros E. apply (sleaves_ne B t). now rewrite <- leaf_depths_fst, E.
  - replace (Sg (sleaves t) / S * exp (INR h * lam u)) with (exp (INR h * lam u) * Sg (sleaves t) / S) by (field; lra).
    apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. rewrite <- sum_over_scal, <- (leaf_depths_fst B t), sum_over_map. apply sum_over_le. intros y Hy.
    rewrite <- exp_plus. apply exp_le. pose proof (leaf_depths_height B t y Hy) as Hd.
    assert (INR (snd y) * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|apply le_INR; lia]). lra.
Qed.

(* the head of r terms *)
Lemma by_head (hd : B -> bool) t h : nonneg_floats A B lv t -> errs (sleaves t) -> (sum_height t <= h)%nat -> let S := Sw (sleaves t) in
  let H := filter hd (sleaves t) in let T := filter (fun c => negb (hd c)) (sleaves t) in H <> [] ->
  let am := INR (Nat.min (length H - 1) h) * lam u in let al := ln (Sg H / Sw H) + am in let g := Sz H / Sw H * exp (2 * al) in g < 1 ->
  Rabs (ln (sum_value A B lv t / S)) <= Rmax (ln ((Sg H + Sz H + 2 * (Sg T + Sz T) * exp (INR h * lam u)) / S) + am) (al + lam g - ln (Sw H / S)).
Proof.
  intros Ho He Hh S H T Hne am al g Hg. pose proof (lam_pos A) as Lp. pose proof (Hu A) as U. assert (Sp : 0 < S) by (apply sum_over_exp_pos, sleaves_ne).
  assert (Hi : forall c, In c H -> In c (sleaves t)) by (intros c Hc; now apply filter_In in Hc).
  assert (Ti : forall c, In c T -> In c (sleaves t)) by (intros c Hc; now apply filter_In in Hc).
  assert (HeH : errs H) by (intros c Hc; apply He; auto). assert (HeT : errs T) by (intros c Hc; apply He; auto).
  assert (HwH : 0 < Sw H) by now apply sum_over_exp_pos. assert (HgH : 0 < Sg H) by now apply sum_over_exp_pos.
  assert (Hm : head_mass B lv hd t = sum_over lv H).
  { unfold head_mass, H. clear. induction (sleaves t) as [|c l IH]; cbn; [reflexivity|]. rewrite IH. destruct (hd c); cbn; lra. }
  assert (Tm : tail_mass B lv hd t = sum_over lv T).
  { unfold tail_mass, T. clear. induction (sleaves t) as [|c l IH]; cbn; [reflexivity|]. rewrite IH. destruct (hd c); cbn; lra. }
  assert (Up : forall l, errs l -> sum_over lv l <= Sg l + Sz l).
  { intros l Hl. rewrite <- sum_over_plus. apply sum_over_le. intros c Hc. destruct (Hl c Hc) as [N1 N2]. apply Rabs_le_inv in N1, N2.
    assert (exp (w c + nu c) <= exp (w c + own c)) by (apply exp_le; lra). lra. }
  assert (Hc : (1 <= head_count B hd t)%nat) by (unfold head_count; fold H; destruct H; [congruence|cbn; lia]).
  assert (Ha : (head_additions B hd t <= Nat.min (length H - 1) h)%nat).
  { pose proof (head_additions_count B hd t) as Q1. pose proof (head_additions_height B hd t). unfold head_count in Q1. fold H in Q1. lia. }
  assert (Ha' : INR (head_additions B hd t) * lam u <= am) by (apply Rmult_le_compat_r; [assumption|now apply le_INR]).
  pose proof (head_above A Hn B lv hd t h Ho Hc ltac:(lia)) as Q1. pose proof (head_below A B lv hd t Ho Hc) as Q2. rewrite Hm, Tm in Q1. rewrite Hm in Q2.
  rewrite <- (HeadTail.pow_down A) in Q2.
  (* the head alone *)
  destruct (perturbed_sum_log w nu own (fun c => lv c - exp (w c + nu c)) H (Sz H) (sum_over lv H)) as [P1 P2]; try assumption.
  { intros c Hc'. now apply HeH. }
  { rewrite <- sum_over_plus. apply sum_over_ext. intros. ring. }
  { eapply Rle_trans; [apply sum_over_abs|]. apply sum_over_le. intros c Hc'. now apply HeH. }
  { eapply Rle_lt_trans; [|exact Hg]. unfold g. apply Rmult_le_compat_l; [apply Rmult_le_pos; [now apply zet_pos|left; now apply Rinv_0_lt_compat]|]. apply exp_le.
    pose proof (before_pos H Hne HeH). unfold al, am. assert (0 <= INR (Nat.min (length H - 1) h) * lam u) by (apply Rmult_le_pos; [apply pos_INR|assumption]). lra. }
  set (V := sum_value A B lv t) in *. set (a := INR (head_additions B hd t) * lam u) in *.
  assert (Vp : 0 < V). { eapply Rlt_le_trans; [|exact Q2]. apply Rmult_lt_0_compat; [assumption|apply exp_pos]. }
  assert (am0 : 0 <= am) by (apply Rmult_le_pos; [apply pos_INR|assumption]).
  apply Rabs_le. split.
  - eapply Rle_trans; [apply Ropp_le_contravar, Rmax_r|].
    assert (E : ln (V / S) = ln (V / sum_over lv H) + ln (sum_over lv H / Sw H) + ln (Sw H / S)).
    { assert (X1 : 0 < V / sum_over lv H) by now apply Rdiv_lt_0_compat. assert (X2 : 0 < sum_over lv H / Sw H) by now apply Rdiv_lt_0_compat.
      assert (X3 : 0 < Sw H / S) by now apply Rdiv_lt_0_compat. rewrite <- (ln_mult _ _ X1 X2), <- (ln_mult _ _ (Rmult_lt_0_compat _ _ X1 X2) X3). f_equal. field. lra. }
    assert (L1 : - a <= ln (V / sum_over lv H)).
    { rewrite <- (ln_exp (- a)). apply ln_le'; [apply exp_pos|]. apply Rmult_le_reg_r with (sum_over lv H); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    apply Rabs_le_inv in P2. rewrite E. unfold al.
    assert (L2 : lam (Sz H / Sw H * exp (ln (Sg H / Sw H))) <= lam g).
    { apply lam_mono; [|assumption]. unfold g. apply Rmult_le_compat_l; [apply Rmult_le_pos; [now apply zet_pos|left; now apply Rinv_0_lt_compat]|]. apply exp_le.
      pose proof (before_pos H Hne HeH). unfold al. lra. }
    lra.
  - eapply Rle_trans; [|apply Rmax_l]. rewrite <- (ln_exp am).
    assert (Tp : 0 <= Sg T) by (apply sum_over_pos; intros; left; apply exp_pos). pose proof (zet_pos T HeT) as Tz. pose proof (zet_pos H HeH) as Hz.
    pose proof (exp_pos (INR h * lam u)) as Ep.
    assert (0 <= 2 * (Sg T + Sz T) * exp (INR h * lam u)) by (apply Rmult_le_pos; lra).
    rewrite <- ln_mult by (try apply exp_pos; apply Rdiv_lt_0_compat; lra). apply ln_le'; [now apply Rdiv_lt_0_compat|].
    replace ((Sg H + Sz H + 2 * (Sg T + Sz T) * exp (INR h * lam u)) / S * exp am) with ((Sg H + Sz H + 2 * (Sg T + Sz T) * exp (INR h * lam u)) * exp am / S) by (field; lra).
    apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. eapply Rle_trans; [exact Q1|].
    pose proof (HeadTail.pow_up A h) as Ph. pose proof (HeadTail.pow_up A (head_additions B hd t)) as Pa. pose proof (pow1u_ge1 A (head_additions B hd t)).
    pose proof (Up H HeH). pose proof (Up T HeT).
    assert (TL : 0 <= sum_over lv T) by (apply sum_over_pos; intros c Hc'; apply Ho; auto). pose proof (pow1u_ge1 A h).
    assert (2 * (1 + u) ^ h * sum_over lv T <= 2 * (Sg T + Sz T) * exp (INR h * lam u)).
    { rewrite (Rmult_assoc 2), (Rmult_assoc 2). apply Rmult_le_compat_l; [lra|]. rewrite Rmult_comm. apply Rmult_le_compat; lra. }
    assert (0 <= 2 * (1 + u) ^ h * sum_over lv T) by (apply Rmult_le_pos; lra).
    apply Rmult_le_compat; try lra. eapply Rle_trans; [exact Pa|]. apply exp_le. exact Ha'.
Qed.

End Safe.

Lemma filter_marked {B} (a b : list B) : filter snd (map (fun c => (c, true)) a ++ map (fun c => (c, false)) b) = map (fun c => (c, true)) a.
Proof. induction a as [|x a IH]; cbn; [|now rewrite IH]. induction b as [|x b IH]; [reflexivity|exact IH]. Qed.
Lemma filter_unmarked {B} (a b : list B) : filter (fun y => negb (snd y)) (map (fun c => (c, true)) a ++ map (fun c => (c, false)) b) = map (fun c => (c, false)) b.
Proof. induction a as [|x a IH]; cbn; [|exact IH]. induction b as [|x b IH]; cbn; [reflexivity|now rewrite IH]. Qed.
Lemma filter_perm {X} (f : X -> bool) a b : Permutation a b -> Permutation (filter f a) (filter f b).
Proof.
  induction 1 as [|x a b H IH|x y a|a b c H1 IH1 H2 IH2]; cbn; [constructor|destruct (f x); auto| |eapply Permutation_trans; eassumption].
  destruct (f x), (f y); try reflexivity. apply perm_swap.
Qed.

Section SafeRow.
Variable A : arith.
Hypothesis Hn : nearest A.
Notation u := (u_ A).
Variable B : Type.
Variables (lv w nu own zet : B -> R) (name : B -> Z).
Notation sum_tree := (sum_tree B). Notation sleaves := (sleaves B). Notation leaf_depths := (leaf_depths B). Notation sum_height := (sum_height B).
Notation errs := (errs B lv w nu own zet). Notation ent := (ent B w own zet name).
Notation Sw := (sum_over (fun c => exp (w c))). Notation Sg := (sum_over (fun c => exp (w c + own c))). Notation Sz := (sum_over zet).
(* b of RowFormula.v bounds the error of any sum of these terms, by any tree of at most h additions on a path, in any order *)
Theorem safe_row t h row deep least : nonneg_floats A B lv t -> errs (sleaves t) -> (sum_height t <= h)%nat -> Permutation (sleaves t) row ->
  Permutation deep (map (fun c => exp (w c + own c)) row) -> let E := map ent row in
  plain_lost R_ops (lam u) h 1 E < 1 ->
  0 < sum_value A B lv t /\ Rabs (ln (sum_value A B lv t / sum R_ops E)) <= row_bound R_ops (lam u) h false 1 E deep least.
Proof.
  intros Ho He Hh Hp Hd E Hg. assert (SP : forall X (f : X -> R) a b, Permutation a b -> sum_over f a = sum_over f b) by (intros; now apply sum_over_perm).
  assert (Tx : forall l, total R_ops exact (map ent l) = Sw l) by (intros l; rewrite total_sum, sum_over_map; reflexivity).
  assert (Tg : forall l, total R_ops grown (map ent l) = Sg l) by (intros l; rewrite total_sum, sum_over_map; reflexivity).
  assert (Tz : forall l, total R_ops absolute (map ent l) = Sz l) by (intros l; rewrite total_sum, sum_over_map; reflexivity).
  assert (Ex : sum R_ops E = Sw (sleaves t)) by (unfold sum, E; rewrite Tx; symmetry; now apply SP).
  assert (Eg : total R_ops grown E = Sg (sleaves t)) by (unfold E; rewrite Tg; symmetry; now apply SP).
  assert (Ez : total R_ops absolute E = Sz (sleaves t)) by (unfold E; rewrite Tz; symmetry; now apply SP).
  assert (Ep : plain R_ops (lam u) h E = ln (Sg (sleaves t) / Sw (sleaves t)) + INR h * lam u).
  { unfold plain, before, tree. rewrite Eg, Ex, of_nat_INR. reflexivity. }
  assert (El : plain_lost R_ops (lam u) h 1 E = Sz (sleaves t) / Sw (sleaves t) * exp (2 * plain R_ops (lam u) h E)).
  { unfold plain_lost. rewrite Ez, Ex, of_nat_INR. cbn [mul div exp_ of_Z R_ops INR]. now rewrite Rmult_1_l. }
  rewrite El in Hg. destruct (by_height A B lv w nu own zet t h Ho He Hh) as [H1 H2]. rewrite <- Ep in H1, H2.
  destruct (by_depths A B lv w nu own zet t h (plain R_ops (lam u) h E) (plain R_ops (lam u) h E) Ho He Hh H1 (Rle_refl _) H2 Hg) as [V Pl]. split; [exact V|].
  rewrite Ex. unfold row_bound, lowest_of, candidates. assert (Hpl : Rabs (ln (sum_value A B lv t / Sw (sleaves t))) <= plain_bound R_ops (lam u) h 1 E).
  { unfold plain_bound. rewrite lam_lam, El. exact Pl. }
  destruct (Nat.ltb short_sum h); [|exact Hpl]. apply lowest; [exact Hpl|]. intros g v Hin Hg1. apply in_app_or in Hin. destruct Hin as [Hin|Hin].
  - destruct (Nat.ltb (length E) (2 * h)); [|destruct Hin]. destruct Hin as [Hin|[]]. apply pair_equal_spec in Hin. destruct Hin as [<- <-]. unfold depth_bound. rewrite lam_lam, El, Ex.
    assert (Hd' : Permutation deep (map (fun c => exp (w c + own c)) (sleaves t))) by (rewrite Hd; apply Permutation_map; now apply Permutation_sym).
    pose proof (worst_tops A (fun c => exp (w c + own c)) t h deep ltac:(intros; left; apply exp_pos) Hd' Hh) as Wt.
    set (Wd := worst R_ops h (power_list R_ops (exp (lam u)) 1 h) (length deep) 1 (suffix_tops R_ops deep)) in *. change (worst R_ops h (power_list R_ops (exp_ R_ops (lam u)) (of_Z R_ops 1) h) (length deep) 1 (suffix_tops R_ops deep)) with Wd.
    assert (Ew : wsumd (depth_factor A) (fun c => exp (w c + own c)) (leaf_depths t) = sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t)).
    { clear. induction (leaf_depths t) as [|y l IH]; cbn; [reflexivity|]. rewrite IH. unfold depth_factor. rewrite <- exp_plus. do 2 f_equal. ring. }
    rewrite Ew in Wt. assert (Sp : 0 < Sw (sleaves t)) by (apply sum_over_exp_pos, sleaves_ne).
    assert (Dp : 0 < sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t)).
    { apply sum_over_exp_pos. intros X. apply (sleaves_ne B t). now rewrite <- leaf_depths_fst, X. }
    destruct (by_depths A B lv w nu own zet t h _ (plain R_ops (lam u) h E) Ho He Hh (Rle_refl _) H1 H2 Hg) as [_ Q]. eapply Rle_trans; [exact Q|].
    apply Rplus_le_compat_r. apply ln_le'; [now apply Rdiv_lt_0_compat|]. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|exact Wt].
  - apply in_map_iff in Hin. destruct Hin as (r & Hr & Hin). apply filter_In in Hin. destruct Hin as [Hin _].
    assert (Hr1 : (1 <= r < length E)%nat).
    { clear - Hin. assert (G : forall k n f, (1 <= k)%nat -> In r (powers f k n) -> (1 <= r < n)%nat); [|eapply G; [|exact Hin]; lia].
      intros k n f. revert k. induction f as [|f IH]; intros k Hk Hin'; cbn [powers] in Hin'; [destruct Hin'|]. destruct (Nat.ltb_spec k n); [|destruct Hin'].
      destruct Hin' as [<-|Hin']; [lia|]. apply (IH (2 * k)%nat); [lia|assumption]. }
    unfold head_bound, split in Hr. apply pair_equal_spec in Hr. destruct Hr as [<- <-].
    assert (Efn : firstn r E = map ent (firstn r row)) by (unfold E; apply firstn_map). assert (Esn : skipn r E = map ent (skipn r row)) by (unfold E; apply skipn_map).
    rewrite Efn, Esn in *. set (Hs := firstn r row) in *. set (Ts := skipn r row) in *.
    (* the same tree, with each leaf marked *)
    set (marked := map (fun c => (c, true)) Hs ++ map (fun c => (c, false)) Ts).
    assert (Em : Permutation (sleaves t) (map fst marked)).
    { rewrite Hp. unfold marked. rewrite map_app, !map_map, !map_id. unfold Hs, Ts. now rewrite firstn_skipn. }
    destruct (Permutation_map_inv _ _ Em) as (L & L1 & L2). destruct (relabel t L (eq_sym L1)) as (t' & T1 & T2 & T3).
    assert (Hin' : forall y, In y (LeafDepth.sleaves (B * bool) t') -> In (fst y) (sleaves t)) by (intros y Hy; rewrite T1 in Hy; rewrite L1; now apply in_map).
    pose proof (by_head A Hn (B * bool) (fun y => lv (fst y)) (fun y => w (fst y)) (fun y => nu (fst y)) (fun y => own (fst y)) (fun y => zet (fst y)) snd t' h) as Q.
    rewrite T3, T1, T2 in Q.
    assert (Ph : Permutation (filter snd L) (map (fun c => (c, true)) Hs)) by (rewrite <- (filter_marked Hs Ts); apply filter_perm; now apply Permutation_sym).
    assert (Pt : Permutation (filter (fun c => negb (snd c)) L) (map (fun c => (c, false)) Ts)) by (rewrite <- (filter_unmarked Hs Ts); apply filter_perm; now apply Permutation_sym).
    assert (Eh : forall G : B -> R, sum_over (fun y : B * bool => G (fst y)) (filter snd L) = sum_over G Hs) by (intros G; rewrite (SP _ _ _ _ Ph), sum_over_map; reflexivity).
    assert (Et : forall G : B -> R, sum_over (fun y : B * bool => G (fst y)) (filter (fun c => negb (snd c)) L) = sum_over G Ts) by (intros G; rewrite (SP _ _ _ _ Pt), sum_over_map; reflexivity).
    assert (EL : sum_over (fun y : B * bool => exp (w (fst y))) L = Sw (sleaves t)) by (rewrite L1, sum_over_map; reflexivity).
    cbv zeta in Q. rewrite EL, (Eh (fun c => exp (w c + own c))), (Eh (fun c => exp (w c))), (Eh zet), (Et (fun c => exp (w c + own c))), (Et zet) in Q.
    assert (Elen : length (filter snd L) = length Hs) by (apply Permutation_length in Ph; now rewrite map_length in Ph). rewrite Elen in Q.
    unfold above_head, below_head, head_lost, alone, among, tree in *. rewrite ?map_length, ?Tx, ?Tg, ?Tz, ?of_nat_INR, ?lam_lam, ?Ex in *.
    cbn [mul div exp_ of_Z R_ops INR add sub ln_ top] in *. rewrite ?Rmult_1_l in *. apply Q; try assumption.
    + intros y Hy. apply Ho, Hin'. exact Hy.
    + intros y Hy. apply He, Hin'. now rewrite T1.
    + intros X. rewrite X in Elen. cbn in Elen. unfold Hs, E in *. rewrite firstn_length, map_length in *. lia.
Qed.
End SafeRow.

(* b of a case: any tree over its terms, in any order. The errors of the leaves are hypotheses: so it covers the exps of a
   rounded arithmetic (softmax_case), naive sums (subtracted = 0), stored numerators. *)
Section SafeCase.
Variable A : arith.
Hypothesis Hn : nearest A.
Variable c : case.
Notation C := (constants_in R_ops c). Notation m := (subtracted c). Notation pair := (Z * Z)%type.
Definition w_ (y : pair) : R := val R_ops C (fst y - m).
Definition own_ : pair -> R := term_own R_ops C m (stored_errors c).
Definition zet_ : pair -> R := term_absolute R_ops C (stored_errors c).
Definition case_sum : R := sum_over (fun y => exp (w_ y)) (logits c).
Notation case_lost := (case_lost_ R_ops c).
Theorem safe_case (t : sum_tree pair) lv nu : online c = false -> dyadic R_ops (c_u c) = u_ A -> nonneg_floats A pair lv t -> errs pair lv w_ nu own_ zet_ (sleaves pair t) ->
  (sum_height pair t <= additions c)%nat -> Permutation (sleaves pair t) (logits c) -> Permutation (heaviest c) (logits c) -> case_lost < 1 ->
  0 < sum_value A pair lv t /\ Rabs (ln (sum_value A pair lv t / case_sum)) <= case_bound R_ops c.
Proof.
  intros Hk Hu' Ho He Hh Hp Hd Hl. assert (EL : lam_of_u R_ops C = lam (u_ A)) by (rewrite <- Hu'; apply lam_lam).
  unfold case_lost_, times_of, entry_of in Hl. rewrite Hk, EL in Hl.
  pose proof (safe_row A Hn pair lv w_ nu own_ zet_ fst t (additions c) (logits c) (map (fun y => exp (w_ y + own_ y)) (heaviest c)) (least_of R_ops c C) Ho He Hh Hp) as Q.
  destruct Q as [Q1 Q2]; [now apply Permutation_map|exact Hl|]. split; [exact Q1|]. unfold case_bound, entry_of, times_of. rewrite Hk, EL.
  assert (Es : sum R_ops (map (ent pair w_ own_ zet_ fst) (logits c)) = case_sum) by (unfold sum; now rewrite total_sum, sum_over_map).
  rewrite Es in Q2. exact Q2.
Qed.
End SafeCase.
