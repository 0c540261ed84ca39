// SPDX-License-Identifier: Apache-2.0
// Finds launches, declarations of shared memory and function bodies, only by brackets and words.
#include <vector>

#include "kernels/adapter/compile/host_source.hpp"

namespace assay {

MarkedSource::MarkedSource(std::string_view source, bool in_macro)
    : t_(source_tokens(source)), in_macro_(in_macro) {
  for (std::size_t i = 0; i < t_.size(); ++i)
    if (t_[i].kind != SourceToken::blank && t_[i].kind != SourceToken::directive) live_.push_back(i);
  find_functions();
  for (std::size_t s = 0; s < live_.size(); ++s) {
    if (opens_launch(s)) find_launch(s);
    if (at(s).is("__shared__")) find_shared(s);
  }
}

std::size_t MarkedSource::close_of(std::size_t s, std::string_view open, std::string_view close) const {
  int depth = 0;
  for (; s < live_.size(); ++s) {
    if (at(s).is(open)) ++depth;
    if (at(s).is(close) && --depth == 0) return s;
  }
  return live_.size();
}

void MarkedSource::find_functions() {
  function_.assign(live_.size(), in_macro_);
  std::vector<bool> open;
  bool inside = in_macro_;
  std::size_t statement = 0;
  for (std::size_t s = 0; s < live_.size(); ++s) {
    function_[s] = inside;
    if (at(s).is("{")) {
      bool scope = false, call = false;
      for (std::size_t i = statement; i < s; ++i) {
        scope |= at(i).is("namespace") || at(i).is("struct") || at(i).is("class") || at(i).is("union") ||
                 at(i).is("enum") || (at(i).is("extern") && at(i + 1).kind == SourceToken::text);
        call |= at(i).is("(");
      }
      open.push_back(inside);
      // struct S f() { is a function, namespace N { is not.
      inside = inside || !scope || (call && !at(statement).is("namespace"));
      statement = s + 1;
    } else if (at(s).is("}")) {
      if (!open.empty()) {
        inside = open.back();
        open.pop_back();
      }
      statement = s + 1;
    } else if (at(s).is(";")) {
      statement = s + 1;
    }
  }
}

std::size_t MarkedSource::kernel_begin(std::size_t angle) const {
  std::size_t s = angle;
  if (s == 0) return angle;
  --s;
  if (at(s).is(")")) {
    int depth = 0;
    for (;; --s) {
      if (at(s).is(")")) ++depth;
      if (at(s).is("(") && --depth == 0) return s;
      if (s == 0) return angle;
    }
  }
  for (;;) {
    if (at(s).is(">")) {
      int angles = 0, rounds = 0;
      for (;; --s) {
        if (at(s).is(")")) ++rounds;
        if (at(s).is("(")) --rounds;
        if (rounds == 0 && at(s).is(">")) ++angles;
        if (rounds == 0 && at(s).is("<") && --angles == 0) break;
        if (s == 0) return angle;
      }
      if (s == 0) return angle;
      --s;
    }
    if (at(s).kind != SourceToken::word) return angle;
    if (s > 0 && at(s - 1).is("template")) --s;
    if (s == 0 || !at(s - 1).is("::")) return s;
    --s;
    if (s == 0 || (at(s - 1).kind != SourceToken::word && !at(s - 1).is(">"))) return s;
    if (at(s - 1).is("return")) return s;
    --s;
  }
}

void MarkedSource::find_launch(std::size_t angle) {
  const std::size_t begin = kernel_begin(angle);
  if (begin == angle) return;
  int depth = 0;
  for (std::size_t s = angle + 3; s < live_.size(); ++s) {
    if (at(s).is("(") || at(s).is("[") || at(s).is("{")) ++depth;
    if (at(s).is(")") || at(s).is("]") || at(s).is("}")) --depth;
    if (depth < 0) return;
    if (depth == 0 && triple(s, ">") && !(triple(s + 1, ">"))) {
      if (!word(s + 3, "(")) return;
      const std::size_t close = close_of(s + 3, "(", ")");
      if (close < live_.size()) launches_[begin] = {angle, s, s + 3, close};
      return;
    }
  }
}

void MarkedSource::find_shared(std::size_t s) {
  std::size_t begin = s;
  for (;;) {
    if (begin == 0) break;
    const SourceToken& before = at(begin - 1);
    if (before.is("extern") || before.is("static") || before.is("volatile") || before.is("__device__") ||
        before.is("const")) {
      --begin;
    } else if (before.is(")")) {
      std::size_t open = begin - 1;
      int depth = 0;
      for (;; --open) {
        if (at(open).is(")")) ++depth;
        if (at(open).is("(") && --depth == 0) break;
        if (open == 0) return;
      }
      if (open == 0 || !(at(open - 1).is("alignas") || at(open - 1).is("__align__"))) break;
      begin = open - 1;
    } else {
      break;
    }
  }
  int depth = 0;
  for (std::size_t e = s; e < live_.size(); ++e) {
    if (at(e).is("(") || at(e).is("{") || at(e).is("[")) ++depth;
    if (at(e).is(")") || at(e).is("}") || at(e).is("]")) --depth;
    if (depth < 0) return;
    if (depth == 0 && at(e).is(";")) {
      shared_[begin] = {e};
      return;
    }
  }
}

}  // namespace assay
