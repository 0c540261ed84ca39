(* SPDX-License-Identifier: Apache-2.0 *)
(* The height of the bound: min (height of the tree) (number of finite leaves - 1). Adding the identity is exact. Then the
   head of an online normalizer, from below. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree.
Import ListNotations.
Open Scope R_scope.

Section Cap.
Variable A : arith.
Variable fused : bool.
Notation u := (u_ A). Notation eta := (eta_ A). Notation F := (F_ A).

Fixpoint tree_height (t : tree) : nat :=
  match t with Leaf _ => 0%nat | Node l r => S (Nat.max (tree_height l) (tree_height r)) end.
(* the tree without its identities *)
Fixpoint prune (t : tree) : option tree :=
  match t with
  | Leaf None => None
  | Leaf (Some x) => Some (Leaf (Some x))
  | Node l r => match prune l, prune r with
                | None, q => q | p, None => p | Some p, Some q => Some (Node p q) end
  end.

Theorem prune_exact t :
  rounded_eval A fused t = match prune t with None => None | Some p => rounded_eval A fused p end /\
  match prune t with None => finite (leaves t) = [] /\ merge_height t = 0%nat
  | Some p => leaves p = map Some (finite (leaves t)) /\ tree_height p = merge_height t /\ finite (leaves t) <> [] end.
Proof.
  induction t as [[x|]|l [El Hl] r [Er Hr]]; cbn [prune rounded_eval leaves].
  - cbn. repeat split; auto. discriminate.
  - cbn. auto.
  - rewrite El, Er, finite_app. cbn [merge_height]. destruct (prune l) as [p|], (prune r) as [q|].
    + destruct Hl as (L1 & H1 & N1), Hr as (L2 & H2 & N2). split; [reflexivity|]. cbn [leaves tree_height].
      rewrite L1, L2, map_app, H1, H2. destruct (finite (leaves l)); [congruence|]. destruct (finite (leaves r)); [congruence|].
      repeat split; auto. discriminate.
    + destruct Hl as (L1 & H1 & N1), Hr as (L2 & H2). split; [now destruct (rounded_eval A fused p) as [[? ?]|]|].
      rewrite L2, app_nil_r. destruct (finite (leaves l)); [congruence|]. auto.
    + destruct Hl as (L1 & H1), Hr as (L2 & H2 & N2). split; [reflexivity|]. rewrite L1. auto.
    + destruct Hl as (L1 & H1), Hr as (L2 & H2). rewrite L1, L2. auto.
Qed.

Lemma merge_height_le t : (merge_height t <= tree_height t)%nat.
Proof. induction t as [x|l IHl r IHr]; cbn; [lia|]. destruct (finite (leaves l)), (finite (leaves r)); lia. Qed.
Lemma merge_height_count t : (merge_height t <= length (finite (leaves t)) - 1)%nat.
Proof.
  induction t as [x|l IHl r IHr]; cbn [merge_height leaves]; [lia|]. rewrite finite_app, app_length.
  destruct (finite (leaves l)), (finite (leaves r)); cbn [length] in *; lia.
Qed.

Lemma beta_all_mono xs h k x : (h <= k)%nat -> beta_all A xs h x <= beta_all A xs k x.
Proof.
  intros H. unfold beta_all. pose proof (Heps0 A) as E. pose proof (lam_pos A) as L.
  assert (INR (Nat.min (h + 1) (above xs x)) <= INR (Nat.min (k + 1) (above xs x))) as H1 by (apply le_INR; lia).
  assert (INR (Nat.min h (above xs x) + h) <= INR (Nat.min k (above xs x) + k)) as H2 by (apply le_INR; lia).
  pose proof (Rmult_le_compat_r _ _ _ E H1). pose proof (Rmult_le_compat_r _ _ _ L H2). lra.
Qed.
Lemma b1_all_mono xs h k : xs <> [] -> (h <= k)%nat -> b1_all A xs h <= b1_all A xs k.
Proof.
  intros Hne H. unfold b1_all. pose proof (exp_sum_ge1 (max_of xs) xs (max_of_in xs Hne)) as Hs.
  apply ln_le'.
  - apply Rdiv_lt_0_compat; [now apply weighted_sum_pos|lra].
  - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. apply weighted_sum_mono. intros. now apply beta_all_mono.
Qed.
Lemma a_all_pos xs : xs <> [] -> 0 <= a_all A xs.
Proof.
  intros Hne. unfold a_all. pose proof (exp_sum_ge1 (max_of xs) xs (max_of_in xs Hne)). pose proof (eta_pos A). pose proof (exp_pos (tau_ A)).
  pose proof (pos_INR (length xs)). apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra]. repeat apply Rmult_le_pos; lra.
Qed.

(* any H that is at least the finite merges on a path; in particular min (declared height) (finite leaves - 1) *)
Theorem tree_closed_le t H : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) ->
  let xs := finite (leaves t) in (merge_height t <= H)%nat ->
  a_all A xs * exp (2 * b1_all A xs H) < 1 ->
  exists D, rounded_eval A fused t = Some (max_of xs, D) /\ 1 <= D /\
    Rabs (ln (D / exp_sum (max_of xs) xs)) <= b1_all A xs H + lam (a_all A xs * exp (2 * b1_all A xs H)).
