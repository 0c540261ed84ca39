// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/lengths.hpp"

#include <algorithm>
#include <vector>

#include "kernels/adapter/entry/names.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/entry/types.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

bool is_open(const Parameter& p) { return p.role == Role::none && p.is_integer(); }
bool is_free(const EntrySignature& s, Role r) {
  return !s.has(r) && !(r == Role::rows ? s.one_row : s.fixed_V > 0);
}

/// Gives M, N and n the role rows or V, depending on which other parameters there are.
void single_letters(EntrySignature& s) {
  Parameter *N = nullptr, *n = nullptr, *M = nullptr;
  for (Parameter& p : s.parameters) {
    if (!is_open(p)) continue;
    if (p.name == "N") N = &p;
    if (p.name == "n") n = &p;
    if (p.name == "M" || p.name == "m") M = &p;
  }
  const bool rows = is_free(s, Role::rows), V = is_free(s, Role::V);
  // A matrix is M x N, but some write n x m. Only the usual order is accepted.
  if (M && (N || n) && !(N && n) && M < (N ? N : n) && rows && V) {
    M->role = Role::rows;
    (N ? N : n)->role = Role::V;
  } else if (N && n && rows && V) {
    N->role = Role::rows;
    n->role = Role::V;
  } else if (!(M && (N || n)) && rows != V) {
    for (Parameter* p : {M, N, n})
      if (p && is_free(s, rows ? Role::rows : Role::V) && (rows || p != M))
        p->role = rows ? Role::rows : Role::V;
  }
}

/// Heads and sequences: the number of rows is their product. It does not matter which parameter gets the
/// whole product, so one gets it and the others get 1.
void sequences(EntrySignature& s) {
  Parameter* sequence = nullptr;
  bool factors = false;
  for (Parameter& p : s.parameters) {
    if (!is_open(p)) continue;
    if (is_sequence(plain_name(p))) sequence = &p;
    factors |= is_row_factor(plain_name(p));
  }
  // In attention scores one seq_len is the row length and also a factor of the number of rows. That case is
  // left out.
  if (sequence && !factors && !s.has(Role::V) && !is_free(s, Role::rows)) {
    sequence->role = Role::V;
    sequence = nullptr;
  }
  if (!s.has(Role::V)) return;
  for (Parameter& p : s.parameters) {
    if (!is_open(p) || (&p != sequence && !is_row_factor(plain_name(p)))) continue;
    if (is_free(s, Role::rows))
      p.role = Role::rows;
    else
      set_literal(p, "1");
  }
}

/// Batches and heads of a causal kernel: their product is the number of squares. One parameter gets the whole
/// product, no matter which. T is the row length; N beside it is the number of squares, too.
void squares(EntrySignature& s) {
  bool by_sequence = false;
  for (Parameter& p : s.parameters)
    if (is_open(p) && (p.name == "T" || is_sequence(plain_name(p)))) {
      if (s.has(Role::V))
        set_literal(p, "V");
      else
        p.role = Role::V;
      by_sequence = true;
    }
  if (!s.has(Role::V)) return;
  bool told = s.has(Role::rows) || s.one_row;
  for (Parameter& p : s.parameters) {
    const bool count = is_square_count(plain_name(p)) || (by_sequence && p.name == "N");
    if (!is_open(p)) continue;
    if (!count) {
      // There are as many queries as keys.
      if (is_row_factor(plain_name(p))) set_literal(p, "V");
      continue;
    }
    set_literal(p, told ? "1" : "rows/V");
    told = true;
  }
}

/// Examples: causal_softmax, scaled_upper_triang_masked_softmax.
bool says_causal(const std::string& function) {
  return function.find("causal") != function.npos || function.find("Causal") != function.npos ||
         function.find("triang") != function.npos;
}

}  // namespace

void set_literal(Parameter& p, const std::string& text) {
  p.role = Role::literal;
  p.literal = text;
  // Other names belong to the file.
  bool sizes = false, others = false;
  for (const EntryToken& t : entry_tokens(text)) {
    const bool size = t.is("rows") || t.is("V") || t.is("k");
    sizes |= size;
    others |= t.kind == EntryToken::word && !size;
  }
  p.formula = sizes && !others && p.is_integer();
}

void find_lengths(EntrySignature& s) {
  if (s.causal) squares(s);
  single_letters(s);
  sequences(s);
  // One number without a name is left, and one role.
  std::vector<Parameter*> nameless;
  for (Parameter& p : s.parameters)
    if (is_open(p) && p.name.empty()) nameless.push_back(&p);
  if (nameless.size() == 1 && is_free(s, Role::rows) != is_free(s, Role::V))
    nameless[0]->role = is_free(s, Role::rows) ? Role::rows : Role::V;
  const int known = !is_free(s, Role::rows) + !is_free(s, Role::V);
  for (Parameter& p : s.parameters)
    if (is_open(p) && (is_count(plain_name(p)) ? known > 0 : may_be_count(plain_name(p)) && known == 2))
      set_literal(p, "rows*V");
}

bool knows_length(const EntrySignature& s, Role r) {
  if (!is_free(s, r)) return true;
  return s.has(r == Role::rows ? Role::V : Role::rows) &&
         std::any_of(s.parameters.begin(), s.parameters.end(), [&](const Parameter& p) {
           return p.formula && p.literal.find(name(r)) != std::string::npos;
         });
}

void need_lengths(const EntrySignature& s) {
  const bool rows = knows_length(s, Role::rows), V = knows_length(s, Role::V);
  if (rows && V) return;
  const std::vector<const Parameter*> all = entry_undecided(s, false);
  if (!s.causal && s.op == Op::softmax && says_causal(s.function) && !all.empty())
    throw InputError(
        "--entry: what is '" + all[0]->name +
        "'? Of a causal kernel it may be the number of squares, rows / V: " +
        "--declare causal=zeros or causal=lower says that it is one (accuracy/bounds/OPERANDS.md)");
  if (!rows && !V && all.size() == 1)
    refuse_entry(s, *all[0],
                 "is it the length of the one row that a call has? --arg " + entry_handle(s, *all[0]) +
                     "=V --arg rows=1 says so");
  if (!rows && !V && all.size() > 1)
    ask_entry(s, all, {Role::rows, Role::V}, "the number of rows, and which the length of a row");
  const Role open = rows ? Role::V : Role::rows;
  const char* const what = rows ? "the length of a row" : "the number of rows";
  if (all.size() > 1) ask_entry(s, all, {open}, what);
  if (all.size() == 1) {
    const std::string is = "--arg " + entry_handle(s, *all[0]) + "=";
    refuse_entry(
        s, *all[0],
        std::string("is it ") + what + "? " + is + name(open) + " says so; " + is +
            "'rows*V' says that it is the number of elements" +
            (s.causal && !rows ? "; " + is + "'rows/V' that it is the number of squares" : std::string()));
  }
  throw InputError(std::string("--entry: no parameter is ") + what + ": --arg NAME=" + name(open) +
                   " says which" +
                   (rows ? "; --arg V=4099 says that rows have that length, and no other"
                         : "; --arg rows=1 says that a call has one row: it is called for each"));
}

}  // namespace assay
