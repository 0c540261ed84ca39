(* SPDX-License-Identifier: Apache-2.0 *)
(* The operator over exact reals: a commutative monoid; any tree, any permutation; 1 <= d <= j. *)
Require Import Reals List Permutation Lra Lia.
Import ListNotations.
Open Scope R_scope.

(* None is the identity (-inf, 0). *)
Definition partial := option (R * R).
Definition leaf (x : option R) : partial :=
  match x with None => None | Some x => Some (x, 1) end.

(* select form *)
Definition op (a b : partial) : partial :=
  match a, b with
  | None, _ => b
  | _, None => a
  | Some (ma, da), Some (mb, db) =>
      if Rle_dec mb ma then Some (ma, da + db * exp (mb - ma))
      else Some (mb, db + da * exp (ma - mb))
  end.

(* symmetric form, two exps *)
Definition op_symmetric (a b : partial) : partial :=
  match a, b with
  | None, _ => b
  | _, None => a
  | Some (ma, da), Some (mb, db) =>
      Some (Rmax ma mb, da * exp (ma - Rmax ma mb) + db * exp (mb - Rmax ma mb))
  end.

(* (m, d) as m and the unshifted weight w = d e^m *)
Definition of_weight (m w : R) : partial := Some (m, w * exp (- m)).

Lemma of_weight_eq m d : Some (m, d) = of_weight m (d * exp m).
Proof. unfold of_weight. rewrite Rmult_assoc, <- exp_plus. replace (m + - m) with 0 by ring.
  now rewrite exp_0, Rmult_1_r. Qed.

Lemma op_of_weight m1 w1 m2 w2 : op (of_weight m1 w1) (of_weight m2 w2) = of_weight (Rmax m1 m2) (w1 + w2).
Proof.
  unfold op, of_weight. destruct (Rle_dec m2 m1).
  - rewrite Rmax_left by lra. rewrite Rmult_assoc, <- exp_plus.
    replace (- m2 + (m2 - m1)) with (- m1) by ring. do 2 f_equal. ring.
  - rewrite Rmax_right by lra. rewrite Rmult_assoc, <- exp_plus.
    replace (- m1 + (m1 - m2)) with (- m2) by ring. do 2 f_equal. ring.
Qed.

Theorem op_is_symmetric a b : op a b = op_symmetric a b.
Proof.
  destruct a as [[ma da]|], b as [[mb db]|]; try reflexivity. cbn.
  destruct (Rle_dec mb ma).
  - rewrite Rmax_left by lra. rewrite (Rminus_diag_eq ma ma) by reflexivity. rewrite exp_0. do 2 f_equal. ring.
  - rewrite Rmax_right by lra. rewrite (Rminus_diag_eq mb mb) by reflexivity. rewrite exp_0. do 2 f_equal. ring.
Qed.

Theorem op_comm a b : op a b = op b a.
Proof.
  destruct a as [[ma da]|], b as [[mb db]|]; try reflexivity.
  rewrite !of_weight_eq, !op_of_weight, Rmax_comm. f_equal. ring.
Qed.

Theorem op_assoc a b c : op a (op b c) = op (op a b) c.
Proof.
  destruct a as [[ma da]|], b as [[mb db]|], c as [[mc dc]|]; try reflexivity;
    try (rewrite !of_weight_eq, !op_of_weight; rewrite ?Rmax_assoc; f_equal; ring);
    try (rewrite !of_weight_eq, !op_of_weight; reflexivity).
  all: cbn; try reflexivity; repeat match goal with |- context[Rle_dec ?a ?b] => destruct (Rle_dec a b) end; reflexivity.
Qed.

Theorem op_id_l a : op None a = a. Proof. reflexivity. Qed.
Theorem op_id_r a : op a None = a. Proof. now destruct a as [[m d]|]. Qed.

Inductive tree := Leaf (x : option R) | Node (l r : tree).
Fixpoint leaves (t : tree) : list (option R) :=
  match t with Leaf x => [x] | Node l r => leaves l ++ leaves r end.
Fixpoint eval (t : tree) : partial :=
  match t with Leaf x => leaf x | Node l r => op (eval l) (eval r) end.
Fixpoint finite (l : list (option R)) : list R :=
  match l with [] => [] | Some x :: r => x :: finite r | None :: r => finite r end.

Definition fold (l : list (option R)) : partial := fold_right (fun x p => op (leaf x) p) None l.

Lemma fold_app a b : fold (a ++ b) = op (fold a) (fold b).
Proof. induction a as [|x a IH]; [reflexivity|]. cbn in *. unfold fold in IH. now rewrite IH, op_assoc. Qed.

(* any tree is the serial fold of its leaves *)
Theorem eval_fold t : eval t = fold (leaves t).
Proof. induction t as [x|l IHl r IHr]; cbn.
  - now rewrite op_id_r.
  - now rewrite fold_app, IHl, IHr. Qed.

Lemma fold_perm a b : Permutation a b -> fold a = fold b.
Proof.
  induction 1 as [|x a b _ IH|x y a|a b c _ IH1 _ IH2]; cbn; auto.
  - unfold fold in IH. now rewrite IH.
  - rewrite !op_assoc. now rewrite (op_comm (leaf y)).
  - now rewrite IH1.
Qed.

(* any two trees on permuted leaves agree *)
Theorem eval_perm t t' : Permutation (leaves t) (leaves t') -> eval t = eval t'.
Proof. intros H. rewrite !eval_fold. now apply fold_perm. Qed.

