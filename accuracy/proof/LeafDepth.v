(* SPDX-License-Identifier: Apache-2.0 *)
(* Depths in a binary tree: the k-th deepest of n leaves lies at most n - k + floor(log2 k) deep, and that is attained.
   Sums of terms sorted by weight. *)
Require Import Reals List Permutation Lra Lia Arith.
Require Import Assay.ExactOperator.
Import ListNotations.
Open Scope R_scope.

Inductive sum_tree (B : Type) := SumLeaf (c : B) | SumNode (l r : sum_tree B).
Arguments SumLeaf {B}. Arguments SumNode {B}.

Section Depth.
Variable B : Type.
Notation sum_tree := (sum_tree B).
Open Scope nat_scope.

Fixpoint sleaves (t : sum_tree) : list B := match t with SumLeaf c => [c] | SumNode l r => sleaves l ++ sleaves r end.
Fixpoint sum_height (t : sum_tree) : nat := match t with SumLeaf _ => 0 | SumNode l r => S (Nat.max (sum_height l) (sum_height r)) end.
(* leaves with their depths *)
Definition down (y : B * nat) : B * nat := (fst y, S (snd y)).
Fixpoint leaf_depths (t : sum_tree) : list (B * nat) :=
  match t with SumLeaf c => [(c, 0)] | SumNode l r => map down (leaf_depths l ++ leaf_depths r) end.
Definition size (t : sum_tree) : nat := length (sleaves t).
(* leaves at depth D or more *)
Fixpoint deep (D : nat) (t : sum_tree) : nat :=
  match D, t with 0, _ => size t | S _, SumLeaf _ => 0 | S D, SumNode l r => deep D l + deep D r end.

Lemma size_pos t : 1 <= size t.
Proof. unfold size. induction t; cbn; rewrite ?app_length; lia. Qed.
Lemma leaf_depths_fst t : map fst (leaf_depths t) = sleaves t.
Proof. induction t as [c|l IHl r IHr]; [reflexivity|]. cbn [leaf_depths sleaves]. rewrite map_map.
  change (map (fun x => fst (down x)) (leaf_depths l ++ leaf_depths r)) with (map fst (leaf_depths l ++ leaf_depths r)). rewrite map_app. now rewrite IHl, IHr. Qed.
Lemma leaf_depths_len t : length (leaf_depths t) = size t.
Proof. unfold size. now rewrite <- leaf_depths_fst, map_length. Qed.
Lemma leaf_depths_height t y : In y (leaf_depths t) -> snd y <= sum_height t.
Proof.
  revert y. induction t as [c|l IHl r IHr]; cbn; intros y H.
  - destruct H as [<-|[]]. cbn. lia.
  - apply in_map_iff in H. destruct H as (z & <- & H). cbn. apply in_app_or in H.
    destruct H as [H|H]; [specialize (IHl _ H)|specialize (IHr _ H)]; lia.
Qed.
Lemma height_size t : sum_height t + 1 <= size t.
Proof. unfold size. induction t; cbn; rewrite ?app_length; lia. Qed.
Lemma deep_size D t : deep D t <= size t.
Proof. revert t. induction D as [|D IH]; intros t; [cbn; lia|]. destruct t as [c|l r]; cbn [deep]; [lia|].
  unfold size in *. cbn [sleaves]. rewrite app_length. specialize (IH l) as H1. specialize (IH r). lia. Qed.
Definition count_deep (D : nat) (l : list nat) : nat := length (filter (Nat.leb D) l).
Lemma count_deep_app D a b : count_deep D (a ++ b) = count_deep D a + count_deep D b.
Proof. unfold count_deep. now rewrite filter_app, app_length. Qed.
Lemma count_deep_map D l : count_deep (S D) (map S l) = count_deep D l.
Proof. unfold count_deep. induction l as [|x l IH]; [reflexivity|]. cbn [map filter]. change (S D <=? S x) with (D <=? x).
  destruct (D <=? x); cbn [length]; now rewrite IH. Qed.