Proof.
  intros Hne HF xs Hh Hlt. pose proof (b1_all_mono xs _ _ Hne Hh) as Hb. pose proof (a_all_pos xs Hne) as Ha.
  assert (a_all A xs * exp (2 * b1_all A xs (merge_height t)) <= a_all A xs * exp (2 * b1_all A xs H)) as Hmax.
  { apply Rmult_le_compat_l; [assumption|]. apply exp_le. lra. }
  destruct (tree_closed A fused t Hne HF) as (D & D1 & D2 & D3); [fold xs; lra|]. fold xs in D1, D3.
  exists D. split; [assumption|]. split; [assumption|]. eapply Rle_trans; [exact D3|].
  apply Rplus_le_compat; [assumption|]. now apply lam_mono.
Qed.
Theorem tree_closed_cap t H : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) ->
  (tree_height t <= H)%nat -> let xs := finite (leaves t) in let h := Nat.min H (length xs - 1) in
  a_all A xs * exp (2 * b1_all A xs h) < 1 ->
  exists D, rounded_eval A fused t = Some (max_of xs, D) /\ 1 <= D /\
    Rabs (ln (D / exp_sum (max_of xs) xs)) <= b1_all A xs h + lam (a_all A xs * exp (2 * b1_all A xs h)).
Proof.
  intros Hne HF HH xs h. apply tree_closed_le; try assumption.
  pose proof (merge_height_le t). pose proof (merge_height_count t). unfold h, xs. lia.
Qed.
End Cap.

(* ---------------------------------------------------------------------------------------------------- *)
(* The head of an online normalizer, from below: deleting the leaves under a threshold can only lower the computed sum. *)
Section Head.
Variable A : arith.
Variable fused : bool.
Notation u := (u_ A). Notation F := (F_ A). Notation fl := (fl_ A). Notation EX := (EX_ A).
Variable c : R.
Definition keep (x : option R) : option R := match x with Some y => if Rle_dec c y then Some y else None | None => None end.
Fixpoint drop_below (t : tree) : tree := match t with Leaf x => Leaf (keep x) | Node l r => Node (drop_below l) (drop_below r) end.

Lemma drop_below_height t : tree_height (drop_below t) = tree_height t.
Proof. induction t as [x|l IHl r IHr]; cbn; [reflexivity|]. now rewrite IHl, IHr. Qed.
Lemma drop_below_leaves t : finite (leaves (drop_below t)) = filter (fun x => if Rle_dec c x then true else false) (finite (leaves t)).
Proof.
  induction t as [[x|]|l IHl r IHr]; cbn; [|reflexivity|].
  - destruct (Rle_dec c x); reflexivity.
  - now rewrite !finite_app, filter_app, IHl, IHr.
Qed.

