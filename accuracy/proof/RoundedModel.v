(* SPDX-License-Identifier: Apache-2.0 *)
(* Theorem 1 for an abstract rounded arithmetic: any computation that enters, moves, adds. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator.
Import ListNotations.
Open Scope R_scope.

Lemma Rabs_le_inv x y : Rabs x <= y -> - y <= x <= y.
Proof. intros H. pose proof (Rle_abs x). pose proof (Rle_abs (- x)). rewrite Rabs_Ropp in *. lra. Qed.

Definition lam (t : R) : R := - ln (1 - t).

(* What the proof uses of the arithmetic. EX a is the computed exp of the computed difference arg a, a exact; v bounds
   arg's relative error: u for a subtraction, more for an exp2 of a product. *)
Record arith := {
  u_ : R; v_ : R; N_ : R; eta_ : R; omega_ : R; eps0_ : R; slope_ : R; tau_ : R;
  F_ : R -> Prop; fl_ : R -> R; arg_ : R -> R; EX_ : R -> R; Adm_ : R -> Prop;
  Hu : 0 < u_ <= / 256; Hv : 0 <= v_ <= 1; HN : 0 < N_ <= / 16384; Hom : 0 <= omega_ <= eta_;
  Heps0 : 0 <= eps0_; Hslope : 0 <= slope_; Htau : 0 <= tau_;
  (* constants *)
  Heps : eps0_ + slope_ * tau_ <= / 8;
  Hsmall : forall t th, exp t < N_ -> Rabs th <= eps0_ + slope_ * Rabs t -> exp (t + th) * (1 + u_) <= / 8;
  (* floats *)
  F0 : F_ 0; F1 : F_ 1;
  Ffl : forall x, F_ (fl_ x);
  FEX : forall a, F_ (EX_ a);
  Fpred1 : forall e, F_ e -> e < 1 -> e <= 1 - u_;
  M1 : forall a b, F_ a -> F_ b -> exists d, Rabs d <= u_ /\ fl_ (a + b) = (a + b) * (1 + d);
  M2 : forall x, exists d c, Rabs d <= u_ /\ Rabs c <= omega_ /\ fl_ x = x * (1 + d) + c
         /\ (c = 0 \/ Rabs x < N_);
  M3 : forall x y, x <= y -> fl_ x <= fl_ y;
  M3F : forall x, F_ x -> fl_ x = x;
  (* the exp *)
  Adm_neg : forall a, a <= 0 -> Adm_ a;
  Harg : forall x r, F_ x -> F_ r -> Rabs (arg_ (x - r) - (x - r)) <= v_ * Rabs (x - r);
  Hargtau : forall x r, F_ x -> F_ r -> Adm_ (x - r) -> arg_ (x - r) <= tau_;
  HE : forall x r, F_ x -> F_ r -> Adm_ (x - r) -> exists th z,
         Rabs th <= eps0_ + slope_ * Rabs (arg_ (x - r)) /\ Rabs z <= eta_ /\
         (z = 0 \/ exp (arg_ (x - r)) < N_) /\ EX_ (x - r) = exp (arg_ (x - r) + th) + z;
  HE0 : EX_ 0 = 1;
  HEpos : forall a, 0 <= EX_ a;
  HEle1 : forall a, a <= 0 -> EX_ a <= 1
}.

Inductive program :=
| Enter (r x : R)         (* a partial of one term: E(fl(x - r)); (x, 1) is Enter x x *)
| Move (r : R) (P : program)
| Add (P Q : program)
| FusedAdd (P Q : program).      (* Q moved to P's reference and added with one rounding *)

Record term := Term { logit : R; start : R; arg_error : R; moves : list R; product_count : nat; addition_count : nat }.

Section Model.
Variable A : arith.
Notation u := (u_ A). Notation v := (v_ A). Notation N := (N_ A). Notation eta := (eta_ A). Notation omega := (omega_ A).
Notation eps0 := (eps0_ A). Notation slope := (slope_ A). Notation tau := (tau_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).
Notation Adm := (Adm_ A).

Fixpoint reference (P : program) : R :=
  match P with Enter r _ => r | Move r _ => r | Add P _ => reference P | FusedAdd P _ => reference P end.
Fixpoint computed (P : program) : R :=
  match P with
  | Enter r x => EX (x - r)
  | Move r P => fl (computed P * EX (reference P - r))
  | Add P Q => fl (computed P + computed Q)
  | FusedAdd P Q => fl (computed P + computed Q * EX (reference Q - reference P))
  end.
(* one of its terms equals its reference and entered at it *)
Fixpoint anchored (P : program) : Prop :=
  match P with Enter r x => x = r | Move _ _ => False | Add P Q => anchored P \/ anchored Q | FusedAdd P _ => anchored P end.
Fixpoint well_formed (P : program) : Prop :=
  match P with
  | Enter r x => F r /\ F x /\ Adm (x - r)
  | Move r P => well_formed P /\ anchored P /\ F r /\ reference P < r
  | Add P Q => well_formed P /\ well_formed Q /\ reference P = reference Q
  | FusedAdd P Q => well_formed P /\ well_formed Q /\ anchored Q /\ reference Q < reference P
  end.

Definition is_sum (P : program) : nat := match P with Enter _ _ => 0%nat | _ => 1%nat end.
Definition moved (r r' : R) (k : nat) (c : term) : term :=
  Term (logit c) (start c) (arg_error c + (arg (r - r') - (r - r'))) (r' :: moves c) (product_count c + k) (addition_count c).
Definition added (c : term) : term := Term (logit c) (start c) (arg_error c) (moves c) (product_count c) (S (addition_count c)).
Fixpoint terms (P : program) : list term :=
  match P with
  | Enter r x => [Term x r (arg (x - r) - (x - r)) [] 0 0]
  | Move r P => map (moved (reference P) r (is_sum P)) (terms P)
  | Add P Q => map added (terms P ++ terms Q)
  | FusedAdd P Q => map added (terms P ++ map (moved (reference Q) (reference P) 0) (terms Q))
  end.
Fixpoint height (P : program) : nat :=
  match P with
  | Enter _ _ => 0%nat | Move _ P => height P
  | Add P Q => S (Nat.max (height P) (height Q)) | FusedAdd P Q => S (Nat.max (height P) (height Q))
  end.

Definition enters_by_exp (c : term) : nat := if Req_EM_T (logit c) (start c) then 0%nat else 1%nat.
Definition exp_count (c : term) : nat := (enters_by_exp c + length (moves c))%nat.
Definition travel (r : R) (c : term) : R := Rabs (logit c - start c) + (r - start c).
Definition rounding_bound (r : R) (c : term) : R :=
  INR (exp_count c) * eps0 + slope * (1 + v) * travel r c + INR (product_count c + addition_count c) * lam u.

Definition charge (c : term) : R :=
  match moves c with [] => INR (enters_by_exp c) | _ => 2 * exp tau end.
Fixpoint sum_terms (f : term -> R) (T : list term) : R := match T with [] => 0 | c :: T => f c + sum_terms f T end.
Fixpoint perturbed_sum (r : R) (L : list (term * R)) : R :=
  match L with [] => 0 | y :: L => exp (logit (fst y) - r + snd y) + perturbed_sum r L end.

Lemma sum_terms_app f a b : sum_terms f (a ++ b) = sum_terms f a + sum_terms f b.
Proof. induction a as [|c a IH]; cbn; [ring|].  rewrite IH. ring. Qed.
Lemma sum_terms_map f g a : sum_terms f (map g a) = sum_terms (fun c => f (g c)) a.
Proof. induction a as [|c a IH]; cbn; [ring|].  now rewrite IH. Qed.
Lemma sum_terms_ext f g a : (forall c, f c = g c) -> sum_terms f a = sum_terms g a.
Proof. intros H. induction a as [|c a IH]; cbn; [ring|].  now rewrite IH, H. Qed.
Lemma sum_terms_le f g a : (forall c, In c a -> f c <= g c) -> sum_terms f a <= sum_terms g a.
Proof. induction a as [|c a IH]; intros H; cbn; [lra|].
  assert (sum_terms f a <= sum_terms g a) by (apply IH; intros; apply H; now right).
  specialize (H c (or_introl eq_refl)). lra. Qed.
Lemma sum_terms_pos f a : (forall c, 0 <= f c) -> 0 <= sum_terms f a.
Proof. intros H. induction a as [|c a IH]; cbn; [lra|]. specialize (H c).  lra. Qed.
Lemma sum_terms_plusc f k a : sum_terms (fun c => f c + k) a = sum_terms f a + INR (length a) * k.
Proof. induction a as [|c a IH]; [cbn; ring|]. cbn [sum_terms length]. 
  rewrite IH, S_INR. ring. Qed.
Lemma perturbed_sum_app r a b : perturbed_sum r (a ++ b) = perturbed_sum r a + perturbed_sum r b.
Proof. induction a as [|c a IH]; cbn; [ring|].  rewrite IH. ring. Qed.
Lemma perturbed_sum_map r r' f g k L : (forall c, logit (f c) = logit c) -> (forall c b, g (c, b) = b + (k - (r - r'))) ->
  perturbed_sum r' (map (fun y => (f (fst y), g y)) L) = perturbed_sum r L * exp k.
Proof. intros Hf Hg. induction L as [|[c b] L IH]; cbn; [ring|].  rewrite IH, Hf, Hg, Rmult_plus_distr_r.
  f_equal. rewrite <- exp_plus. f_equal. cbn. ring. Qed.

Lemma lam_delta d : Rabs d <= u -> exists b, 1 + d = exp b /\ Rabs b <= lam u.
Proof.
  intros Hd. pose proof (Hu A). apply Rabs_le_inv in Hd. exists (ln (1 + d)). split.
  - rewrite exp_ln; lra.
  - unfold lam. apply Rabs_le. split.
    + rewrite Ropp_involutive. destruct (Req_dec d (-u)) as [->|]; [right; reflexivity|].
      left. apply ln_increasing; lra.
    + assert (ln (1 + d) + ln (1 - u) <= 0); [|lra].
      rewrite <- ln_mult by lra. rewrite <- ln_1.
      assert ((1 + d) * (1 - u) <= 1) by nra.
      destruct (Req_dec ((1 + d) * (1 - u)) 1) as [->|]; [right; reflexivity|].
      left. apply ln_increasing; nra.
Qed.
Lemma lam_pos : 0 <= lam u.
Proof. pose proof (Hu A). destruct (lam_delta 0) as (b & _ & H0); [rewrite Rabs_R0; lra|].
  pose proof (Rabs_pos b). lra. Qed.

Lemma exp18 : exp (/ 8) <= 8 / 7.
Proof. pose proof (exp_ineq1_le (- / 8)). rewrite exp_Ropp in H. pose proof (exp_pos (/8)).
  apply Rmult_le_reg_r with (7/8); [lra|]. apply Rmult_le_reg_r with (/ exp (/8)); [now apply Rinv_0_lt_compat|].
  replace (exp (/8) * (7/8) * / exp (/8)) with (7/8) by (field; lra). lra. Qed.

Lemma arg0 : arg 0 = 0.
Proof. pose proof (Harg A 1 1 (F1 A) (F1 A)) as H. replace (1 - 1) with 0 in H by ring.
  rewrite Rabs_R0, Rmult_0_r, Rminus_0_r in H. pose proof (Rabs_pos (arg 0)).
  destruct (Req_dec (arg 0) 0); [assumption|]. apply Rabs_pos_lt in H1. lra. Qed.

Lemma arg_abs x r : F x -> F r -> Rabs (arg (x - r)) <= (1 + v) * Rabs (x - r).
Proof. intros Fx Fr. pose proof (Harg A x r Fx Fr). replace (arg (x - r)) with ((arg (x - r) - (x - r)) + (x - r)) by ring.
  pose proof (Rabs_triang (arg (x - r) - (x - r)) (x - r)). lra. Qed.

(* one computed exp, moved or entered *)
Lemma EX_ub x r : F x -> F r -> Adm (x - r) -> EX (x - r) <= exp (tau + / 8).
Proof.
  intros Fx Fr H. destruct (Rle_dec (x - r) 0) as [Hn|Hn].
  - eapply Rle_trans; [now apply HEle1|]. rewrite <- exp_0. apply exp_le. pose proof (Htau A). lra.
  - destruct (HE A x r Fx Fr H) as (t & z & H1 & H2 & H3 & H4).
    pose proof (Harg A x r Fx Fr) as Ha. pose proof (Hargtau A x r Fx Fr H) as Hb. pose proof (Hv A).
    rewrite (Rabs_right (x - r)) in Ha by lra. apply Rabs_le_inv in Ha.
    assert (0 <= arg (x - r)) by nra.
    destruct H3 as [->|H3].
    + rewrite H4, Rplus_0_r. apply exp_le. rewrite (Rabs_right (arg _)) in H1 by lra. apply Rabs_le_inv in H1.
      pose proof (Heps A). pose proof (Hslope A). nra.
    + exfalso. pose proof (exp_ineq1_le (arg (x - r))). pose proof (HN A). lra.
Qed.

Lemma computed_is_float P : well_formed P -> F (computed P).
Proof. destruct P; cbn; intros; [apply FEX|apply Ffl|apply Ffl|apply Ffl]. Qed.
Lemma reference_is_float P : well_formed P -> F (reference P).
Proof. induction P; cbn; tauto. Qed.

Lemma fl_pos x : 0 <= x -> 0 <= fl x.
Proof. intros H. rewrite <- (M3F A 0 (F0 A)). now apply M3. Qed.
Lemma fl_ge1 x : 1 <= x -> 1 <= fl x.
Proof. intros H. rewrite <- (M3F A 1 (F1 A)). now apply M3. Qed.

Lemma computed_pos P : well_formed P -> 0 <= computed P.
Proof. induction P; cbn; intros.
  - apply HEpos.
  - apply fl_pos, Rmult_le_pos; [tauto|apply HEpos].
  - apply fl_pos. assert (0 <= computed P1) by tauto. assert (0 <= computed P2) by tauto. lra.
  - apply fl_pos. apply Rplus_le_le_0_compat; [tauto|]. apply Rmult_le_pos; [tauto|apply HEpos].
Qed.

(* Theorem 2, below *)
Theorem computed_ge1 P : well_formed P -> anchored P -> 1 <= computed P.
Proof. induction P; cbn; intros W H.
  - subst. rewrite Rminus_diag_eq, HE0 by reflexivity. lra.
  - destruct H.
  - apply fl_ge1. pose proof (computed_pos P1). pose proof (computed_pos P2).
    assert (0 <= computed P1) by tauto. assert (0 <= computed P2) by tauto.
    destruct H; [assert (1 <= computed P1) by tauto|assert (1 <= computed P2) by tauto]; lra.
  - apply fl_ge1. assert (1 <= computed P1) by tauto. assert (0 <= computed P2) by (apply computed_pos; tauto).
    pose proof (HEpos A (reference P2 - reference P1)). nra.
Qed.

Lemma terms_len_pos P : (1 <= length (terms P))%nat.
Proof. induction P; cbn; rewrite ?map_length, ?app_length, ?map_length; lia. Qed.

Lemma pow1u_ge1 n : 1 <= (1 + u) ^ n.
Proof. pose proof (Hu A). apply pow_R1_Rle. lra. Qed.
Lemma pow1u_le n m : (n <= m)%nat -> (1 + u) ^ n <= (1 + u) ^ m.
Proof. pose proof (Hu A). intros. apply Rle_pow; [lra|assumption]. Qed.

(* The rounded sum is at most (1 + u) times the exact one. *)
Lemma fl_add_ub a b : F a -> F b -> 0 <= a -> 0 <= b -> fl (a + b) <= (a + b) * (1 + u).
Proof. intros Fa Fb Ha Hb. destruct (M1 A a b Fa Fb) as (d & Hd & ->). apply Rabs_le_inv in Hd. nra. Qed.

(* a is at most n G and b at most m G, each times a power of 1 + u: then (a + b) (1 + u) is at most (n + m) G times the next power. *)
Lemma sum_of_two_le n m G h k a b : 0 <= n -> 0 <= m -> 0 <= G -> a <= n * G * (1 + u) ^ h -> b <= m * G * (1 + u) ^ k ->
  (a + b) * (1 + u) <= (n + m) * G * (1 + u) ^ S (Nat.max h k).
Proof.
  intros Hn Hm HG Ha Hb. pose proof (Hu A).
  pose proof (pow1u_le h (Nat.max h k) ltac:(lia)). pose proof (pow1u_le k (Nat.max h k) ltac:(lia)). cbn [pow].
  replace ((n + m) * G * ((1 + u) * (1 + u) ^ Nat.max h k))
    with ((n * G * (1 + u) ^ Nat.max h k + m * G * (1 + u) ^ Nat.max h k) * (1 + u)) by ring.
  apply Rmult_le_compat_r; [lra|].
  apply Rplus_le_compat; (eapply Rle_trans; [eassumption|]; apply Rmult_le_compat_l; [nra|assumption]).
Qed.

(* The value of j terms is at most j times the largest exp G, times (1 + u)^height. *)
Lemma computed_le_any G P : 1 <= G -> (forall r x, F r -> F x -> Adm (x - r) -> In x (map logit (terms P)) -> EX (x - r) <= G) ->
  well_formed P -> computed P <= INR (length (terms P)) * G * (1 + u) ^ height P.
Proof.
  intros HG. pose proof (Hu A). induction P as [r x|r P IH|P IHP Q IHQ|P IHP Q IHQ]; cbn [computed well_formed terms height]; intros HX W.
  - cbn [length INR pow]. rewrite Rmult_1_r, Rmult_1_l. apply HX; try tauto. cbn. tauto.
  - rewrite map_length. destruct W as (W & Ha & Fr & Hr).
    assert (fl (computed P * EX (reference P - r)) <= computed P).
    { rewrite <- (M3F A (computed P)) at 2 by now apply computed_is_float. apply M3.
      pose proof (computed_pos P W). pose proof (HEle1 A (reference P - r) ltac:(lra)). pose proof (HEpos A (reference P - r)). nra. }
    eapply Rle_trans; [eassumption|]. apply IH; [|assumption]. intros. apply HX; try assumption.
    rewrite map_map. cbn. assumption.
  - destruct W as (WP & WQ & _). rewrite map_length, app_length, plus_INR.
    assert (computed P <= INR (length (terms P)) * G * (1 + u) ^ height P) as BP.
    { apply IHP; [|assumption]. intros. apply HX; try assumption. rewrite map_map, map_app. cbn. apply in_or_app. tauto. }
    assert (computed Q <= INR (length (terms Q)) * G * (1 + u) ^ height Q) as BQ.
    { apply IHQ; [|assumption]. intros. apply HX; try assumption. rewrite map_map, map_app. cbn. apply in_or_app. tauto. }
    pose proof (computed_pos P WP). pose proof (computed_pos Q WQ).
    pose proof (fl_add_ub (computed P) (computed Q) (computed_is_float P WP) (computed_is_float Q WQ) ltac:(assumption) ltac:(assumption)).
    eapply Rle_trans; [eassumption|]. apply sum_of_two_le; try apply pos_INR; lra.
  - destruct W as (WP & WQ & Ha & Hr). rewrite map_length, app_length, plus_INR, map_length.
    assert (computed P <= INR (length (terms P)) * G * (1 + u) ^ height P) as BP.
    { apply IHP; [|assumption]. intros. apply HX; try assumption. rewrite map_map, map_app. cbn. apply in_or_app. tauto. }
    assert (computed Q <= INR (length (terms Q)) * G * (1 + u) ^ height Q) as BQ.
    { apply IHQ; [|assumption]. intros. apply HX; try assumption. rewrite map_map, map_app, map_map. cbn. apply in_or_app. tauto. }
    pose proof (computed_pos P WP). pose proof (computed_pos Q WQ).
    pose proof (fl_add_ub (computed P) (computed Q) (computed_is_float P WP) (computed_is_float Q WQ) ltac:(assumption) ltac:(assumption)).
    assert (fl (computed P + computed Q * EX (reference Q - reference P)) <= fl (computed P + computed Q)).
    { apply M3. pose proof (HEle1 A (reference Q - reference P) ltac:(lra)). pose proof (HEpos A (reference Q - reference P)). nra. }
    eapply Rle_trans; [eassumption|]. eapply Rle_trans; [eassumption|]. apply sum_of_two_le; try apply pos_INR; lra.
Qed.

Lemma computed_le P : well_formed P -> computed P <= INR (length (terms P)) * exp (tau + /8) * (1 + u) ^ height P.
Proof. intros W. apply computed_le_any; [|intros; now apply EX_ub|assumption].
  rewrite <- exp_0. apply exp_le. pose proof (Htau A). lra. Qed.

(* products *)
Lemma prod_spec D E : F D -> F E -> exists d c, Rabs d <= u /\ Rabs c <= omega /\ fl (D * E) = D * E * (1 + d) + c
   /\ (c = 0 \/ Rabs (D * E) < N) /\ (D = 1 -> d = 0 /\ c = 0) /\ (E = 1 -> d = 0 /\ c = 0).
Proof.
  intros FD FE. pose proof (Hu A). pose proof (Hom A).
  destruct (Req_dec D 1) as [->|ND]; [|destruct (Req_dec E 1) as [->|NE]].
  - exists 0, 0. rewrite Rabs_R0, M3F by now rewrite Rmult_1_l. repeat split; try lra; auto.
  - exists 0, 0. rewrite Rabs_R0, M3F by now rewrite Rmult_1_r. repeat split; try lra; auto.
  - destruct (M2 A (D * E)) as (d & c & H1 & H2 & H3 & H4). exists d, c. repeat split; auto; contradiction.
Qed.
Lemma fma_spec B D E : F B -> F D -> F E -> exists d c, Rabs d <= u /\ Rabs c <= omega
   /\ fl (B + D * E) = (B + D * E) * (1 + d) + c /\ (c = 0 \/ Rabs (B + D * E) < N) /\ (D = 1 -> c = 0).
Proof.
  intros FB FD FE. pose proof (Hom A). destruct (Req_dec D 1) as [->|ND].
  - destruct (M1 A B E FB FE) as (d & H1 & H2). exists d, 0. rewrite Rabs_R0, Rmult_1_l. repeat split; auto; lra.
  - destruct (M2 A (B + D * E)) as (d & c & H1 & H2 & H3 & H4). exists d, c. repeat split; auto; contradiction.
Qed.

Lemma single_anchored P : well_formed P -> anchored P -> is_sum P = 0%nat -> computed P = 1.
Proof. destruct P; cbn; try discriminate. intros _ -> _. rewrite Rminus_diag_eq by reflexivity. apply HE0. Qed.
Lemma several_anchored P : anchored P -> is_sum P = 1%nat -> (2 <= length (terms P))%nat.
Proof. destruct P; cbn; try discriminate; try tauto; intros _ _; rewrite map_length, app_length, ?map_length;
  pose proof (terms_len_pos P1); pose proof (terms_len_pos P2); lia. Qed.

(* charges *)
Lemma exp_tau1 : 1 <= exp tau.
Proof. rewrite <- exp_0. apply exp_le, Htau. Qed.
Lemma abs1_le c : 0 <= INR (enters_by_exp c) <= 1.
Proof. unfold enters_by_exp. destruct (Req_EM_T _ _); cbn; lra. Qed.
Lemma charge_le c : charge c <= 2 * exp tau.
Proof. unfold charge. pose proof exp_tau1. pose proof (abs1_le c). destruct (moves c); lra. Qed.
Lemma charge_moved r r' k c : charge (moved r r' k c) = 2 * exp tau.
Proof. reflexivity. Qed.
Lemma charge_added c : charge (added c) = charge c.
Proof. reflexivity. Qed.
Lemma charge_pos c : 0 <= charge c.
Proof. unfold charge. pose proof exp_tau1. pose proof (abs1_le c). destruct (moves c); lra. Qed.

Lemma charge_all_moved r r' k T : sum_terms charge (map (moved r r' k) T) = INR (length T) * (2 * exp tau).
Proof. induction T as [|c T IH]; [cbn; ring|]. cbn [map sum_terms length]. rewrite IH, charge_moved, S_INR. ring. Qed.
Lemma charge_sum T : sum_terms charge T <= INR (length T) * (2 * exp tau).
Proof. induction T as [|c T IH]; [cbn; lra|]. cbn [sum_terms length]. rewrite S_INR. pose proof (charge_le c). lra. Qed.
Lemma charge_same r r' k T : sum_terms charge T <= sum_terms charge (map (moved r r' k) T).
Proof. rewrite charge_all_moved. apply charge_sum. Qed.
Lemma charge_small r r' k T :
  / 8 * sum_terms charge T + INR (length T) * (3 / 2 * (1 + u) * exp (tau + /8)) <= sum_terms charge (map (moved r r' k) T).
Proof.
  rewrite charge_all_moved, exp_plus. pose proof (charge_sum T). pose proof (Hu A). pose proof exp_tau1. pose proof exp18.
  pose proof (pos_INR (length T)).
  assert (3 / 2 * (1 + u) * (exp tau * exp (/8)) <= 1.75 * exp tau).
  { replace (3 / 2 * (1 + u) * (exp tau * exp (/8))) with ((3 / 2 * (1 + u) * exp (/8)) * exp tau) by ring.
    apply Rmult_le_compat_r; [lra|]. nra. }
  assert (INR (length T) * (3 / 2 * (1 + u) * (exp tau * exp (/8))) <= INR (length T) * (1.75 * exp tau)) by (apply Rmult_le_compat_l; assumption).
  lra.
Qed.

(* scalar lemmas, with small contexts for nra *)
Lemma scalar_factor v d X : 0 < v -> Rabs d <= v -> 0 < X -> (X = 1 /\ d = 0) \/ X <= 1 - v -> 0 <= X * (1 + d) <= 1.
Proof. intros V Hd HX H. apply Rabs_le_inv in Hd. destruct H as [[-> ->]|H]; [lra|]. split; [|nra].
  apply Rmult_le_pos; lra. Qed.
Lemma scalar_scale Z f K C' Wh k : Rabs Z <= K * Wh -> 0 <= f <= k -> K <= C' -> 0 <= K -> 0 <= Wh -> Rabs (Z * f) <= C' * (k * Wh).
Proof. intros HZ [F0 F1'] HK K0 W0. rewrite Rabs_mult, (Rabs_right f) by lra. pose proof (Rabs_pos Z).
  apply Rle_trans with (K * Wh * k); [now apply Rmult_le_compat|].
  replace (K * Wh * k) with (K * (k * Wh)) by ring. apply Rmult_le_compat_r; [|assumption]. apply Rmult_le_pos; lra. Qed.
Lemma scalar_new_error v D z d c j G h0 e o : 0 < v -> Rabs d <= v -> 0 <= D <= j * G * h0 -> Rabs z <= e -> Rabs c <= o -> o <= e ->
  (c = 0 \/ 2 <= j) -> 1 <= j -> 1 <= G -> 1 <= h0 ->
  Rabs (D * z * (1 + d) + c) <= j * (3 / 2 * (1 + v) * G) * (h0 * e).
Proof.
  intros V Hd [D0 D1] Hz Hc Ho Hcj Hj HG Hh. pose proof (Rabs_pos z). pose proof (Rabs_pos c).
  assert (0 <= e) by lra.
  assert (1 <= G * h0) by nra.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult, (Rabs_right D) by lra.
  assert (Rabs (1 + d) <= 1 + v). { apply Rabs_le_inv in Hd. apply Rabs_le. lra. }
  assert (D * Rabs z <= j * G * h0 * e) by (apply Rmult_le_compat; lra).
  assert (D * Rabs z * Rabs (1 + d) <= j * G * h0 * e * (1 + v)).
  { apply Rmult_le_compat; try assumption; [|apply Rabs_pos]. apply Rmult_le_pos; lra. }
  assert (Rabs c <= / 2 * (j * (G * h0) * e * (1 + v))).
  { destruct Hcj as [->|Hj2].
    - rewrite Rabs_R0. apply Rmult_le_pos; [lra|]. repeat (apply Rmult_le_pos; try lra).
    - assert (2 <= j * (G * h0)) by nra. assert (2 * e <= j * (G * h0) * e) by (apply Rmult_le_compat_r; lra).
      assert (j * (G * h0) * e <= j * (G * h0) * e * (1 + v)) by nra. lra. }
  replace (j * (3 / 2 * (1 + v) * G) * (h0 * e)) with (j * G * h0 * e * (1 + v) + / 2 * (j * (G * h0) * e * (1 + v))) by field.
  lra.
Qed.

(* The representation: every partial is a perturbed sum plus an absolute error. *)
Definition near (r : R) (y : term * R) : Prop := Rabs (snd y - arg_error (fst y)) <= rounding_bound r (fst y) /\ start (fst y) <= r.
Definition W (h : nat) : R := (1 + u) ^ h * eta.
Definition represented_by (P : program) (L : list (term * R)) : Prop :=
  map fst L = terms P /\ Forall (near (reference P)) L /\
  Rabs (computed P - perturbed_sum (reference P) L) <= sum_terms charge (terms P) * W (height P).

Lemma eta_pos : 0 <= eta. Proof. pose proof (Hom A). lra. Qed.
Lemma W_pos h : 0 <= W h.
Proof. unfold W. pose proof (pow1u_ge1 h). pose proof eta_pos. nra. Qed.
Lemma W_S h : W (S h) = (1 + u) * W h.
Proof. unfold W. cbn. ring. Qed.
Lemma W_le h k : (h <= k)%nat -> W h <= W k.
Proof. intros H. unfold W. apply Rmult_le_compat_r; [apply eta_pos|now apply pow1u_le]. Qed.
Lemma eta_W h : eta <= W h.
Proof. unfold W. pose proof (pow1u_ge1 h). pose proof eta_pos. nra. Qed.
Lemma perturbed_sum_pos r L : 0 <= perturbed_sum r L.
Proof. induction L as [|y L IH]; cbn; [lra|]. pose proof (exp_pos (logit (fst y) - r + snd y)). lra. Qed.

(* the computed exp of a move *)
Lemma move_exp r r' : F r -> F r' -> r < r' -> exists t z,
  Rabs t <= eps0 + slope * (1 + v) * (r' - r) /\ Rabs z <= eta /\ EX (r - r') = exp (arg (r - r') + t) + z /\
  (z = 0 \/ exp (arg (r - r') + t) * (1 + u) <= / 8).
Proof.
  intros Fr Fr' Hr. pose proof (Adm_neg A (r - r') ltac:(lra)) as Ad.
  destruct (HE A r r' Fr Fr' Ad) as (t & z & H1 & H2 & H3 & H4).
  exists t, z. repeat split; auto.
  - eapply Rle_trans; [exact H1|]. pose proof (arg_abs r r' Fr Fr') as H. rewrite (Rabs_left (r - r')) in H by lra.
    pose proof (Hslope A). rewrite Rmult_assoc. apply Rplus_le_compat_l, Rmult_le_compat_l; [assumption|]. lra.
  - destruct H3 as [H3|H3]; [now left|right]. now apply Hsmall.
Qed.

Lemma bound_moved r r' k c b t beta : near r (c, b) -> r < r' -> Rabs t <= eps0 + slope * (1 + v) * (r' - r) ->
  Rabs beta <= INR k * lam u ->
  near r' (moved r r' k c, b + ((arg (r - r') + t + beta) - (r - r'))).
Proof.
  unfold near, rounding_bound, travel, exp_count. cbn [fst snd logit start arg_error moves product_count addition_count moved enters_by_exp length]. intros [H0 H0'] Hr Ht Hb.
  split; [|lra].
  replace (enters_by_exp (moved r r' k c)) with (enters_by_exp c) by reflexivity.
  replace (b + (arg (r - r') + t + beta - (r - r')) - (arg_error c + (arg (r - r') - (r - r')))) with ((b - arg_error c) + (t + beta)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang t beta).
  rewrite !plus_INR, S_INR in *. cbn [length] in *. lra.
Qed.
Lemma bound_added r c b d : near r (c, b) -> Rabs d <= lam u -> near r (added c, b + d).
Proof.
  unfold near, rounding_bound, travel, exp_count. cbn [fst snd logit start arg_error moves product_count addition_count added]. intros [H0 H0'] Hd.
  split; [|lra].
  replace (enters_by_exp (added c)) with (enters_by_exp c) by reflexivity.
  replace (b + d - arg_error c) with ((b - arg_error c) + d) by ring.
  eapply Rle_trans; [apply Rabs_triang|].
  rewrite !plus_INR, S_INR in *. lra.
Qed.

Definition moved_list r r' k v (L : list (term * R)) : list (term * R) :=
  map (fun y => (moved r r' k (fst y), snd y + (v - (r - r')))) L.
Definition added_list v (L : list (term * R)) : list (term * R) := map (fun y => (added (fst y), snd y + v)) L.
Lemma moved_list_sum r r' k v L : perturbed_sum r' (moved_list r r' k v L) = perturbed_sum r L * exp v.
Proof. apply perturbed_sum_map; reflexivity. Qed.
Lemma added_list_sum r v L : perturbed_sum r (added_list v L) = perturbed_sum r L * exp v.
Proof. unfold added_list. rewrite <- (perturbed_sum_map r r added (fun y => snd y + v)); [reflexivity|reflexivity|]. intros. cbn. ring. Qed.
Lemma moved_list_fst r r' k v L : map fst (moved_list r r' k v L) = map (moved r r' k) (map fst L).
Proof. unfold moved_list. now rewrite !map_map. Qed.
Lemma added_list_fst v L : map fst (added_list v L) = map added (map fst L).
Proof. unfold added_list. now rewrite !map_map. Qed.

Lemma small_move P r r' k Z X z d c : well_formed P -> anchored P -> Rabs Z <= sum_terms charge (terms P) * W (height P) ->
  0 < X -> Rabs d <= u -> X * (1 + d) <= / 8 -> Rabs z <= eta -> Rabs c <= omega ->
  (c = 0 \/ (2 <= length (terms P))%nat) ->
  Rabs (Z * (X * (1 + d)) + (computed P * z * (1 + d) + c)) <= sum_terms charge (map (moved r r' k) (terms P)) * W (height P).
Proof.
  intros WP An HZ HX Hd HXN Hz Hc Hcj.
  pose proof (Hu A) as U. pose proof (HN A) as UN. pose proof (Hom A) as UO.
  pose proof (charge_small r r' k (terms P)) as CS. pose proof (W_pos (height P)) as W0.
  pose proof (sum_terms_pos charge (terms P) charge_pos) as C0.
  eapply Rle_trans; [|apply Rmult_le_compat_r; [exact W0|exact CS]]. rewrite Rmult_plus_distr_r.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat.
  - apply Rabs_le_inv in Hd.
    assert (Rabs (Z * (X * (1 + d))) <= sum_terms charge (terms P) * (/ 8 * W (height P))) as H.
    { eapply scalar_scale; [exact HZ| |apply Rle_refl|assumption|assumption]. split; [|assumption].
      apply Rmult_le_pos; lra. }
    eapply Rle_trans; [exact H|]. right. ring.
  - unfold W. apply scalar_new_error with omega; try tauto; try lra.
    + pose proof (computed_ge1 P WP An). split; [lra|now apply computed_le].
    + destruct Hcj as [|H]; [now left|right]. apply le_INR in H. cbn in H. lra.
    + pose proof (terms_len_pos P) as H. apply le_INR in H. exact H.
    + rewrite <- exp_0. apply exp_le. pose proof (Htau A). lra.
    + apply pow1u_ge1.
Qed.

Theorem representation P : well_formed P -> exists L, represented_by P L.
Proof.
  pose proof (Hu A) as U. pose proof (HN A) as UN. pose proof (Hom A) as UO.
  induction P as [r x|r P IH|P IHP Q IHQ|P IHP Q IHQ]; cbn [well_formed]; intros H.
  - (* Enter *)
    destruct H as (Fr & Fx & Ad).
    destruct (Req_EM_T x r) as [->|Hne].
    + assert (r - r = 0) as Rr by ring. exists [(Term r r (arg (r - r) - (r - r)) [] 0 0, 0)].
      unfold represented_by, near. cbn. rewrite Rr, arg0, HE0, !Rplus_0_r, exp_0, !Rminus_diag_eq by reflexivity. repeat split.
      * constructor; [|constructor]. cbn. split; [|lra]. unfold rounding_bound, exp_count, enters_by_exp, travel. cbn.
        destruct (Req_EM_T r r); [|congruence]. cbn. rewrite Rr, !Rminus_0_r, Rabs_R0. lra.
      * rewrite Rabs_R0. apply Rmult_le_pos; [apply pos_INR|apply W_pos].
    + destruct (HE A x r Fx Fr Ad) as (t & z & H1 & H2 & _ & H4).
      exists [(Term x r (arg (x - r) - (x - r)) [] 0 0, (arg (x - r) - (x - r)) + t)]. unfold represented_by, near. cbn. repeat split.
      * constructor; [|constructor]. cbn. split; [|lra]. unfold rounding_bound, exp_count, enters_by_exp, travel. cbn.
        destruct (Req_EM_T x r); [congruence|]. cbn.
        match goal with |- Rabs ?a <= _ => replace a with t by ring end.
        pose proof (arg_abs x r Fx Fr). pose proof (Hslope A). rewrite (Rminus_diag_eq r r) by reflexivity. nra.
      * rewrite H4. replace (x - r + (arg (x - r) - (x - r) + t)) with (arg (x - r) + t) by ring.
        match goal with |- Rabs ?a <= _ => replace a with z by ring end.
        unfold charge, enters_by_exp, W. cbn. destruct (Req_EM_T x r); [congruence|]. cbn. lra.
  - (* Move *)
    destruct H as (WP & An & Fr & Hr). destruct (IH WP) as (L & HL1 & HL2 & HL3). clear IH.
    pose proof (computed_is_float P WP) as FD. pose proof (reference_is_float P WP) as Fp. pose proof (computed_ge1 P WP An) as D1.
    pose proof (computed_le P WP) as D2.
    destruct (move_exp (reference P) r Fp Fr Hr) as (t & z & T1 & T2 & T3 & T4).
    destruct (prod_spec (computed P) (EX (reference P - r)) FD (FEX A _)) as (d & c & P1 & P2 & P3 & P4 & P5 & P6).
    assert (exists beta, 1 + d = exp beta /\ Rabs beta <= INR (is_sum P) * lam u) as (beta & B1 & B2).
    { destruct (is_sum P) as [|[|k]] eqn:E; [| |destruct P; discriminate E].
      - destruct (P5 (single_anchored P WP An E)) as [-> _]. exists 0. rewrite exp_0, Rabs_R0. cbn. split; lra.
      - destruct (lam_delta d P1) as (beta & ? & ?). exists beta. split; [assumption|]. cbn. lra. }
    exists (moved_list (reference P) r (is_sum P) (arg (reference P - r) + t + beta) L). unfold represented_by. cbn [terms reference computed height].
    rewrite moved_list_fst, HL1, moved_list_sum. repeat split.
    + apply Forall_map. eapply Forall_impl; [|exact HL2]. intros [cc b] Hb. now apply bound_moved.
    + set (X := exp (arg (reference P - r) + t)) in *. pose proof (exp_pos (arg (reference P - r) + t)) as HX. fold X in HX.
      rewrite (exp_plus (arg (reference P - r) + t)). fold X. rewrite <- B1.
      set (Z := computed P - perturbed_sum (reference P) L) in *. set (E := EX (reference P - r)) in *.
      pose proof (HEpos A (reference P - r)) as E0. pose proof (HEle1 A (reference P - r) ltac:(lra)) as E1. fold E in E0, E1.
      assert (fl (computed P * E) - perturbed_sum (reference P) L * (X * (1 + d)) = Z * (X * (1 + d)) + (computed P * z * (1 + d) + c)) as ->.
      { rewrite P3, T3. unfold Z. ring. }
      apply Rabs_le_inv in P1 as P1'.
      pose proof (W_pos (height P)) as WP0. pose proof (eta_W (height P)) as We.
      set (Wh := W (height P)) in *.
      pose proof (sum_terms_pos charge (terms P) charge_pos) as C0.
      destruct (Req_dec z 0) as [z0|zn]; [destruct (Req_dec c 0) as [c0|cn]|].
      * rewrite z0, c0, Rmult_0_r, Rmult_0_l, !Rplus_0_r. rewrite z0, Rplus_0_r in T3.
        rewrite <- (Rmult_1_l Wh). apply scalar_scale with (sum_terms charge (terms P)); try assumption; [|apply charge_same].
        apply scalar_factor with u; try tauto. rewrite <- T3. destruct (Req_dec E 1) as [e|e].
        -- left. split; [assumption|]. now apply P6.
        -- right. apply Fpred1; [apply FEX|]. fold E. lra.
      * apply small_move; try assumption.
        -- destruct P4 as [P4|P4]; [contradiction|]. rewrite z0, Rplus_0_r in T3. rewrite <- T3.
           rewrite Rabs_right in P4 by (apply Rle_ge, Rmult_le_pos; lra).
           assert (E <= computed P * E) by (rewrite <- (Rmult_1_l E) at 1; apply Rmult_le_compat_r; lra).
           assert (E < N) as EN by lra. clear - EN E0 P1' U UN.
           apply Rle_trans with (N * (1 + d)); [apply Rmult_le_compat_r; lra|].
           apply Rle_trans with (/ 16384 * 2); [apply Rmult_le_compat; lra|lra].
        -- right. apply several_anchored; [assumption|]. destruct (is_sum P) as [|[|k]] eqn:Es; [|reflexivity|destruct P; discriminate Es].
           destruct cn. now apply P5, single_anchored.
      * apply small_move; try assumption.
        -- destruct T4 as [T4|T4]; [contradiction|]. fold X in T4. eapply Rle_trans; [|exact T4]. apply Rmult_le_compat_l; lra.
        -- destruct (Req_dec c 0) as [|cn]; [now left|right]. apply several_anchored; [assumption|].
           destruct (is_sum P) as [|[|k]] eqn:Es; [|reflexivity|destruct P; discriminate Es].
           destruct cn. now apply P5, single_anchored.
  - (* Add *)
    destruct H as (WP & WQ & Hr). destruct (IHP WP) as (L & HL1 & HL2 & HL3). destruct (IHQ WQ) as (L' & HR1 & HR2 & HR3). clear IHP IHQ.
    destruct (M1 A (computed P) (computed Q) (computed_is_float P WP) (computed_is_float Q WQ)) as (d & Hd & Hf).
    destruct (lam_delta d Hd) as (beta & B1 & B2).
    exists (added_list beta (L ++ L')). unfold represented_by. cbn [terms reference computed height].
    rewrite added_list_fst, map_app, HL1, HR1, added_list_sum, perturbed_sum_app, Hf, <- B1. repeat split.
    + apply Forall_map, Forall_app. split; (eapply Forall_impl; [|eassumption]); intros [cc b] Hb; apply bound_added; try assumption.
      now rewrite Hr.
    + rewrite sum_terms_map, sum_terms_app. rewrite W_S.
      rewrite !(sum_terms_ext (fun c => charge (added c)) charge) by reflexivity. rewrite Hr in *.
      assert ((computed P + computed Q) * (1 + d) - (perturbed_sum (reference Q) L + perturbed_sum (reference Q) L') * (1 + d)
         = (computed P - perturbed_sum (reference Q) L) * (1 + d) + (computed Q - perturbed_sum (reference Q) L') * (1 + d)) as -> by ring.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rmult_plus_distr_r.
      apply Rabs_le_inv in Hd. pose proof (sum_terms_pos charge (terms P) charge_pos). pose proof (sum_terms_pos charge (terms Q) charge_pos).
      apply Rplus_le_compat; (eapply scalar_scale; [| |apply Rle_refl|assumption|apply W_pos]).
      1,3: eapply Rle_trans; [eassumption|]; apply Rmult_le_compat_l; [assumption|apply W_le; lia].
      all: lra.
  - (* FusedAdd *)
    destruct H as (WP & WQ & An & Hr). destruct (IHP WP) as (L & HL1 & HL2 & HL3). destruct (IHQ WQ) as (L' & HR1 & HR2 & HR3). clear IHP IHQ.
    pose proof (computed_is_float Q WQ) as FD. pose proof (reference_is_float Q WQ) as Fq. pose proof (reference_is_float P WP) as Fp.
    pose proof (computed_ge1 Q WQ An) as D1. pose proof (computed_pos P WP) as B0.
    destruct (move_exp (reference Q) (reference P) Fq Fp Hr) as (t & z & T1 & T2 & T3 & T4).
    destruct (fma_spec (computed P) (computed Q) (EX (reference Q - reference P)) (computed_is_float P WP) FD (FEX A _)) as (d & c & P1 & P2 & P3 & P4 & P5).
    destruct (lam_delta d P1) as (beta & B1 & B2).
    exists (added_list beta (L ++ moved_list (reference Q) (reference P) 0 (arg (reference Q - reference P) + t + 0) L')). unfold represented_by. cbn [terms reference computed height].
    rewrite added_list_fst, map_app, moved_list_fst, HL1, HR1, added_list_sum, perturbed_sum_app, moved_list_sum, P3, <- B1, Rplus_0_r. repeat split.
    + apply Forall_map, Forall_app. split.
      * eapply Forall_impl; [|exact HL2]. intros [cc b] Hb. now apply bound_added.
      * apply Forall_map. eapply Forall_impl; [|exact HR2]. intros [cc b] Hb. apply bound_added; [|assumption].
        cbn [fst snd]. replace (arg (reference Q - reference P) + t) with (arg (reference Q - reference P) + t + 0) by ring.
        apply bound_moved; try assumption. rewrite Rabs_R0. cbn. lra.
    + rewrite sum_terms_map, sum_terms_app, W_S. rewrite !(sum_terms_ext (fun c => charge (added c)) charge) by reflexivity.
      set (X := exp (arg (reference Q - reference P) + t)) in *. pose proof (exp_pos (arg (reference Q - reference P) + t)) as HX. fold X in HX.
      set (E := EX (reference Q - reference P)) in *.
      pose proof (HEpos A (reference Q - reference P)) as E0. pose proof (HEle1 A (reference Q - reference P) ltac:(lra)) as E1. fold E in E0, E1.
      assert ((computed P + computed Q * E) * (1 + d) + c - (perturbed_sum (reference P) L + perturbed_sum (reference Q) L' * X) * (1 + d)
         = (computed P - perturbed_sum (reference P) L) * (1 + d) + ((computed Q - perturbed_sum (reference Q) L') * (X * (1 + d)) + (computed Q * z * (1 + d) + c))) as ->
         by (rewrite T3; ring).
      apply Rabs_le_inv in P1 as P1'.
      pose proof (sum_terms_pos charge (terms P) charge_pos) as CP. pose proof (sum_terms_pos charge (terms Q) charge_pos) as CQ.
      pose proof (W_pos (height Q)) as WQ0. pose proof (W_pos (Nat.max (height P) (height Q))) as WM0.
      pose proof (W_le (height Q) (Nat.max (height P) (height Q)) ltac:(lia)) as WQM.
      eapply Rle_trans; [apply Rabs_triang|]. rewrite Rmult_plus_distr_r. apply Rplus_le_compat.
      { eapply scalar_scale; [| |apply Rle_refl|assumption|apply W_pos]; [|lra].
        eapply Rle_trans; [eassumption|]. apply Rmult_le_compat_l; [assumption|apply W_le; lia]. }
      set (C' := sum_terms charge (map (moved (reference Q) (reference P) 0) (terms Q))).
      assert (0 <= C') as C'0 by (apply sum_terms_pos, charge_pos).
      assert (Hbig : forall y, y <= C' * W (height Q) -> y <= C' * ((1 + u) * W (Nat.max (height P) (height Q)))).
      { intros y Hy. eapply Rle_trans; [exact Hy|]. apply Rmult_le_compat_l; [assumption|].
        apply Rle_trans with (1 * W (Nat.max (height P) (height Q))); [lra|]. apply Rmult_le_compat_r; lra. }
      assert (Hmany : c <> 0 -> (2 <= length (terms Q))%nat).
      { intros cn. apply several_anchored; [assumption|]. destruct (is_sum Q) as [|[|k]] eqn:Es; [|reflexivity|destruct Q; discriminate Es].
        destruct cn. now apply P5, single_anchored. }
      destruct (Req_dec z 0) as [z0|zn]; [destruct (Req_dec c 0) as [c0|cn]|].
      * rewrite z0, c0, Rmult_0_r, Rmult_0_l, !Rplus_0_r. rewrite z0, Rplus_0_r in T3.
        apply scalar_scale with (sum_terms charge (terms Q)); try assumption; [| |apply charge_same].
        -- eapply Rle_trans; [eassumption|]. apply Rmult_le_compat_l; assumption.
        -- rewrite <- T3. split; [apply Rmult_le_pos; lra|].
           apply Rle_trans with (1 * (1 + d)); [apply Rmult_le_compat_r; lra|lra].
      * apply Hbig, small_move; try assumption; [|now right; apply Hmany].
        destruct P4 as [P4|P4]; [contradiction|]. rewrite z0, Rplus_0_r in T3. rewrite <- T3.
        rewrite Rabs_right in P4 by (apply Rle_ge, Rplus_le_le_0_compat; [assumption|apply Rmult_le_pos; lra]).
        assert (E <= computed Q * E) by (rewrite <- (Rmult_1_l E) at 1; apply Rmult_le_compat_r; lra).
        assert (E < N) as EN by lra. clear - EN E0 P1' U UN.
        apply Rle_trans with (N * (1 + d)); [apply Rmult_le_compat_r; lra|]. 
        apply Rle_trans with (/ 16384 * 2); [apply Rmult_le_compat; lra|lra].
      * apply Hbig, small_move; try assumption.
        -- destruct T4 as [T4|T4]; [contradiction|]. fold X in T4. eapply Rle_trans; [|exact T4]. apply Rmult_le_compat_l; lra.
        -- destruct (Req_dec c 0) as [|cn]; [now left|right; now apply Hmany].
Qed.

End Model.
