(* SPDX-License-Identifier: Apache-2.0 *)
(* The height of the bound: min (height of the tree) (number of finite leaves - 1). Adding the identity is exact. *)
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