Lemma merge_mono mh dh dh' ml dl dl' : 0 <= dl' -> dh' <= dh -> dl' <= dl -> exists d d',
  merge A fused mh dh ml dl = Some (mh, d) /\ merge A fused mh dh' ml dl' = Some (mh, d') /\ d' <= d /\ F d /\ (0 <= dh' -> 0 <= d').
Proof.
  intros H0 H1 H2. pose proof (HEpos A (ml - mh)) as E0.
  assert (E : dl' * EX (ml - mh) <= dl * EX (ml - mh)) by now apply Rmult_le_compat_r.
  assert (P : 0 <= dl' * EX (ml - mh)) by now apply Rmult_le_pos.
  do 2 eexists. split; [reflexivity|]. split; [reflexivity|]. split; [|split; [apply Ffl|]].
  - destruct fused; apply M3; apply Rplus_le_compat; auto. now apply M3.
  - intros Hh. apply fl_pos. apply Rplus_le_le_0_compat; [assumption|]. destruct fused; [assumption|now apply fl_pos].
Qed.
Lemma merge_ge mh dh ml dl : F dh -> 0 <= dl -> exists d, merge A fused mh dh ml dl = Some (mh, d) /\ dh <= d /\ F d.
Proof.
  intros Fh H0. pose proof (HEpos A (ml - mh)) as E0. eexists. split; [reflexivity|]. split; [|apply Ffl].
  rewrite <- (M3F A dh Fh) at 1. apply M3. assert (0 <= dl * EX (ml - mh)) by now apply Rmult_le_pos.
  assert (0 <= (if fused then dl * EX (ml - mh) else fl (dl * EX (ml - mh)))) by (destruct fused; [assumption|now apply fl_pos]). lra.
Qed.

Theorem drop_below_lowers t : match rounded_eval A fused (drop_below t), rounded_eval A fused t with
  | None, None => True
  | None, Some (m, d) => m < c /\ 0 <= d /\ F d
  | Some (m', d'), Some (m, d) => m' = m /\ c <= m /\ 0 <= d' <= d /\ F d
  | Some _, None => False end.
Proof.
  induction t as [[x|]|l IHl r IHr]; cbn [drop_below keep rounded_eval leaf].
  - destruct (Rle_dec c x); cbn; repeat split; try lra; apply F1.
  - exact I.
  - destruct (rounded_eval A fused (drop_below l)) as [[ml' dl']|], (rounded_eval A fused l) as [[ml dl]|]; try contradiction;
    destruct (rounded_eval A fused (drop_below r)) as [[mr' dr']|], (rounded_eval A fused r) as [[mr dr]|]; try contradiction; cbn [rounded_op]; auto.
    + destruct IHl as (-> & L1 & L2 & L3), IHr as (-> & R1 & R2 & R3). destruct (Rle_dec mr ml).
      * destruct (merge_mono ml dl dl' mr dr dr') as (d & d' & -> & -> & Q1 & Q2 & Q3); try lra. repeat split; auto; lra.
      * destruct (merge_mono mr dr dr' ml dl dl') as (d & d' & -> & -> & Q1 & Q2 & Q3); try lra. repeat split; auto; lra.
    + destruct IHl as (-> & L1 & L2 & L3), IHr as (R1 & R2 & R3). destruct (Rle_dec mr ml); [|lra].
      destruct (merge_ge ml dl mr dr L3 R2) as (d & -> & Q1 & Q2). repeat split; auto; lra.
    + destruct IHl as (L1 & L2 & L3), IHr as (-> & R1 & R2 & R3). destruct (Rle_dec mr ml); [lra|].
      destruct (merge_ge mr dr ml dl R3 L2) as (d & -> & Q1 & Q2). repeat split; auto; lra.
    + destruct IHl as (L1 & L2 & L3), IHr as (R1 & R2 & R3). destruct (Rle_dec mr ml).
      * destruct (merge_ge ml dl mr dr L3 R2) as (d & -> & Q1 & Q2). repeat split; auto; lra.
      * destruct (merge_ge mr dr ml dl R3 L2) as (d & -> & Q1 & Q2). repeat split; auto; lra.
Qed.

(* r logits at or above c, q the exact share of the others: height min (H, r - 1), and lam q *)
Theorem online_head_below t H q : (forall x, In x (finite (leaves t)) -> F x) -> finite (leaves (drop_below t)) <> [] -> (tree_height t <= H)%nat ->
  let xs := finite (leaves t) in let heads := finite (leaves (drop_below t)) in let m := max_of xs in let s := exp_sum m xs in
  let h := Nat.min H (length heads - 1) in q < 1 -> (1 - q) * s <= exp_sum m heads -> a_all A heads * exp (2 * b1_all A heads h) < 1 ->
  max_of heads = m /\ exists D, rounded_eval A fused t = Some (m, D) /\ 1 <= D /\
    - (b1_all A heads h + lam (a_all A heads * exp (2 * b1_all A heads h)) + lam q) <= ln (D / s).
Proof.
  intros HF Hne HH xs heads m s h Hq Hs Hlt.
  assert (Hin : forall x, In x heads -> In x xs) by (intros x Hx; unfold heads in Hx; rewrite drop_below_leaves in Hx; apply filter_In in Hx; tauto).
  assert (Hx : xs <> []). { intros E. apply Hne. apply incl_l_nil. intros x Hi. rewrite <- E. now apply Hin. }
  destruct (tree_closed_cap A fused (drop_below t) H Hne ltac:(intros x Hi; apply HF, Hin, Hi) ltac:(now rewrite drop_below_height) Hlt) as (D' & E1 & D1 & B1).
  fold heads in E1, B1. fold h in B1.
  pose proof (drop_below_lowers t) as Q. rewrite E1 in Q. destruct (tree_program A fused t HF) as [Ev Hp].
  destruct (program_of fused t) as [P|]; [|cbn in Ev; rewrite Ev in Q; contradiction]. cbn in Ev.
  destruct Hp as [(_ & _ & _ & _ & Im & Mx) _]. assert (Em : reference P = m) by (apply Rle_antisym; [now apply max_of_ge|apply Mx; now apply max_of_in]).
  rewrite Ev in Q. unfold value in Q, Ev. rewrite Em in Q, Ev. destruct Q as (Q1 & Q2 & Q3 & Q4).
  split; [assumption|]. exists (computed A P). split; [assumption|]. split; [lra|]. rewrite Q1 in B1. apply Rabs_le_inv in B1.
  assert (Hsp : 1 <= exp_sum m heads). { apply exp_sum_ge1. rewrite <- Q1. now apply max_of_in. }
  assert (Hs1 : 1 <= s) by (apply exp_sum_ge1; now apply max_of_in).
  assert (L1 : - lam q <= ln (exp_sum m heads / s)).
  { unfold lam. rewrite Ropp_involutive. apply ln_le'; [lra|]. apply Rmult_le_reg_r with s; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (L2 : ln (D' / s) = ln (D' / exp_sum m heads) + ln (exp_sum m heads / s)).
  { rewrite <- ln_mult by (apply Rdiv_lt_0_compat; lra). f_equal. field. lra. }
  assert (L3 : ln (D' / s) <= ln (computed A P / s)).
  { apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|lra]. }
  lra.
Qed.
End Head.
