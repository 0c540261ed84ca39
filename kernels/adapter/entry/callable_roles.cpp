// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/callable_roles.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "kernels/adapter/entry/names.hpp"
#include "reference/error.hpp"
#include "reference/operand_table.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

const OperandInfo* operand_of(std::string_view role) {
  const auto* const found = std::ranges::find(kOperandTable, role, &OperandInfo::name);
  return found == std::end(kOperandTable) ? nullptr : found;
}

struct Given : CallableParameter {
  std::string role = {}, type = {}, literal = {};  // role: empty if it gets nothing

  bool by_place() const { return kind != keyword; }
  bool asked() const { return role.empty() && initial == required; }
};

std::string plain(const std::string& name) {
  std::string s;
  for (const char c : name)
    if (c != '_') s += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

template <class All>
std::string joined(const All& all) {
  std::string s;
  for (std::size_t i = 0; i < all.size(); ++i)
    s += (i == 0 ? "" : i + 1 < all.size() ? ", " : " and ") + all[i]->name;
  return s;
}

class CallableReader {
 public:
  CallableReader(const Callable& c, Op op) : callable_(c), op_(op) {
    for (const CallableParameter& p : c.parameters) all_.push_back({p});
    if (picks(op)) firsts_.emplace_back(selects(op) ? "k" : "threshold");
    if (selects(op)) outputs_.emplace_back("indices");
  }

  std::vector<CallableArgument> read(const std::vector<std::string>& said) {
    for (const std::string& text : said) take(text);
    from_names();
    from_places();
    outputs();
    for (const Given& p : all_) check(p);
    return in_order();
  }

 private:
  using Some = std::vector<Given*>;
  template <class F>
  Some those(F f) {
    Some some;
    for (Given& p : all_)
      if (f(p)) some.push_back(&p);
    return some;
  }
  bool has(std::string_view role) const {
    return std::ranges::any_of(all_, [&](const Given& p) { return p.role == role; });
  }
  bool judged(const OperandInfo& o) const { return (judged_operands(op_) & o.part) != 0; }
  [[noreturn]] static void refuse(const std::string& why) { throw InputError(why); }

  void take(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    auto p = std::ranges::find_if(all_, [&](const Given& q) { return q.name == name; });
    if (p == all_.end()) {
      if (!callable_.keywords)
        refuse("--arg " + text + ": no such parameter: " +
               (all_.empty() ? "it has none"
                             : "its parameters are " + joined(those([](const Given&) { return true; }))));
      p = all_.insert(all_.end(), Given{{CallableParameter::keyword, CallableParameter::required, name}});
    }
    const std::size_t colon = std::min(value.find(':'), value.size());
    const bool role = std::isalpha(static_cast<unsigned char>(value[0])) != 0 &&
                      !is_word_of("None True False inf nan", value);
    p->role = role ? value.substr(0, colon) : "literal";
    (role ? p->type : p->literal) = role ? value.substr(std::min(colon + 1, value.size())) : value;
  }

  void from_names() {
    const bool beta = std::ranges::any_of(all_, [](const Given& p) { return plain(p.name) == "beta"; });
    for (Given& p : all_) {
      const std::string n = plain(p.name), role(untyped_role(n));
      if (!p.role.empty()) continue;
      if (p.name == "stream") {
        p.role = "stream";
        continue;
      }
      // A bool or a string chooses a method, not a value.
      if (role.empty() || role == "out" || p.initial == p.chooses || is_blas_alpha(n, beta)) continue;
      const OperandInfo* const o = operand_of(role == "mask" ? "mask_keep" : role);
      if (!judged(*o)) refuse_op(p, role);
      if (role == "mask") {
        const std::string is = "--arg " + p.name + "=";
        refuse(p.name + " is a mask: what does it mean? " + is + "mask_keep leaves out what is False; " + is +
               "mask_drop leaves out what is True; " + is + "bias adds it" +
               (p.initial == p.none ? "; " + is + "None passes no mask" : ""));
      }
      if (o->part == operand::scale && may_scale_results(n, op_))
        refuse(p.name + ": " + scale_question(p.name));
      p.role = role;
    }
  }
  [[noreturn]] void refuse_op(const Given& p, const std::string& role) const {
    refuse(not_judged((role == p.name ? "" : p.name + ": ") + role, op_, p.name + "=None", true));
  }

  /// The logits come first, and k of a top-k second.
  void from_places() {
    for (const std::string& role : firsts_) {
      if (has(role)) continue;
      const Some free = those([&](const Given& p) {
        return p.role.empty() && (p.by_place() || (p.initial == p.required && !callable_.more));
      });
      const auto named = std::ranges::find_if(free, [&](const Given* p) { return p->name == role; });
      if (!free.empty())
        (named == free.end() ? free[0] : *named)->role = role;
      else if (!callable_.more)
        refuse("no parameter is left for " + (role == "in"  ? "the logits"
                                              : role == "k" ? role
                                                            : "the " + role));
    }
  }
  /// The other required parameters are the outputs.
  void outputs() {
    Some free = those([](const Given& p) { return p.asked(); });
    std::vector<std::string> wanted = outputs_;
    std::erase_if(wanted, [&](const std::string& role) { return has(role); });
    if (free.size() == wanted.size()) {
      for (std::size_t i = 0; i < free.size(); ++i) free[i]->role = wanted[i];
    } else if (free.empty()) {
      if (wanted != outputs_)
        refuse("no parameter takes " + wanted[0] + ": a callable takes all outputs as parameters, or none");
    } else {
      const auto is_out = [](const Given* p) { return untyped_role(plain(p->name)) == "out"; };
      if (wanted.size() == 1 && wanted[0] == "out" && std::ranges::count_if(free, is_out) == 1) {
        std::erase_if(free, is_out);
        wanted.clear();
      }
      ask(free, wanted);
    }
  }
  [[noreturn]] void ask(const Some& free, const std::vector<std::string>& wanted) const {
    const std::string arg = "--arg " + (free.size() == 1 ? free[0]->name : "NAME");
    std::string says = arg + "=VALUE (16, None) or " + arg + "=ROLE (rows, V";
    // Factors last, and of these the numbers.
    const auto rank = [](const OperandInfo& o) {
      return (o.part & operand::any_scale) == 0 ? 0 : o.number ? 2 : 1;
    };
    for (const int now : {0, 1, 2})
      for (const OperandInfo& o : kOperandTable)
        if (judged(o) && rank(o) == now) says += std::string(", ") + o.name;
    says += ") says it";
    if (free.size() < wanted.size())
      refuse("what is " + joined(free) + "? A callable takes both outputs, values and indices, or none. " +
             says);
    if (wanted.empty()) refuse("what is " + joined(free) + "? " + says);
    std::string which, words;
    for (const std::string& role : wanted) {
      which += (which.empty() ? "" : " and ") + std::string(role == "out" ? "the output" : "the indices");
      words += " --arg NAME=" + role;
    }
    refuse("which of " + joined(free) + " is " + which + "?" + words + " says it. For another parameter, " +
           says);
  }

  void check(const Given& p) const {
    const OperandInfo* const o = operand_of(p.role);
    if (o && !judged(*o)) refuse_op(p, p.role);
    const std::string what = ": --arg " + p.name + "=... says what " + p.name + " is";
    for (const auto& [role, of_op] :
         {std::pair("k", selects(op_)), {"indices", selects(op_)}, {"threshold", keeps_a_set(op_)}})
      if (p.role == role && !of_op) refuse(std::string(name(op_)) + " has no " + p.role + what);
    const bool once = o || is_word_of("in k threshold out indices", p.role);
    for (const Given* q = all_.data(); q != &p; ++q) {
      if (once && q->role == p.role) refuse(q->name + " already is the " + p.role + what);
      const OperandInfo* const other = operand_of(q->role);
      if (o && other && (o->rivals & other->part) != 0)
        refuse(q->name + " is " + q->role + " and " + p.name + " is " + p.role + ": a call has one of them");
    }
  }

  /// Passes a parameter by keyword if it has a default, or if one before it is not passed by place.
  std::vector<CallableArgument> in_order() const {
    std::vector<CallableArgument> places, keywords;
    // The signature is not known: pass the logits (and k) first, then what --arg names.
    if (!has("in"))
      for (const std::string& role : firsts_) places.push_back({true, role});
    const Given* skipped = nullptr;
    for (const Given& p : all_) {
      const bool by_place =
          p.kind == p.place_alone ||
          (p.by_place() && (p.initial == p.required || is_word_of("in k threshold", p.role)));
      if (!p.role.empty() && by_place && !skipped) {
        places.push_back({true, p.role, p.name, p.type, p.literal});
        continue;
      }
      if (!p.role.empty() && p.kind == p.place_alone)
        refuse(p.name + " has no keyword, so " + skipped->name + " in front of it needs a value: --arg " +
               skipped->name + "=VALUE");
      if (p.by_place() && !skipped) skipped = &p;
      if (!p.role.empty()) keywords.push_back({false, p.role, p.name, p.type, p.literal});
    }
    places.insert(places.end(), keywords.begin(), keywords.end());
    return places;
  }

  const Callable& callable_;
  const Op op_;
  std::vector<Given> all_;
  std::vector<std::string> firsts_ = {"in"}, outputs_ = {"out"};
};

}  // namespace

std::vector<CallableArgument> callable_arguments(const Callable& callable, Op op,
                                                 const std::vector<std::string>& said) {
  return CallableReader(callable, op).read(said);
}

std::string callable_operands(const std::vector<CallableArgument>& arguments, const std::string& logits,
                              const std::string& lengths) {
  std::string words;
  for (const CallableArgument& a : arguments) {
    const OperandInfo* const o = operand_of(a.role);
    if (!o) continue;
    words += (words.empty() ? "" : " ") + a.role;
    if (o->part & operand::any_mask) words += ":" + (a.type.empty() || a.type == "bool" ? "u8" : a.type);
    if (o->part & operand::any_bias) words += ":" + (a.type.empty() ? logits : a.type);
    if (o->part & operand::lengths) words += ":" + (a.type.empty() ? lengths : a.type);
  }
  return words;
}

std::string callable_read_as(const std::vector<CallableArgument>& arguments) {
  std::string words;
  for (const CallableArgument& a : arguments)
    if (operand_of(a.role)) words += ", " + (a.name == a.role ? a.name : a.name + " as " + a.role);
  return words;
}

}  // namespace assay