Lemma deep_cnt D t : deep D t = count_deep D (map snd (leaf_depths t)).
Proof.
  revert t. induction D as [|D IH]; intros t.
  - cbn [deep]. rewrite <- leaf_depths_len, <- (map_length snd). unfold count_deep. induction (map snd (leaf_depths t)) as [|x l IHl]; [reflexivity|].
    cbn. now rewrite IHl.
  - destruct t as [c|l r]; [reflexivity|]. cbn [deep leaf_depths]. rewrite map_map.
    change (map (fun x => snd (down x)) (leaf_depths l ++ leaf_depths r)) with (map (fun x => S (snd x)) (leaf_depths l ++ leaf_depths r)).
    rewrite <- (map_map snd S), count_deep_map, map_app, count_deep_app. now rewrite !IH.
Qed.

(* if k leaves lie D deep or deeper, D <= n - k + floor(log2 k) *)
Theorem depth_count D t k : 1 <= k -> k <= deep D t -> D + k <= size t + Nat.log2 k.
Proof.
  revert t k. induction D as [|D IH]; intros t k Hk Hd.
  - cbn in *. lia.
  - destruct t as [c|l r]; [cbn in Hd; lia|]. pose proof (deep_size (S D) (SumNode l r)) as Hs. cbn [deep] in *.
    pose proof (size_pos l). pose proof (size_pos r).
    assert (E : size (SumNode l r) = size l + size r) by (unfold size; cbn; apply app_length). rewrite E in *.
    destruct (le_lt_dec (S D) (Nat.log2 k)) as [Hsm|Hbg]; [lia|].
    set (k1 := Nat.min k (deep D l)). set (k2 := k - k1).
    destruct (Nat.eq_dec k1 0) as [z1|n1].
    { assert (D + k <= size r + Nat.log2 k) by (apply IH; lia). lia. }
    destruct (Nat.eq_dec k2 0) as [z2|n2].
    { assert (D + k <= size l + Nat.log2 k) by (apply IH; lia). lia. }
    pose proof (IH l k1 ltac:(lia) ltac:(lia)) as I1. pose proof (IH r k2 ltac:(lia) ltac:(lia)) as I2.
    assert (Nat.log2 k1 + Nat.log2 k2 + 1 <= 2 * Nat.log2 k); [|lia].
    destruct (Nat.log2_spec k ltac:(lia)) as [_ U]. destruct (Nat.log2_spec k1 ltac:(lia)) as [L1 _].
    destruct (Nat.log2_spec k2 ltac:(lia)) as [L2 _].
    pose proof (Nat.log2_le_mono k1 k ltac:(lia)) as M1. pose proof (Nat.log2_le_mono k2 k ltac:(lia)) as M2.
    destruct (Nat.eq_dec (Nat.log2 k1) (Nat.log2 k)) as [e1|]; [|lia].
    destruct (Nat.eq_dec (Nat.log2 k2) (Nat.log2 k)) as [e2|]; [|lia].
    exfalso. rewrite e1 in L1. rewrite e2 in L2. rewrite Nat.pow_succ_r' in U. lia.
Qed.
(* the weaker form, with the ceiling *)
Corollary depth_count_up D t k : 1 <= k -> k <= deep D t -> D + k <= size t + Nat.log2_up k.
Proof. intros H1 H2. pose proof (depth_count D t k H1 H2). pose proof (Nat.le_log2_log2_up k). lia. Qed.