Fixpoint exp_sum (m : R) (l : list R) : R :=
  match l with [] => 0 | x :: r => exp (x - m) + exp_sum m r end.
Definition max_of (l : list R) : R :=
  match l with [] => 0 | x :: r => fold_right Rmax x r end.

Lemma exp_sum_shift m m' l : exp_sum m' l = exp_sum m l * exp (m - m').
Proof. induction l as [|x l IH]; cbn; [ring|]. rewrite IH, Rmult_plus_distr_r, <- exp_plus.
  f_equal. f_equal. ring. Qed.

Lemma fold_max_swap a b r : Rmax a (fold_right Rmax b r) = fold_right Rmax a (b :: r).
Proof. cbn. revert a b. induction r as [|x r IH]; intros a b; cbn.
  - apply Rmax_comm.
  - rewrite (Rmax_comm x (fold_right Rmax b r)), Rmax_assoc, IH. cbn.
    rewrite <- Rmax_assoc. f_equal. apply Rmax_comm. Qed.

(* the closed form *)
Theorem eval_closed t :
  eval t = match finite (leaves t) with
           | [] => None
           | l => Some (max_of l, exp_sum (max_of l) l)
           end.
Proof.
  rewrite eval_fold. induction (leaves t) as [|o l IH]; [reflexivity|].
  destruct o as [x|]; [|exact IH].
  change (fold (Some x :: l)) with (op (Some (x, 1)) (fold l)). rewrite IH. cbn [finite].
  destruct (finite l) as [|y r].
  - cbn. rewrite (Rminus_diag_eq x x) by reflexivity. rewrite exp_0. do 2 f_equal. ring.
  - rewrite op_is_symmetric. cbn [op_symmetric].
    assert (E : Rmax x (max_of (y :: r)) = max_of (x :: y :: r)).
    { unfold max_of. apply fold_max_swap. }
    rewrite E. do 2 f_equal. rewrite <- exp_sum_shift. cbn. ring.
Qed.

Lemma fold_max_ge x l : x <= fold_right Rmax x l /\ forall y, In y l -> y <= fold_right Rmax x l.
Proof. induction l as [|z l [IH1 IH2]]; cbn; [split; [lra|tauto]|].
  split; [eapply Rle_trans; [exact IH1|apply Rmax_r]|]. intros y [<-|H]; [apply Rmax_l|].
  eapply Rle_trans; [now apply IH2|apply Rmax_r]. Qed.
Lemma fold_max_in x l : In (fold_right Rmax x l) (x :: l).
Proof. induction l as [|z l IH]; cbn; [now left|].
  destruct (Rle_dec z (fold_right Rmax x l)).
  - rewrite Rmax_right by assumption. destruct IH as [IH|IH]; tauto.
  - rewrite Rmax_left by lra. tauto. Qed.
Lemma max_of_ge l x : In x l -> x <= max_of l.
Proof. destruct l as [|y l]; [intros []|]. cbn [max_of]. destruct (fold_max_ge y l) as [H1 H2].
  intros [<-|H]; auto. Qed.
Lemma max_of_in l : l <> [] -> In (max_of l) l.
Proof. destruct l as [|y l]; [congruence|]. intros _. apply (fold_max_in y l). Qed.

Lemma exp_sum_pos m l : 0 <= exp_sum m l.
Proof. induction l as [|x l IH]; cbn; [lra|]. pose proof (exp_pos (x - m)). lra. Qed.
Lemma exp_sum_ge1 m l : In m l -> 1 <= exp_sum m l.
Proof. induction l as [|x l IH]; cbn; [intros []|]. intros [->|H].
  - rewrite Rminus_diag_eq, exp_0 by reflexivity. pose proof (exp_sum_pos m l). lra.
  - pose proof (exp_pos (x - m)). specialize (IH H). lra. Qed.
Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [H| ->]; [left; now apply exp_increasing|right; reflexivity]. Qed.
Lemma exp_le1 a : a <= 0 -> exp a <= 1.
Proof. intros H. rewrite <- exp_0. now apply exp_le. Qed.
Lemma exp_sum_le_count m l : (forall x, In x l -> x <= m) -> exp_sum m l <= INR (length l).
Proof. induction l as [|x l IH]; intros H; [cbn; lra|]. cbn [exp_sum length]. rewrite S_INR.
  assert (exp (x - m) <= 1) by (apply exp_le1; specialize (H x (or_introl eq_refl)); lra).
  specialize (IH (fun y Hy => H y (or_intror Hy))). lra. Qed.

(* 1 <= d <= j over the exact reals, any tree *)
Theorem eval_bounds t m d : eval t = Some (m, d) ->
  m = max_of (finite (leaves t)) /\ 1 <= d <= INR (length (finite (leaves t))).
Proof.
  rewrite eval_closed. destruct (finite (leaves t)) as [|y r] eqn:E; [discriminate|].
  injection 1 as <- <-. change (fold_right Rmax y r) with (max_of (y :: r)).
  change (exp (y - max_of (y :: r)) + exp_sum (max_of (y :: r)) r) with (exp_sum (max_of (y :: r)) (y :: r)).
  rewrite <- E. split; [reflexivity|split].
  - apply exp_sum_ge1, max_of_in. congruence.
  - apply exp_sum_le_count. apply max_of_ge.
Qed.


