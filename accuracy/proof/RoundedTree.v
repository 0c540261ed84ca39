(* SPDX-License-Identifier: Apache-2.0 *)
(* Every tree of rounded merges is a program; Theorems 1 and 2 for trees of the select-form operator. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts.
Import ListNotations.
Open Scope R_scope.

Section Trees.
Variable A : arith.
Variable fused : bool.
Notation u := (u_ A). Notation v := (v_ A). Notation eta := (eta_ A). Notation eps0 := (eps0_ A). Notation slope := (slope_ A). Notation tau := (tau_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).

(* the computed operator, select form; EX (lo - hi) is E(fl(lo - hi)) *)
Definition merge (m_hi d_hi m_lo d_lo : R) : partial :=
  Some (m_hi, fl (d_hi + (if fused then d_lo * EX (m_lo - m_hi) else fl (d_lo * EX (m_lo - m_hi))))).
Definition rounded_op (a b : partial) : partial :=
  match a, b with
  | None, _ => b
  | _, None => a
  | Some (ma, da), Some (mb, db) => if Rle_dec mb ma then merge ma da mb db else merge mb db ma da
  end.
Fixpoint rounded_eval (t : tree) : partial :=
  match t with Leaf x => leaf x | Node l r => rounded_op (rounded_eval l) (rounded_eval r) end.

Definition join (P Q : program) : program :=   (* reference Q <= reference P *)
  if Req_EM_T (reference Q) (reference P) then Add P Q
  else if fused then FusedAdd P Q else Add P (Move (reference P) Q).
Definition join_option (p q : option program) : option program :=
  match p, q with
  | None, _ => q
  | _, None => p
  | Some P, Some Q => Some (if Rle_dec (reference Q) (reference P) then join P Q else join Q P)
  end.
Fixpoint program_of (t : tree) : option program :=
  match t with Leaf None => None | Leaf (Some x) => Some (Enter x x) | Node l r => join_option (program_of l) (program_of r) end.

(* finite merges on the highest path *)
Fixpoint merge_height (t : tree) : nat :=
  match t with Leaf _ => 0%nat | Node l r =>
    match finite (leaves l), finite (leaves r) with
    | [], _ => merge_height r | _, [] => merge_height l | _, _ => S (Nat.max (merge_height l) (merge_height r)) end end.

Definition good (P : program) : Prop := well_formed A P /\ anchored P.
Definition value (P : program) : R * R := (reference P, computed A P).

Lemma reference_join P Q : reference (join P Q) = reference P.
Proof. unfold join. destruct (Req_EM_T _ _), fused; reflexivity. Qed.
Lemma height_join P Q : height (join P Q) = S (Nat.max (height P) (height Q)).
Proof. unfold join. destruct (Req_EM_T _ _), fused; reflexivity. Qed.
Lemma join_good P Q : good P -> good Q -> reference Q <= reference P -> good (join P Q) /\
  Some (value (join P Q)) = merge (reference P) (computed A P) (reference Q) (computed A Q).
Proof.
  intros [WP AP] [WQ AQ] Hr. unfold join, merge, value, good.
  destruct (Req_EM_T (reference Q) (reference P)) as [e|ne].
  - split; [cbn; auto|]. rewrite (Rminus_diag_eq _ _ e), HE0, Rmult_1_r, (M3F A (computed A Q)) by now apply computed_is_float.
    now destruct fused.
  - assert (reference Q < reference P) by lra. destruct fused; cbn; repeat split; auto. now apply reference_is_float.
Qed.
Lemma join_row P Q : row A (join P Q) = row A P ++ row A Q.
Proof. unfold join, row. destruct (Req_EM_T _ _); [|destruct fused]; cbn [terms]; rewrite ?map_map, !map_app, ?map_map; reflexivity. Qed.
Lemma join_refs P Q : incl (references P) (row A P) -> incl (references Q) (row A Q) -> incl (references (join P Q)) (row A (join P Q)).
Proof.
  intros HP HQ. rewrite join_row.
  assert (incl (references (join P Q)) (references P ++ references Q)) as H.
  { unfold join. destruct (Req_EM_T _ _); [|destruct fused]; cbn [references]; try apply incl_refl.
    intros x Hx. apply in_app_or in Hx. apply in_or_app. destruct Hx as [Hx|[<-|Hx]]; auto. left. apply reference_in_references. }
  eapply incl_tran; [exact H|]. apply incl_app; [now apply incl_appl|now apply incl_appr].
Qed.
Lemma join_below P Q : below A P -> below A Q -> below A (join P Q).
Proof.
  intros HP HQ c. unfold join. destruct (Req_EM_T _ _); [|destruct fused]; cbn [terms]; intros Hc; apply in_map_iff in Hc;
    destruct Hc as (c' & <- & Hc); apply in_app_or in Hc; cbn; destruct Hc as [Hc|Hc]; auto;
    apply in_map_iff in Hc; destruct Hc as (c'' & <- & Hc); cbn; auto.
Qed.

Definition faithful (P : program) (l : list R) : Prop :=
  good P /\ Permutation (row A P) l /\ incl (references P) (row A P) /\ below A P /\ In (reference P) l /\ (forall x, In x l -> x <= reference P).

Lemma finite_app a b : finite (a ++ b) = finite a ++ finite b.
Proof. induction a as [|[x|] a IH]; cbn; auto. now rewrite IH. Qed.

Lemma join_faithful P Q lp lq l : faithful P lp -> faithful Q lq -> Permutation (lp ++ lq) l -> reference Q <= reference P -> faithful (join P Q) l.
Proof.
  intros (G1 & P1 & R1 & B1 & I1 & X1) (G2 & P2 & R2 & B2 & I2 & X2) Hl Hr.
  unfold faithful. split; [now apply join_good|]. split. { rewrite join_row, P1, P2. exact Hl. }
  split; [now apply join_refs|]. split; [now apply join_below|]. rewrite reference_join. split.
  - eapply Permutation_in; [exact Hl|]. apply in_or_app. now left.
  - intros x Hx. apply Permutation_sym in Hl. apply (Permutation_in _ Hl) in Hx. apply in_app_or in Hx.
    destruct Hx as [Hx|Hx]; [now apply X1|]. specialize (X2 x Hx). lra.
Qed.

Theorem tree_program t : (forall x, In x (finite (leaves t)) -> F x) ->
  rounded_eval t = option_map value (program_of t) /\
  match program_of t with
  | None => finite (leaves t) = []
  | Some P => faithful P (finite (leaves t)) /\ height P = merge_height t
  end.
Proof.
  induction t as [[x|]|l IHl r IHr]; cbn [leaves program_of rounded_eval]; intros HF.
  - cbn. unfold value. cbn. rewrite (Rminus_diag_eq x x), HE0 by reflexivity. split; [reflexivity|]. split; [|reflexivity].
    unfold faithful, good, row, below. cbn. split; [|split; [|split; [|split; [|split]]]]; auto using incl_refl.
    + assert (F x) by (apply HF; now left). repeat split; auto. apply Adm_neg. lra.
    + intros c [<-|[]]. cbn. lra.
    + intros y [<-|[]]. lra.
  - cbn. auto.
  - rewrite finite_app in *. destruct IHl as [El Hl]; [intros; apply HF, in_or_app; now left|].
    destruct IHr as [Er Hr]; [intros; apply HF, in_or_app; now right|].
    rewrite El, Er. cbn [merge_height]. destruct (program_of l) as [P|], (program_of r) as [Q|]; cbn [option_map join_option].
    + destruct Hl as [FP HP], Hr as [FQ HQ]. destruct (finite (leaves l)) as [|x ll] eqn:E1; [destruct FP as (_ & _ & _ & _ & [] & _)|].
      destruct (finite (leaves r)) as [|y lr] eqn:E2; [destruct FQ as (_ & _ & _ & _ & [] & _)|].
      rewrite <- E1, <- E2 in *.
      change (rounded_op (Some (value P)) (Some (value Q))) with (if Rle_dec (reference Q) (reference P)
        then merge (reference P) (computed A P) (reference Q) (computed A Q) else merge (reference Q) (computed A Q) (reference P) (computed A P)).
      destruct (Rle_dec (reference Q) (reference P)) as [Hle|Hle].
      * destruct (join_good P Q (proj1 FP) (proj1 FQ) Hle) as [_ ->]. split; [reflexivity|].
        rewrite height_join, HP, HQ. split; [|reflexivity]. eapply join_faithful; eauto.
      * assert (reference P <= reference Q) by lra. destruct (join_good Q P (proj1 FQ) (proj1 FP) H) as [_ ->]. split; [reflexivity|].
        rewrite height_join, HP, HQ, Nat.max_comm. split; [|reflexivity]. eapply join_faithful; eauto. apply Permutation_app_comm.
    + rewrite Hr, app_nil_r. split; [now destruct (value P)|]. destruct Hl as [FP HP]. split; [assumption|].
      destruct (finite (leaves l)) eqn:E1; [destruct FP as (_ & _ & _ & _ & [] & _)|assumption].
    + rewrite Hl. split; [reflexivity|]. exact Hr.
    + rewrite Hl, Hr. auto.
Qed.

Lemma exp_sum_perm m a b : Permutation a b -> exp_sum m a = exp_sum m b.
Proof. induction 1; cbn; lra. Qed.

(* Theorems 1 and 2 for every tree and every order of the leaves *)
Theorem tree_bound t : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) ->
  let xs := finite (leaves t) in let m := max_of xs in let s := exp_sum m xs in let h := merge_height t in
  exists P D, rounded_eval t = Some (m, D) /\ program_of t = Some P /\ well_formed A P /\ reference P = m /\ Permutation (map logit (terms A P)) xs /\ height P = h /\
    eval t = Some (m, s) /\
    (* Theorem 2 *)
    1 <= D <= INR (length xs) * (1 + u) ^ h /\
    ((forall i, (i <= length xs)%nat -> F (INR i)) -> D <= INR (length xs)) /\
    (* Theorem 1: what beta_i is made of *)
    (forall c, In c (terms A P) ->
       (exp_count c <= Nat.min (h + 1) (above xs (logit c)))%nat /\ (product_count c <= Nat.min h (above xs (logit c)))%nat /\
       travel m c = Rabs (logit c - m) /\ Rabs (arg_error c) <= v * Rabs (logit c - m) /\
       ((exp_count c <= 1)%nat -> arg_error c = arg (logit c - m) - (logit c - m))) /\
    (* Theorem 1 *)
    (forall kmax, (forall c, In c (terms A P) -> (length (moves c) <= kmax)%nat) ->
       let a := INR (length xs) * (1 + INR (Nat.min 1 kmax)) * exp tau * eta / s in
       a * exp (2 * b1 A P) < 1 -> Rabs (ln (D / s)) <= b1 A P + lam (a * exp (2 * b1 A P))).
Proof.
  intros Hne HF xs m s h. destruct (tree_program t HF) as [Ev Hp].
  destruct (program_of t) as [P|]; [|contradiction]. destruct Hp as [(G & Pm & Rf & Be & In_ & Mx) Hh]. destruct G as [WP AP].
  assert (Em : reference P = m). { apply Rle_antisym; [now apply max_of_ge|]. apply Mx. now apply max_of_in. }
  assert (Eclosed : eval t = Some (m, s)).
  { rewrite eval_closed. unfold s, m, xs. destruct (finite (leaves t)) as [|y l]; [congruence|reflexivity]. }
  exists P, (computed A P). rewrite Ev. cbn [option_map]. unfold value. rewrite Em.
  assert (Hlen : length (terms A P) = length xs) by (rewrite <- (map_length logit); now apply Permutation_length).
  split; [reflexivity|]. split; [reflexivity|]. split; [assumption|]. split; [reflexivity|]. split; [exact Pm|]. split; [exact Hh|]. change (height P = h) in Hh.
  split; [assumption|]. split; [|split; [|split]].
  - split; [now apply computed_ge1|]. rewrite <- Hlen, <- Hh. now apply computed_le_terms.
  - intros Hi. rewrite <- Hlen in *. now apply computed_le_count.
  - intros c Hc. assert (logit c <= start c) as Hb by now apply Be.
    assert (incl (references P) xs) as Hrx by (intros r Hr; eapply Permutation_in; [exact Pm|now apply Rf]).
    destruct (counts A P xs c 0 WP Hc Hrx ltac:(lra) ltac:(lra)) as (_ & _ & _ & _ & C5 & C6).
    destruct (C5 (settled_tau0 A P WP Be Rf)). destruct (C6 Hb).
    assert (logit c <= reference P) as Hxm. { apply Mx. eapply Permutation_in; [exact Pm|]. now apply in_map. }
    assert (travel m c = Rabs (logit c - m)) as El. { rewrite <- Em. rewrite (travel_rho A P c WP Hc Hxm). rewrite Rmax_left by lra. ring. }
    rewrite <- Hh. split; [apply Nat.min_glb; assumption|]. split; [apply Nat.min_glb; assumption|]. split; [assumption|]. split.
    + rewrite <- El, <- Em. now apply sigma_many.
    + rewrite <- Em. now apply sigma_one.
  - intros kmax Hkmax Ha. set (a := INR (length xs) * (1 + INR (Nat.min 1 kmax)) * exp tau * eta / s) in *.
    assert (ssum A P = s) as Es. { unfold ssum, s. rewrite Em. now apply exp_sum_perm. }
    assert (INR (length (row A P)) * ((1 + INR (Nat.min 1 kmax)) * exp tau) * eta / ssum A P = a) as Ea.
    { unfold a, row. rewrite map_length, Hlen, Es. unfold Rdiv. ring. }
    destruct (theorem1 A P ((1 + INR (Nat.min 1 kmax)) * exp tau) WP) as [_ H].
    + intros c Hc. eapply Rle_trans; [apply charge_min|]. apply Rmult_le_compat_r; [left; apply exp_pos|].
      apply Rplus_le_compat_l, le_INR. specialize (Hkmax c Hc). lia.
    + cbv zeta. rewrite Ea. exact Ha.
    + cbv zeta in H. rewrite Ea, Es in H. exact H.
Qed.

(* One formula for all trees and orders: beta_i from x_i's distance and rank and the tree's height alone. *)
Definition beta_all (xs : list R) (h : nat) (x : R) : R :=
  v * Rabs (x - max_of xs) + INR (Nat.min (h + 1) (above xs x)) * eps0 + slope * (1 + v) * Rabs (x - max_of xs)
  + INR (Nat.min h (above xs x) + h) * lam u.
Definition b1_all (xs : list R) (h : nat) : R :=
  ln (weighted_sum R (fun x => x - max_of xs) (beta_all xs h) xs / exp_sum (max_of xs) xs).
Definition a_all (xs : list R) : R := INR (length xs) * 2 * exp tau * eta / exp_sum (max_of xs) xs.

Lemma weighted_sum_perm B w f (a b : list B) : Permutation a b -> weighted_sum B w f a = weighted_sum B w f b.
Proof. induction 1; cbn; lra. Qed.
Lemma weighted_sum_terms m f T : weighted_sum R (fun x => x - m) f (map logit T) = sum_terms (fun c => exp (logit c - m + f (logit c))) T.
Proof. induction T as [|c T IH]; cbn; [reflexivity|]. now rewrite IH. Qed.
Lemma lam_mono x y : x <= y -> y < 1 -> lam x <= lam y.
Proof. intros H1 H2. unfold lam. apply Ropp_le_contravar, ln_le'; lra. Qed.

Theorem tree_closed t : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) ->
  let xs := finite (leaves t) in let h := merge_height t in
  a_all xs * exp (2 * b1_all xs h) < 1 ->
  exists D, rounded_eval t = Some (max_of xs, D) /\ 1 <= D /\
    Rabs (ln (D / exp_sum (max_of xs) xs)) <= b1_all xs h + lam (a_all xs * exp (2 * b1_all xs h)).