(* attained, for every k <= n *)
Lemma bushy (c : B) k : 1 <= k -> exists t, size t = k /\ deep (Nat.log2 k) t = k.
Proof.
  induction k as [k IH] using lt_wf_ind. intros Hk. destruct (Nat.eq_dec k 1) as [->|Hn].
  - exists (SumLeaf c). split; reflexivity.
  - assert (Hh : k / 2 + (k - k / 2) = k /\ 1 <= k / 2 /\ k / 2 <= k - k / 2 /\ k - k / 2 < k /\ Nat.log2 k = S (Nat.log2 (k / 2))).
    { pose proof (Nat.div_mod k 2 ltac:(lia)). pose proof (Nat.mod_upper_bound k 2 ltac:(lia)).
      repeat split; try lia.
      assert (k = 2 * (k / 2) \/ k = 2 * (k / 2) + 1) as [E|E] by lia; rewrite E at 1.
      - apply Nat.log2_double. lia.
      - apply Nat.log2_succ_double. lia. }
    destruct Hh as (E1 & E2 & E3 & E4 & E5).
    destruct (IH (k / 2) ltac:(lia) E2) as (l & L1 & L2). destruct (IH (k - k / 2) E4 ltac:(lia)) as (r & R1 & R2).
    exists (SumNode l r). split; [unfold size in *; cbn; rewrite app_length; lia|]. rewrite E5. cbn [deep]. rewrite L2.
    assert (Nat.log2 (k / 2) <= Nat.log2 (k - k / 2)) as Hl by (apply Nat.log2_le_mono; lia).
    assert (deep (Nat.log2 (k / 2)) r = k - k / 2); [|lia].
    apply Nat.le_antisymm; [pose proof (deep_size (Nat.log2 (k / 2)) r); lia|].
    rewrite <- R2 at 1. clear - Hl. revert r. induction Hl as [|m Hl IHl]; intros r; [lia|].
    eapply Nat.le_trans; [|apply IHl]. clear. revert r. induction m as [|m IHm]; intros r.
    + apply deep_size.
    + destruct r as [|a b]; [cbn; lia|]. cbn [deep]. cbn [deep] in IHm. specialize (IHm a) as H1. specialize (IHm b). lia.
Qed.
Fixpoint chain (c : B) (t : sum_tree) (j : nat) : sum_tree := match j with 0 => t | S j => SumNode (SumLeaf c) (chain c t j) end.
Theorem depth_attained (c : B) n k : 1 <= k <= n -> exists t, size t = n /\ k <= deep (n - k + Nat.log2 k) t.
Proof.
  intros [H1 H2]. destruct (bushy c k H1) as (t & T1 & T2).
  assert (forall j, size (chain c t j) = j + k /\ k <= deep (j + Nat.log2 k) (chain c t j)) as H.
  { induction j as [|j [I1 I2]]; [cbn [chain Nat.add]; rewrite T1, T2; lia|]. cbn [chain Nat.add deep]. split; [|lia].
    unfold size in *. cbn [sleaves app length]. lia. }
  destruct (H (n - k)) as [I1 I2]. exists (chain c t (n - k)). split; [lia|assumption].
Qed.

(* depths sorted, deepest first *)
Fixpoint insert_down (x : nat) (l : list nat) : list nat :=
  match l with [] => [x] | y :: r => if le_lt_dec y x then x :: l else y :: insert_down x r end.
Fixpoint sort_down (l : list nat) : list nat := match l with [] => [] | x :: l => insert_down x (sort_down l) end.
Inductive descending : list nat -> Prop := desc0 : descending [] | desc1 x l : (forall y, In y l -> y <= x) -> descending l -> descending (x :: l).
Lemma insert_down_perm x l : Permutation (insert_down x l) (x :: l).
Proof. induction l as [|y l IH]; cbn; [reflexivity|]. destruct (le_lt_dec y x); [reflexivity|]. rewrite IH. apply perm_swap. Qed.
Lemma sort_down_perm l : Permutation (sort_down l) l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. now rewrite insert_down_perm, IH. Qed.
Lemma insert_down_descending x l : descending l -> descending (insert_down x l).
Proof.
  induction 1 as [|y l Hy Hd IH]; cbn; [constructor; [intros ? []|constructor]|]. destruct (le_lt_dec y x).
  - constructor; [|now constructor]. intros z [<-|Hz]; [lia|]. specialize (Hy z Hz). lia.
  - constructor; [|assumption]. intros z Hz. apply (Permutation_in _ (insert_down_perm x l)) in Hz. destruct Hz as [<-|Hz]; [lia|]. now apply Hy.
