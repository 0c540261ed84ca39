(* SPDX-License-Identifier: Apache-2.0 *)
(* The head of an online normalizer, from below: deleting the leaves under a threshold can only lower the computed sum. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.HeightCap.
Import ListNotations.
Open Scope R_scope.

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
