(* SPDX-License-Identifier: Apache-2.0 *)
(* What accuracy/bounds/bounds.cpp computes for a sum, written once over any numbers: over R for the theorems
   (RowBounds.v, RowBoundsOnline.v), over intervals for the test that compares the C++ with it (Enclosure.v). *)
Require Import ZArith List Arith.
Import ListNotations.

(* lower_if g x a: the smaller of x and a if g < 1, else a *)
Record ops := Ops { num : Type; of_Z : Z -> num; pow2 : Z -> num; add : num -> num -> num; sub : num -> num -> num; mul : num -> num -> num;
  div : num -> num -> num; top : num -> num -> num; exp_ : num -> num; ln_ : num -> num; lower_if : num -> num -> num -> num }.

Section Formula.
Variable O : ops.
Notation num := (num O). Notation of_Z := (of_Z O). Notation add := (add O). Notation sub := (sub O). Notation mul := (mul O). Notation div := (div O).
Notation top := (top O). Notation exp_ := (exp_ O). Notation ln_ := (ln_ O).

Definition of_nat (k : nat) : num := of_Z (Z.of_nat k).
Definition dyadic (d : Z * Z) : num := mul (of_Z (fst d)) (pow2 O (snd d)).
Definition lam_ (t : num) : num := sub (of_Z 0) (ln_ (sub (of_Z 1) t)).
Definition total {X} (f : X -> num) (l : list X) : num := fold_right (fun x s => add (f x) s) (of_Z 0) l.
Fixpoint power (c : num) (k : nat) : num := match k with 0 => of_Z 1 | S k => mul c (power c k) end.

(* A term: its logit (an integer multiple of one power of 2), e^w, e^w raised by its relative errors before the
   additions, its absolute error. *)
Record entry := Entry { key : Z; exact : num; grown : num; absolute : num }.

Section Sum.
Variable lam_u : num.
Variable h : nat.       (* additions on a path *)
Variable merged : bool. (* an online sum *)
Variable times : nat.   (* how often an absolute error counts, with those of the rescales *)
Variable row : list entry. (* by descending logit *)

Definition sum : num := total exact row.
Definition tree : num := mul (of_nat h) lam_u.
Definition before : num := ln_ (div (total grown row) sum).   (* the errors before the additions *)
Definition plain : num := add before tree.
Definition plain_lost : num := mul (div (mul (of_nat times) (total absolute row)) sum) (exp_ (mul (of_Z 2) plain)).
Definition plain_bound : num := add plain (lam_ plain_lost).

(* Head and tail: the first r terms; of an online sum all that equal the last of them too. *)
Definition split (r : nat) : list entry * list entry :=
  if merged then match nth_error row (r - 1) with
    | None => (row, [])
    | Some y => (filter (fun x => Z.leb (key y) (key x)) row, filter (fun x => negb (Z.leb (key y) (key x))) row) end
  else (firstn r row, skipn r row).
Definition among (heads : list entry) : num := mul (of_nat (Nat.min (length heads - 1) h)) lam_u.
Definition above_head (heads tail : list entry) : num :=
  let of_tail := if merged then mul (of_Z 2) (add (total absolute heads) (total absolute tail)) else total absolute tail in
  let of_heads := if merged then total grown heads else add (total grown heads) (total absolute heads) in
  add (ln_ (div (add of_heads (mul (mul (of_Z 2) (add (total grown tail) of_tail)) (exp_ tree))) sum)) (among heads).
Definition alone (heads : list entry) : num := add (ln_ (div (total grown heads) (total exact heads))) (among heads).
Definition head_lost (heads : list entry) : num :=
  mul (div (mul (of_nat times) (total absolute heads)) (total exact heads)) (exp_ (mul (of_Z 2) (alone heads))).
Definition below_head (heads : list entry) : num :=
  sub (add (alone heads) (lam_ (head_lost heads))) (ln_ (div (total exact heads) sum)).
(* a bound, and what must be below 1 for it to hold *)
Definition head_bound (r : nat) : num * num :=
  let (heads, tail) := split r in (head_lost heads, top (above_head heads tail) (below_head heads)).