Qed.
Lemma sort_down_descending l : descending (sort_down l).
Proof. induction l; cbn; [constructor|now apply insert_down_descending]. Qed.
Lemma count_deep_perm D a b : Permutation a b -> count_deep D a = count_deep D b.
Proof. unfold count_deep. induction 1; cbn; try lia; repeat destruct (D <=? _); cbn; lia. Qed.
Lemma desc_count l i d : descending l -> nth_error l i = Some d -> i + 1 <= count_deep d l.
Proof.
  intros H. revert i. induction H as [|x l Hx Hd IH]; intros i Hi; [destruct i; discriminate|].
  unfold count_deep in *. cbn [filter]. destruct i as [|i]; cbn in Hi.
  - injection Hi as ->. rewrite Nat.leb_refl. cbn. lia.
  - assert (d <= x) by (apply Hx; eapply nth_error_In; exact Hi). apply Nat.leb_le in H. rewrite H. cbn [length]. specialize (IH i Hi). lia.
Qed.

(* the k-th deepest leaf of a tree that is at most h high *)
Definition Dk (n h k : nat) : nat := Nat.min h (n - k + Nat.log2 k).
Theorem kth_deepest t i d : nth_error (sort_down (map snd (leaf_depths t))) i = Some d -> d <= Dk (size t) (sum_height t) (i + 1).
Proof.
  intros H. pose proof (desc_count _ _ _ (sort_down_descending _) H) as Hc. rewrite (count_deep_perm _ _ _ (sort_down_perm _)), <- deep_cnt in Hc.
  pose proof (depth_count d t (i + 1) ltac:(lia) Hc). pose proof (deep_size d t).
  apply nth_error_In in H. apply (Permutation_in _ (sort_down_perm _)) in H. apply in_map_iff in H. destruct H as (y & <- & Hy).
  pose proof (leaf_depths_height t y Hy). unfold Dk. lia.
Qed.
End Depth.

(* Weights sorted down, against depths in any order. *)
Section Sorted.
Variable f : nat -> R.
Hypothesis fmono : forall j k, (j <= k)%nat -> f j <= f k.
Fixpoint dot (ws : list R) (ds : list nat) : R :=
  match ws, ds with w :: ws, d :: ds => w * f d + dot ws ds | _, _ => 0 end.
Inductive descending_reals : list R -> Prop := descR0 : descending_reals [] | descR1 x l : (forall y, In y l -> 0 <= y <= x) -> 0 <= x -> descending_reals l -> descending_reals (x :: l).

Lemma dot_ins x ds ws : descending_reals ws -> (length ws = S (length ds)) -> dot ws (x :: ds) <= dot ws (insert_down x ds).
Proof.
  revert ws. induction ds as [|y ds IH]; intros ws Hw Hl; cbn [insert_down]; [lra|]. destruct (le_lt_dec y x) as [|Hlt]; [lra|].
  destruct ws as [|w1 [|w2 ws]]; cbn in Hl; try lia. inversion Hw as [|? ? H1 H2 H3]; subst. inversion H3 as [|? ? H4 H5 H6]; subst.
  cbn [dot]. specialize (IH (w2 :: ws) H3 ltac:(cbn; lia)). cbn [dot] in IH.
  assert (0 <= (w1 - w2) * (f y - f x)); [|lra]. apply Rmult_le_pos.
  - specialize (H1 w2 (or_introl eq_refl)). lra.
  - specialize (fmono x y ltac:(lia)). lra.
Qed.
Lemma ins_len x l : length (insert_down x l) = S (length l).
Proof. apply (Permutation_length (insert_down_perm x l)). Qed.
Lemma sort_down_length l : length (sort_down l) = length l.
Proof. apply (Permutation_length (sort_down_perm l)). Qed.
Lemma dot_isort ds ws : descending_reals ws -> length ws = length ds -> dot ws ds <= dot ws (sort_down ds).
Proof.
  revert ws. induction ds as [|d ds IH]; intros ws Hw Hl; cbn [sort_down]; [lra|].
  destruct ws as [|w ws]; [discriminate|]. cbn in Hl. eapply Rle_trans; [|apply dot_ins; [assumption|cbn; rewrite sort_down_length; lia]].
  cbn [dot]. inversion Hw; subst. specialize (IH ws ltac:(assumption) ltac:(lia)). lra.