Proof.
  intros Hne HF xs h Hlt.
  destruct (tree_bound t Hne HF) as (P & D & Q1 & Q2 & Q3 & Q4 & Q5 & Q6 & Q7 & Q8 & Q9 & Q10 & Q11).
  fold xs in Q1, Q4, Q5, Q7, Q8, Q9, Q10, Q11. fold h in Q6, Q8, Q10.
  exists D. split; [assumption|]. split; [apply Q8|].
  set (s := exp_sum (max_of xs) xs) in *. assert (1 <= s) as Hs by (unfold s; apply exp_sum_ge1, max_of_in, Hne).
  assert (Hb : b1 A P <= b1_all xs h).
  { unfold b1, b1_all, perturbed_bound. fold s. assert (ssum A P = s) as ->. { unfold ssum, s. rewrite Q4. now apply exp_sum_perm. }
    assert (Hle : sum_terms (fun c => exp (logit c - reference P + beta A P c)) (terms A P) <= weighted_sum R (fun x => x - max_of xs) (beta_all xs h) xs).
    { rewrite <- (weighted_sum_perm _ _ _ _ _ Q5). clear Q5. rewrite Q4.
      apply Rle_trans with (sum_terms (fun c => exp (logit c - max_of xs + beta_all xs h (logit c))) (terms A P)).
      - apply sum_terms_le. intros c Hc. apply exp_le. apply Rplus_le_compat_l. destruct (Q10 c Hc) as (R1 & R2 & R3 & R4 & _).
        unfold beta, beta_all. rewrite Q4, R3, Q6.
        apply le_INR in R1. assert (INR (product_count c + h) <= INR (Nat.min h (above xs (logit c)) + h)) by (apply le_INR; lia).
        pose proof (Heps0 A). pose proof (lam_pos A).
        pose proof (Rmult_le_compat_r _ _ _ (Heps0 A) R1). pose proof (Rmult_le_compat_r _ _ _ (lam_pos A) H). lra.
      - right. symmetry. apply weighted_sum_terms. }
    assert (0 < sum_terms (fun c => exp (logit c - reference P + beta A P c)) (terms A P)).
    { pose proof (terms_len_pos A P). destruct (terms A P) as [|c T]; [cbn in *; lia|]. cbn [sum_terms].
      pose proof (exp_pos (logit c - reference P + beta A P c)). assert (0 <= sum_terms (fun c => exp (logit c - reference P + beta A P c)) T); [|lra].
      apply sum_terms_pos. intros. left. apply exp_pos. }
    apply ln_le'; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|assumption]. }
  assert (Hk : forall c, In c (terms A P) -> (length (moves c) <= h + 1)%nat).
  { intros c Hc. destruct (Q10 c Hc) as (R1 & _). unfold exp_count in R1. lia. }
  specialize (Q11 (h + 1)%nat Hk). cbv zeta in Q11. replace (Nat.min 1 (h + 1)) with 1%nat in Q11 by lia.
  replace (1 + INR 1) with 2 in Q11 by (cbn; ring). 
  assert (a_all xs = INR (length xs) * 2 * exp tau * eta / s) as Ea by reflexivity. rewrite <- Ea in Q11.
  assert (0 <= a_all xs).
  { unfold a_all. fold s. pose proof (eta_pos A). pose proof (exp_pos tau). pose proof (pos_INR (length xs)).
    apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra]. repeat apply Rmult_le_pos; lra. }
  assert (a_all xs * exp (2 * b1 A P) <= a_all xs * exp (2 * b1_all xs h)).
  { apply Rmult_le_compat_l; [assumption|]. apply exp_le. lra. }
  eapply Rle_trans; [apply Q11; lra|]. apply Rplus_le_compat; [assumption|].
  apply lam_mono; assumption.