Fixpoint powers (fuel r n : nat) : list nat := match fuel with 0 => [] | S fuel => if Nat.ltb r n then r :: powers fuel (2 * r) n else [] end.
Definition head_sizes : list nat :=
  filter (fun r => match snd (split r) with [] => false | _ => true end) (powers (length row) 1 (length row)).

(* Depths: the heaviest terms are the deepest. `deep`: the weights, in descending order or any other. *)
Fixpoint suffix_tops (l : list num) : list num :=
  match l with [] => [] | w :: l => match suffix_tops l with [] => [w] | v :: r => top w v :: v :: r end end.
Fixpoint worst (factors : list num) (n k : nat) (ws : list num) : num :=
  match ws with [] => of_Z 0 | w :: ws =>
    add (mul w (nth (Nat.min h (n - k + Nat.log2 k)) factors (of_Z 0))) (worst factors n (S k) ws) end.
Fixpoint power_list (c x : num) (k : nat) : list num := match k with 0 => [x] | S k => x :: power_list c (mul c x) k end.
Definition depth_bound (deep : list num) : num :=
  add (ln_ (div (worst (power_list (exp_ lam_u) (of_Z 1) h) (length deep) 1 (suffix_tops deep)) sum)) (lam_ plain_lost).

(* b. `least`: kept as a floor of the sharper bounds of long sums *)
Definition short_sum : nat := 64.
Definition candidates (deep : list num) : list (num * num) :=
  if Nat.ltb short_sum h
  then (if Nat.ltb (length row) (2 * h) then [(plain_lost, depth_bound deep)] else []) ++ map head_bound head_sizes
  else [].
Definition lowest_of (least : num) (l : list (num * num)) : num := fold_right (fun c b => lower_if O (fst c) (top (snd c) least) b) plain_bound l.
Definition row_bound (deep : list num) (least : num) : num := lowest_of least (candidates deep).
Definition floor_of (own : num) : num := add own (mul (of_nat short_sum) lam_u).
End Sum.

(* The terms of each class. A logit is z 2^e; f 2^e is the computed argument of its exp; m 2^e is what was subtracted. *)
Record constants := Constants { lam_of_u : num; one_v : num; eps0 : num; slope : num; eta : num; unit : num; rel_v : num }.
Definition constants_of (e : Z) (u v e0 sl et : Z * Z) : constants :=
  Constants (lam_ (dyadic u)) (add (of_Z 1) (dyadic v)) (dyadic e0) (dyadic sl) (dyadic et) (pow2 O e) (dyadic v).
Section Terms.
Variable C : constants.
Variable m : Z.
Definition val (z : Z) : num := mul (of_Z z) (unit C).
Definition own_of (y : Z * Z) : num :=
  add (val (Z.abs (snd y - (fst y - m)))) (if Z.eqb (fst y) m then of_Z 0 else add (eps0 C) (mul (slope C) (val (Z.abs (snd y))))).
(* safe; naive with m = 0. `stored`: of numerators kept in a narrower type, each one's relative error in the place of the exp's, and its absolute error *)
Variable stored : list (Z * ((Z * Z) * (Z * Z))).
Definition stored_of (y : Z * Z) : option (Z * ((Z * Z) * (Z * Z))) := find (fun s => Z.eqb (fst s) (fst y)) stored.
Definition term_own (y : Z * Z) : num :=
  match stored_of y with None => own_of y | Some s => add (val (Z.abs (snd y - (fst y - m)))) (dyadic (fst (snd s))) end.
Definition term_absolute (y : Z * Z) : num := match stored_of y with None => eta C | Some s => add (eta C) (dyadic (snd (snd s))) end.
Definition safe_entry (y : Z * Z) : entry :=
  let w := val (fst y - m) in Entry (fst y) (exp_ w) (exp_ (add w (term_own y))) (term_absolute y).
(* online *)
Variable zs : list Z.   (* the distinct logits *)
Variable h : nat.
Definition count_above (z : Z) : nat := length (filter (fun x => Z.ltb z x) zs).
Definition rescaled_by (y : Z * Z) : num :=
  let k := count_above (fst y) in let d := val (Z.abs (fst y - m)) in
  let shift := if Nat.leb (Nat.min (h + 1) k) 1 then val (Z.abs (snd y - (fst y - m))) else mul (rel_v C) d in
  add (add shift (mul (mul (slope C) (one_v C)) d))
      (add (mul (of_nat (Nat.min (h + 1) k)) (eps0 C)) (mul (of_nat (Nat.min h k)) (lam_of_u C))).
