(* SPDX-License-Identifier: Apache-2.0 *)
(* Sums of nonnegative floats by any tree: by depths, by sorted depths, by head and tail; sums of rounded exps. *)
Require Import Reals List Permutation Lra Lia Arith.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.RoundedTree Assay.LeafDepth.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum_over {X} (f : X -> R) (l : list X) : R := match l with [] => 0 | x :: l => f x + sum_over f l end.
Lemma sum_over_app {X} f (a b : list X) : sum_over f (a ++ b) = sum_over f a + sum_over f b.
Proof. induction a as [|x a IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma sum_over_map {X Y} f (g : X -> Y) l : sum_over f (map g l) = sum_over (fun x => f (g x)) l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. now rewrite IH. Qed.
Lemma sum_over_le {X} f g (l : list X) : (forall x, In x l -> f x <= g x) -> sum_over f l <= sum_over g l.
Proof. induction l as [|x l IH]; intros H; cbn; [lra|]. apply Rplus_le_compat; [apply H; now left|]. apply IH. intros. apply H. now right. Qed.
Lemma sum_over_ext {X} f g (l : list X) : (forall x, In x l -> f x = g x) -> sum_over f l = sum_over g l.
Proof. intros H. apply Rle_antisym; apply sum_over_le; intros x Hx; right; auto. symmetry. auto. Qed.
Lemma sum_over_pos {X} f (l : list X) : (forall x, In x l -> 0 <= f x) -> 0 <= sum_over f l.
Proof. induction l as [|x l IH]; intros H; cbn; [lra|]. pose proof (H x (or_introl eq_refl)). assert (0 <= sum_over f l) by (apply IH; intros; apply H; now right). lra. Qed.
Lemma sum_over_scal {X} k f (l : list X) : sum_over (fun x => k * f x) l = k * sum_over f l.
Proof. induction l as [|x l IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma sum_over_const {X} k (l : list X) : sum_over (fun _ => k) l = INR (length l) * k.
Proof. induction l as [|x l IH]; [cbn; ring|]. cbn [sum_over length]. rewrite IH, S_INR. ring. Qed.
Lemma sum_over_plus {X} f g (l : list X) : sum_over (fun x => f x + g x) l = sum_over f l + sum_over g l.
Proof. induction l as [|x l IH]; cbn; [ring|]. rewrite IH. ring. Qed.
Lemma sum_over_abs {X} f (l : list X) : Rabs (sum_over f l) <= sum_over (fun x => Rabs (f x)) l.
Proof. induction l as [|x l IH]; cbn; [rewrite Rabs_R0; lra|]. eapply Rle_trans; [apply Rabs_triang|]. lra. Qed.
Lemma sum_over_exp_pos {X} f (l : list X) : l <> [] -> 0 < sum_over (fun x => exp (f x)) l.
Proof. destruct l as [|x l]; [congruence|]. intros _. cbn. pose proof (exp_pos (f x)).
  assert (0 <= sum_over (fun x => exp (f x)) l) by (apply sum_over_pos; intros; left; apply exp_pos). lra. Qed.
Lemma weighted_sum_over B w f l : weighted_sum B w f l = sum_over (fun c => exp (w c + f c)) l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

(* A sum of terms exp (w + f) + z against the sum of exp w: |f| <= be, total |z| <= Zt. *)
Lemma perturbed_sum_log {X} (w f be z : X -> R) (l : list X) Zt V : l <> [] -> (forall x, In x l -> Rabs (f x) <= be x) ->
  V = sum_over (fun x => exp (w x + f x)) l + sum_over z l -> Rabs (sum_over z l) <= Zt ->
  let S := sum_over (fun x => exp (w x)) l in let b1 := ln (sum_over (fun x => exp (w x + be x)) l / S) in
  Zt / S * exp b1 < 1 -> 0 < V /\ Rabs (ln (V / S)) <= b1 + lam (Zt / S * exp b1).
Proof.
  intros Hne Hb HV HZ S b1 Hlt.
  set (S1 := sum_over (fun x => exp (w x + be x)) l) in *. set (P := sum_over (fun x => exp (w x + f x)) l) in *.
  assert (HS : 0 < S) by now apply sum_over_exp_pos.
  assert (HS1 : 0 < S1) by now apply sum_over_exp_pos.
  assert (HP : 0 < P) by now apply sum_over_exp_pos.
  assert (Hbe : forall x, In x l -> 0 <= be x) by (intros x Hx; eapply Rle_trans; [apply Rabs_pos|now apply Hb]).
  assert (P <= S1). { apply sum_over_le. intros x Hx. apply exp_le. specialize (Hb x Hx). apply Rabs_le_inv in Hb. lra. }
  assert (S <= S1). { apply sum_over_le. intros x Hx. apply exp_le. specialize (Hbe x Hx). lra. }
  assert (HZ0 : 0 <= Zt) by (eapply Rle_trans; [apply Rabs_pos|exact HZ]).
  assert (Eb : exp b1 = S1 / S). { unfold b1. apply exp_ln. now apply Rdiv_lt_0_compat. }
  assert (Ea : Zt / S * exp b1 = Zt / S1 * (S1 / S * (S1 / S))) by (rewrite Eb; field; lra).
  rewrite Ea in *. unfold b1. apply log_form with (P := P) (Z := sum_over z l); try assumption.
  - apply Rle_trans with (S1 * sum_over (fun x => exp (w x + - be x)) l).
    + pose proof (weighted_sum_below X w be (S / S1) l) as H1. rewrite !weighted_sum_over in H1. fold S1 in H1.
      assert (sum_over (fun c => exp (w c + 0)) l = S) as ES by (apply sum_over_ext; intros; now rewrite Rplus_0_r). rewrite ES in H1.
      replace (2 * (S / S1) * S - S / S1 * (S / S1) * S1) with (S * S / S1) in H1 by (field; lra).
      apply Rmult_le_compat_l with (r := S1) in H1; [|lra].
      replace (S1 * (S * S / S1)) with (S * S) in H1 by (field; lra). exact H1.
    + apply Rmult_le_compat_l; [lra|]. apply sum_over_le. intros x Hx. apply exp_le. specialize (Hb x Hx). apply Rabs_le_inv in Hb. lra.
  - replace (Zt / S1 * S1) with Zt by (field; lra). assumption.
  - apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat].
Qed.

Section Sum.
Variable A : arith.
Notation u := (u_ A). Notation F := (F_ A). Notation fl := (fl_ A).
Variable B : Type.
Variable lv : B -> R.   (* the floats at the leaves *)
Notation sum_tree := (sum_tree B). Notation sleaves := (sleaves B). Notation leaf_depths := (leaf_depths B). Notation sum_height := (sum_height B). Notation size := (size B).

Fixpoint sum_value (t : sum_tree) : R := match t with SumLeaf c => lv c | SumNode l r => fl (sum_value l + sum_value r) end.
Definition nonneg_floats (t : sum_tree) : Prop := forall c, In c (sleaves t) -> F (lv c) /\ 0 <= lv c.
Definition ssum (t : sum_tree) : R := sum_over lv (sleaves t).

Lemma nonneg_floats_node l r : nonneg_floats (SumNode l r) -> nonneg_floats l /\ nonneg_floats r.
Proof. intros H. split; intros c Hc; apply H; cbn; apply in_or_app; auto. Qed.
Lemma sum_value_ok t : nonneg_floats t -> F (sum_value t) /\ 0 <= sum_value t.
Proof.
  induction t as [c|l IHl r IHr]; intros H; cbn [sum_value].
  - apply H. now left.
  - apply nonneg_floats_node in H. destruct H as [Hl Hr]. destruct (IHl Hl), (IHr Hr). split; [apply Ffl|]. apply fl_pos. lra.
Qed.
(* a rounded sum does not fall below a term *)
Lemma sum_value_ge t c : nonneg_floats t -> In c (sleaves t) -> lv c <= sum_value t.
Proof.
  induction t as [c'|l IHl r IHr]; intros H Hc; cbn [sum_value].
  - destruct Hc as [->|[]]. lra.
  - apply nonneg_floats_node in H. destruct H as [Ol Or]. destruct (sum_value_ok _ Ol) as [F1 P1]. destruct (sum_value_ok _ Or) as [F2 P2].
    cbn in Hc. apply in_app_or in Hc. destruct Hc as [Hc|Hc].
    + eapply Rle_trans; [now apply IHl|]. rewrite <- (M3F A _ F1) at 1. apply M3. lra.
    + eapply Rle_trans; [now apply IHr|]. rewrite <- (M3F A _ F2) at 1. apply M3. lra.
Qed.
Lemma sleaves_ne t : sleaves t <> [].
Proof. intros E. pose proof (size_pos B t) as H. unfold LeafDepth.size in H. rewrite E in H. cbn in H. lia. Qed.

(* a term costs one factor an addition that it takes part in *)
Theorem sum_own_depths t : nonneg_floats t -> exists L : list ((B * nat) * R), map fst L = leaf_depths t /\
  (forall y, In y L -> Rabs (snd y) <= INR (snd (fst y)) * lam u) /\ sum_value t = sum_over (fun y => lv (fst (fst y)) * exp (snd y)) L.
Proof.
  induction t as [c|l IHl r IHr]; intros H.
  - exists [((c, 0%nat), 0)]. cbn. rewrite exp_0, Rmult_1_r, Rplus_0_r. repeat split. intros y [<-|[]]. cbn. rewrite Rabs_R0. lra.
  - apply nonneg_floats_node in H. destruct H as [Hl Hr]. destruct (IHl Hl) as (L & L1 & L2 & L3). destruct (IHr Hr) as (L' & R1 & R2 & R3).
    destruct (M1 A (sum_value l) (sum_value r)) as (d & Hd & E); [now apply sum_value_ok|now apply sum_value_ok|]. destruct (lam_delta A d Hd) as (k & K1 & K2).
    exists (map (fun y => (down B (fst y), snd y + k)) (L ++ L')). rewrite map_map. cbn [fst snd LeafDepth.leaf_depths]. split; [|split].
    + rewrite <- L1, <- R1, <- map_app, map_map. reflexivity.
    + intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn [down fst snd]. rewrite S_INR.
      eapply Rle_trans; [apply Rabs_triang|]. assert (Rabs (snd z) <= INR (snd (fst z)) * lam u); [|lra].
      apply in_app_or in Hz. destruct Hz; auto.
    + cbn [sum_value]. rewrite E, L3, R3, K1, <- sum_over_app, sum_over_map, Rmult_comm, <- sum_over_scal. apply sum_over_ext. intros y _. cbn. rewrite exp_plus. ring.
Qed.

(* a term that is 0 costs nothing: the tree without them, whose height is at most the number of other terms - 1 *)
Fixpoint drop_zeros (t : sum_tree) : option sum_tree :=
  match t with
  | SumLeaf c => if Req_EM_T (lv c) 0 then None else Some t
  | SumNode l r => match drop_zeros l, drop_zeros r with None, q => q | p, None => p | Some p, Some q => Some (SumNode p q) end
  end.
Theorem drop_zeros_exact t : nonneg_floats t -> match drop_zeros t with
  | None => sum_value t = 0
  | Some p => sum_value t = sum_value p /\ nonneg_floats p /\ incl (sleaves p) (sleaves t) /\ (sum_height p <= Nat.min (sum_height t) (size p - 1))%nat /\
      sleaves p = filter (fun c => if Req_EM_T (lv c) 0 then false else true) (sleaves t) end.
Proof.
  intros Ho.
  assert (G : match drop_zeros t with None => sum_value t = 0 /\ filter (fun c => if Req_EM_T (lv c) 0 then false else true) (sleaves t) = []
    | Some p => sum_value t = sum_value p /\ nonneg_floats p /\ incl (sleaves p) (sleaves t) /\ (sum_height p <= sum_height t)%nat /\
      sleaves p = filter (fun c => if Req_EM_T (lv c) 0 then false else true) (sleaves t) end).
  { induction t as [c|l IHl r IHr]; cbn [drop_zeros].
    - cbn [sleaves LeafDepth.sleaves filter]. destruct (Req_EM_T (lv c) 0); [cbn; auto|]. split; [reflexivity|]. split; [assumption|]. split; [apply incl_refl|]. split; [lia|reflexivity].
    - apply nonneg_floats_node in Ho as Hlr. destruct Hlr as [Ol Or]. specialize (IHl Ol). specialize (IHr Or).
      destruct (sum_value_ok l Ol) as [Fl Pl]. destruct (sum_value_ok r Or) as [Fr Pr].
      cbn [sum_value LeafDepth.sleaves LeafDepth.sum_height]. rewrite filter_app. destruct (drop_zeros l) as [p|], (drop_zeros r) as [q|].
      + destruct IHl as (V1 & O1 & I1 & H1 & E1), IHr as (V2 & O2 & I2 & H2 & E2). cbn [sum_value LeafDepth.sleaves LeafDepth.sum_height].
        rewrite V1, V2. split; [reflexivity|]. split.
        { intros c Hc. cbn in Hc. apply in_app_or in Hc. destruct Hc; [now apply O1|now apply O2]. }
        split; [apply incl_app; [now apply incl_appl|now apply incl_appr]|]. split; [lia|]. now rewrite E1, E2.
      + destruct IHl as (V1 & O1 & I1 & H1 & E1), IHr as (V2 & E2). rewrite V2, E2, app_nil_r, Rplus_0_r, (M3F A _ Fl).
        split; [assumption|]. split; [assumption|]. split; [now apply incl_appl|]. split; [lia|assumption].
      + destruct IHl as (V1 & E1), IHr as (V2 & O2 & I2 & H2 & E2). rewrite V1, E1, Rplus_0_l, (M3F A _ Fr).
        split; [assumption|]. split; [assumption|]. split; [now apply incl_appr|]. split; [lia|assumption].
      + destruct IHl as (V1 & E1), IHr as (V2 & E2). rewrite V1, V2, E1, E2, Rplus_0_r. split; [|reflexivity]. apply (M3F A 0 (F0 A)). }
  destruct (drop_zeros t) as [p|]; [|tauto]. destruct G as (V & O & I & Hh & E). pose proof (height_size B p). split; [assumption|]. split; [assumption|]. split; [assumption|]. split; [lia|assumption].
Qed.

(* sums of rounded exps: leaves exp (w + nu) + zeta *)
Variables (w nu own : B -> R) (eta : R).
Hypothesis Heta : 0 <= eta.
Definition rounded_exps (t : sum_tree) : Prop := forall c, In c (sleaves t) -> Rabs (nu c) <= own c /\ Rabs (lv c - exp (w c + nu c)) <= eta.
Definition exact_exp_sum (t : sum_tree) : R := sum_over (fun c => exp (w c)) (sleaves t).

Lemma S_pos t : 0 < exact_exp_sum t.
Proof. apply sum_over_exp_pos, sleaves_ne. Qed.

(* kap: what the additions do to each term *)
Lemma own_depths_log t (L : list ((B * nat) * R)) (ks : list (B * nat)) h V : rounded_exps t ->
  map fst ks = sleaves t -> map fst L = ks -> (forall y, In y L -> Rabs (snd y) <= INR (snd (fst y)) * lam u) ->
  (forall y, In y ks -> (snd y <= h)%nat) -> V = sum_over (fun y => lv (fst (fst y)) * exp (snd y)) L ->
  let b1 := ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) ks / exact_exp_sum t) in
  let a := INR (size t) * eta / exact_exp_sum t in
  a * exp (INR h * lam u + b1) < 1 -> 0 < V /\ Rabs (ln (V / exact_exp_sum t)) <= b1 + lam (a * exp (INR h * lam u + b1)).
Proof.
  intros Ht Hks HL HK Hh HV b1 a Hlt. pose proof (lam_pos A) as Lp. pose proof (S_pos t) as Sp.
  set (W := fun y : (B * nat) * R => w (fst (fst y))).
  set (f := fun y : (B * nat) * R => nu (fst (fst y)) + snd y).
  set (be := fun y : (B * nat) * R => own (fst (fst y)) + INR (snd (fst y)) * lam u).
  set (z := fun y : (B * nat) * R => (lv (fst (fst y)) - exp (w (fst (fst y)) + nu (fst (fst y)))) * exp (snd y)).
  assert (Hin : forall y, In y L -> In (fst (fst y)) (sleaves t)).
  { intros y Hy. rewrite <- Hks, <- HL. apply in_map, in_map. assumption. }
  assert (HS : sum_over (fun y => exp (W y)) L = exact_exp_sum t).
  { unfold exact_exp_sum. rewrite <- Hks, <- HL, !sum_over_map. reflexivity. }
  assert (HB : sum_over (fun y => exp (W y + be y)) L = sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) ks).
  { rewrite <- HL, sum_over_map. reflexivity. }
  assert (HZ : Rabs (sum_over z L) <= INR (size t) * eta * exp (INR h * lam u)).
  { eapply Rle_trans; [apply sum_over_abs|]. replace (INR (size t)) with (INR (length L)).
    - rewrite Rmult_assoc, <- sum_over_const. apply sum_over_le. intros y Hy. unfold z. rewrite Rabs_mult.
      apply Rmult_le_compat; try apply Rabs_pos; [now apply Ht, Hin|].
      rewrite Rabs_right by (left; apply exp_pos). apply exp_le. specialize (HK y Hy). apply Rabs_le_inv in HK.
      eapply Rle_trans; [apply HK|]. apply Rmult_le_compat_r; [assumption|]. apply le_INR, Hh. rewrite <- HL. now apply in_map.
    - unfold LeafDepth.size. rewrite <- Hks, map_length, <- HL, map_length. reflexivity. }
  assert (Ee : INR (size t) * eta * exp (INR h * lam u) / exact_exp_sum t * exp b1 = a * exp (INR h * lam u + b1)).
  { unfold a. rewrite exp_plus. field. lra. }
  pose proof (perturbed_sum_log W f be z L (INR (size t) * eta * exp (INR h * lam u)) V) as Q. cbv zeta in Q. rewrite HS, HB in Q. fold b1 in Q.
  rewrite Ee in Q. apply Q; try assumption.
  - intros ->. cbn in HL. rewrite <- HL in Hks. cbn in Hks. symmetry in Hks. now apply sleaves_ne in Hks.
  - intros y Hy. unfold f, be. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [now apply Ht, Hin|now apply HK].
  - rewrite HV, <- sum_over_plus. apply sum_over_ext. intros y _. unfold W, f, z. rewrite <- Rplus_assoc, (exp_plus (w _ + nu _)). ring.
Qed.

(* BOUNDS.md section 3, with each term's own depth *)
Theorem safe_sum_own_depths t : nonneg_floats t -> rounded_exps t ->
  let b1 := ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t) / exact_exp_sum t) in
  let a := INR (size t) * eta / exact_exp_sum t in
  a * exp (INR (sum_height t) * lam u + b1) < 1 ->
  0 < sum_value t /\ Rabs (ln (sum_value t / exact_exp_sum t)) <= b1 + lam (a * exp (INR (sum_height t) * lam u + b1)).
Proof.
  intros Ho Ht b1 a Hlt. destruct (sum_own_depths t Ho) as (L & L1 & L2 & L3).
  apply (own_depths_log t L (leaf_depths t)); try assumption; [apply leaf_depths_fst|apply leaf_depths_height].
Qed.
(* the terms' own errors alone: the exact sum of the leaves *)
Theorem leaf_sum t : rounded_exps t ->
  let b0 := ln (sum_over (fun c => exp (w c + own c)) (sleaves t) / exact_exp_sum t) in
  let a := INR (size t) * eta / exact_exp_sum t in
  a * exp b0 < 1 -> 0 < ssum t /\ Rabs (ln (ssum t / exact_exp_sum t)) <= b0 + lam (a * exp b0).
Proof.
  intros Ht b0 a Hlt. set (ks := map (fun c => (c, 0%nat)) (sleaves t)).
  pose proof (own_depths_log t (map (fun y => (y, 0)) ks) ks 0 (ssum t) Ht) as Q. cbv zeta in Q.
  assert (E : sum_over (fun y : B * nat => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) ks = sum_over (fun c => exp (w c + own c)) (sleaves t)).
  { unfold ks. rewrite sum_over_map. apply sum_over_ext. intros c _. cbn. now rewrite Rmult_0_l, Rplus_0_r. }
  rewrite E in Q. fold b0 in Q. replace (INR 0 * lam u + b0) with b0 in Q by (cbn; ring). apply Q; try assumption.
  - unfold ks. rewrite map_map. apply map_id.
  - rewrite map_map. apply map_id.
  - intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). unfold ks in Hz. apply in_map_iff in Hz. destruct Hz as (c & <- & _).
    cbn. rewrite Rabs_R0. lra.
  - intros y Hy. unfold ks in Hy. apply in_map_iff in Hy. destruct Hy as (c & <- & _). cbn. lia.
  - unfold ks. rewrite !sum_over_map. unfold ssum. apply sum_over_ext. intros c _. cbn. rewrite exp_0. ring.
Qed.

Lemma own_pos t c : rounded_exps t -> In c (sleaves t) -> 0 <= own c.
Proof. intros Ht Hc. eapply Rle_trans; [apply Rabs_pos|]. now apply Ht. Qed.

(* anything larger than b1 will do *)
Lemma weaken t b1 b1' X X' V : b1 <= b1' -> X <= X' -> let a := INR (size t) * eta / exact_exp_sum t in
  (a * exp X < 1 -> 0 < V /\ Rabs (ln (V / exact_exp_sum t)) <= b1 + lam (a * exp X)) ->
  a * exp X' < 1 -> 0 < V /\ Rabs (ln (V / exact_exp_sum t)) <= b1' + lam (a * exp X').
Proof.
  intros Hb HX a H Hlt. assert (0 <= a).
  { unfold a. pose proof (S_pos t). apply Rmult_le_pos; [apply Rmult_le_pos; [apply pos_INR|assumption]|left; now apply Rinv_0_lt_compat]. }
  assert (a * exp X <= a * exp X') by (apply Rmult_le_compat_l; [assumption|now apply exp_le]).
  destruct H as [Q1 Q2]; [lra|]. split; [assumption|]. eapply Rle_trans; [exact Q2|]. apply Rplus_le_compat; [assumption|]. now apply lam_mono.
Qed.

(* BOUNDS.md section 3 as it stands: any h that is at least the height *)
Theorem safe_sum_height t h : nonneg_floats t -> rounded_exps t -> (sum_height t <= h)%nat ->
  let b1 := ln (sum_over (fun c => exp (w c + (own c + INR h * lam u))) (sleaves t) / exact_exp_sum t) in
  let a := INR (size t) * eta / exact_exp_sum t in
  a * exp (2 * b1) < 1 -> 0 < sum_value t /\ Rabs (ln (sum_value t / exact_exp_sum t)) <= b1 + lam (a * exp (2 * b1)).
Proof.
  intros Ho Ht Hh b1 a. pose proof (lam_pos A) as Lp. pose proof (S_pos t) as Sp.
  assert (Hhl : INR (sum_height t) * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|now apply le_INR]).
  assert (Hge : INR h * lam u <= b1).
  { apply Rle_trans with (ln (exp (INR h * lam u))); [right; symmetry; apply ln_exp|]. unfold b1. apply ln_le'; [apply exp_pos|]. apply Rmult_le_reg_r with (exact_exp_sum t); [assumption|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. unfold exact_exp_sum. rewrite <- sum_over_scal. apply sum_over_le. intros c Hc.
    rewrite <- exp_plus. apply exp_le. pose proof (own_pos t c Ht Hc). lra. }
  set (b1' := ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t) / exact_exp_sum t)).
  assert (Hb : b1' <= b1).
  { unfold b1, b1'. apply ln_le'.
    - apply Rdiv_lt_0_compat; [|assumption]. apply sum_over_exp_pos. intros E. apply (sleaves_ne t). now rewrite <- leaf_depths_fst, E.
    - apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. rewrite <- leaf_depths_fst, sum_over_map. apply sum_over_le. intros y Hy.
      apply exp_le. pose proof (leaf_depths_height B t y Hy) as Hd. apply le_INR in Hd.
      pose proof (Rmult_le_compat_r _ _ _ Lp Hd). lra. }
  intros Hlt. apply (weaken t b1' b1 (INR (sum_height t) * lam u + b1') (2 * b1)); try assumption; [lra|]. now apply safe_sum_own_depths.
Qed.

(* the worst tree for these weights: heaviest terms deepest *)
Definition depth_factor (k : nat) : R := exp (INR k * lam u).
Theorem safe_sum_sorted t ws h : nonneg_floats t -> rounded_exps t -> (sum_height t <= h)%nat ->
  Permutation ws (map (fun c => exp (w c + own c)) (sleaves t)) -> descending_reals ws ->
  let b1 := ln (worst_depths_sum depth_factor (size t) h 1 ws / exact_exp_sum t) in let a := INR (size t) * eta / exact_exp_sum t in
  a * exp (INR h * lam u + b1) < 1 -> 0 < sum_value t /\ Rabs (ln (sum_value t / exact_exp_sum t)) <= b1 + lam (a * exp (INR h * lam u + b1)).
Proof.
  intros Ho Ht Hh Hp Hw b1 a. pose proof (lam_pos A) as Lp. pose proof (S_pos t) as Sp.
  assert (Fm : forall j k, (j <= k)%nat -> depth_factor j <= depth_factor k).
  { intros j k H. apply exp_le. apply Rmult_le_compat_r; [assumption|now apply le_INR]. }
  pose proof (sorted_depths depth_factor Fm (fun c => exp (w c + own c)) t ws Hp Hw) as Q.
  assert (E : wsumd depth_factor (fun c => exp (w c + own c)) (leaf_depths t) = sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t)).
  { clear. induction (leaf_depths t) as [|y l IH]; cbn; [reflexivity|]. rewrite IH. unfold depth_factor. rewrite <- exp_plus. do 2 f_equal. ring. }
  rewrite E in Q.
  assert (Q' : worst_depths_sum depth_factor (size t) (sum_height t) 1 ws <= worst_depths_sum depth_factor (size t) h 1 ws).
  { clear - Hw Fm Hh. generalize 1%nat as k. induction Hw as [|x l H1 H2 H3 IH]; intros k; cbn; [lra|]. apply Rplus_le_compat; [|apply IH].
    apply Rmult_le_compat_l; [assumption|]. apply Fm. unfold Dk. lia. }
  set (b1' := ln (sum_over (fun y => exp (w (fst y) + (own (fst y) + INR (snd y) * lam u))) (leaf_depths t) / exact_exp_sum t)).
  assert (Hb : b1' <= b1).
  { unfold b1, b1'. apply ln_le'.
    - apply Rdiv_lt_0_compat; [|assumption]. apply sum_over_exp_pos. intros E'. apply (sleaves_ne t). now rewrite <- leaf_depths_fst, E'.
    - apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. lra. }
  assert (INR (sum_height t) * lam u <= INR h * lam u) by (apply Rmult_le_compat_r; [assumption|now apply le_INR]).
  intros Hlt. apply (weaken t b1' b1 (INR (sum_height t) * lam u + b1') (INR h * lam u + b1)); try assumption; [lra|]. now apply safe_sum_own_depths.
Qed.
(* Ones add up exactly, in any tree, while their number is a float: the sum of a row of equal logits. *)
Lemma ones_exact t : (forall c, In c (sleaves t) -> lv c = 0 \/ lv c = 1) ->
  let n := length (filter (fun c => if Req_EM_T (lv c) 0 then false else true) (sleaves t)) in
  (forall i, (i <= n)%nat -> F (INR i)) -> sum_value t = INR n.
Proof.
  induction t as [c|l IHl r IHr]; intros H n Hn; unfold n in *; clear n; cbn [sum_value LeafDepth.sleaves] in *.
  - cbn [filter]. destruct (H c (or_introl eq_refl)) as [E|E]; rewrite E; destruct (Req_EM_T _ 0); cbn; lra.
  - rewrite filter_app, app_length in *. rewrite IHl, IHr; try (intros; apply Hn; lia); try (intros c Hc; apply H, in_or_app; now auto).
    rewrite <- plus_INR. apply M3F, Hn. lia.
Qed.

End Sum.
