#include "kernels/adapter/entry/roles.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "kernels/adapter/entry/lengths.hpp"
#include "kernels/adapter/entry/names.hpp"
#include "kernels/adapter/entry/questions.hpp"
#include "kernels/adapter/entry/size_formula.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/entry/types.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

#define ASSAY_PART(part) #part,
constexpr const char* kRoleNames[] = {ASSAY_PARTS(ASSAY_PART) "literal"};
#undef ASSAY_PART
constexpr int kRoles = static_cast<int>(Role::literal) + 1;
static_assert(std::size(kRoleNames) == kRoles);

class Reader {
 public:
  Reader(EntrySignature& s, std::optional<Op> op, std::optional<Dtype> dtype)
      : s_(s), op_(op), dtype_(dtype), said_(s.parameters.size()) {}

  void read(const std::vector<EntryArgument>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        if (arguments[j].name == arguments[i].name)
          throw InputError("--arg " + quote_entry(arguments[i].name) + " is given twice");
      take(arguments[i]);
    }
    backward_ =
        op_ ? *op_ == Op::softmax_backward : s_.has(Role::gradients) || says_backward(lower(s_.function));
    for (Parameter& p : s_.parameters) {
      if (backward_ && p.role == Role::none && is_real(p)) backward_from_name(p);
      if (p.role == Role::none && !(backward_ && is_real(p) && p.read_only)) from_name(p);
    }
    types_over_names();
    one_reading_left();
    settle_op();
    find_lengths(s_);
    switches();
    check();
    settle_dtypes();
  }

 private:
  std::string place(const Parameter& p) const { return entry_place(s_, p); }
  std::string handle(const Parameter& p) const { return entry_handle(s_, p); }
  [[noreturn]] void refuse(const Parameter& p, const std::string& why) const { refuse_entry(s_, p, why); }

  void take(const EntryArgument& a) {
    const auto role = std::find_if(std::begin(kRoleNames) + 1, std::end(kRoleNames) - 1,
                                   [&](const char* n) { return a.value == n; });
    const bool is_role = role != std::end(kRoleNames) - 1;
    const bool room = a.value.starts_with("workspace(") && a.value.ends_with(")");
    if (!is_role && !is_plain_expression(a.value))
      throw InputError("--arg " + quote_entry(a.name + "=" + a.value) +
                       ": neither a role nor a value that can stand in a call");
    Parameter* p = named(a.name);
    if (a.name == "workspace_bytes" && !is_role) {
      s_.workspace_bytes = a.value;
      if (p) p->role = Role::workspace_bytes;
      return;
    }
    if (a.name == "rows" && a.value == "1") {
      s_.one_row = true;
      if (!p) return;
    }
    if (!p && a.name == "k") return fixed(a, s_.fixed_k);
    if (!p && a.name == "V") return fixed(a, s_.fixed_V);
    if (!p)
      throw InputError("--arg " + quote_entry(a.name + "=" + a.value) + ": the entry has no such parameter");
    said_[static_cast<std::size_t>(p - s_.parameters.data())] = true;
    if (is_role || room) {
      p->role = room ? Role::workspace : static_cast<Role>(role - std::begin(kRoleNames));
      if (room) p->bytes = a.value.substr(10, a.value.size() - 11);
      const bool to_pointer = p->role == Role::in || p->role == Role::out || p->role == Role::inout ||
                              p->role == Role::gradients || p->role == Role::indices ||
                              p->role == Role::workspace || p->role == Role::m || p->role == Role::d ||
                              (is_operand(p->role) && p->role != Role::temperature);
      if (to_pointer != (p->pointers > 0) && p->role != Role::stream && p->role != Role::temperature)
        refuse(*p, "cannot be " + std::string(name(p->role)) +
                       (to_pointer ? ", which is a pointer" : ", which is a number"));
    } else {
      check_literal(*p, a);
      set_literal(*p, a.value);
    }
  }
  /// k=5, V=4099: what the launcher was compiled for, and no parameter says.
  template <class Integer>
  static void fixed(const EntryArgument& a, Integer& value) {
    const char* const end = a.value.data() + a.value.size();
    const auto read = std::from_chars(a.value.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value < 1)
      throw InputError("--arg " + quote_entry(a.name + "=" + a.value) + ": no parameter is called " + a.name +
                       ", and no " + a.name + " of 1 or more");
  }
  static bool is_real_number(const Parameter& p) {
    return p.pointers == 0 &&
           (p.scalar == Scalar::f16 || p.scalar == Scalar::bf16 || p.scalar == Scalar::f32);
  }
  /// A number that the parameter's type does not hold would be cut short in silence.
  void check_literal(const Parameter& p, const EntryArgument& a) const {
    std::string_view digits = a.value;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    const bool number = error != std::errc::invalid_argument && end == digits.data() + digits.size();
    if (!number) return;
    const auto no = [&](const std::string& why) {
      throw InputError("--arg " + quote_entry(a.name + "=" + a.value) + ": " + why);
    };
    if (p.pointers > 0 || p.scalar == Scalar::stream) {
      if (negative || n != 0) no("a number is no " + p.type);
      return;
    }
    if (!p.is_integer()) return;
    const bool has_sign = p.scalar != Scalar::u32 && p.scalar != Scalar::u64;
    const int bits = p.scalar == Scalar::i8                               ? 8
                     : p.scalar == Scalar::i16                            ? 16
                     : p.scalar == Scalar::i32 || p.scalar == Scalar::u32 ? 32
                                                                          : 64;
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits + (has_sign ? 1 : 0));
    if (error != std::errc() || n > most + (negative && has_sign ? 1 : 0) || (negative && !has_sign && n > 0))
      no("does not fit " + p.type);
  }
  Parameter* named(std::string_view name) {
    for (Parameter& p : s_.parameters)
      if (!p.name.empty() && p.name == name) return &p;
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
    if (error == std::errc() && end == name.data() + name.size() && n >= 1 && n <= s_.parameters.size())
      return &s_.parameters[n - 1];
    return nullptr;
  }

  /// d_output is the gradient of the output, unless d_ stands before every buffer: then it says "device".
  void backward_from_name(Parameter& p) {
    const bool device = std::all_of(s_.parameters.begin(), s_.parameters.end(), [](const Parameter& q) {
      return !is_real(q) || lower(q.name).starts_with("d_");
    });
    std::string whole = lower(p.name);
    std::erase(whole, '_');
    if (!device) p.role = backward_role(whole, p.read_only);
    if (p.role == Role::none) p.role = backward_role(plain_name(p), p.read_only);
  }
  void from_name(Parameter& p) {
    const std::string n = plain_name(p);
    if (p.scalar == Scalar::stream && p.pointers == 0) {
      p.role = Role::stream;
    } else if (p.pointers > 0 && operand_role(p, n) != Role::none) {
      p.role = operand_role(p, n);
    } else if (p.pointers > 0) {
      p.role = pointer_role(n);
      const bool integers = p.scalar == Scalar::i32 || p.scalar == Scalar::u32 || p.scalar == Scalar::i64 ||
                            p.scalar == Scalar::u64;
      if (p.role == Role::none && (n == "stream" || n == "s") && p.scalar == Scalar::nothing)
        p.role = Role::stream;
      // Where only the type tells: int* topk.
      if (p.role == Role::none && integers && !p.read_only) p.role = Role::indices;
      if (p.role != Role::indices && p.role != Role::workspace && integers) p.role = Role::none;
      if (p.role == Role::none && is_lse(n)) lse_ = &p;
    } else if (p.is_integer()) {
      // One letter is two things: m is a pointer to maxima or a number of rows, M and N are a matrix's sides.
      if (p.name == "N" || p.name == "n" || p.name == "M" || p.name == "m") return;
      if (s_.causal && is_square_count(n)) return;
      p.role = number_role(n);
      std::string lower = p.name;
      for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      if (p.role == Role::none) p.role = pitch_role(lower);
    } else if ((is_number(p) || is_real_number(p)) && is_scale(n) && !(n == "alpha" && has_beta())) {
      p.role = Role::scale;
    } else if (is_number(p) && is_temperature(n)) {
      p.role = Role::temperature;
    }
  }
  /// y = alpha softmax(x) + beta y, as BLAS has it: there alpha is no factor of the logits.
  bool has_beta() const {
    return std::any_of(s_.parameters.begin(), s_.parameters.end(),
                       [](const Parameter& p) { return p.pointers == 0 && lower(p.name) == "beta"; });
  }
  bool said(const Parameter& p) const { return said_[static_cast<std::size_t>(&p - s_.parameters.data())]; }

  /// A name never makes a result of what is const: (float* x, const float* y) reads y.
  void types_over_names() {
    Parameter *in = nullptr, *out = nullptr;
    int reals = 0, pointers = 0;
    for (Parameter& p : s_.parameters) {
      if (is_operand(p.role)) continue;
      if (p.role == Role::in && !said(p) && !p.read_only) in = &p;
      if (p.role == Role::out && !said(p) && p.read_only) out = &p;
      reals += is_real(p);
      pointers += p.pointers > 0 && p.role != Role::stream;
    }
    if (in && out && reals == 2) std::swap(in->role, out->role);
    // The only buffer there is holds the logits, and then the results.
    if (reals == 1 && pointers == 1)
      for (Parameter& p : s_.parameters)
        if (is_real(p) && !p.read_only && !said(p) && &p != lse_) p.role = Role::inout;
  }

  static bool is_real(const Parameter& p) {
    return p.pointers > 0 && (p.scalar == Scalar::f16 || p.scalar == Scalar::bf16 ||
                              p.scalar == Scalar::f32 || p.scalar == Scalar::f64);
  }
  static bool is_number(const Parameter& p) {
    return p.pointers == 0 && (p.scalar == Scalar::f32 || p.scalar == Scalar::f64);
  }
  /// The only parameter without a role for which `f` holds; null if there is none or more than one.
  template <class F>
  Parameter* only(F f) {
    Parameter* found = nullptr;
    for (Parameter& p : s_.parameters)
      if (p.role == Role::none && &p != lse_ && !(p.pointers > 0 && is_mask(plain_name(p))) && f(p)) {
        if (found) return nullptr;
        found = &p;
      }
    return found;
  }

  /// y and dy are both const: where one is known the other is what is left.
  void one_reading_left_backward() {
    for (const Role r : {Role::gradients, Role::in})
      if (!s_.has(r) && s_.has(r == Role::in ? Role::gradients : Role::in))
        if (Parameter* p = only([](const Parameter& q) { return is_real(q) && q.read_only; })) p->role = r;
  }
  static std::string lower(std::string s) {
    for (char& c : s)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return s;
  }

  void one_reading_left() {
    if (backward_) one_reading_left_backward();
    if (!backward_ && !s_.has(Role::in) && !s_.has(Role::inout))
      if (Parameter* p = only([](const Parameter& q) { return is_real(q) && q.read_only; }))
        p->role = Role::in;
    if (!s_.has(Role::out) && !s_.has(Role::inout)) {
      if (Parameter* p = only([](const Parameter& q) { return is_real(q) && !q.read_only; }))
        p->role = s_.has(Role::in) ? Role::out : Role::inout;
    }
    // float* x and no other buffer: the results go where the logits are.
    if (!s_.has(Role::out) && !lse_ && !s_.has(Role::m) && !s_.has(Role::d))
      for (Parameter& p : s_.parameters)
        if (p.role == Role::in && !p.read_only) p.role = Role::inout;
  }

  void settle_op() {
    if (lse_ && (op_ == Op::lse || (!op_ && !s_.has(Role::out) && !s_.has(Role::inout)))) {
      if (s_.has(Role::out)) refuse(*lse_, "beside an output: --op says which is judged");
      lse_->role = Role::out;
      s_.op = Op::lse;
    } else if (op_) {
      s_.op = *op_;
    } else if (backward_) {
      const std::string f = lower(s_.function);
      for (const char* log : {"logsoftmax", "log_softmax"})
        if (f.find(log) != f.npos)
          throw InputError("--entry: '" + s_.function +
                           "': of backward passes that of softmax alone can be judged; if it is that, --op "
                           "softmax_backward says so");
      s_.op = Op::softmax_backward;
    } else {
      const std::string f = lower(s_.function);
      const auto says = [&](const char* a, const char* b) {
        return f.find(a) != f.npos || f.find(b) != f.npos;
      };
      if (s_.has(Role::indices))
        s_.op = says("softmax", "prob") ? Op::softmax_topk
                : says("topk", "top_k") ? Op::topk
                                        : Op::softmax_topk;
      else if (!s_.has(Role::out) && !s_.has(Role::inout) && (s_.has(Role::m) || s_.has(Role::d)))
        s_.op = Op::normalizer;
      else
        s_.op = says("log_softmax", "logsoftmax")  ? Op::log_softmax
                : says("logsumexp", "log_sum_exp") ? Op::lse
                                                   : Op::softmax;
    }
    if (const Parameter* p = s_.find(Role::indices); p && !selects(s_.op))
      refuse(*p, std::string(name(s_.op)) + " has no indices: --arg " + handle(*p) +
                     "=... says what it is, or --op softmax_topk");
  }

  /// A bool that would make something else of softmax is off; what nobody named takes its default.
  void switches() {
    for (Parameter& p : s_.parameters) {
      if (p.role != Role::none) continue;
      const std::string n = plain_name(p);
      if (p.pointers == 0 && p.scalar == Scalar::boolean && is_mask_switch(n))
        set_literal(p, s_.causal ? "true" : "false");
      else if (p.pointers == 0 && p.scalar == Scalar::boolean && is_log_switch(n) &&
               (s_.op == Op::softmax || s_.op == Op::log_softmax))
        set_literal(p, s_.op == Op::log_softmax ? "true" : "false");
      else if (!p.initial.empty() && is_plain_expression(p.initial) && knows_length(s_, Role::rows) &&
               knows_length(s_, Role::V))
        set_literal(p, p.initial);
    }
  }
  std::vector<const Parameter*> undecided(bool pointers) const {
    std::vector<const Parameter*> all = entry_undecided(s_, pointers);
    std::erase(all, lse_);
    return all;
  }
  void need(Role r, const char* what) {
    if (s_.has(r)) return;
    const bool number = r == Role::k;
    const std::vector<const Parameter*> all = undecided(!number);
    if (all.size() > 1 && backward_ && (r == Role::in || r == Role::gradients))
      ask_entry(s_, all, {Role::in, Role::gradients}, "what the softmax wrote, and which the gradients");
    if (all.size() > 1 && r == Role::in && !s_.has(Role::out) && s_.op != Op::normalizer)
      ask_entry(s_, all, {Role::in, Role::out}, "the logits, and which the results");
    if (all.size() > 1) ask_entry(s_, all, {r}, what);
    if (all.size() == 1)
      refuse(*all[0],
             std::string("is it ") + what + "? --arg " + handle(*all[0]) + "=" + name(r) + " says so");
    throw InputError(std::string("--entry: no parameter is ") + what + ": --arg NAME=" + name(r) +
                     " says which");
  }

  void check() {
    if (!s_.has(Role::inout)) need(Role::in, backward_ ? "what the softmax wrote" : "the logits");
    if (backward_) need(Role::gradients, "the gradients");
    if (const Parameter* p = s_.find(Role::gradients); p && !backward_)
      refuse(*p, std::string(name(s_.op)) + " has no gradients: --op softmax_backward has");
    if (s_.op == Op::normalizer) {
      if (!s_.has(Role::m) && !s_.has(Role::d)) need(Role::m, "the rows' maxima");
    } else if (!s_.has(Role::inout)) {
      need(Role::out, "the results");
    }
    if (selects(s_.op)) need(Role::indices, "the indices");
    need_lengths(s_);
    if (const Parameter* p = s_.find(Role::rows); p && s_.one_row)
      refuse(*p, "is the number of rows, and --arg rows=1 says that a call has one: --arg " + handle(*p) +
                     "=1 as well");
    if (selects(s_.op) && s_.fixed_k == 0) need(Role::k, "the k of top-k");
    for (const Parameter& p : s_.parameters) {
      if (p.scalar == Scalar::none && p.role != Role::literal)
        throw InputError(
            "--entry: parameter " + place(p) + ": " + quote_entry(p.type) +
            ": a type that is not known (float, half, __half, __nv_bfloat16, int, int64_t, size_t, "
            "void*, cudaStream_t, ...); --arg " +
            handle(p) + "=VALUE gives it a value");
      if (p.role == Role::none && p.pointers > 0 && is_mask(plain_name(p))) refuse(p, mask_question(p));
      if (p.role == Role::none)
        refuse(p, "not known what it is for: --arg " + handle(p) + "=VALUE, or --arg " + handle(p) +
                      "=ROLE (" + roles(p));
      if (p.formula)
        if (const std::string why = size_formula(p.literal, {65536, 131072, 1}); !why.empty())
          throw InputError("--arg " + quote_entry(handle(p) + "=" + p.literal) + ": " + why);
      if (p.role == Role::literal) continue;
      if ((is_operand(p.role) || p.role == Role::scale) &&
          (selects(s_.op) || s_.op == Op::normalizer || s_.op == Op::softmax_backward))
        refuse(p, std::string(name(p.role)) + " is judged for softmax, log_softmax and lse; this is " +
                      name(s_.op) +
                      (p.pointers > 0 ? std::string()
                                      : ": --arg " + handle(p) + "=1 checks it at that value and no other"));
      for (const Parameter& q : s_.parameters)
        if (&q < &p && q.role == p.role && p.role != Role::workspace && !(said(p) && said(q)) &&
            !(p.is_integer() && (said(p) || said(q))))  // a size may be told twice: nrows_x and nrows_y
          refuse(p, std::string(name(p.role)) + " already is '" + handle(q) + "': --arg " + handle(p) +
                        "=... says what it is");
      check_role_type(s_, p);
    }
    if (const Parameter* p = s_.find(Role::k); p && !selects(s_.op))
      refuse(*p, std::string(name(s_.op)) + " has no k: --arg " + handle(*p) +
                     "=V or another role says what it is");
    for (const Role side : {Role::in_pitch, Role::out_pitch})
      if (const Parameter* p = s_.find(Role::pitch); p && s_.has(side))
        refuse(*p, std::string("beside ") + name(side) + ": --arg " + handle(*p) +
                       "=in_pitch or out_pitch says which");
    for (const auto& [one, other] :
         {std::pair(Role::mask_keep, Role::mask_drop), std::pair(Role::bias, Role::bias_row)})
      if (const Parameter* p = s_.find(one); p && s_.has(other))
        refuse(*p, std::string("beside ") + name(other) + ": a launch has one of them");
    workspaces();
  }
  /// One formula for all of them, one after the other, each at a multiple of 256.
  void workspaces() {
    Parameter* open = nullptr;
    for (Parameter& p : s_.parameters) {
      if (p.role != Role::workspace || !p.bytes.empty()) continue;
      if (open || s_.workspace_bytes.empty())
        refuse(p,
               open ? "how many bytes? --arg " + handle(p) +
                          "='workspace(rows * V * 4)', of rows, V and k, says it of one of several"
                    : std::string("how many bytes? --arg workspace_bytes='rows * V * 4', of rows, V and k"));
      open = &p;
    }
    if (open) open->bytes = s_.workspace_bytes;
    if (!s_.workspace_bytes.empty()) check_bytes("workspace_bytes=", s_.workspace_bytes);
    std::string before;
    for (Parameter& p : s_.parameters) {
      if (p.role != Role::workspace) continue;
      if (&p != open) check_bytes(handle(p) + "=workspace", p.bytes);
      p.offset = before;
      s_.workspace_bytes = before.empty() ? p.bytes : before + " + (" + p.bytes + ")";
      before += (before.empty() ? "((" : " + ((") + p.bytes + ") + 255) / 256 * 256";
    }
  }
  void check_bytes(const std::string& what, const std::string& text) const {
    // What it is asked for: k is 0 where nothing is selected.
    const std::int64_t k = s_.fixed_k > 0 ? s_.fixed_k : selects(s_.op) ? 1 : 0;
    for (const std::int64_t rows : {0, 1, 65536})
      for (const std::int64_t V : {0, 1, 131072})
        if (const std::string why = size_formula(text, {rows, V, k}); !why.empty())
          throw InputError("--arg " + what + quote_entry(text) + ": " + why);
  }

  /// Masks mean one of three things, and nothing but their author's word says which.
  std::string mask_question(const Parameter& p) const {
    const bool real = is_real(p);
    const std::string is = "--arg " + handle(p) + "=";
    return "a mask: what does it mean? " + (real ? is + "bias: it is added; " : std::string()) + is +
           "mask_keep: what is 0 is left out; " + is + "mask_drop: what is not 0 is left out" +
           (p.read_only ? std::string() : "; " + is + "'workspace(rows * V)': it is written");
  }

  std::string roles(const Parameter& p) const {
    if (p.pointers > 0 && p.read_only && backward_) return "in, gradients)";
    if (p.pointers > 0 && p.read_only)
      return "in, bias, bias_row, mask_keep, mask_drop, lengths, temperature)";
    if (p.pointers > 0)
      return std::string("in, out, inout, ") + (backward_ ? "gradients, " : "") +
             "indices, m, d, bias, bias_row, mask_keep, mask_drop, lengths, temperature, workspace, stream), "
             "or, where it is written and not judged, "
             "--arg " +
             handle(p) + "='workspace(rows * V * 4)'";
    if (p.is_integer() && s_.causal) return "rows, V, in_pitch, out_pitch, pitch, workspace_bytes)";
    return p.is_integer() ? "rows, V, k, in_pitch, out_pitch, pitch, workspace_bytes)"
                          : "scale, temperature)";
  }

  Dtype dtype_of(const Parameter& p) const {
    switch (p.scalar) {
      case Scalar::f16:
        return Dtype::f16;
      case Scalar::bf16:
        return Dtype::bf16;
      case Scalar::f32:
        return Dtype::f32;
      case Scalar::f64:
        refuse(p, "unsupported: double: f16, bf16 and f32 can be judged");
      default:
        if (dtype_) return *dtype_;
        refuse(p, "of what? --types f16, bf16 or f32 says it");
    }
  }
  void settle_dtypes() {
    const Parameter* in = s_.find(Role::in);
    if (!in) in = s_.find(Role::inout);
    s_.in = s_.out = dtype_of(*in);
    if (const Parameter* p = s_.find(Role::gradients); p && dtype_of(*p) != s_.in)
      refuse(*p, "gradients of another type than what the softmax wrote cannot be judged");
    if (const Parameter* out = s_.find(Role::out)) s_.out = dtype_of(*out);
  }

  EntrySignature& s_;
  std::optional<Op> op_;
  std::optional<Dtype> dtype_;
  Parameter* lse_ = nullptr;
  bool backward_ = false;   // y and dy are read, dx is written
  std::vector<bool> said_;  // of parameters: --arg says what it is
};

}  // namespace

const char* name(Role r) { return kRoleNames[static_cast<int>(r)]; }

void assign_roles(EntrySignature& s, const std::vector<EntryArgument>& arguments, std::optional<Op> op,
                  std::optional<Dtype> dtype) {
  Reader(s, op, dtype).read(arguments);
}

}  // namespace assay