Definition online_entry (y : Z * Z) : entry :=
  let w := val (fst y - m) in Entry (fst y) (exp_ w) (exp_ (add w (rescaled_by y))) (eta C).
Definition most_exps (row : list (Z * Z)) : nat := fold_right (fun y k => Nat.max (Nat.min (h + 1) (count_above (fst y))) k) 0 row.
End Terms.

(* A sum to bound: logits, in descending order, and their computed arguments in units of 2^scale; `heaviest`: the same terms, the heaviest first. *)
Record case := Case { scale : Z; c_u : Z * Z; c_v : Z * Z; c_eps0 : Z * Z; c_slope : Z * Z; c_eta : Z * Z; online : bool; additions : nat;
  subtracted : Z; logits : list (Z * Z); heaviest : list (Z * Z); stored_errors : list (Z * ((Z * Z) * (Z * Z))) }.
Variable c : case.
Definition constants_in : constants := constants_of (scale c) (c_u c) (c_v c) (c_eps0 c) (c_slope c) (c_eta c).
Definition distinct : list Z := nodup Z.eq_dec (map fst (logits c)).
Definition entry_of (C : constants) (zs : list Z) : Z * Z -> entry :=
  if online c then online_entry C (subtracted c) zs (additions c) else safe_entry C (subtracted c) (stored_errors c).
Definition times_of (zs : list Z) : nat := if online c then 1 + Nat.min 2 (most_exps zs (additions c) (logits c)) else 1.
(* the numerators alone: the floor of long sums *)
Definition least_of (C : constants) : num :=
  let own := if online c then total (fun y => exp_ (add (val C (fst y - subtracted c)) (own_of C (subtracted c) y))) (logits c)
             else total grown (map (safe_entry C (subtracted c) (stored_errors c)) (logits c)) in
  let all := total (fun y => exp_ (val C (fst y - subtracted c))) (logits c) in floor_of (lam_of_u C) (ln_ (div own all)).
Definition case_lost_ : num :=   (* must be below 1 *)
  let C := constants_in in let zs := distinct in plain_lost (lam_of_u C) (additions c) (times_of zs) (map (entry_of C zs) (logits c)).
Definition case_bound : num :=
  let C := constants_in in let zs := distinct in let E := map (entry_of C zs) (logits c) in
  row_bound (lam_of_u C) (additions c) (online c) (times_of zs) E (map (fun y => grown (entry_of C zs y)) (heaviest c)) (least_of C).
(* what it is made of: plain, what of the absolute errors is given to lam, the sharper bounds with what must be below 1, b *)
Definition case_parts : num * num * list (num * num) * num :=
  let C := constants_in in let zs := distinct in let E := map (entry_of C zs) (logits c) in let L := lam_of_u C in let h := additions c in
  let l := candidates L h (online c) (times_of zs) E (map (fun y => grown (entry_of C zs y)) (heaviest c)) in
  (plain L h E, plain_lost L h (times_of zs) E, l, lowest_of L h (times_of zs) E (least_of C) l).

(* An output: the division's relative error T as a logarithm, its absolute error w0; between these two it lies. *)
Variables divided rounded w0 : Z * Z.
Definition quotient_error : num := add (lam_ (dyadic divided)) (lam_ (dyadic rounded)).
Definition output_range (C : constants) (b s T : num) (y : Z * Z) : num * num :=
  let w := val C (fst y - subtracted c) in let A := add (add (own_of C (subtracted c) y) T) b in
  let W := add (mul (div (eta C) s) (exp_ (add b T))) (dyadic w0) in let p := div (exp_ w) s in
  (sub (mul p (exp_ (sub (of_Z 0) A))) W, add (mul p (exp_ A)) W).
Definition output_ranges : list (num * num) :=
  let C := constants_in in let s := total (fun y => exp_ (val C (fst y - subtracted c))) (logits c) in
  map (output_range C case_bound s quotient_error) (logits c).
End Formula.
Arguments Entry {O}. Arguments key {O}. Arguments exact {O}. Arguments grown {O}. Arguments absolute {O}.
