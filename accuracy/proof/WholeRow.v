(* SPDX-License-Identifier: Apache-2.0 *)
(* Whole rows: safe and online softmax, lse, log-softmax; the other checks of a row; constants of narrower outputs. *)
Require Import Reals List Permutation Lra Lia Arith ZArith.
From Flocq Require Import Core BinarySingleNaN Relative.
Require Import Assay.ExactOperator Assay.RoundedModel Assay.Theorem1 Assay.TermCounts Assay.RoundedTree Assay.FlocqFormats Assay.HeightCap Assay.LeafDepth Assay.FloatSum Assay.HeadTail Assay.Outputs.
Import ListNotations.
Open Scope R_scope.

Section Rows.
Variable A : arith.
Notation u := (u_ A). Notation eta := (eta_ A). Notation omega := (omega_ A). Notation eps0 := (eps0_ A). Notation slope := (slope_ A).
Notation F := (F_ A). Notation fl := (fl_ A). Notation arg := (arg_ A). Notation EX := (EX_ A).

(* own_j = sigma_j + eps(f_j), eps(0) = 0 *)
Definition own_error (m x : R) : R := Rabs (arg (x - m) - (x - m)) + (if Req_EM_T x m then 0 else eps0 + slope * Rabs (arg (x - m))).
Lemma numerator m x : F m -> F x -> x <= m -> exists nu, Rabs nu <= own_error m x /\ Rabs (EX (x - m) - exp (x - m + nu)) <= eta.
Proof.
  intros Fm Fx Hx. unfold own_error. destruct (Req_EM_T x m) as [->|Hne].
  - exists 0. assert (m - m = 0) as -> by ring. rewrite arg0, HE0. assert (0 + 0 = 0) as -> by ring. rewrite exp_0. split.
    + rewrite Rabs_R0. pose proof (Rabs_pos (0 - 0)). lra.
    + assert (1 - 1 = 0) as -> by ring. rewrite Rabs_R0. apply eta_pos.
  - destruct (HE A x m Fx Fm) as (th & z & H1 & H2 & _ & H4); [apply Adm_neg; lra|].
    exists ((arg (x - m) - (x - m)) + th). split; [eapply Rle_trans; [apply Rabs_triang|]; lra|].
    rewrite H4. replace (x - m + (arg (x - m) - (x - m) + th)) with (arg (x - m) + th) by ring.
    now replace (exp (arg (x - m) + th) + z - exp (arg (x - m) + th)) with z by ring.
Qed.
Lemma list_choice (P : R -> R -> Prop) (l : list R) : (forall x, In x l -> exists y, P x y) -> exists f, forall x, In x l -> P x (f x).
Proof.
  induction l as [|x l IH]; intros H; [exists (fun _ => 0); intros ? []|].
  destruct IH as [f Hf]; [intros; apply H; now right|]. destruct (H x (or_introl eq_refl)) as [y Hy].
  exists (fun z => if Req_EM_T z x then y else f z). intros z Hz. destruct (Req_EM_T z x) as [->|Hne]; [assumption|].
  destruct Hz as [->|Hz]; [congruence|]. now apply Hf.