Qed.
(* sum of w_(k) f(D_k), from the k-th on *)
Fixpoint worst_depths_sum (n h k : nat) (ws : list R) : R :=
  match ws with [] => 0 | w :: ws => w * f (Dk n h k) + worst_depths_sum n h (S k) ws end.
Lemma dot_dbound n h ws ds k : descending_reals ws -> (forall i d, nth_error ds i = Some d -> (d <= Dk n h (i + k))%nat) -> length ws = length ds ->
  dot ws ds <= worst_depths_sum n h k ws.
Proof.
  intros Hw. revert ds k. induction Hw as [|w ws Hx H0 Hw IH]; intros ds k Hd Hl; destruct ds as [|d ds]; cbn; try (cbn in Hl; lia); [lra|].
  apply Rplus_le_compat.
  - apply Rmult_le_compat_l; [assumption|]. apply fmono. exact (Hd 0%nat d eq_refl).
  - apply IH; [|cbn in Hl; lia]. intros i d' Hi. replace (i + S k)%nat with (S i + k)%nat by lia. now apply Hd.
Qed.

Lemma descR_nonneg ws : descending_reals ws -> forall w, In w ws -> 0 <= w.
Proof. induction 1 as [|x l H1 H2 H3 IH]; intros y Hy; [destruct Hy|]. destruct Hy as [<-|Hy]; auto. Qed.
Fixpoint wsumd {B} (g : B -> R) (L : list (B * nat)) : R :=
  match L with [] => 0 | y :: L => g (fst y) * f (snd y) + wsumd g L end.
Lemma wsumd_perm {B} (g : B -> R) L L' : Permutation L L' -> wsumd g L = wsumd g L'.
Proof. induction 1; cbn; lra. Qed.
Lemma wsumd_dot {B} (g : B -> R) L : wsumd g L = dot (map (fun y => g (fst y)) L) (map snd L).
Proof. induction L as [|y L IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

(* for every tree: the sum of weights times f (depth), by the sorted weights alone *)
Theorem sorted_depths {B} (g : B -> R) (t : sum_tree B) ws : Permutation ws (map g (sleaves B t)) -> descending_reals ws ->
  wsumd g (leaf_depths B t) <= worst_depths_sum (size B t) (sum_height B t) 1 ws.
Proof.
  intros Hp Hw. rewrite <- leaf_depths_fst, map_map in Hp. destruct (Permutation_map_inv _ _ Hp) as (L & E & HL).
  rewrite (wsumd_perm g _ _ HL), wsumd_dot, <- E.
  assert (Hl : length ws = length (map snd L)) by (rewrite E, !map_length; reflexivity).
  eapply Rle_trans; [apply dot_isort; assumption|]. apply dot_dbound; [assumption| |now rewrite sort_down_length].
  intros i d Hi.
  assert (sort_down (map snd L) = sort_down (map snd (leaf_depths B t))) as Es.
  { assert (U : forall a b, descending a -> descending b -> Permutation a b -> a = b).
    { induction a as [|x a IHa]; intros b Da Db P; [symmetry; now apply Permutation_nil|].
      destruct b as [|y b]; [apply Permutation_sym, Permutation_nil in P; discriminate|].
      inversion Da as [|? ? Hx Da']; subst. inversion Db as [|? ? Hy Db']; subst.
      assert (x = y) as <-.
      { assert (In x (y :: b)) as I1 by (eapply Permutation_in; [exact P|now left]).
        assert (In y (x :: a)) as I2 by (eapply Permutation_in; [apply Permutation_sym, P|now left]).
        destruct I1 as [|I1], I2 as [|I2]; auto. specialize (Hx y I2). specialize (Hy x I1). lia. }
      f_equal. apply IHa; auto. now apply Permutation_cons_inv in P. }
    apply U; try apply sort_down_descending. rewrite !sort_down_perm. apply Permutation_map. now apply Permutation_sym. }
  rewrite Es in Hi. now apply kth_deepest.
Qed.
End Sorted.
