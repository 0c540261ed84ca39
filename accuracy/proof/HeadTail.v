(* SPDX-License-Identifier: Apache-2.0 *)
(* Head and tail: a sum's error where few terms hold the mass. Any r terms are the head. *)
Require Import Reals List Permutation Lra Lia Arith ZArith.
From Flocq Require Import Core.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.RoundedTree Assay.LeafDepth Assay.FloatSum Assay.FlocqFormats.
Import ListNotations.
Open Scope R_scope.

(* round to nearest: a sum is off by no more than its second summand, a float or not, because the first is a float *)
Definition nearest (A : arith) : Prop := forall a b, F_ A a -> Rabs (fl_ A (a + b) - (a + b)) <= Rabs b.
Theorem nearest_min A a b : nearest A -> F_ A a -> F_ A b -> 0 <= a -> 0 <= b -> Rabs (fl_ A (a + b) - (a + b)) <= Rmin a b.
Proof.
  intros H Ha Hb Pa Pb. apply Rmin_glb.
  - rewrite Rplus_comm. eapply Rle_trans; [now apply H|]. rewrite Rabs_right; lra.
  - eapply Rle_trans; [now apply H|]. rewrite Rabs_right; lra.
Qed.
Section FltNear.
Variables prec emin : Z.
Hypothesis Hprec : (8 <= prec)%Z.
Variable choice : Z -> bool.
Theorem round_to_nearest a b : in_format prec emin a -> Rabs (round_to prec emin choice (a + b) - (a + b)) <= Rabs b.
Proof.
  intros Ha. pose proof (prec_gt_0_ prec Hprec) as P. pose proof (FLT_exp_valid emin prec) as V.
  destruct (round_N_pt radix2 (FLT_exp emin prec) choice (a + b)) as [_ H]. specialize (H a Ha).
  replace (a - (a + b)) with (- b) in H by ring. rewrite Rabs_Ropp in H. exact H.
Qed.
End FltNear.
Theorem rounded_exp_nearest prec emin H1 H2 choice tau Ht : nearest (rounded_exp_arith prec emin H1 H2 choice tau Ht).
Proof. intros a b Ha. now apply round_to_nearest. Qed.

Section HeadTail.
Variable A : arith.
Hypothesis Hn : nearest A.
Notation u := (u_ A). Notation F := (F_ A). Notation fl := (fl_ A).
Variable B : Type.
Variable lv : B -> R.
Variable hd : B -> bool.
Notation sum_tree := (sum_tree B). Notation sleaves := (sleaves B). Notation leaf_depths := (leaf_depths B). Notation sum_height := (sum_height B). Notation size := (size B).
Notation sum_value := (sum_value A B lv). Notation nonneg_floats := (nonneg_floats A B lv). Notation ssum := (FloatSum.ssum B lv).

Definition head_count (t : sum_tree) : nat := length (filter hd (sleaves t)).
Definition head_mass (t : sum_tree) : R := sum_over (fun c => if hd c then lv c else 0) (sleaves t).
Definition tail_mass (t : sum_tree) : R := sum_over (fun c => if hd c then 0 else lv c) (sleaves t).
(* additions of two sums that both hold head terms, on the highest path *)
Fixpoint head_additions (t : sum_tree) : nat :=
  match t with SumLeaf _ => 0%nat | SumNode l r =>
    match head_count l, head_count r with O, _ => head_additions r | _, O => head_additions l | _, _ => S (Nat.max (head_additions l) (head_additions r)) end end.

Lemma head_count_node l r : head_count (SumNode l r) = (head_count l + head_count r)%nat.
Proof. unfold head_count. cbn. now rewrite filter_app, app_length. Qed.
Lemma head_mass_node l r : head_mass (SumNode l r) = head_mass l + head_mass r.
Proof. apply sum_over_app. Qed.
Lemma tail_mass_node l r : tail_mass (SumNode l r) = tail_mass l + tail_mass r.
Proof. apply sum_over_app. Qed.
Lemma head_plus_tail t : ssum t = head_mass t + tail_mass t.
Proof. unfold FloatSum.ssum, head_mass, tail_mass. rewrite <- sum_over_plus. apply sum_over_ext. intros c _. destruct (hd c); ring. Qed.
Lemma head_additions_count t : (head_additions t <= head_count t - 1)%nat.
Proof. induction t as [c|l IHl r IHr]; cbn [head_additions]; [lia|]. rewrite head_count_node. destruct (head_count l), (head_count r); lia. Qed.
Lemma head_additions_height t : (head_additions t <= sum_height t)%nat.
Proof. induction t as [c|l IHl r IHr]; cbn; [lia|]. destruct (head_count l), (head_count r); lia. Qed.
Lemma head_mass_none t : head_count t = 0%nat -> head_mass t = 0.
Proof.
  intros H. unfold head_mass, head_count in *. induction (sleaves t) as [|c l IH]; cbn in *; [reflexivity|].
  destruct (hd c); cbn in H; [lia|]. rewrite IH by assumption. ring.
Qed.
Lemma tail_mass_pos t : nonneg_floats t -> 0 <= tail_mass t.
Proof. intros H. apply sum_over_pos. intros c Hc. destruct (hd c); [lra|]. now apply H. Qed.
Lemma head_mass_pos t : nonneg_floats t -> 0 <= head_mass t.
Proof. intros H. apply sum_over_pos. intros c Hc. destruct (hd c); [now apply H|lra]. Qed.

Lemma sum_up t : nonneg_floats t -> sum_value t <= ssum t * (1 + u) ^ sum_height t.
Proof.
  pose proof (Hu A) as U. induction t as [c|l IHl r IHr]; intros H.
  - cbn. lra.
  - apply nonneg_floats_node in H. destruct H as [Hl Hr]. destruct (sum_value_ok A B lv l Hl) as [F1 P1]. destruct (sum_value_ok A B lv r Hr) as [F2 P2].
    specialize (IHl Hl). specialize (IHr Hr). cbn [FloatSum.sum_value LeafDepth.sum_height pow].
    eapply Rle_trans; [apply fl_add_ub; assumption|]. rewrite (head_plus_tail (SumNode l r)), head_mass_node, tail_mass_node.
    replace (head_mass l + head_mass r + (tail_mass l + tail_mass r)) with (ssum l + ssum r) by (rewrite !head_plus_tail; ring).
    rewrite (Rmult_comm (1 + u)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. rewrite Rmult_plus_distr_r.
    pose proof (pow1u_le A (sum_height l) (Nat.max (sum_height l) (sum_height r)) ltac:(lia)).
    pose proof (pow1u_le A (sum_height r) (Nat.max (sum_height l) (sum_height r)) ltac:(lia)).
    assert (0 <= ssum l) by (rewrite head_plus_tail; pose proof (head_mass_pos l Hl); pose proof (tail_mass_pos l Hl); lra).
    assert (0 <= ssum r) by (rewrite head_plus_tail; pose proof (head_mass_pos r Hr); pose proof (tail_mass_pos r Hr); lra).
    apply Rplus_le_compat; [eapply Rle_trans; [exact IHl|]|eapply Rle_trans; [exact IHr|]]; now apply Rmult_le_compat_l.
Qed.

(* below: what is outside the head only helps *)
Theorem head_below t : nonneg_floats t -> (1 <= head_count t)%nat -> head_mass t * (1 - u) ^ head_additions t <= sum_value t.
Proof.
  pose proof (Hu A) as U. assert (D : forall j k, (j <= k)%nat -> (1 - u) ^ k <= (1 - u) ^ j).
  { intros j k H. replace k with (j + (k - j))%nat by lia. rewrite pow_add. apply Rle_trans with ((1 - u) ^ j * 1); [|lra].
    apply Rmult_le_compat_l; [apply pow_le; lra|]. apply Rle_trans with (1 ^ (k - j)); [apply pow_incr; lra|rewrite pow1; lra]. }
  induction t as [c|l IHl r IHr]; intros H Hh.
  - unfold head_count, head_mass in *. cbn in *. destruct (hd c); cbn in *; [lra|lia].
  - apply nonneg_floats_node in H. destruct H as [Hl Hr]. destruct (sum_value_ok A B lv l Hl) as [F1 P1]. destruct (sum_value_ok A B lv r Hr) as [F2 P2].
    rewrite head_count_node in Hh. rewrite head_mass_node. cbn [head_additions FloatSum.sum_value].
    assert (G : forall a b, F a -> F b -> 0 <= b -> a <= fl (a + b)).
    { intros a b Fa _ Hb. rewrite <- (M3F A a Fa) at 1. apply M3. lra. }
    destruct (head_count l) as [|nl] eqn:El; [|destruct (head_count r) as [|nr] eqn:Er].
    + rewrite (head_mass_none l El), Rplus_0_l. eapply Rle_trans; [apply IHr; [assumption|lia]|]. rewrite Rplus_comm. now apply G.
    + rewrite (head_mass_none r Er), Rplus_0_r. eapply Rle_trans; [apply IHl; [assumption|lia]|]. now apply G.
    + specialize (IHl Hl ltac:(lia)). specialize (IHr Hr ltac:(lia)).
      destruct (M1 A _ _ F1 F2) as (d & Hd & ->). apply Rabs_le_inv in Hd.
      pose proof (head_mass_pos l Hl) as HL. pose proof (head_mass_pos r Hr) as HR.
      apply Rle_trans with ((sum_value l + sum_value r) * (1 - u)); [|apply Rmult_le_compat_l; lra].
      cbn [pow]. rewrite (Rmult_comm (1 - u)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. rewrite Rmult_plus_distr_r.
      pose proof (D (head_additions l) (Nat.max (head_additions l) (head_additions r)) ltac:(lia)). pose proof (D (head_additions r) (Nat.max (head_additions l) (head_additions r)) ltac:(lia)).
      apply Rplus_le_compat; [eapply Rle_trans; [|exact IHl]|eapply Rle_trans; [|exact IHr]]; now apply Rmult_le_compat_l.
Qed.
(* above: a sum of the tail enters the head with an error of at most itself *)
Theorem head_above t h : nonneg_floats t -> (1 <= head_count t)%nat -> (sum_height t <= S h)%nat ->
  sum_value t <= (head_mass t + 2 * (1 + u) ^ h * tail_mass t) * (1 + u) ^ head_additions t.
Proof.
  pose proof (Hu A) as U. induction t as [c|l IHl r IHr]; intros H Hh Hs.
  - unfold head_count, head_mass, tail_mass in *. cbn in *. destruct (hd c); cbn in *; [lra|lia].
  - apply nonneg_floats_node in H. destruct H as [Hl Hr]. destruct (sum_value_ok A B lv l Hl) as [F1 P1]. destruct (sum_value_ok A B lv r Hr) as [F2 P2].
    rewrite head_count_node in Hh. rewrite head_mass_node, tail_mass_node. cbn [head_additions FloatSum.sum_value]. cbn [LeafDepth.sum_height] in Hs.
    set (C := 2 * (1 + u) ^ h) in *. assert (C0 : 0 <= C) by (unfold C; pose proof (pow1u_ge1 A h); lra).
    assert (Tl : forall x, nonneg_floats x -> head_count x = 0%nat -> (sum_height x <= h)%nat -> 2 * sum_value x <= C * tail_mass x).
    { intros x Hx Nx Sx. pose proof (sum_up x Hx) as Q. rewrite head_plus_tail, (head_mass_none x Nx), Rplus_0_l in Q.
      pose proof (pow1u_le A (sum_height x) h Sx). pose proof (tail_mass_pos x Hx).
      assert (tail_mass x * (1 + u) ^ sum_height x <= tail_mass x * (1 + u) ^ h) by (now apply Rmult_le_compat_l). unfold C. lra. }
    assert (G : forall a b, F a -> F b -> 0 <= b -> fl (a + b) <= a + 2 * b).
    { intros a b Fa Fb Hb. pose proof (Hn a b Fa) as Q. apply Rabs_le_inv in Q. rewrite Rabs_right in Q by lra. lra. }
    pose proof (head_mass_pos l Hl) as HL. pose proof (head_mass_pos r Hr) as HR. pose proof (tail_mass_pos l Hl) as TL. pose proof (tail_mass_pos r Hr) as TR.
    destruct (head_count l) as [|nl] eqn:El; [|destruct (head_count r) as [|nr] eqn:Er].
    + specialize (IHr Hr ltac:(lia) ltac:(lia)). specialize (Tl l Hl El ltac:(lia)). rewrite (head_mass_none l El).
      rewrite Rplus_comm. eapply Rle_trans; [now apply G|]. pose proof (pow1u_ge1 A (head_additions r)) as Pw.
      assert (C * tail_mass l <= C * tail_mass l * (1 + u) ^ head_additions r) by (rewrite <- (Rmult_1_r (C * tail_mass l)) at 1; apply Rmult_le_compat_l; [now apply Rmult_le_pos|assumption]).
      lra.
    + specialize (IHl Hl ltac:(lia) ltac:(lia)). specialize (Tl r Hr Er ltac:(lia)). rewrite (head_mass_none r Er).
      eapply Rle_trans; [now apply G|]. pose proof (pow1u_ge1 A (head_additions l)) as Pw.
      assert (C * tail_mass r <= C * tail_mass r * (1 + u) ^ head_additions l) by (rewrite <- (Rmult_1_r (C * tail_mass r)) at 1; apply Rmult_le_compat_l; [now apply Rmult_le_pos|assumption]).
      lra.
    + specialize (IHl Hl ltac:(lia) ltac:(lia)). specialize (IHr Hr ltac:(lia) ltac:(lia)).
      eapply Rle_trans; [apply fl_add_ub; assumption|]. cbn [pow]. rewrite (Rmult_comm (1 + u)), <- Rmult_assoc.
      apply Rmult_le_compat_r; [lra|].
      replace (head_mass l + head_mass r + C * (tail_mass l + tail_mass r)) with ((head_mass l + C * tail_mass l) + (head_mass r + C * tail_mass r)) by ring. rewrite Rmult_plus_distr_r.
      pose proof (pow1u_le A (head_additions l) (Nat.max (head_additions l) (head_additions r)) ltac:(lia)). pose proof (pow1u_le A (head_additions r) (Nat.max (head_additions l) (head_additions r)) ltac:(lia)).
      pose proof (Rmult_le_pos _ _ C0 TL). pose proof (Rmult_le_pos _ _ C0 TR).
      apply Rplus_le_compat; [eapply Rle_trans; [exact IHl|]|eapply Rle_trans; [exact IHr|]]; apply Rmult_le_compat_l; try assumption; lra.
Qed.

Lemma pow_up k : (1 + u) ^ k <= exp (INR k * lam u).
Proof.
  pose proof (Hu A) as U. induction k as [|k IH]; [cbn; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. cbn [pow]. rewrite Rmult_comm. apply Rmult_le_compat; try assumption.
  - pose proof (pow1u_ge1 A k). lra.
  - lra.
  - unfold lam. rewrite exp_Ropp, exp_ln by lra. apply Rmult_le_reg_r with (1 - u); [lra|]. rewrite Rinv_l by lra. nra.
Qed.
Lemma pow_down k : exp (- (INR k * lam u)) = (1 - u) ^ k.
Proof.
  pose proof (Hu A) as U. induction k as [|k IH]; [cbn; rewrite Rmult_0_l, Ropp_0; apply exp_0|].
  rewrite S_INR. replace (- ((INR k + 1) * lam u)) with (- (INR k * lam u) + - lam u) by ring. rewrite exp_plus, IH.
  unfold lam. rewrite Ropp_involutive, exp_ln by lra. cbn. ring.
Qed.

(* with r = head_count t head terms: head_additions t <= min (r - 1) (height); q any bound of the tail's exact share *)
Theorem head_tail t h e q : nonneg_floats t -> (1 <= head_count t)%nat -> (sum_height t <= S h)%nat -> (head_additions t <= e)%nat -> 0 < ssum t -> tail_mass t <= q * ssum t -> q < 1 ->
  - (INR e * lam u + lam q) <= ln (sum_value t / ssum t) <= INR e * lam u + ln (1 + q * (2 * exp (INR h * lam u) - 1)).
Proof.
  intros Ho Hh Hs He Sp Hq Hq1. pose proof (lam_pos A) as Lp. pose proof (Hu A) as U.
  pose proof (head_mass_pos t Ho) as HM. pose proof (tail_mass_pos t Ho) as TM. pose proof (head_plus_tail t) as E.
  assert (q0 : 0 <= q). { apply Rmult_le_reg_r with (ssum t); [assumption|]. lra. }
  assert (He' : INR (head_additions t) * lam u <= INR e * lam u) by (apply Rmult_le_compat_r; [assumption|now apply le_INR]).
  pose proof (head_below t Ho Hh) as L. pose proof (head_above t h Ho Hh Hs) as Up.
  rewrite <- pow_down in L.
  assert (Hlow : exp (- (INR e * lam u)) * (1 - q) <= sum_value t / ssum t).
  { apply Rmult_le_reg_r with (ssum t); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, (Rmult_assoc (sum_value t)), Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [|exact L]. rewrite Rmult_comm. apply Rmult_le_compat; [nra|left; apply exp_pos|lra|apply exp_le; lra]. }
  set (c := exp (INR h * lam u)) in *. assert (1 <= c) by (unfold c; rewrite <- exp_0; apply exp_le; apply Rmult_le_pos; [apply pos_INR|assumption]).
  assert (Hup : sum_value t / ssum t <= exp (INR e * lam u) * (1 + q * (2 * c - 1))).
  { apply Rmult_le_reg_r with (ssum t); [assumption|]. unfold Rdiv. rewrite (Rmult_assoc (sum_value t)), Rinv_l, Rmult_1_r by lra.
    eapply Rle_trans; [exact Up|]. replace (exp (INR e * lam u) * (1 + q * (2 * c - 1)) * ssum t) with ((1 + q * (2 * c - 1)) * ssum t * exp (INR e * lam u)) by ring.
    pose proof (pow_up h) as Ph. fold c in Ph.
    pose proof (pow1u_ge1 A h). pose proof (pow1u_ge1 A (head_additions t)).
    apply Rmult_le_compat.
    - pose proof (Rmult_le_pos _ _ (Rle_trans _ _ _ Rle_0_1 H0) TM). lra.
    - lra.
    - assert ((1 + u) ^ h * tail_mass t <= c * tail_mass t) by (now apply Rmult_le_compat_r).
      assert ((2 * c - 1) * tail_mass t <= (2 * c - 1) * (q * ssum t)) by (apply Rmult_le_compat_l; lra). lra.
    - eapply Rle_trans; [apply pow_up|]. now apply exp_le. }
  assert (0 < exp (- (INR e * lam u)) * (1 - q)) by (apply Rmult_lt_0_compat; [apply exp_pos|lra]).
  split.
  - replace (- (INR e * lam u + lam q)) with (ln (exp (- (INR e * lam u)) * (1 - q))); [now apply ln_le'|].
    rewrite ln_mult, ln_exp by (try apply exp_pos; lra). unfold lam. ring.
  - assert (0 < 1 + q * (2 * c - 1)). { assert (0 <= q * (2 * c - 1)) by (apply Rmult_le_pos; lra). lra. }
    rewrite <- (ln_exp (INR e * lam u)) at 1. rewrite <- ln_mult by (try apply exp_pos; assumption). apply ln_le'; [lra|assumption].
Qed.

(* the plain form: r head terms, a tree h high *)
Corollary head_tail_r t q : nonneg_floats t -> (1 <= head_count t)%nat -> 0 < ssum t -> tail_mass t = q * ssum t -> q < 1 ->
  let r1 := INR (head_count t - 1) in
  - (r1 * lam u + lam q) <= ln (sum_value t / ssum t) <= r1 * lam u + ln (1 + q * (2 * exp (INR (sum_height t) * lam u) - 1)).
Proof. intros H1 H2 H3 H4 H5 r1. apply head_tail; try assumption; [lia|apply head_additions_count|lra]. Qed.

(* inside the bound of a sum of rounded exps *)
Variables (w nu own : B -> R) (eta : R).
Hypothesis Heta : 0 <= eta.
Theorem safe_head_tail t h e : nonneg_floats t -> rounded_exps B lv w nu own eta t -> (1 <= head_count t)%nat -> (sum_height t <= S h)%nat -> (head_additions t <= e)%nat ->
  let S := exact_exp_sum B w t in let b0 := ln (sum_over (fun c => exp (w c + own c)) (sleaves t) / S) in
  let a := INR (size t) * eta / S in let bt := b0 + lam (a * exp b0) in
  let q := exp bt * (sum_over (fun c => if hd c then 0 else exp (w c + own c) + eta) (sleaves t) / S) in
  a * exp b0 < 1 -> q < 1 ->
  - (bt + INR e * lam u + lam q) <= ln (sum_value t / S) <= bt + INR e * lam u + ln (1 + q * (2 * exp (INR h * lam u) - 1)) /\
  (* against the exact sum of the rounded exps, for the row's sum *)
  - (INR e * lam u + lam q) <= ln (sum_value t / ssum t) <= INR e * lam u + ln (1 + q * (2 * exp (INR h * lam u) - 1)).
Proof.
  intros Ho Ht Hh Hs He S b0 a bt q Ha Hq.
  destruct (leaf_sum A B lv w nu own eta t Ht Ha) as [P1 P2]. fold S b0 a bt in P2. apply Rabs_le_inv in P2.
  assert (Sp : 0 < S) by apply S_pos.
  assert (Ei : S <= exp bt * ssum t).
  { replace (exp bt * ssum t) with (S * (exp bt * (ssum t / S))) by (field; lra). rewrite <- (Rmult_1_r S) at 1.
    apply Rmult_le_compat_l; [lra|]. rewrite <- (exp_ln (ssum t / S)) by (now apply Rdiv_lt_0_compat). rewrite <- exp_plus, <- exp_0. apply exp_le. lra. }
  set (T := sum_over (fun c => if hd c then 0 else exp (w c + own c) + eta) (sleaves t)) in *.
  assert (HTm : tail_mass t <= T).
  { apply sum_over_le. intros c Hc. destruct (hd c); [lra|]. destruct (Ht c Hc) as [N1 N2]. apply Rabs_le_inv in N1, N2.
    assert (exp (w c + nu c) <= exp (w c + own c)) by (apply exp_le; lra). lra. }
  pose proof (tail_mass_pos t Ho) as TM.
  assert (Hshare : tail_mass t <= q * ssum t).
  { eapply Rle_trans; [exact HTm|]. unfold q. replace (exp bt * (T / S) * ssum t) with (T * (exp bt * ssum t / S)) by (field; lra).
    rewrite <- (Rmult_1_r T) at 1. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_reg_r with S; [assumption|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  destruct (head_tail t h e q Ho Hh Hs He P1 Hshare Hq) as [Q1 Q2].
  assert (sum_value t > 0).
  { destruct (sum_value_ok A B lv t Ho) as [_ V0]. pose proof (head_below t Ho Hh) as L.
    assert (0 < head_mass t) by (rewrite (head_plus_tail t) in *; nra).
    assert (0 < (1 - u) ^ head_additions t) by (apply pow_lt; pose proof (Hu A); lra).
    assert (0 < head_mass t * (1 - u) ^ head_additions t) by (now apply Rmult_lt_0_compat). lra. }
  assert (ln (sum_value t / S) = ln (sum_value t / ssum t) + ln (ssum t / S)) as ->.
  { rewrite <- ln_mult by (now apply Rdiv_lt_0_compat). f_equal. field. lra. }
  split; lra.
Qed.
End HeadTail.