Qed.
Lemma exp_sum_is_sum_over m l : exp_sum m l = sum_over (fun x => exp (x - m)) l.
Proof. induction l as [|x l IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

Lemma numerators_pos m l : In m l -> 0 < sum_over (fun x => EX (x - m)) l.
Proof.
  induction l as [|y l IH]; intros Im; [destruct Im|]. cbn. assert (0 <= sum_over (fun x => EX (x - m)) l) by (apply sum_over_pos; intros; apply HEpos).
  pose proof (HEpos A (y - m)). destruct Im as [->|Im]; [rewrite (Rminus_diag_eq m m), HE0 by reflexivity; lra|]. specialize (IH Im). lra.
Qed.

(* any outputs ph that are the quotients EX (x - m) / D up to T and w0: the element bound *)
Lemma elements m l D b T w0 ph : F m -> (forall x, In x l -> F x /\ x <= m) -> In m l -> 0 < D -> 0 <= b -> 0 <= T -> 0 <= w0 -> Rabs (ln (D / exp_sum m l)) <= b ->
  (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  forall x, In x l -> let p := exp (x - m) / exp_sum m l in let Ax := own_error m x + T + b in let W := eta / exp_sum m l * exp (b + T) + w0 in
    p * exp (- Ax) - W <= ph x <= p * exp Ax + W /\ (W * exp Ax / p < 1 -> 0 < ph x /\ Rabs (ln (ph x / p)) <= Ax + lam (W * exp Ax / p)).
Proof.
  intros Fm Hl Im HD Hb0 HT Hw Hb Ho x Hx p Ax W. destruct (Hl x Hx) as [Fx Lx]. destruct (numerator m x Fm Fx Lx) as (nu & N1 & N2).
  pose proof (exp_sum_ge1 m l Im) as Hs. pose proof (eta_pos A) as He.
  destruct (element (x - m) nu (own_error m x) (EX (x - m)) eta (exp_sum m l) D b T w0 (ph x)) as [E1 E2]; auto; try lra.
  fold Ax W in E1, E2.
  assert (Q : p * exp (- Ax) - W <= ph x <= p * exp Ax + W).
  { replace (exp (x - m - Ax)) with (exp (x - m) * exp (- Ax)) in E1 by (rewrite <- exp_plus; f_equal; ring). rewrite exp_plus in E2.
    unfold p, Rdiv in *. lra. }
  split; [exact Q|]. intros Hlt. apply element_log; auto.
  - unfold p. apply Rdiv_lt_0_compat; [apply exp_pos|lra].
  - unfold Ax. pose proof (Rabs_pos nu). lra.
  - unfold W. apply Rplus_le_le_0_compat; [|assumption]. apply Rmult_le_pos; [|left; apply exp_pos]. apply Rmult_le_pos; [assumption|left; apply Rinv_0_lt_compat; lra].
Qed.

(* Safe softmax: any tree over the rounded exps. *)
Theorem safe_softmax (t : sum_tree R) h T w0 ph : (forall x, In x (sleaves R t) -> F x) -> (sum_height R t <= h)%nat -> 0 <= T -> 0 <= w0 ->
  let l := sleaves R t in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in
  let D := sum_value A R (fun x => EX (x - m)) t in
  let b1 := ln (sum_over (fun x => exp (x - m + (own_error m x + INR h * lam u))) l / s) in
  let a := n * eta / s in let b := b1 + lam (a * exp (2 * b1)) in
  a * exp (2 * b1) < 1 -> (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  1 <= D /\ Rabs (ln (D / s)) <= b /\ (forall x, In x l -> EX (x - m) <= D) /\
  (forall x, In x l -> let p := exp (x - m) / s in let Ax := own_error m x + T + b in let W := eta / s * exp (b + T) + w0 in
     p * exp (- Ax) - W <= ph x <= p * exp Ax + W /\ (W * exp Ax / p < 1 -> 0 < ph x /\ Rabs (ln (ph x / p)) <= Ax + lam (W * exp Ax / p))) /\
  exp (- (INR h * lam u + T)) - n * w0 <= sum_over ph l <= exp (INR h * lam u + T) + n * w0 /\
  Rabs (sum_over ph l - 1) <= exp (INR h * lam u + T) - 1 + n * w0.
Proof.
  intros HF Hh HT Hw l m s n D b1 a b Hlt Ho.
  assert (Hne : l <> []) by apply sleaves_ne.
  assert (Im : In m l) by now apply max_of_in. assert (Fm : F m) by now apply HF.
  assert (Hl : forall x, In x l -> F x /\ x <= m) by (intros x Hx; split; [now apply HF|now apply max_of_ge]).
  assert (Okl : nonneg_floats A R (fun x => EX (x - m)) t) by (intros x _; split; [apply FEX|apply HEpos]).
  destruct (list_choice (fun x nu => Rabs nu <= own_error m x /\ Rabs (EX (x - m) - exp (x - m + nu)) <= eta) l) as (nu & Hnu).
  { intros x Hx. destruct (Hl x Hx). now apply numerator. }
  assert (Es : exact_exp_sum R (fun x => x - m) t = s) by (unfold exact_exp_sum, s; now rewrite exp_sum_is_sum_over).
  assert (Hb : 0 < D /\ Rabs (ln (D / s)) <= b).
  { pose proof (safe_sum_height A R (fun x => EX (x - m)) (fun x => x - m) nu (own_error m) eta) as Q. specialize (Q (eta_pos A) t h Okl Hnu Hh).
    cbv zeta in Q. rewrite Es in Q. apply Q. exact Hlt. }
  destruct Hb as [D0 Hb].
  assert (Hle : forall x, In x l -> EX (x - m) <= D).
  { intros x Hx. exact (sum_value_ge A R (fun x => EX (x - m)) t x Okl Hx). }
  assert (D1 : 1 <= D). { rewrite <- (HE0 A). replace 0 with (m - m) by ring. now apply Hle. }
  assert (b0 : 0 <= b) by (eapply Rle_trans; [apply Rabs_pos|exact Hb]).
  split; [assumption|]. split; [assumption|]. split; [assumption|]. split.
  - apply elements with (1 := Fm) (2 := Hl) (D := D); try assumption; lra.
  - assert (HN : 0 < sum_over (fun x => EX (x - m)) l).
    { now apply numerators_pos. }
    apply rowsum_safe with (N := fun x => EX (x - m)) (D := D); try assumption.
    (* the sum against the exact sum of its leaves: leaves as they are, own = 0 *)
    set (N := fun x => EX (x - m)) in *.
    destruct (sum_own_depths A R N t Okl) as (L & L1 & L2 & L3).
    assert (Hk : forall y, In y L -> Rabs (snd y) <= INR h * lam u).
    { intros y Hy. eapply Rle_trans; [now apply L2|]. apply Rmult_le_compat_r; [apply lam_pos|]. apply le_INR.
      eapply Nat.le_trans; [|exact Hh]. apply leaf_depths_height. rewrite <- L1. now apply in_map. }
    assert (EN : sum_over N l = sum_over (fun y => N (fst (fst y))) L).
    { unfold l. rewrite <- leaf_depths_fst, <- L1, !sum_over_map. reflexivity. }
    assert (Npos : forall x, 0 <= N x) by (intros; apply HEpos).
    assert (U : D <= exp (INR h * lam u) * sum_over N l).
    { unfold D. rewrite L3, EN, <- sum_over_scal. apply sum_over_le. intros y Hy. rewrite Rmult_comm. apply Rmult_le_compat_r; [apply Npos|].
      apply exp_le. specialize (Hk y Hy). apply Rabs_le_inv in Hk. lra. }
    assert (Lo : exp (- (INR h * lam u)) * sum_over N l <= D).
    { unfold D. rewrite L3, EN, <- sum_over_scal. apply sum_over_le. intros y Hy. rewrite Rmult_comm. apply Rmult_le_compat_l; [apply Npos|].
      apply exp_le. specialize (Hk y Hy). apply Rabs_le_inv in Hk. lra. }
    apply Rabs_le. split.
    + rewrite <- (ln_exp (- (INR h * lam u))). apply ln_le'; [apply exp_pos|]. apply Rmult_le_reg_r with (sum_over N l); [assumption|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
    + rewrite <- (ln_exp (INR h * lam u)) at 1. apply ln_le'; [now apply Rdiv_lt_0_compat|]. apply Rmult_le_reg_r with (sum_over N l); [assumption|].
      unfold Rdiv. rewrite (Rmult_assoc D), Rinv_l by lra. lra.
Qed.

(* The same by head and tail: hd any choice of head logits, q what bounds the tail's share. *)
Theorem safe_softmax_head_tail (t : sum_tree R) (hd : R -> bool) h e T w0 ph : nearest A -> (forall x, In x (sleaves R t) -> F x) ->
  (1 <= head_count R hd t)%nat -> (sum_height R t <= S h)%nat -> (head_additions R hd t <= e)%nat -> 0 <= T -> 0 <= w0 ->
  let l := sleaves R t in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in
  let D := sum_value A R (fun x => EX (x - m)) t in
  let b0 := ln (sum_over (fun x => exp (x - m + own_error m x)) l / s) in let a := n * eta / s in let bt := b0 + lam (a * exp b0) in
  let q := exp bt * (sum_over (fun x => if hd x then 0 else exp (x - m + own_error m x) + eta) l / s) in
  let kap := INR e * lam u + Rmax (lam q) (ln (1 + q * (2 * exp (INR h * lam u) - 1))) in let b := bt + kap in
  a * exp b0 < 1 -> q < 1 -> (forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
  Rabs (ln (D / s)) <= b /\
  (forall x, In x l -> let p := exp (x - m) / s in let Ax := own_error m x + T + b in let W := eta / s * exp (b + T) + w0 in
     p * exp (- Ax) - W <= ph x <= p * exp Ax + W /\ (W * exp Ax / p < 1 -> 0 < ph x /\ Rabs (ln (ph x / p)) <= Ax + lam (W * exp Ax / p))) /\
  Rabs (sum_over ph l - 1) <= exp (kap + T) - 1 + n * w0.
Proof.
  intros Hnr HF Hh Hs He HT Hw l m s n D b0 a bt q kap b Hlt Hq Ho.
  assert (Hne : l <> []) by apply sleaves_ne.
  assert (Im : In m l) by now apply max_of_in. assert (Fm : F m) by now apply HF.
  assert (Hl : forall x, In x l -> F x /\ x <= m) by (intros x Hx; split; [now apply HF|now apply max_of_ge]).
  assert (Okl : nonneg_floats A R (fun x => EX (x - m)) t) by (intros x _; split; [apply FEX|apply HEpos]).
  destruct (list_choice (fun x nu => Rabs nu <= own_error m x /\ Rabs (EX (x - m) - exp (x - m + nu)) <= eta) l) as (nu & Hnu).
  { intros x Hx. destruct (Hl x Hx). now apply numerator. }
  assert (Es : exact_exp_sum R (fun x => x - m) t = s) by (unfold exact_exp_sum, s; now rewrite exp_sum_is_sum_over).
  pose proof (safe_head_tail A Hnr R (fun x => EX (x - m)) hd (fun x => x - m) nu (own_error m) eta t h e Okl Hnu Hh Hs He) as Q.
  cbv beta zeta in Q. rewrite Es in Q. fold l in Q.
  change (FloatSum.ssum R (fun x => EX (x - m)) t) with (sum_over (fun x => EX (x - m)) l) in Q.
  destruct (Q Hlt Hq) as [Q1 Q2]. change (- (bt + INR e * lam u + lam q) <= ln (D / s) <= bt + INR e * lam u + ln (1 + q * (2 * exp (INR h * lam u) - 1))) in Q1.
  change (- (INR e * lam u + lam q) <= ln (D / sum_over (fun x => EX (x - m)) l) <= INR e * lam u + ln (1 + q * (2 * exp (INR h * lam u) - 1))) in Q2.
  pose proof (Rmax_l (lam q) (ln (1 + q * (2 * exp (INR h * lam u) - 1)))) as M1'. pose proof (Rmax_r (lam q) (ln (1 + q * (2 * exp (INR h * lam u) - 1)))) as M2'.
  assert (Hb : Rabs (ln (D / s)) <= b) by (apply Rabs_le; unfold b, kap; lra).
  assert (Hk : Rabs (ln (D / sum_over (fun x => EX (x - m)) l)) <= kap) by (apply Rabs_le; unfold kap; lra).
  assert (D1 : 1 <= D). { rewrite <- (HE0 A). replace 0 with (m - m) by ring. exact (sum_value_ge A R (fun x => EX (x - m)) t m Okl Im). }
  split; [assumption|]. split.
  - apply elements with (1 := Fm) (2 := Hl) (D := D); try assumption; try lra. eapply Rle_trans; [apply Rabs_pos|exact Hb].
  - apply (rowsum_safe (fun x => EX (x - m)) ph l D kap T w0); try assumption; [lra|].
    now apply numerators_pos.
Qed.

(* Online softmax: any tree of merges, exps recomputed with the final maximum. The height is capped. *)
Variable fused : bool.
Theorem online_softmax (t : tree) H T w0 ph : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> F x) -> (tree_height t <= H)%nat -> 0 <= T -> 0 <= w0 ->
  let l := finite (leaves t) in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let h := Nat.min H (length l - 1) in
  let b := b1_all A l h + lam (a_all A l * exp (2 * b1_all A l h)) in
  a_all A l * exp (2 * b1_all A l h) < 1 ->
  exists D, rounded_eval A fused t = Some (m, D) /\ 1 <= D /\ Rabs (ln (D / s)) <= b /\ (forall x, In x l -> EX (x - m) <= D) /\
  ((forall x, In x l -> approx T w0 (EX (x - m) / D) (ph x)) ->
   let W := eta / s * exp (b + T) + w0 in
   (forall x, In x l -> let p := exp (x - m) / s in let Ax := own_error m x + T + b in
     p * exp (- Ax) - W <= ph x <= p * exp Ax + W /\ (W * exp Ax / p < 1 -> 0 < ph x /\ Rabs (ln (ph x / p)) <= Ax + lam (W * exp Ax / p))) /\
   let P := ln (sum_over (fun x => exp (x - m + own_error m x)) l / s) in
   exp (- (b + P + T)) - n * W <= sum_over ph l <= exp (b + P + T) + n * W /\ Rabs (sum_over ph l - 1) <= exp (b + P + T) - 1 + n * W).
Proof.
  intros Hne HF HH HT Hw l m s n h b Hlt.
  destruct (tree_closed_cap A fused t H Hne HF HH Hlt) as (D & E1 & D1 & Hb). fold l m s h b in E1, Hb.
  exists D. split; [assumption|]. split; [assumption|]. split; [assumption|].
  assert (Im : In m l) by now apply max_of_in. assert (Fm : F m) by now apply HF.
  assert (Hl : forall x, In x l -> F x /\ x <= m) by (intros x Hx; split; [now apply HF|now apply max_of_ge]).
  assert (b0 : 0 <= b) by (eapply Rle_trans; [apply Rabs_pos|exact Hb]).
  split. { intros x Hx. apply Rle_trans with 1; [|assumption]. apply HEle1. destruct (Hl x Hx). lra. }
  intros Ho W. split.
  - apply elements with (1 := Fm) (2 := Hl) (D := D); try assumption; try lra.
  - destruct (list_choice (fun x nu => Rabs nu <= own_error m x /\ Rabs (EX (x - m) - exp (x - m + nu)) <= eta) l) as (nu & Hnu).
    { intros x Hx. destruct (Hl x Hx). now apply numerator. }
    pose proof (rowsum_online (fun x => x - m) nu (own_error m) (fun x => EX (x - m)) ph l eta D b T w0) as Q.
    cbv beta zeta in Q. rewrite <- exp_sum_is_sum_over in Q. fold s in Q. apply Q; try assumption; try lra. apply eta_pos.
Qed.

(* lse and log-softmax of either: D, b from above; L the computed log of D *)
Theorem logs m l x D b El L f sig : In m l -> F m -> F L -> F x -> F f -> (forall y, F y -> F (- y)) -> 0 < D -> 0 <= El ->
  Rabs (ln (D / exp_sum m l)) <= b -> Rabs (L - ln D) <= El * Rabs (ln D) -> Rabs (f - (x - m)) <= sig ->
  let s := exp_sum m l in let lse := m + ln s in let y := x - m - ln s in
  let el := b + El * (ln s + b) in let eL := el + u * (Rabs lse + el) in
  Rabs (L - ln s) <= el /\ Rabs (fl (m + L) - lse) <= eL /\
  Rabs (fl (f - L) - y) <= (el + sig) + u * (Rabs y + (el + sig)) /\
  Rabs (fl (x - fl (m + L)) - y) <= eL + u * (Rabs y + eL).
Proof.
  intros Im Fm FL Fx Ff Fo HD HE Hb HL Hf s lse y el eL.
  pose proof (log_sum s D b El L (exp_sum_ge1 m l Im) HD Hb HE HL) as H1.
  pose proof (lse_bound A m L (ln s) el Fm FL H1) as H2.
  split; [assumption|]. split; [assumption|]. split.
  - now apply logsoftmax_shifted.
  - replace y with (x - lse) by (unfold y, lse; ring). apply logsoftmax_absorb; auto. apply Ffl.
Qed.
End Rows.

(* f32 arithmetic, bf16 and f16 outputs; an absolute error of up to 5 halves of the smallest f32 subnormal *)
Theorem narrow_bf16 choice q v d c Dv : 0 <= q -> 0 <= v -> v = q * (1 + d) + c -> Rabs d <= Dv -> 0 <= Dv <= / 3 -> Rabs c <= 5 * half_subnormal (-149) ->
  (c = 0 \/ v < bpow radix2 (-125)) -> approx (lam Dv + lam (unit_roundoff 8)) (half_subnormal (-133)) q (round_to 8 (-133) choice v).
Proof.
  intros. apply narrow with (c := c) (d := d) (cw := 5 * half_subnormal (-149)); try assumption; try lia.
  unfold half_subnormal. change (bpow radix2 8) with 256. replace (-133)%Z with (-149 + 16)%Z by lia. rewrite bpow_plus. change (bpow radix2 16) with 65536.
  pose proof (bpow_gt_0 radix2 (-149)). lra.
Qed.
Theorem narrow_f16 choice q v d c Dv : 0 <= q -> 0 <= v -> v = q * (1 + d) + c -> Rabs d <= Dv -> 0 <= Dv <= / 3 -> Rabs c <= 5 * half_subnormal (-149) ->
  (c = 0 \/ v < bpow radix2 (-13)) -> approx (lam Dv + lam (unit_roundoff 11)) (half_subnormal (-24)) q (round_to 11 (-24) choice v).
Proof.
  intros. apply narrow with (c := c) (d := d) (cw := 5 * half_subnormal (-149)); try assumption; try lia.
  unfold half_subnormal. change (bpow radix2 11) with 2048. replace (-24)%Z with (-149 + 125)%Z by lia. rewrite bpow_plus.
  pose proof (bpow_gt_0 radix2 (-149)). assert (bpow radix2 16 <= bpow radix2 125) by (apply bpow_le; lia). change (bpow radix2 16) with 65536 in H7.
  nra.
Qed.

(* Quotients in f32, stored in f32, bf16, f16, whatever the exp *)
Section Stored32.
Variable A : arith.
Variable choice : Z -> bool.
Hypothesis HN : N_ A = bpow radix2 (-126).
Hypothesis Ho : omega_ A = half_subnormal (-149).
Notation u := (u_ A). Notation fl := (fl_ A).
Lemma quotient q : 0 <= q -> exists d c, fl q = q * (1 + d) + c /\ Rabs d <= u /\ Rabs c <= half_subnormal (-149) /\ 0 <= fl q /\ (c = 0 \/ fl q < bpow radix2 (-125)).
Proof.
  intros Hq. destruct (M2 A q) as (d & c & H1 & H2 & H3 & H4). rewrite Ho in H2. exists d, c. split; [assumption|]. split; [assumption|]. split; [assumption|].
  split; [now apply fl_pos|]. destruct H4 as [|H4]; [now left|right]. rewrite HN, Rabs_right in H4 by lra. pose proof (Hu A).
  apply Rabs_le_inv in H1, H2. rewrite H3. unfold half_subnormal in H2.
  assert (q * (1 + d) <= bpow radix2 (-126) * (1 + / 256)) by (apply Rmult_le_compat; lra).
  replace (-125)%Z with (-126 + 1)%Z by lia. rewrite bpow_plus. change (bpow radix2 1) with 2.
  assert (bpow radix2 (-149) <= bpow radix2 (-126)) by (apply bpow_le; lia). pose proof (bpow_gt_0 radix2 (-149)). lra.
Qed.
Theorem stored_bf16 N D : 0 <= N -> 0 < D -> approx (lam u + lam (unit_roundoff 8)) (half_subnormal (-133)) (N / D) (round_to 8 (-133) choice (fl (N / D))).
Proof.
  intros HN0 HD. pose proof (Hu A) as U. assert (Hq : 0 <= N / D) by (apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]).
  destruct (quotient _ Hq) as (d & c & H1 & H2 & H3 & H4 & H5). pose proof (half_subnormal_pos (-149)). apply narrow_bf16 with d c; try assumption; lra.
Qed.
Theorem stored_f16 N D : 0 <= N -> 0 < D -> approx (lam u + lam (unit_roundoff 11)) (half_subnormal (-24)) (N / D) (round_to 11 (-24) choice (fl (N / D))).
Proof.
  intros HN0 HD. pose proof (Hu A) as U. assert (Hq : 0 <= N / D) by (apply Rmult_le_pos; [assumption|left; now apply Rinv_0_lt_compat]).
  destruct (quotient _ Hq) as (d & c & H1 & H2 & H3 & H4 & H5). pose proof (half_subnormal_pos (-149)). apply narrow_f16 with d c; try assumption; try lra.
  destruct H5 as [|H5]; [now left|right]. eapply Rlt_trans; [exact H5|]. apply bpow_lt. lia.
Qed.
End Stored32.

(* Nothing left to assume: binary32 with the correctly rounded exp, IEEE division, bf16 output, safe and online. *)
Definition ne := fun x => negb (Z.even x).
Lemma p24 : (8 <= 24)%Z. Proof. lia. Qed.
Lemma e24 : (-149 + 24 - 1 <= -14)%Z. Proof. lia. Qed.
Definition binary32_model : arith := rounded_exp_arith 24 (-149) p24 e24 ne 0 (Rle_refl 0).
Theorem binary32_model_nearest : nearest binary32_model.
Proof. apply rounded_exp_nearest. Qed.
Definition out_bf16 (m D x : R) : R := round_to 8 (-133) ne (fl_ binary32_model (EX_ binary32_model (x - m) / D)).
Theorem online_bf16 fused (t : tree) H : finite (leaves t) <> [] -> (forall x, In x (finite (leaves t)) -> in_format 24 (-149) x) -> (tree_height t <= H)%nat ->
  let l := finite (leaves t) in let m := max_of l in let s := exp_sum m l in let n := INR (length l) in let h := Nat.min H (length l - 1) in
  let b := b1_all binary32_model l h + lam (a_all binary32_model l * exp (2 * b1_all binary32_model l h)) in let T := lam (unit_roundoff 24) + lam (unit_roundoff 8) in
  let W := half_subnormal (-149) / s * exp (b + T) + half_subnormal (-133) in
  a_all binary32_model l * exp (2 * b1_all binary32_model l h) < 1 ->
  exists D, rounded_eval binary32_model fused t = Some (m, D) /\ 1 <= D /\ Rabs (ln (D / s)) <= b /\
  (forall x, In x l -> let p := exp (x - m) / s in let Ax := own_error binary32_model m x + T + b in
     p * exp (- Ax) - W <= out_bf16 m D x <= p * exp Ax + W /\
     (W * exp Ax / p < 1 -> 0 < out_bf16 m D x /\ Rabs (ln (out_bf16 m D x / p)) <= Ax + lam (W * exp Ax / p))) /\
  let P := ln (sum_over (fun x => exp (x - m + own_error binary32_model m x)) l / s) in
  Rabs (sum_over (out_bf16 m D) l - 1) <= exp (b + P + T) - 1 + n * W.
Proof.
  intros Hne HF HH l m s n h b T W Hlt.
  assert (T0 : 0 <= T).
  { unfold T. pose proof (unit_roundoff_range 24 p24). pose proof (unit_roundoff_range 8 ltac:(lia)). pose proof (lam_ge0 (unit_roundoff 24) ltac:(lra)). pose proof (lam_ge0 (unit_roundoff 8) ltac:(lra)). lra. }
  destruct (tree_closed_cap binary32_model fused t H Hne HF HH Hlt) as (D & E1 & D1 & Hb).
  destruct (online_softmax binary32_model fused t H T (half_subnormal (-133)) (out_bf16 m D) Hne HF HH T0 (half_subnormal_pos _) Hlt) as (D' & Q1 & Q2 & Q3 & _ & Q5).
  rewrite E1 in Q1. injection Q1 as <-. exists D. split; [assumption|]. split; [assumption|]. split; [assumption|].
  destruct Q5 as [R1 R2].
  { intros x _. apply (stored_bf16 binary32_model ne eq_refl eq_refl); [apply HEpos|lra]. }
  split; [exact R1|]. exact (proj2 R2).
Qed.


