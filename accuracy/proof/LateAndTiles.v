(* SPDX-License-Identifier: Apache-2.0 *)
(* The other algorithms of the class: late rescaling, tiles; the outputs of any program, and so of late rescaling; kept
   numerators. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FloatSum Assay.Outputs Assay.WholeRow.
Import ListNotations.
Open Scope R_scope.

Section Classes.
Variable A : arith.
Notation F := (F_ A). Notation fl := (fl_ A). Notation EX := (EX_ A). Notation Adm := (Adm_ A).
Notation tau := (tau_ A). Notation eta := (eta_ A).
Notation computed := (computed A). Notation well_formed := (well_formed A). Notation row := (row A).

Definition sound (P : program) : Prop := well_formed P /\ anchored P /\ incl (references P) (row P).
Lemma row_add P Q : row (Add P Q) = row P ++ row Q.
Proof. unfold row. cbn [terms]. now rewrite map_map, map_app. Qed.
Lemma row_move r P : row (Move r P) = row P.
Proof. unfold row. cbn [terms]. now rewrite map_map. Qed.
Lemma row_fadd P Q : row (FusedAdd P Q) = row P ++ row Q.
Proof. unfold row. cbn [terms]. now rewrite map_map, map_app, map_map. Qed.

(* Late rescaling, serial: a partial moves only when the test fails; a last move to the maximum. *)
Variable Adm_dec : forall a, {Adm a} + {~ Adm a}.
Definition late_step (P : program) (x : R) : program :=
  if Adm_dec (x - reference P) then Add P (Enter (reference P) x) else Add (Move x P) (Enter x x).
Definition late_val (p : R * R) (x : R) : R * R :=
  let (r, D) := p in if Adm_dec (x - r) then (r, fl (D + EX (x - r))) else (x, fl (fl (D * EX (r - x)) + 1)).
Definition late_rescaling x0 xs : program :=
  let P := fold_left late_step xs (Enter x0 x0) in
  let m := max_of (x0 :: xs) in if Req_EM_T (reference P) m then P else Move m P.

Lemma late_step_sound P x : sound P -> F x -> sound (late_step P x) /\ row (late_step P x) = row P ++ [x] /\
  (reference (late_step P x), computed (late_step P x)) = late_val (reference P, computed P) x.
Proof.
  intros (W & An & Rf) Fx. unfold late_step, late_val, sound. destruct (Adm_dec (x - reference P)) as [Ad|Na].
  - rewrite row_add. split; [split; [|split]|split; reflexivity].
    + cbn. repeat split; auto. now apply reference_is_float.
    + cbn. now left.
    + intros y Hy. cbn in Hy. apply in_app_or in Hy. apply in_or_app. left. apply Rf.
      destruct Hy as [Hy|[<-|[]]]; [assumption|apply reference_in_references].
  - assert (reference P < x). { apply Rnot_le_lt. intros H. apply Na, Adm_neg. lra. }
    rewrite row_add, row_move. split; [split; [|split]|split; [reflexivity|]].
    + cbn. repeat split; auto. apply Adm_neg. lra.
    + cbn. auto.
    + intros y Hy. cbn in Hy. apply in_or_app.
      destruct Hy as [<-|Hy]; [right; now left|]. apply in_app_or in Hy. destruct Hy as [Hy|[<-|[]]]; [left; now apply Rf|right; now left].
    + cbn. rewrite (Rminus_diag_eq x x), HE0 by reflexivity. reflexivity.
Qed.

Theorem late_sound x0 xs : (forall x, In x (x0 :: xs) -> F x) ->
  let P := late_rescaling x0 xs in well_formed P /\ row P = x0 :: xs /\ reference P = max_of (x0 :: xs) /\ incl (references P) (x0 :: xs).
Proof.
  intros HF. cbv zeta. unfold late_rescaling.
  assert (H : forall l P, (forall x, In x l -> F x) -> sound P -> let Q := fold_left late_step l P in sound Q /\ row Q = row P ++ l).
  { induction l as [|x l IH]; intros P Hl S; cbn [fold_left]; [now rewrite app_nil_r|].
    destruct (late_step_sound P x S) as (S' & R' & _); [apply Hl; now left|].
    destruct (IH (late_step P x)) as [S2 R2]; [intros; apply Hl; now right|assumption|]. split; [assumption|].
    rewrite R2, R'. now rewrite <- app_assoc. }
  assert (S0 : sound (Enter x0 x0)).
  { assert (F x0) by (apply HF; now left). unfold sound. cbn. repeat split; auto; [|apply incl_refl]. apply Adm_neg. lra. }
  destruct (H xs (Enter x0 x0)) as [(W & An & Rf) R]; [intros; apply HF; now right|assumption|]. clear H.
  change (row (Enter x0 x0) ++ xs) with (x0 :: xs) in R. rewrite R in Rf.
  destruct (Req_EM_T (reference (fold_left late_step xs (Enter x0 x0))) (max_of (x0 :: xs))) as [e|ne]; [auto|].
  assert (In (max_of (x0 :: xs)) (x0 :: xs)) as Im by (apply max_of_in; congruence).
  rewrite row_move. repeat split; auto.
  - cbn. repeat split; auto. assert (reference (fold_left late_step xs (Enter x0 x0)) <= max_of (x0 :: xs)); [|destruct (Rle_lt_or_eq_dec _ _ H); [assumption|contradiction]].
    apply max_of_ge, Rf, reference_in_references.
  - cbn [references]. intros y [<-|Hy]; auto.
Qed.

(* Tiles: sums of exps taken at one reference, in any tree; the older partial moves to it where it rises. *)
Fixpoint tile (m : R) (t : tree) : option program :=
  match t with
  | Leaf None => None
  | Leaf (Some y) => Some (Enter m y)
  | Node l r => match tile m l, tile m r with None, q => q | p, None => p | Some P, Some Q => Some (Add P Q) end
  end.
Lemma tile_sound m t : F m -> (forall y, In y (finite (leaves t)) -> F y /\ y <= m) ->
  match tile m t with
  | None => finite (leaves t) = []
  | Some T => well_formed T /\ reference T = m /\ row T = finite (leaves t) /\ (forall r, In r (references T) -> r = m) /\ (In m (finite (leaves t)) -> anchored T)
  end.
Proof.
  intros Fm. induction t as [[y|]|l IHl r IHr]; cbn [tile leaves].
  - intros H. destruct (H y (or_introl eq_refl)). cbn. repeat split; auto; try (intros x [<-|[]]; reflexivity).
    + apply Adm_neg. lra.
    + intros [->|[]]. reflexivity.
  - reflexivity.
  - rewrite finite_app. intros H. specialize (IHl (fun y Hy => H y (in_or_app _ _ _ (or_introl Hy)))).
    specialize (IHr (fun y Hy => H y (in_or_app _ _ _ (or_intror Hy)))).
    destruct (tile m l) as [P|], (tile m r) as [Q|].
    + destruct IHl as (W1 & R1 & O1 & I1 & A1), IHr as (W2 & R2 & O2 & I2 & A2). rewrite row_add, O1, O2. repeat split; auto.
      * cbn. repeat split; auto. congruence.
      * cbn. intros x Hx. apply in_app_or in Hx. destruct Hx; auto.
      * intros Hmax. cbn. apply in_app_or in Hmax. destruct Hmax; auto.
    + rewrite IHr, app_nil_r. exact IHl.
    + rewrite IHl. exact IHr.
    + rewrite IHl, IHr. reflexivity.
Qed.
Definition tile_step (fused : bool) (P : program) (t : tree) : program :=
  let m := Rmax (reference P) (max_of (finite (leaves t))) in
  match tile m t with
  | None => P
  | Some T => if Req_EM_T (reference P) m then Add P T else if fused then FusedAdd T P else Add T (Move m P)
  end.
Theorem tile_step_sound fused P t : sound P -> (forall y, In y (finite (leaves t)) -> F y) ->
  sound (tile_step fused P t) /\ Permutation (row (tile_step fused P t)) (row P ++ finite (leaves t)).
Proof.
  intros (W & An & Rf) HF. unfold tile_step. set (xs := finite (leaves t)) in *.
  destruct xs as [|y l] eqn:E.
  - assert (tile (Rmax (reference P) (max_of [])) t = None) as ->.
    { assert (F (Rmax (reference P) (max_of []))) as Fm by (cbn; unfold Rmax; destruct (Rle_dec _ _); [apply F0|now apply reference_is_float]).
      pose proof (tile_sound (Rmax (reference P) (max_of [])) t Fm) as H. fold xs in H. rewrite E in H.
      destruct (tile (Rmax (reference P) (max_of [])) t) as [T|]; [|reflexivity]. destruct H as (_ & _ & H & _); [intros z []|].
      pose proof (terms_len_pos A T) as Hl. unfold row, Theorem1.row in H. apply (f_equal (@length R)) in H. rewrite map_length in H. cbn in H. lia. }
    rewrite app_nil_r. repeat split; auto.
  - rewrite <- E in *. assert (xs <> []) as Hne by congruence. set (m := Rmax (reference P) (max_of xs)).
    assert (Fm : F m). { unfold m, Rmax. destruct (Rle_dec _ _); [apply HF, max_of_in, Hne|now apply reference_is_float]. }
    pose proof (tile_sound m t Fm) as H. fold xs in H.
    destruct (tile m t) as [T|].
    2: { exfalso. apply Hne, H. intros z Hz. split; [now apply HF|]. eapply Rle_trans; [apply max_of_ge; exact Hz|apply Rmax_r]. }
    destruct H as (W2 & R2 & O2 & I2 & A2).
    { intros z Hz. split; [now apply HF|]. eapply Rle_trans; [apply max_of_ge; exact Hz|apply Rmax_r]. }
    destruct (Req_EM_T (reference P) m) as [e|ne].
    + rewrite row_add, O2. split; [|apply Permutation_refl]. split; [cbn; repeat split; auto; congruence|]. split; [cbn; now left|].
      rewrite row_add. cbn [references]. intros r Hr. apply in_app_or in Hr. apply in_or_app. left. apply Rf. destruct Hr as [Hr|Hr]; [assumption|].
      rewrite (I2 r Hr), <- e. apply reference_in_references.
    + assert (Hlt : reference P < m). { pose proof (Rmax_l (reference P) (max_of xs)) as Hx. fold m in Hx. destruct (Rle_lt_or_eq_dec _ _ Hx); [assumption|contradiction]. }
      assert (Hmax : In m xs). { unfold m, Rmax in *. destruct (Rle_dec _ _); [now apply max_of_in|lra]. }
      destruct fused.
      * rewrite row_fadd, O2. split; [|apply Permutation_app_comm]. split; [cbn; repeat split; auto; congruence|]. split; [cbn; auto|].
        rewrite row_fadd, O2. cbn [references]. intros r Hr. apply in_app_or in Hr. apply in_or_app. destruct Hr as [Hr|Hr]; [|right; now apply Rf].
        rewrite (I2 r Hr). now left.
      * rewrite row_add, row_move, O2. split; [|apply Permutation_app_comm]. split; [cbn; repeat split; auto; congruence|]. split; [cbn; auto|].
        rewrite row_add, row_move, O2. cbn [references]. intros r Hr. apply in_app_or in Hr. apply in_or_app. destruct Hr as [Hr|[<-|Hr]]; [|now left|right; now apply Rf].
        rewrite (I2 r Hr). now left.
Qed.
End Classes.

(* ---------------------------------------------------------------------------------------------------- *)
(* The outputs of any program whose reference is the row's maximum. The last theorem applies this to late rescaling. *)
Section Program.
Variable A : arith.
Notation u := (u_ A). Notation eta := (eta_ A). Notation tau := (tau_ A). Notation F := (F_ A). Notation EX := (EX_ A).

(* Three claims on a row: the sum D is positive and within b of its exact value (in logarithms), each output ph x is within
   its bound, and so is the sum of the outputs. *)
Definition outputs_within (l : list R) (D b T w0 : R) (ph : R -> R) : Prop :=
  let m := max_of l in let s := exp_sum m l in let n := INR (length l) in
  let W := eta / s * exp (b + T) + w0 in
  0 < D /\ Rabs (ln (D / s)) <= b /\
  (forall x, In x l -> let p := exp (x - m) / s in let Ax := own_error A m x + T + b in
     p * exp (- Ax) - W <= ph x <= p * exp Ax + W /\ (W * exp Ax / p < 1 -> 0 < ph x /\ Rabs (ln (ph x / p)) <= Ax + lam (W * exp Ax / p))) /\
  let Q := ln (sum_over (fun x => exp (x - m + own_error A m x)) l / s) in
  exp (- (b + Q + T)) - n * W <= sum_over ph l <= exp (b + Q + T) + n * W /\ Rabs (sum_over ph l - 1) <= exp (b + Q + T) - 1 + n * W.

Theorem program_softmax P T w0 ph : well_formed A P -> reference P = max_of (row A P) -> (forall x, In x (row A P) -> F x) -> 0 <= T -> 0 <= w0 ->
  let l := row A P in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let D := computed A P in
  let a := n * (2 * exp tau) * eta / s in let b := b1 A P + lam (a * exp (2 * b1 A P)) in
  a * exp (2 * b1 A P) < 1 -> (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  outputs_within l D b T w0 ph.
Proof.
  intros WP Hr HF HT Hw l m s n D a b Hlt Ho. unfold outputs_within. fold m s n. set (W := eta / s * exp (b + T) + w0).
  assert (Hne : l <> []).
  { intros E. pose proof (terms_len_pos A P) as H. unfold l, row in E. apply (f_equal (@length R)) in E. rewrite map_length in E. cbn in E. lia. }
  assert (Es : Theorem1.ssum A P = s) by (unfold Theorem1.ssum, s, m, l; now rewrite Hr).
  destruct (theorem1 A P (2 * exp tau) WP (fun c _ => charge_le A c)) as [D0 Hb].
  { rewrite Es. exact Hlt. }
  rewrite Es in Hb. change (Rabs (ln (D / s)) <= b) in Hb.
  assert (Im : In m l) by now apply max_of_in. assert (Fm : F m) by now apply HF.
  assert (Hl : forall x, In x l -> F x /\ x <= m) by (intros x Hx; split; [now apply HF|now apply max_of_ge]).
  assert (b0 : 0 <= b) by (eapply Rle_trans; [apply Rabs_pos|exact Hb]).
  split; [assumption|]. split; [assumption|]. split.
  - apply elements with (1 := Fm) (2 := Hl) (D := D); try assumption.
  - destruct (list_choice (fun x nu => Rabs nu <= own_error A m x /\ Rabs (EX (x - m) - exp (x - m + nu)) <= eta) l) as (nu & Hnu).
    { intros x Hx. destruct (Hl x Hx). now apply numerator. }
    pose proof (rowsum_online (fun x => x - m) nu (own_error A m) (fun x => EX (x - m)) ph l eta D b T w0) as Q.
    cbv beta zeta in Q. rewrite <- exp_sum_is_sum_over in Q. fold s in Q. apply Q; try assumption. apply eta_pos.
Qed.

(* Late rescaling (serial). The exps of the outputs use the final maximum. *)
Variable Adm_dec : forall a, {Adm_ A a} + {~ Adm_ A a}.
Theorem late_softmax x0 xs T w0 ph : (forall x, In x (x0 :: xs) -> F x) -> 0 <= T -> 0 <= w0 ->
  let P := late_rescaling A Adm_dec x0 xs in
  let l := x0 :: xs in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let D := computed A P in
  let a := n * (2 * exp tau) * eta / s in let b := b1 A P + lam (a * exp (2 * b1 A P)) in
  a * exp (2 * b1 A P) < 1 -> (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  outputs_within l D b T w0 ph.
Proof.
  intros HF HT Hw P l m s n D a b Hlt Ho. destruct (late_sound A Adm_dec x0 xs HF) as (WP & Er & Em & _). fold P in WP, Er, Em.
  change (row A P = l) in Er. change (reference P = m) in Em.
  pose proof (program_softmax P T w0 ph WP) as H. cbv zeta in H. rewrite Er, Em in H. fold m s n D a in H. fold b in H.
  apply H; try assumption. reflexivity.
Qed.
End Program.

(* ---------------------------------------------------------------------------------------------------- *)
(* Kept numerators: an exp taken with an older maximum, then rescaled with every later one. BOUNDS.md section 4. *)
Section Kept.
Variable A : arith.
Notation u := (u_ A). Notation v := (v_ A). Notation N := (N_ A). Notation eta := (eta_ A). Notation omega := (omega_ A).
Notation eps0 := (eps0_ A). Notation slope := (slope_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).

(* kept x r k n: n is the exp of logit x, taken with some maximum and rescaled k times, the last time to r *)
Inductive kept (x : R) : R -> nat -> R -> Prop :=
| kept_exp r : F x -> F r -> x <= r -> kept x r 0 (EX (x - r))
| kept_move r r' k n : kept x r k n -> F r' -> r < r' -> kept x r' (S k) (fl (n * EX (r - r'))).

(* its log-error: the shifts' u |d|, k + 1 exps, k products; its absolute error: (k + 5/4) eta *)
Definition kept_own (k : nat) (d : R) : R := v * d + INR (S k) * eps0 + slope * (1 + v) * d + INR k * lam u.
Theorem kept_error x r k n : kept x r k n -> F n /\ F r /\ 0 <= n <= 1 /\ x <= r /\
  exists nu z, Rabs nu <= kept_own k (r - x) /\ Rabs z <= (INR k + 5 / 4) * eta /\ n = exp (x - r + nu) + z.
Proof.
  pose proof (Hu A) as U. pose proof (Hom A) as UO. pose proof (eta_pos A) as He.
  induction 1 as [r Fx Fr Hx|r r' k n Hk (Fn & Fr & [n0 n1] & Hx & nu & z & B1 & B2 & En) Fr' Hr].
  - split; [apply FEX|]. split; [assumption|]. split; [split; [apply HEpos|apply HEle1; lra]|]. split; [assumption|].
    destruct (HE A x r Fx Fr) as (t & z & H1 & H2 & _ & H4); [apply Adm_neg; lra|].
    pose proof (Harg A x r Fx Fr) as Ha. pose proof (arg_abs A x r Fx Fr) as Hb. rewrite (Rabs_left1 (x - r)) in Ha, Hb by lra.
    exists ((arg (x - r) - (x - r)) + t), z. split; [|split].
    + eapply Rle_trans; [apply Rabs_triang|]. unfold kept_own. cbn [INR]. pose proof (Hslope A).
      assert (slope * Rabs (arg (x - r)) <= slope * ((1 + v) * - (x - r))) by (apply Rmult_le_compat_l; assumption). lra.
    + cbn [INR]. assert (0 <= eta) by assumption. lra.
    + rewrite H4. do 2 f_equal. ring.
  - set (E := EX (r - r')) in *. pose proof (HEpos A (r - r')) as E0. pose proof (HEle1 A (r - r') ltac:(lra)) as E1. fold E in E0, E1.
    assert (P0 : 0 <= n * E) by now apply Rmult_le_pos.
    assert (P1 : n * E <= 1) by (replace 1 with (1 * 1) by ring; now apply Rmult_le_compat).
    split; [apply Ffl|]. split; [assumption|]. split.
    { split; [now apply fl_pos|]. rewrite <- (M3F A 1 (F1 A)). now apply M3. }
    split; [lra|].
    destruct (move_exp A r r' Fr Fr' Hr) as (t & ze & T1 & T2 & T3 & T4). fold E in T3.
    destruct (prod_spec A n E Fn (FEX A _)) as (d & c & Q1 & Q2 & Q3 & _ & _ & Q6).
    destruct (lam_delta A d Q1) as (beta & L1 & L2). apply Rabs_le_inv in Q1 as Q1'.
    set (Y := exp (arg (r - r') + t)) in *. assert (HY : 0 < Y) by apply exp_pos.
    exists (nu + (arg (r - r') - (r - r')) + t + beta), (z * (Y * (1 + d)) + (n * ze * (1 + d) + c)).
    split; [|split].
    + pose proof (Harg A r r' Fr Fr') as Ha. rewrite (Rabs_left (r - r')) in Ha by lra.
      eapply Rle_trans; [apply Rabs_triang|]. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|].
      unfold kept_own in *. rewrite !S_INR in *. lra.
    + assert (Hze : Rabs (n * ze * (1 + d)) <= eta * (1 + u)).
      { rewrite !Rabs_mult, (Rabs_right n), (Rabs_right (1 + d)) by lra. apply Rmult_le_compat; try lra; [apply Rmult_le_pos; [lra|apply Rabs_pos]|].
        replace eta with (1 * eta) by ring. apply Rmult_le_compat; try lra; [apply Rabs_pos]. }
      assert (K0 := pos_INR k). rewrite S_INR.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_mult z), (Rabs_right (Y * (1 + d))) by (apply Rle_ge, Rmult_le_pos; lra).
      destruct T4 as [z0|Hs].
      * (* the exp is normal, or exact: the factor is at most 1 *)
        assert (Hf : 0 <= Y * (1 + d) <= 1).
        { apply scalar_factor with u; try tauto. rewrite z0, Rplus_0_r in T3. rewrite <- T3.
          destruct (Req_dec E 1) as [e|e]; [left; split; [assumption|now apply Q6]|right; apply Fpred1; [apply FEX|lra]]. }
        rewrite z0. replace (n * 0 * (1 + d) + c) with c by ring.
        assert (Rabs z * (Y * (1 + d)) <= Rabs z * 1) by (apply Rmult_le_compat_l; [apply Rabs_pos|lra]). lra.
      * assert (Hf : Y * (1 + d) <= / 8) by (eapply Rle_trans; [|exact Hs]; apply Rmult_le_compat_l; lra).
        assert (Rabs z * (Y * (1 + d)) <= Rabs z * / 8) by (apply Rmult_le_compat_l; [apply Rabs_pos|assumption]).
        pose proof (Rabs_triang (n * ze * (1 + d)) c).
        assert (eta * (1 + u) <= eta * (1 + / 256)) by (apply Rmult_le_compat_l; lra). 
        assert (0 <= INR k * eta) by now apply Rmult_le_pos. lra.
    + replace (x - r' + (nu + (arg (r - r') - (r - r')) + t + beta)) with ((x - r + nu) + ((arg (r - r') + t) + beta)) by ring.
      rewrite (exp_plus (x - r + nu)), (exp_plus (arg (r - r') + t)), <- L1. fold Y. rewrite Q3, T3.
      set (M := exp (x - r + nu)) in *. replace z with (n - M) by lra. ring.
Qed.

(* at most two rescales: below the 4 eta of the code *)
Corollary kept_twice x r k n : kept x r k n -> (k <= 2)%nat -> exists nu,
  Rabs nu <= kept_own k (r - x) /\ Rabs (n - exp (x - r + nu)) <= 4 * eta.
Proof.
  intros H Hk. destruct (kept_error x r k n H) as (_ & _ & _ & _ & nu & z & B1 & B2 & ->). exists nu. split; [assumption|].
  replace (exp (x - r + nu) + z - exp (x - r + nu)) with z by ring. eapply Rle_trans; [exact B2|].
  apply Rmult_le_compat_r; [apply eta_pos|]. apply le_INR in Hk. cbn in Hk. lra.
Qed.
(* the element bound of a kept numerator *)
Theorem kept_element x m k n D s b T w0 out : kept x m k n -> (k <= 2)%nat -> 0 < s -> 0 < D -> 0 <= T -> Rabs (ln (D / s)) <= b ->
  approx T w0 (n / D) out ->
  let Ax := kept_own k (m - x) + T + b in let W := 4 * eta / s * exp (b + T) + w0 in
  exp (x - m - Ax) / s - W <= out <= exp (x - m + Ax) / s + W.
Proof.
  intros H Hk Hs HD HT Hb Ho. destruct (kept_twice x m k n H Hk) as (nu & N1 & N2).
  apply (element (x - m) nu (kept_own k (m - x)) n (4 * eta) s D b T w0 out); try assumption. pose proof (eta_pos A). lra.
Qed.
End Kept.
