(* SPDX-License-Identifier: Apache-2.0 *)
(* The head of an online normalizer, from above: a partial of tail logits enters a partial of head logits with an error of at most itself. *)
Require Import Reals List Permutation Lra Lia.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.HeightCap Assay.LeafDepth Assay.FloatSum Assay.HeadTail.
Import ListNotations.
Open Scope R_scope.

Section Up.
Variable A : arith.
Hypothesis Hn : nearest A.
Notation u := (u_ A). Notation v := (v_ A). Notation N := (N_ A). Notation eta := (eta_ A). Notation omega := (omega_ A).
Notation eps0 := (eps0_ A). Notation slope := (slope_ A). Notation tau := (tau_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).
Notation computed := (computed A). Notation terms := (terms A). Notation well_formed := (well_formed A). Notation moved := (moved A). Notation rounding_bound := (rounding_bound A). Notation charge := (charge A).

(* programs whose heads are told from tails: each term with its factor, 1 or 2; addition_count counts the additions of two heads *)
Inductive head_program : program -> list (term * R) -> Prop :=
| head_enter x : F x -> head_program (Enter x x) [(Term x x (arg (x - x) - (x - x)) [] 0 0, 1)]
| head_tail_enters P Q L : head_program P L -> well_formed Q -> reference P = reference Q -> head_program (Add P Q) (L ++ map (fun c => (c, 2)) (terms Q))
| head_add P Q L L' : head_program P L -> head_program Q L' -> reference P = reference Q -> head_program (Add P Q) (map (fun y => (added (fst y), snd y)) (L ++ L'))
| head_move r P L : head_program P L -> anchored P -> F r -> reference P < r -> head_program (Move r P) (map (fun y => (moved (reference P) r (is_sum P) (fst y), snd y)) L)
| head_fused_tail P Q L : head_program P L -> well_formed Q -> anchored Q -> reference Q < reference P ->
    head_program (FusedAdd P Q) (L ++ map (fun c => (moved (reference Q) (reference P) 0 c, 2)) (terms Q))
| head_fused P Q L L' : head_program P L -> head_program Q L' -> anchored Q -> reference Q < reference P ->
    head_program (FusedAdd P Q) (map (fun y => (added (fst y), snd y)) (L ++ map (fun y => (moved (reference Q) (reference P) 0 (fst y), snd y)) L')).

Definition strip (c : term) : term := Term (logit c) (start c) (arg_error c) (moves c) (product_count c) 0.
Definition head_sum (r : R) (L : list (term * R)) : R := sum_over (fun y => snd y * exp (logit (fst y) - r + (arg_error (fst y) + rounding_bound r (fst y)))) L.

Lemma head_program_well_formed P L : head_program P L -> well_formed P /\ map strip (map fst L) = map strip (terms P) /\ (forall y, In y L -> 0 <= snd y).
Proof.
  induction 1 as [x Fx|P Q L HP [W [E K]] WQ Hr|P Q L L' HP [W [E K]] HQ [W' [E' K']] Hr|r P L HP [W [E K]] An Fr Hr
    |P Q L HP [W [E K]] WQ An Hr|P Q L L' HP [W [E K]] HQ [W' [E' K']] An Hr]; cbn [RoundedModel.well_formed RoundedModel.terms].
  - split; [|split; [reflexivity|]].
    + repeat split; auto. apply Adm_neg. lra.
    + intros y [<-|[]]. cbn. lra.
  - split; [auto|]. split.
    + rewrite map_app, map_app, E, !map_map, map_app. reflexivity.
    + intros y Hy. apply in_app_or in Hy. destruct Hy as [Hy|Hy]; [now apply K|]. apply in_map_iff in Hy. destruct Hy as (c & <- & _). cbn. lra.
  - split; [auto|]. split.
    + rewrite !map_map, !map_app. rewrite !map_map in E, E'. cbn [fst]. 
      change (fun x : term * R => strip (added (fst x))) with (fun x : term * R => strip (fst x)). rewrite E, E'. reflexivity.
    + intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn. apply in_app_or in Hz. destruct Hz; [now apply K|now apply K'].
  - split; [auto|]. split.
    + rewrite !map_map. cbn [fst]. rewrite map_map in E.
      assert (G : forall c, strip (moved (reference P) r (is_sum P) c) = strip (moved (reference P) r (is_sum P) (strip c))) by reflexivity.
      transitivity (map (fun c => strip (moved (reference P) r (is_sum P) c)) (map (fun x => strip (fst x)) L)); [rewrite map_map; apply map_ext; intros; apply G|].
      rewrite E, map_map. apply map_ext. intros. symmetry. apply G.
    + intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn. now apply K.
  - split; [auto|]. split.
    + rewrite map_app, map_app, E, !map_map, map_app, map_map. reflexivity.
    + intros y Hy. apply in_app_or in Hy. destruct Hy as [Hy|Hy]; [now apply K|]. apply in_map_iff in Hy. destruct Hy as (c & <- & _). cbn. lra.
  - split; [auto|]. split.
    + rewrite map_map. cbn [fst].
      change (fun x : term * R => strip (added (fst x))) with (fun x : term * R => strip (fst x)).
      rewrite !map_map, !map_app, !map_map. cbn [fst]. change (fun x : term => strip (added x)) with strip.
      rewrite <- (map_map fst strip) at 1. rewrite E. f_equal.
      assert (G : forall c, strip (moved (reference Q) (reference P) 0 c) = strip (moved (reference Q) (reference P) 0 (strip c))) by reflexivity.
      transitivity (map (fun c => strip (moved (reference Q) (reference P) 0 c)) (map strip (map fst L'))); [rewrite !map_map; apply map_ext; intros; apply G|].
      rewrite E', map_map. apply map_ext. intros. symmetry. apply G.
    + intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn. apply in_app_or in Hz. destruct Hz as [Hz|Hz]; [now apply K|].
      apply in_map_iff in Hz. destruct Hz as (z' & <- & Hz). cbn. now apply K'.
Qed.

Lemma head_sum_app r a b : head_sum r (a ++ b) = head_sum r a + head_sum r b.
Proof. apply sum_over_app. Qed.
Lemma head_sum_pos r L : (forall y, In y L -> 0 <= snd y) -> 0 <= head_sum r L.
Proof. intros H. apply sum_over_pos. intros y Hy. apply Rmult_le_pos; [now apply H|left; apply exp_pos]. Qed.
Lemma head_sum_scale r r' (g : term * R -> term * R) L k : (forall y, In y L -> 0 <= snd y) -> (forall y, snd (g y) = snd y /\ logit (fst (g y)) = logit (fst y) /\
    logit (fst y) - r + (arg_error (fst y) + rounding_bound r (fst y)) + k <= logit (fst y) - r' + (arg_error (fst (g y)) + rounding_bound r' (fst (g y)))) ->
  head_sum r L * exp k <= head_sum r' (map g L).
Proof.
  intros H0 H. unfold head_sum. rewrite sum_over_map, Rmult_comm, <- sum_over_scal. apply sum_over_le. intros y Hy. destruct (H y) as (-> & -> & H3).
  replace (exp k * (snd y * exp (logit (fst y) - r + (arg_error (fst y) + rounding_bound r (fst y))))) with (snd y * exp (logit (fst y) - r + (arg_error (fst y) + rounding_bound r (fst y)) + k))
    by (rewrite (exp_plus _ k); ring).
  apply Rmult_le_compat_l; [now apply H0|]. now apply exp_le.
Qed.

(* a tail moved to a higher reference with no rounding of its product: what a fused addition adds *)
Lemma unrounded_tail Q r : well_formed Q -> anchored Q -> F r -> reference Q < r ->
  computed Q * EX (reference Q - r) <= head_sum r (map (fun c => (moved (reference Q) r 0 c, 1)) (terms Q))
    + sum_terms charge (map (moved (reference Q) r 0) (terms Q)) * W A (height Q).
Proof.
  intros WQ An Fr Hr. pose proof (Hu A) as U. destruct (representation A Q WQ) as (L & L1 & L2 & L3).
  pose proof (reference_is_float A Q WQ) as Fq.
  destruct (move_exp A (reference Q) r Fq Fr Hr) as (t & z & T1 & T2 & T3 & T4).
  set (X := exp (arg (reference Q - r) + t)) in *. assert (HX : 0 < X) by apply exp_pos.
  pose proof (HEpos A (reference Q - r)) as E0. pose proof (HEle1 A (reference Q - r) ltac:(lra)) as E1.
  set (Z := computed Q - perturbed_sum (reference Q) L) in *. set (C := sum_terms charge (terms Q)) in *.
  set (C' := sum_terms charge (map (moved (reference Q) r 0) (terms Q))). set (Wh := W A (height Q)) in *.
  assert (W0 : 0 <= Wh) by apply W_pos. assert (C0 : 0 <= C) by apply sum_terms_pos, charge_pos.
  assert (CC : C * Wh <= C' * Wh) by (apply Rmult_le_compat_r; [assumption|apply charge_same]).
  assert (HZ : Z * X + computed Q * z <= C' * Wh).
  { destruct T4 as [z0|Hs].
    - rewrite z0, Rplus_0_r in T3. rewrite z0, Rmult_0_r, Rplus_0_r. apply Rabs_le_inv in L3.
      assert (Z * X <= C * Wh); [|lra]. apply Rle_trans with (C * Wh * X); [apply Rmult_le_compat_r; lra|].
      rewrite <- (Rmult_1_r (C * Wh)) at 2. apply Rmult_le_compat_l; [now apply Rmult_le_pos|lra].
    - assert (Hs' : X * (1 + 0) <= / 8). { rewrite Rplus_0_r, Rmult_1_r. assert (X * 1 <= X * (1 + u)) by (apply Rmult_le_compat_l; lra). lra. }
      assert (d0 : Rabs 0 <= u) by (rewrite Rabs_R0; lra). assert (o0 : Rabs 0 <= omega) by (rewrite Rabs_R0; pose proof (Hom A); lra).
      pose proof (small_move A Q (reference Q) r 0 Z X z 0 0 WQ An L3 HX d0 Hs' T2 o0 (or_introl eq_refl)) as Q'. fold C' Wh in Q'. apply Rabs_le_inv in Q'. lra. }
  assert (HS : perturbed_sum (reference Q) L * X <= head_sum r (map (fun c => (moved (reference Q) r 0 c, 1)) (terms Q))).
  { unfold head_sum. rewrite sum_over_map, <- L1, sum_over_map. cbn [fst snd]. clear - L2 Hr T1.
    induction L2 as [|[c b] l Hcb _ IH]; cbn [perturbed_sum sum_over map fst snd]; [lra|].
    assert (N0 : Rabs 0 <= INR 0 * lam u) by (rewrite Rabs_R0; cbn; lra).
    destruct (bound_moved A (reference Q) r 0 c b t 0 Hcb Hr T1 N0) as [B _]. cbn [fst snd] in B.
    assert (G : exp (logit c - reference Q + b) * X <= 1 * exp (logit (moved (reference Q) r 0 c) - r + (arg_error (moved (reference Q) r 0 c) + rounding_bound r (moved (reference Q) r 0 c)))); [|lra].
    unfold X. rewrite <- exp_plus, Rmult_1_l. apply exp_le. apply Rabs_le_inv in B. change (logit (moved (reference Q) r 0 c)) with (logit c). lra. }
  rewrite T3. replace (computed Q * (X + z)) with (perturbed_sum (reference Q) L * X + (Z * X + computed Q * z)) by (unfold Z; ring). lra.
Qed.

Theorem head_program_above P L : head_program P L -> computed P <= head_sum (reference P) L + 2 * (sum_terms charge (terms P) * W A (height P)).
Proof.
  pose proof (Hu A) as U. pose proof (HN A) as UN. pose proof (Hom A) as UO.
  induction 1 as [x Fx|P Q L HP IH WQ Hr|P Q L L' HP IHP HQ IHQ Hr|r P L HP IH An Fr Hr|P Q L HP IH WQ An Hr|P Q L L' HP IHP HQ IHQ An Hr].
  - cbn [RoundedModel.computed RoundedModel.terms reference height sum_terms]. unfold head_sum. cbn [sum_over fst snd logit arg_error]. set (cc := Term x x (arg (x - x) - (x - x)) [] 0 0).
    assert (Hb : rounding_bound x cc = 0).
    { unfold RoundedModel.rounding_bound, exp_count, enters_by_exp, travel, cc. cbn. destruct (Req_EM_T x x); [|congruence]. cbn. assert (x - x = 0) as -> by ring. rewrite Rabs_R0. ring. }
    rewrite Hb. assert (x - x = 0) as -> by ring. rewrite HE0, arg0. assert (0 + (0 - 0 + 0) = 0) as -> by ring. rewrite exp_0.
    pose proof (charge_pos A cc). pose proof (W_pos A 0). assert (0 <= (charge cc + 0) * W A 0) by (apply Rmult_le_pos; lra). lra.
  - (* a tail enters *)
    destruct (head_program_well_formed P L HP) as (WP & _ & K). destruct (representation A Q WQ) as (LQ & Q1 & Q2 & Q3).
    cbn [RoundedModel.computed RoundedModel.terms reference height]. rewrite head_sum_app, sum_terms_map, sum_terms_app. rewrite (sum_terms_ext (fun c => charge (added c)) charge (terms P)), (sum_terms_ext (fun c => charge (added c)) charge (terms Q)) by reflexivity.
    assert (E1 : fl (computed P + computed Q) <= computed P + 2 * computed Q).
    { pose proof (Hn (computed P) (computed Q) (computed_is_float A P WP)) as H. pose proof (computed_pos A Q WQ). rewrite (Rabs_right (computed Q)) in H by lra.
      apply Rabs_le_inv in H. lra. }
    assert (E2 : 2 * perturbed_sum (reference Q) LQ <= head_sum (reference P) (map (fun c => (c, 2)) (terms Q))).
    { rewrite <- Q1, map_map. unfold head_sum. rewrite sum_over_map. cbn [fst snd]. rewrite Hr. clear - Q2.
      induction Q2 as [|[cc b] l [H1 H2] _ IH]; cbn [perturbed_sum sum_over]; [lra|]. cbn [fst snd] in *.
      assert (exp (logit cc - reference Q + b) <= exp (logit cc - reference Q + (arg_error cc + rounding_bound (reference Q) cc))); [|lra].
      apply exp_le. apply Rabs_le_inv in H1. lra. }
    apply Rabs_le_inv in Q3. pose proof (sum_terms_pos charge (terms P) (charge_pos A)) as C1. pose proof (sum_terms_pos charge (terms Q) (charge_pos A)) as C2.
    pose proof (W_le A (height P) (S (Nat.max (height P) (height Q))) ltac:(lia)) as W1.
    pose proof (W_le A (height Q) (S (Nat.max (height P) (height Q))) ltac:(lia)) as W2.
    pose proof (Rmult_le_compat_l _ _ _ C1 W1). pose proof (Rmult_le_compat_l _ _ _ C2 W2). lra.
  - (* two heads *)
    destruct (head_program_well_formed P L HP) as (WP & _ & K). destruct (head_program_well_formed Q L' HQ) as (WQ & _ & K').
    cbn [RoundedModel.computed RoundedModel.terms reference height]. rewrite sum_terms_map, sum_terms_app. rewrite (sum_terms_ext (fun c => charge (added c)) charge (terms P)), (sum_terms_ext (fun c => charge (added c)) charge (terms Q)) by reflexivity.
    destruct (M1 A _ _ (computed_is_float A P WP) (computed_is_float A Q WQ)) as (d & Hd & ->). destruct (lam_delta A d Hd) as (b & B1 & B2). apply Rabs_le_inv in Hd, B2.
    assert (E1 : head_sum (reference P) (L ++ L') * (1 + d) <= head_sum (reference P) (map (fun y => (added (fst y), snd y)) (L ++ L'))).
    { rewrite B1. apply head_sum_scale.
      - intros y Hy. apply in_app_or in Hy. destruct Hy; auto.
      - intros y. cbn. split; [reflexivity|]. split; [reflexivity|]. unfold RoundedModel.rounding_bound, exp_count, travel. cbn. rewrite !plus_INR, S_INR.
        replace (enters_by_exp (added (fst y))) with (enters_by_exp (fst y)) by reflexivity. lra. }
    rewrite W_S. pose proof (sum_terms_pos charge (terms P) (charge_pos A)) as C1. pose proof (sum_terms_pos charge (terms Q) (charge_pos A)) as C2.
    pose proof (W_le A (height P) (Nat.max (height P) (height Q)) ltac:(lia)) as W1. pose proof (W_le A (height Q) (Nat.max (height P) (height Q)) ltac:(lia)) as W2.
    pose proof (W_pos A (Nat.max (height P) (height Q))) as W0. set (Wm := W A (Nat.max (height P) (height Q))) in *.
    pose proof (Rmult_le_compat_l _ _ _ C1 W1). pose proof (Rmult_le_compat_l _ _ _ C2 W2). rewrite <- Hr in IHQ. rewrite head_sum_app in E1.
    set (CW := (sum_terms charge (terms P) + sum_terms charge (terms Q)) * Wm). assert (CW0 : 0 <= CW) by (apply Rmult_le_pos; lra).
    assert (S1 : computed P + computed Q <= head_sum (reference P) L + head_sum (reference P) L' + 2 * CW) by (unfold CW; lra).
    assert (S2 : (computed P + computed Q) * (1 + d) <= (head_sum (reference P) L + head_sum (reference P) L' + 2 * CW) * (1 + d)) by (apply Rmult_le_compat_r; lra).
    assert (2 * CW * (1 + d) <= 2 * CW * (1 + u)) by (apply Rmult_le_compat_l; lra).
    replace (2 * ((sum_terms charge (terms P) + sum_terms charge (terms Q)) * ((1 + u) * Wm))) with (2 * CW * (1 + u)) by (unfold CW; ring). lra.
  - (* a move *)
    destruct (head_program_well_formed P L HP) as (WP & _ & K).
    pose proof (computed_is_float A P WP) as FD. pose proof (reference_is_float A P WP) as Fp. pose proof (computed_ge1 A P WP An) as D1.
    destruct (move_exp A (reference P) r Fp Fr Hr) as (t & z & T1 & T2 & T3 & T4).
    destruct (prod_spec A (computed P) (EX (reference P - r)) FD (FEX A _)) as (d & c & P1 & P2 & P3 & P4 & P5 & P6).
    assert (exists beta, 1 + d = exp beta /\ Rabs beta <= INR (is_sum P) * lam u) as (beta & B1 & B2).
    { destruct (is_sum P) as [|[|k]] eqn:E; [| |destruct P; discriminate E].
      - destruct (P5 (single_anchored A P WP An E)) as [-> _]. exists 0. rewrite exp_0, Rabs_R0. cbn. split; lra.
      - destruct (lam_delta A d P1) as (beta & ? & ?). exists beta. split; [assumption|]. cbn. lra. }
    cbn [RoundedModel.computed RoundedModel.terms reference height].
    assert (E1 : head_sum (reference P) L * exp (arg (reference P - r) + t + beta) <= head_sum r (map (fun y => (moved (reference P) r (is_sum P) (fst y), snd y)) L)).
    { apply head_sum_scale; [assumption|]. intros y. cbn. split; [reflexivity|]. split; [reflexivity|]. apply Rabs_le_inv in T1, B2.
      unfold RoundedModel.rounding_bound, exp_count, travel. cbn [logit start arg_error moves product_count addition_count RoundedModel.moved length]. replace (enters_by_exp (moved (reference P) r (is_sum P) (fst y))) with (enters_by_exp (fst y)) by reflexivity.
      rewrite !plus_INR, S_INR. lra. }
    set (X := exp (arg (reference P - r) + t)) in *. pose proof (exp_pos (arg (reference P - r) + t)) as HX. fold X in HX.
    rewrite (exp_plus (arg (reference P - r) + t)) in E1. fold X in E1. rewrite <- B1 in E1.
    pose proof (HEpos A (reference P - r)) as E0. pose proof (HEle1 A (reference P - r) ltac:(lra)) as EL.
    set (E := EX (reference P - r)) in *. apply Rabs_le_inv in P1 as P1'.
    set (H0 := head_sum (reference P) L) in *. set (Z := Rmax 0 (computed P - H0)).
    set (C := sum_terms charge (terms P)) in *. set (C' := sum_terms charge (map (moved (reference P) r (is_sum P)) (terms P))). set (Wh := W A (height P)) in *.
    pose proof (sum_terms_pos charge (terms P) (charge_pos A)) as C0. fold C in C0. pose proof (W_pos A (height P)) as W0. fold Wh in W0.
    assert (CC : C * Wh <= C' * Wh) by (apply Rmult_le_compat_r; [assumption|apply charge_same]). assert (CW0 : 0 <= C * Wh) by now apply Rmult_le_pos.
    assert (Z0 : 0 <= Z <= 2 * (C * Wh)) by (unfold Z; split; [apply Rmax_l|apply Rmax_lub; lra]).
    assert (ZD : computed P <= H0 + Z) by (unfold Z; pose proof (Rmax_r 0 (computed P - H0)); lra).
    assert (Xd : 0 <= X * (1 + d)) by (apply Rmult_le_pos; lra).
    assert (Hmain : Z * (X * (1 + d)) + (computed P * z * (1 + d) + c) <= 2 * (C' * Wh)).
    { assert (Hsmall' : X * (1 + d) <= / 8 -> (c = 0 \/ (2 <= length (terms P))%nat) -> Z * (X * (1 + d)) + (computed P * z * (1 + d) + c) <= 2 * (C' * Wh)).
      { intros HXs Hcj. assert (HZh : Rabs (Z / 2) <= C * Wh) by (rewrite Rabs_right by lra; lra).
        pose proof (small_move A P (reference P) r (is_sum P) (Z / 2) X z d c WP An HZh HX P1 HXs T2 P2 Hcj) as Q. fold C' Wh in Q. apply Rabs_le_inv in Q.
        assert (Z / 2 * (X * (1 + d)) <= Z / 2 * 1) by (apply Rmult_le_compat_l; lra). lra. }
      assert (Hmany : c <> 0 -> (2 <= length (terms P))%nat).
      { intros cn. apply several_anchored; [assumption|]. destruct (is_sum P) as [|[|k]] eqn:Es; [|reflexivity|destruct P; discriminate Es].
        destruct cn. now apply P5, single_anchored. }
      destruct (Req_dec z 0) as [z0|zn]; [destruct (Req_dec c 0) as [c0|cn]|].
      - rewrite z0, c0, Rmult_0_r, Rmult_0_l, !Rplus_0_r. rewrite z0, Rplus_0_r in T3.
        assert (X * (1 + d) <= 1).
        { apply (scalar_factor u d X); try tauto; try lra. rewrite <- T3. destruct (Req_dec E 1) as [e|e].
          - left. split; [assumption|]. now apply P6.
          - right. apply Fpred1; [apply FEX|]. fold E. lra. }
        assert (Z * (X * (1 + d)) <= Z * 1) by (apply Rmult_le_compat_l; lra). lra.
      - apply Hsmall'; [|right; now apply Hmany].
        destruct P4 as [P4|P4]; [contradiction|]. rewrite z0, Rplus_0_r in T3. rewrite <- T3.
        rewrite Rabs_right in P4 by (apply Rle_ge, Rmult_le_pos; lra).
        assert (E <= computed P * E) by (rewrite <- (Rmult_1_l E) at 1; apply Rmult_le_compat_r; lra).
        assert (E < N) as EN by lra. clear - EN E0 P1' U UN.
        apply Rle_trans with (N * (1 + d)); [apply Rmult_le_compat_r; lra|].
        apply Rle_trans with (/ 16384 * 2); [apply Rmult_le_compat; lra|lra].
      - apply Hsmall'.
        + destruct T4 as [T4|T4]; [contradiction|]. fold X in T4. eapply Rle_trans; [|exact T4]. apply Rmult_le_compat_l; lra.
        + destruct (Req_dec c 0) as [|cn]; [now left|right; now apply Hmany]. }
    rewrite P3, T3.
    assert (computed P * (X * (1 + d)) <= (H0 + Z) * (X * (1 + d))) by (apply Rmult_le_compat_r; assumption).
    replace (computed P * (X + z) * (1 + d) + c) with (computed P * (X * (1 + d)) + (computed P * z * (1 + d) + c)) by ring. lra.
  - (* a tail enters, fused *)
    destruct (head_program_well_formed P L HP) as (WP & _ & K). pose proof (reference_is_float A P WP) as Fp.
    pose proof (unrounded_tail Q (reference P) WQ An Fp Hr) as Q1. set (Y := computed Q * EX (reference Q - reference P)) in *.
    assert (Y0 : 0 <= Y) by (apply Rmult_le_pos; [now apply computed_pos|apply HEpos]).
    cbn [RoundedModel.computed RoundedModel.terms reference height]. fold Y. rewrite head_sum_app, sum_terms_map, sum_terms_app.
    rewrite (sum_terms_ext (fun c => charge (added c)) charge (terms P)), (sum_terms_ext (fun c => charge (added c)) charge (map _ (terms Q))) by reflexivity.
    assert (E1 : fl (computed P + Y) <= computed P + 2 * Y).
    { pose proof (Hn (computed P) Y (computed_is_float A P WP)) as H. rewrite (Rabs_right Y) in H by lra. apply Rabs_le_inv in H. lra. }
    assert (E2 : head_sum (reference P) (map (fun c => (moved (reference Q) (reference P) 0 c, 2)) (terms Q))
               = 2 * head_sum (reference P) (map (fun c => (moved (reference Q) (reference P) 0 c, 1)) (terms Q))).
    { unfold head_sum. rewrite !sum_over_map, <- sum_over_scal. apply sum_over_ext. intros c _. cbn [fst snd]. ring. }
    rewrite E2. pose proof (sum_terms_pos charge (terms P) (charge_pos A)) as C1.
    pose proof (sum_terms_pos charge (map (moved (reference Q) (reference P) 0) (terms Q)) (charge_pos A)) as C2.
    pose proof (W_le A (height P) (S (Nat.max (height P) (height Q))) ltac:(lia)) as W1.
    pose proof (W_le A (height Q) (S (Nat.max (height P) (height Q))) ltac:(lia)) as W2.
    pose proof (Rmult_le_compat_l _ _ _ C1 W1). pose proof (Rmult_le_compat_l _ _ _ C2 W2). lra.
  - (* two heads, fused *)
    destruct (head_program_well_formed P L HP) as (WP & _ & K). destruct (head_program_well_formed Q L' HQ) as (WQ & _ & K').
    pose proof (computed_is_float A Q WQ) as FD. pose proof (reference_is_float A P WP) as Fp. pose proof (reference_is_float A Q WQ) as Fq.
    pose proof (computed_ge1 A Q WQ An) as D1. pose proof (computed_pos A P WP) as PP.
    destruct (move_exp A (reference Q) (reference P) Fq Fp Hr) as (t & z & T1 & T2 & T3 & T4).
    destruct (fma_spec A (computed P) (computed Q) (EX (reference Q - reference P)) (computed_is_float A P WP) FD (FEX A _)) as (d & c & P1 & P2 & P3 & P4 & P5).
    destruct (lam_delta A d P1) as (beta & B1 & B2).
    cbn [RoundedModel.computed RoundedModel.terms reference height]. rewrite sum_terms_map, sum_terms_app.
    rewrite (sum_terms_ext (fun c => charge (added c)) charge (terms P)), (sum_terms_ext (fun c => charge (added c)) charge (map _ (terms Q))) by reflexivity.
    set (ML := map (fun y => (moved (reference Q) (reference P) 0 (fst y), snd y)) L').
    assert (E1 : head_sum (reference Q) L' * exp (arg (reference Q - reference P) + t) <= head_sum (reference P) ML).
    { apply head_sum_scale; [assumption|]. intros y. cbn [fst snd]. split; [reflexivity|]. split; [reflexivity|]. apply Rabs_le_inv in T1.
      unfold RoundedModel.rounding_bound, exp_count, travel. cbn [logit start arg_error moves product_count addition_count RoundedModel.moved length]. replace (enters_by_exp (moved (reference Q) (reference P) 0 (fst y))) with (enters_by_exp (fst y)) by reflexivity.
      rewrite !plus_INR, S_INR. change (INR 0) with 0. lra. }
    assert (E2 : head_sum (reference P) (L ++ ML) * (1 + d) <= head_sum (reference P) (map (fun y => (added (fst y), snd y)) (L ++ ML))).
    { rewrite B1. apply head_sum_scale.
      - intros y Hy. apply in_app_or in Hy. destruct Hy as [Hy|Hy]; [auto|]. apply in_map_iff in Hy. destruct Hy as (y' & <- & Hy). cbn. auto.
      - intros y. cbn. split; [reflexivity|]. split; [reflexivity|]. apply Rabs_le_inv in B2. unfold RoundedModel.rounding_bound, exp_count, travel. cbn. rewrite !plus_INR, S_INR.
        replace (enters_by_exp (added (fst y))) with (enters_by_exp (fst y)) by reflexivity. lra. }
    rewrite head_sum_app in E2.
    set (X := exp (arg (reference Q - reference P) + t)) in *. assert (HX : 0 < X) by apply exp_pos.
    pose proof (HEpos A (reference Q - reference P)) as E0. pose proof (HEle1 A (reference Q - reference P) ltac:(lra)) as EL.
    set (E := EX (reference Q - reference P)) in *. apply Rabs_le_inv in P1 as P1'.
    set (H0 := head_sum (reference Q) L') in *. set (Z := Rmax 0 (computed Q - H0)).
    set (C := sum_terms charge (terms Q)) in *. set (C' := sum_terms charge (map (moved (reference Q) (reference P) 0) (terms Q))). set (Wh := W A (height Q)) in *.
    assert (C0 : 0 <= C) by apply sum_terms_pos, charge_pos. assert (W0 : 0 <= Wh) by apply W_pos.
    assert (CC : C * Wh <= C' * Wh) by (apply Rmult_le_compat_r; [assumption|apply charge_same]). assert (CW0 : 0 <= C * Wh) by now apply Rmult_le_pos.
    assert (Z0 : 0 <= Z <= 2 * (C * Wh)) by (unfold Z; split; [apply Rmax_l|apply Rmax_lub; lra]).
    assert (ZD : computed Q <= H0 + Z) by (unfold Z; pose proof (Rmax_r 0 (computed Q - H0)); lra).
    assert (Xd : 0 <= X * (1 + d)) by (apply Rmult_le_pos; lra).
    assert (CW1 : 0 <= 2 * (C' * Wh) * u) by (apply Rmult_le_pos; lra).
    assert (Hmain : Z * (X * (1 + d)) + (computed Q * z * (1 + d) + c) <= 2 * (C' * Wh) * (1 + u)).
    { assert (Hsmall' : X * (1 + d) <= / 8 -> (c = 0 \/ (2 <= length (terms Q))%nat) -> Z * (X * (1 + d)) + (computed Q * z * (1 + d) + c) <= 2 * (C' * Wh) * (1 + u)).
      { intros HXs Hcj. assert (HZh : Rabs (Z / 2) <= C * Wh) by (rewrite Rabs_right by lra; lra).
        pose proof (small_move A Q (reference Q) (reference P) 0 (Z / 2) X z d c WQ An HZh HX P1 HXs T2 P2 Hcj) as Q'. fold C' Wh in Q'. apply Rabs_le_inv in Q'.
        assert (Z / 2 * (X * (1 + d)) <= Z / 2 * 1) by (apply Rmult_le_compat_l; lra). lra. }
      assert (Hmany : c <> 0 -> (2 <= length (terms Q))%nat).
      { intros cn. apply several_anchored; [assumption|]. destruct (is_sum Q) as [|[|k]] eqn:Es; [|reflexivity|destruct Q; discriminate Es].
        destruct cn. now apply P5, single_anchored. }
      destruct (Req_dec z 0) as [z0|zn]; [destruct (Req_dec c 0) as [c0|cn]|].
      - rewrite z0, c0, Rmult_0_r, Rmult_0_l, !Rplus_0_r. rewrite z0, Rplus_0_r in T3.
        assert (X * (1 + d) <= 1 * (1 + u)) by (apply Rmult_le_compat; lra).
        assert (Z * (X * (1 + d)) <= 2 * (C' * Wh) * (1 * (1 + u))) by (apply Rmult_le_compat; lra). lra.
      - apply Hsmall'; [|right; now apply Hmany].
        destruct P4 as [P4|P4]; [contradiction|]. rewrite z0, Rplus_0_r in T3. rewrite <- T3.
        assert (PE : E <= computed Q * E) by (rewrite <- (Rmult_1_l E) at 1; apply Rmult_le_compat_r; lra).
        rewrite Rabs_right in P4 by (apply Rle_ge, Rplus_le_le_0_compat; [assumption|lra]).
        assert (E < N) as EN by lra. clear - EN E0 P1' U UN.
        apply Rle_trans with (N * (1 + d)); [apply Rmult_le_compat_r; lra|].
        apply Rle_trans with (/ 16384 * 2); [apply Rmult_le_compat; lra|lra].
      - apply Hsmall'.
        + destruct T4 as [T4|T4]; [contradiction|]. eapply Rle_trans; [|exact T4]. apply Rmult_le_compat_l; lra.
        + destruct (Req_dec c 0) as [|cn]; [now left|right; now apply Hmany]. }
    rewrite P3, T3, W_S. pose proof (W_pos A (Nat.max (height P) (height Q))) as Wm0.
    pose proof (W_le A (height P) (Nat.max (height P) (height Q)) ltac:(lia)) as W1. pose proof (W_le A (height Q) (Nat.max (height P) (height Q)) ltac:(lia)) as W2.
    fold Wh in W2. set (Wm := W A (Nat.max (height P) (height Q))) in *. set (CP := sum_terms charge (terms P)) in *.
    assert (CP0 : 0 <= CP) by apply sum_terms_pos, charge_pos. assert (C'0 : 0 <= C') by apply sum_terms_pos, charge_pos.
    pose proof (Rmult_le_compat_l _ _ _ CP0 W1) as G1. pose proof (Rmult_le_compat_l _ _ _ C'0 W2) as G2.
    assert (G3 : computed P * (1 + d) <= (head_sum (reference P) L + 2 * (CP * Wm)) * (1 + d)) by (apply Rmult_le_compat_r; lra).
    assert (G4 : 2 * (CP * Wm) * (1 + d) <= 2 * (CP * Wm) * (1 + u)) by (apply Rmult_le_compat_l; [assert (0 <= CP * Wm) by (now apply Rmult_le_pos); lra|lra]).
    assert (G5 : computed Q * (X * (1 + d)) <= (H0 + Z) * (X * (1 + d))) by (apply Rmult_le_compat_r; assumption).
    assert (G6 : H0 * X * (1 + d) <= head_sum (reference P) ML * (1 + d)) by (apply Rmult_le_compat_r; lra).
    assert (G7 : 2 * (C' * Wh) * (1 + u) <= 2 * (C' * Wm) * (1 + u)) by (apply Rmult_le_compat_r; lra).
    replace ((computed P + computed Q * (X + z)) * (1 + d) + c) with (computed P * (1 + d) + (computed Q * (X * (1 + d)) + (computed Q * z * (1 + d) + c))) by ring.
    replace (2 * ((CP + C') * ((1 + u) * Wm))) with (2 * (CP * Wm) * (1 + u) + 2 * (C' * Wm) * (1 + u)) by ring.
    replace ((H0 + Z) * (X * (1 + d))) with (H0 * X * (1 + d) + Z * (X * (1 + d))) in G5 by ring.
    replace ((head_sum (reference P) L + 2 * (CP * Wm)) * (1 + d)) with (head_sum (reference P) L * (1 + d) + 2 * (CP * Wm) * (1 + d)) in G3 by ring.
    replace ((head_sum (reference P) L + head_sum (reference P) ML) * (1 + d)) with (head_sum (reference P) L * (1 + d) + head_sum (reference P) ML * (1 + d)) in E2 by ring.
    lra.
Qed.

(* trees, merges with one rounding or two: heads are the logits at or above c *)
Variable fused : bool.
Variable c : R.
Notation join := (join fused). Notation program_of := (program_of fused). Notation good := (good A).
Definition head_and_tail (P : program) (hc h : nat) : Prop := exists L, head_program P L /\ forall y, In y L ->
  (snd y = 1 /\ c <= logit (fst y) /\ (addition_count (fst y) <= hc)%nat) \/ (snd y = 2 /\ logit (fst y) < c /\ (addition_count (fst y) <= h)%nat).

Lemma join_heads P Q hp hq kp kq : head_and_tail P hp kp -> head_and_tail Q hq kq -> good P -> good Q -> reference Q <= reference P -> head_and_tail (join P Q) (S (Nat.max hp hq)) (S (Nat.max kp kq)).
Proof.
  intros (L & L1 & L2) (L' & M1' & M2') [WP AP] [WQ AQ] Hr. unfold RoundedTree.join. destruct (Req_EM_T (reference Q) (reference P)) as [e|ne].
  - eexists. split; [apply head_add; eauto|]. intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn.
    apply in_app_or in Hz. destruct Hz as [Hz|Hz]; [destruct (L2 z Hz) as [(?&?&?)|(?&?&?)]|destruct (M2' z Hz) as [(?&?&?)|(?&?&?)]]; [left|right|left|right]; repeat split; auto; lia.
  - assert (Hlt : reference Q < reference P) by lra.
    assert (exists L0, head_program (if fused then FusedAdd P Q else Add P (Move (reference P) Q)) L0 /\ exists k,
        L0 = map (fun y => (added (fst y), snd y)) (L ++ map (fun y => (moved (reference Q) (reference P) k (fst y), snd y)) L')) as (L0 & H0 & k & ->).
    { destruct fused; eexists; split.
      - apply head_fused; [exact L1|exact M1'|assumption|assumption].
      - exists 0%nat. reflexivity.
      - apply head_add; [exact L1|apply head_move; [exact M1'|assumption|now apply (reference_is_float A)|assumption]|reflexivity].
      - eexists. reflexivity. }
    eexists. split; [exact H0|]. intros y Hy. apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn.
    apply in_app_or in Hz. destruct Hz as [Hz|Hz].
    + destruct (L2 z Hz) as [(?&?&?)|(?&?&?)]; [left|right]; repeat split; auto; lia.
    + apply in_map_iff in Hz. destruct Hz as (z' & <- & Hz). cbn. destruct (M2' z' Hz) as [(?&?&?)|(?&?&?)]; [left|right]; repeat split; auto; lia.
Qed.
Lemma join_head_tail P Q hp kp k : head_and_tail P hp kp -> good P -> good Q -> c <= reference P -> reference Q < c -> (forall x, In x (row A Q) -> x < c) -> (height Q <= k)%nat ->
  head_and_tail (join P Q) hp (S (Nat.max kp k)).
Proof.
  intros (L & L1 & L2) [WP AP] [WQ AQ] Hc1 Hc2 Hx Hk. unfold RoundedTree.join. destruct (Req_EM_T (reference Q) (reference P)) as [e|ne]; [lra|].
  assert (Hlt : reference Q < reference P) by lra. destruct fused.
  { eexists. split; [apply head_fused_tail; [exact L1|assumption|assumption|assumption]|]. intros y Hy. apply in_app_or in Hy. destruct Hy as [Hy|Hy].
    - destruct (L2 y Hy) as [(?&?&?)|(?&?&?)]; [left|right]; repeat split; auto; lia.
    - apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn [fst snd]. right. split; [reflexivity|].
      pose proof (additions_le_height A Q) as Hh. rewrite Forall_forall in Hh. specialize (Hh z Hz). split; [|cbn; lia].
      cbn. apply Hx. unfold row. now apply in_map. }
  eexists. split; [apply head_tail_enters; [exact L1| |reflexivity]|].
  - cbn. repeat split; auto. now apply (reference_is_float A).
  - intros y Hy. apply in_app_or in Hy. destruct Hy as [Hy|Hy].
    + destruct (L2 y Hy) as [(?&?&?)|(?&?&?)]; [left|right]; repeat split; auto; lia.
    + apply in_map_iff in Hy. destruct Hy as (z & <- & Hz). cbn [fst snd]. right. split; [reflexivity|].
      pose proof (additions_le_height A (Move (reference P) Q)) as Hh. rewrite Forall_forall in Hh. specialize (Hh z Hz). cbn [height] in Hh. split; [|lia].
      cbn [RoundedModel.terms] in Hz. apply in_map_iff in Hz. destruct Hz as (z' & <- & Hz). cbn. apply Hx. unfold row. now apply in_map.
Qed.

Lemma drop_below_nil t : (forall x, In x (finite (leaves t)) -> x < c) -> finite (leaves (drop_below c t)) = [].
Proof.
  rewrite drop_below_leaves. induction (finite (leaves t)) as [|x l IH]; intros H; cbn; [reflexivity|].
  destruct (Rle_dec c x); [specialize (H x (or_introl eq_refl)); lra|]. apply IH. intros. apply H. now right.
Qed.
Lemma drop_below_some t x : In x (finite (leaves t)) -> c <= x -> finite (leaves (drop_below c t)) <> [].
Proof.
  intros Hi Hc E. assert (In x (finite (leaves (drop_below c t)))) as H.
  { rewrite drop_below_leaves. apply filter_In. split; [assumption|]. now destruct (Rle_dec c x). }
  rewrite E in H. destruct H.
Qed.
Lemma merge_height_node l r : finite (leaves l) <> [] -> finite (leaves r) <> [] -> merge_height (Node l r) = S (Nat.max (merge_height l) (merge_height r)).
Proof. intros H1 H2. cbn. destruct (finite (leaves l)); [congruence|]. destruct (finite (leaves r)); [congruence|reflexivity]. Qed.
Lemma merge_height_left l r : finite (leaves r) = [] -> merge_height (Node l r) = merge_height l \/ (finite (leaves l) = [] /\ merge_height (Node l r) = merge_height r).
Proof. intros H. cbn. rewrite H. destruct (finite (leaves l)); auto. Qed.
Lemma merge_height_right l r : finite (leaves l) = [] -> merge_height (Node l r) = merge_height r.
Proof. intros H. cbn. now rewrite H. Qed.

Lemma tree_head_and_tail t : (forall x, In x (finite (leaves t)) -> F x) -> match program_of t with None => True
  | Some P => c <= reference P -> head_and_tail P (merge_height (drop_below c t)) (merge_height t) end.
Proof.
  induction t as [[x|]|l IHl r IHr]; intros HF; cbn [RoundedTree.program_of].
  - cbn. intros Hc. eexists. split; [apply head_enter, HF; now left|]. intros y [<-|[]]. cbn. left. repeat split; auto.
  - exact I.
  - cbn [leaves] in HF. rewrite finite_app in HF.
    assert (HFl : forall x, In x (finite (leaves l)) -> F x) by (intros; apply HF, in_or_app; now left).
    assert (HFr : forall x, In x (finite (leaves r)) -> F x) by (intros; apply HF, in_or_app; now right).
    specialize (IHl HFl). specialize (IHr HFr).
    pose proof (proj2 (tree_program A fused l HFl)) as Pl. pose proof (proj2 (tree_program A fused r HFr)) as Pr.
    destruct (program_of l) as [P|], (program_of r) as [Q|]; cbn [join_option].
    + destruct Pl as [(GP & PmP & _ & _ & InP & MxP) HhP], Pr as [(GQ & PmQ & _ & _ & InQ & MxQ) HhQ].
      assert (N1 : finite (leaves l) <> []) by (intros E; rewrite E in InP; destruct InP).
      assert (N2 : finite (leaves r) <> []) by (intros E; rewrite E in InQ; destruct InQ).
      rewrite (merge_height_node l r N1 N2). cbn [drop_below].
      assert (RP : reference P < c -> forall x, In x (row A P) -> x < c) by (intros Hlt x Hx; apply (Permutation_in _ PmP) in Hx; specialize (MxP x Hx); lra).
      assert (RQ : reference Q < c -> forall x, In x (row A Q) -> x < c) by (intros Hlt x Hx; apply (Permutation_in _ PmQ) in Hx; specialize (MxQ x Hx); lra).
      assert (CP : reference P < c -> finite (leaves (drop_below c l)) = []) by (intros Hlt; apply drop_below_nil; intros x Hx; specialize (MxP x Hx); lra).
      assert (CQ : reference Q < c -> finite (leaves (drop_below c r)) = []) by (intros Hlt; apply drop_below_nil; intros x Hx; specialize (MxQ x Hx); lra).
      destruct (Rle_dec (reference Q) (reference P)) as [Hle|Hle]; intros Hc; rewrite reference_join in Hc.
      * destruct (Rle_or_lt c (reference Q)) as [H|H].
        -- rewrite (merge_height_node (drop_below c l) (drop_below c r)); [apply join_heads; auto|exact (drop_below_some l _ InP Hc)|exact (drop_below_some r _ InQ H)].
        -- destruct (merge_height_left (drop_below c l) (drop_below c r) (CQ H)) as [->|[E _]]; [|destruct (drop_below_some l (reference P) InP Hc E)].
           rewrite <- HhQ. apply join_head_tail; auto.
      * destruct (Rle_or_lt c (reference P)) as [H|H].
        -- rewrite (merge_height_node (drop_below c l) (drop_below c r)); [|exact (drop_below_some l _ InP H)|exact (drop_below_some r _ InQ Hc)].
           rewrite (Nat.max_comm (merge_height (drop_below c l))), (Nat.max_comm (merge_height l)). apply join_heads; auto. lra.
        -- rewrite (merge_height_right (drop_below c l) (drop_below c r) (CP H)). rewrite <- HhP, Nat.max_comm. apply join_head_tail; auto.
    + intros Hc. specialize (IHl Hc). destruct Pl as [(_ & _ & _ & _ & InP & _) _].
      assert (E : finite (leaves (drop_below c r)) = []) by (apply drop_below_nil; rewrite Pr; intros ? []).
      cbn [drop_below]. destruct (merge_height_left (drop_below c l) (drop_below c r) E) as [->|[E' _]]; [|destruct (drop_below_some l (reference P) InP Hc E')].
      destruct (merge_height_left l r Pr) as [->|[E' _]]; [assumption|]. rewrite E' in InP. destruct InP.
    + intros Hc. specialize (IHr Hc). assert (E : finite (leaves (drop_below c l)) = []) by (apply drop_below_nil; rewrite Pl; intros ? []).
      cbn [drop_below]. now rewrite (merge_height_right _ _ E), (merge_height_right _ _ Pl).
    + exact I.
Qed.

(* beta_i with the additions of heads for a head, of all for a tail *)
Definition beta_head_tail (xs : list R) (hc h : nat) (x : R) : R :=
  v * Rabs (x - max_of xs) + INR (Nat.min (h + 1) (above xs x)) * eps0 + slope * (1 + v) * Rabs (x - max_of xs)
  + INR (Nat.min h (above xs x) + (if Rle_dec c x then hc else h)) * lam u.
Definition head_tail_sum (xs : list R) (hc h : nat) : R :=
  sum_over (fun x => (if Rle_dec c x then 1 else 2) * exp (x - max_of xs + beta_head_tail xs hc h x)) xs + INR (length xs) * (4 * exp tau) * (1 + u) ^ h * eta.

Theorem online_head_above t H : finite (leaves (drop_below c t)) <> [] -> (forall x, In x (finite (leaves t)) -> F x) -> (tree_height t <= H)%nat ->
  let xs := finite (leaves t) in let m := max_of xs in let s := exp_sum m xs in
  let hc := Nat.min H (length (finite (leaves (drop_below c t))) - 1) in let h := Nat.min H (length xs - 1) in
  exists D, rounded_eval A fused t = Some (m, D) /\ 1 <= D /\ D <= head_tail_sum xs hc h /\ ln (D / s) <= ln (head_tail_sum xs hc h / s).
Proof.
  intros Hne HF HH xs m s hc h. pose proof (Hu A) as U. pose proof (lam_pos A) as Lp. pose proof (Heps0 A) as E0.
  assert (Hx : xs <> []).
  { intros E. apply Hne. rewrite drop_below_leaves. fold xs. now rewrite E. }
  destruct (tree_bound A fused t Hx HF) as (P & D & Q1 & Q2 & Q3 & Q4 & Q5 & Q6 & Q7 & Q8 & _ & Q10 & _). fold xs m in Q1, Q4, Q5, Q10.
  pose proof (tree_head_and_tail t HF) as HI. rewrite Q2, Q4 in HI.
  assert (Hcm : c <= m).
  { destruct (finite (leaves (drop_below c t))) as [|y l] eqn:E; [congruence|]. assert (In y (finite (leaves (drop_below c t)))) as Hy by (rewrite E; now left).
    rewrite drop_below_leaves in Hy. apply filter_In in Hy. destruct Hy as [Hy1 Hy2]. destruct (Rle_dec c y); [|discriminate].
    apply Rle_trans with y; [assumption|]. now apply max_of_ge. }
  destruct (HI Hcm) as (L & L1 & L2). pose proof (head_program_above P L L1) as Up. destruct (head_program_well_formed P L L1) as (_ & St & _). rewrite Q4, Q6 in Up.
  pose proof (tree_program A fused t HF) as [Ev _]. rewrite Q2, Q1 in Ev. cbn in Ev. unfold value in Ev. injection Ev as _ EvD.
  exists D. split; [assumption|]. split; [apply Q8|].
  assert (Hh1 : (merge_height t <= h)%nat) by (pose proof (merge_height_le t); pose proof (merge_height_count t); unfold h, xs; lia).
  assert (Hh2 : (merge_height (drop_below c t) <= hc)%nat).
  { pose proof (merge_height_le (drop_below c t)) as Hmax. rewrite drop_below_height in Hmax. pose proof (merge_height_count (drop_below c t)). unfold hc. lia. }
  assert (Ud : D <= head_tail_sum xs hc h).
  { rewrite EvD. eapply Rle_trans; [exact Up|]. unfold head_tail_sum. apply Rplus_le_compat.
    - assert (Et : Permutation (map (fun y => logit (fst y)) L) xs).
      { rewrite <- Q5. assert (map logit (map strip (map fst L)) = map logit (map strip (terms P))) as G by now rewrite St.
        rewrite !map_map in G. cbn in G. rewrite G. reflexivity. }
      assert (Hsum : forall f (a b : list R), Permutation a b -> sum_over f a = sum_over f b) by (clear; intros f a b; induction 1; cbn; lra).
      rewrite <- (Hsum _ _ _ Et), sum_over_map. unfold head_sum. apply sum_over_le. intros y Hy.
      assert (exists z, In z (terms P) /\ strip z = strip (fst y)) as (z & Z1 & Z2).
      { assert (In (strip (fst y)) (map strip (map fst L))) as G by (apply in_map, in_map; assumption). rewrite St in G. apply in_map_iff in G.
        destruct G as (z & ? & ?). now exists z. }
      destruct (Q10 z Z1) as (R1 & R2 & R3 & R4 & _). destruct (fst y) as [yx y0 yd yp yk yh] eqn:Ey. destruct z as [zx z0 zd zp zk zh].
      injection Z2 as -> -> -> -> ->. unfold exp_count, enters_by_exp, travel in R1, R3. cbn [logit start arg_error moves product_count addition_count] in *.
      assert (Hb : yd + rounding_bound m (Term yx y0 yd yp yk yh) <= v * Rabs (yx - m) + INR (Nat.min (h + 1) (above xs yx)) * eps0 + slope * (1 + v) * Rabs (yx - m) + INR (Nat.min h (above xs yx) + yh) * lam u).
      { unfold RoundedModel.rounding_bound, exp_count, enters_by_exp, travel. cbn [logit start arg_error moves product_count addition_count]. rewrite R3. apply Rabs_le_inv in R4.
        assert (G1 : INR ((if Req_EM_T yx y0 then 0 else 1) + length yp) <= INR (Nat.min (h + 1) (above xs yx))) by (apply le_INR; lia).
        assert (G2 : INR (yk + yh) <= INR (Nat.min h (above xs yx) + yh)) by (apply le_INR; lia).
        pose proof (Rmult_le_compat_r _ _ _ E0 G1). pose proof (Rmult_le_compat_r _ _ _ Lp G2). lra. }
      unfold beta_head_tail. fold m. destruct (L2 y Hy) as [(K1 & K2 & K3)|(K1 & K2 & K3)]; rewrite Ey in K2, K3; cbn [logit addition_count] in K2, K3; rewrite K1; destruct (Rle_dec c yx); try lra;
        (apply Rmult_le_compat_l; [lra|]; apply exp_le).
      + assert (G : INR (Nat.min h (above xs yx) + yh) <= INR (Nat.min h (above xs yx) + hc)) by (apply le_INR; lia).
        pose proof (Rmult_le_compat_r _ _ _ Lp G). lra.
      + assert (G : INR (Nat.min h (above xs yx) + yh) <= INR (Nat.min h (above xs yx) + h)) by (apply le_INR; lia).
        pose proof (Rmult_le_compat_r _ _ _ Lp G). lra.
    - pose proof (charge_sum A (terms P)) as Cs. assert (length (terms P) = length xs) as El by (rewrite <- (map_length logit); now apply Permutation_length).
      rewrite El in Cs. pose proof (W_le A _ _ Hh1) as Wl. pose proof (W_pos A (merge_height t)) as Wp. pose proof (W_pos A h) as Wp'. pose proof (sum_terms_pos charge (terms P) (charge_pos A)) as C0.
      assert (G : sum_terms charge (terms P) * W A (merge_height t) <= INR (length xs) * (2 * exp tau) * W A h) by (apply Rmult_le_compat; assumption).
      unfold W in *. lra. }
  split; [assumption|]. assert (1 <= s) by (apply exp_sum_ge1; now apply max_of_in). apply ln_le'; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|assumption].
Qed.
End Up.