Qed.

Lemma max_of_perm a b : Permutation a b -> a <> [] -> max_of a = max_of b.
Proof.
  intros H Hn. assert (b <> []) as Hb by (intros ->; apply Hn; apply Permutation_nil; now apply Permutation_sym).
  apply Rle_antisym; apply max_of_ge; [eapply Permutation_in; [exact H|]|eapply Permutation_in; [apply Permutation_sym, H|]]; now apply max_of_in.
Qed.

(* Associative and commutative up to the two trees' bounds; the maximum exactly. *)
Theorem trees_agree t t' : Permutation (finite (leaves t)) (finite (leaves t')) ->
  finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) ->
  let B t := b1_all (finite (leaves t)) (merge_height t) + lam (a_all (finite (leaves t)) * exp (2 * b1_all (finite (leaves t)) (merge_height t))) in
  let ok t := a_all (finite (leaves t)) * exp (2 * b1_all (finite (leaves t)) (merge_height t)) < 1 in
  ok t -> ok t' -> exists m D D', rounded_eval t = Some (m, D) /\ rounded_eval t' = Some (m, D') /\ Rabs (ln (D / D')) <= B t + B t'.
Proof.
  intros Hp Hne HF B ok H1 H2.
  assert (Hne' : finite (leaves t') <> []) by (intros E; rewrite E in Hp; apply Hne, Permutation_nil; now apply Permutation_sym).
  destruct (tree_closed t Hne HF H1) as (D & E1 & P1 & B1).
  destruct (tree_closed t' Hne') as (D' & E2 & P2 & B2); [intros x Hx; apply HF; eapply Permutation_in; [apply Permutation_sym, Hp|exact Hx]|exact H2|].
  exists (max_of (finite (leaves t))), D, D'. split; [assumption|]. split; [now rewrite (max_of_perm _ _ Hp Hne)|].
  fold (B t) in B1. fold (B t') in B2. rewrite <- (max_of_perm _ _ Hp Hne), <- (exp_sum_perm _ _ _ Hp) in B2.
  set (s := exp_sum (max_of (finite (leaves t))) (finite (leaves t))) in *.
  assert (1 <= s) as Hs by (unfold s; apply exp_sum_ge1, max_of_in, Hne).
  assert (ln (D / D') = ln (D / s) - ln (D' / s)) as ->.
  { unfold Rdiv. rewrite !ln_mult, !ln_Rinv by (try apply Rinv_0_lt_compat; lra). ring. }
  unfold Rminus. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp. lra.
Qed.
(* Equal logits: every factor is E(0) = 1, and ones add up exactly while their number is a float. *)
Lemma equal_logits m t : (forall x, In x (finite (leaves t)) -> x = m) -> let n := length (finite (leaves t)) in
  (forall i, (i <= n)%nat -> F (INR i)) -> rounded_eval t = match n with O => None | _ => Some (m, INR n) end.
Proof.
  induction t as [x|l IHl r IHr]; intros H n Hn; unfold n in *; clear n; cbn [rounded_eval leaves finite] in *.
  - destruct x as [x|]; cbn in *; [now rewrite (H x (or_introl eq_refl))|reflexivity].
  - rewrite finite_app, app_length in *.
    rewrite IHl, IHr; try (intros; apply Hn; lia); try (intros x Hx; apply H, in_or_app; now auto).
    set (a := length (finite (leaves l))) in *. set (b := length (finite (leaves r))) in *.
    destruct a as [|a], b as [|b]; cbn [Nat.add rounded_op]; try reflexivity; [now rewrite Nat.add_0_r|].
    destruct (Rle_dec m m) as [_|N]; [|exfalso; apply N; lra]. unfold merge. replace (m - m) with 0 by ring. rewrite (HE0 A), Rmult_1_r.
    assert (F (INR (S b))) as Fb by (apply Hn; lia).
    replace (if fused then INR (S b) else fl (INR (S b))) with (INR (S b)) by (destruct fused; [reflexivity|symmetry; now apply M3F]).
    rewrite <- plus_INR. rewrite (M3F A) by (apply Hn; lia). do 2 f_equal.
Qed.

End Trees.

