// SPDX-License-Identifier: Apache-2.0
// What --arg, a name or a type says about a parameter.

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "kernels/adapter/entry/role_reader.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/entry/types.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

#define ASSAY_PART(part) #part,
constexpr const char* kRoleNames[] = {ASSAY_PARTS(ASSAY_PART) "literal"};
#undef ASSAY_PART
constexpr int kRoles = static_cast<int>(Role::literal) + 1;
static_assert(std::size(kRoleNames) == kRoles);

}  // namespace

void RoleReader::read(const std::vector<EntryArgument>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (arguments[j].name == arguments[i].name)
        throw InputError("--arg " + in_quotes(arguments[i].name) + " is given twice");
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

void RoleReader::take(const EntryArgument& a) {
  const auto role = std::find_if(std::begin(kRoleNames) + 1, std::end(kRoleNames) - 1,
                                 [&](const char* n) { return a.value == n; });
  const bool is_role = role != std::end(kRoleNames) - 1;
  const bool room = a.value.starts_with("workspace(") && a.value.ends_with(")");
  if (!is_role && !is_plain_expression(a.value))
    throw InputError("--arg " + in_quotes(a.name + "=" + a.value) +
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
    throw InputError("--arg " + in_quotes(a.name + "=" + a.value) + ": the entry has no such parameter");
  said_[static_cast<std::size_t>(p - s_.parameters.data())] = true;
  if (is_role || room) {
    p->role = room ? Role::workspace : static_cast<Role>(role - std::begin(kRoleNames));
    if (room) p->bytes = a.value.substr(10, a.value.size() - 11);
    bool number = false, buffer = false;
    for (const OperandInfo& o : kOperandTable)
      if (role_of(o) == p->role) (o.number ? number : buffer) = true;
    const bool to_pointer = p->role == Role::in || p->role == Role::out || p->role == Role::inout ||
                            p->role == Role::gradients || p->role == Role::indices ||
                            p->role == Role::workspace || p->role == Role::m || p->role == Role::d || buffer;
    if (to_pointer != (p->pointers > 0) && p->role != Role::stream && !(number && buffer))
      refuse(*p, "cannot be " + std::string(name(p->role)) +
                     (to_pointer ? ", which is a pointer" : ", which is a number"));
  } else {
    check_literal(*p, a);
    set_literal(*p, a.value);
  }
}

template <class Integer>
void RoleReader::fixed(const EntryArgument& a, Integer& value) {
  const char* const end = a.value.data() + a.value.size();
  const auto read = std::from_chars(a.value.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value < 1)
    throw InputError("--arg " + in_quotes(a.name + "=" + a.value) + ": no parameter is called " + a.name +
                     ", and no " + a.name + " of 1 or more");
}

void RoleReader::check_literal(const Parameter& p, const EntryArgument& a) const {
  std::string_view digits = a.value;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  const bool number = error != std::errc::invalid_argument && end == digits.data() + digits.size();
  if (!number) return;
  const auto no = [&](const std::string& why) {
    throw InputError("--arg " + in_quotes(a.name + "=" + a.value) + ": " + why);
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

Parameter* RoleReader::named(std::string_view name) {
  for (Parameter& p : s_.parameters)
    if (!p.name.empty() && p.name == name) return &p;
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error == std::errc() && end == name.data() + name.size() && n >= 1 && n <= s_.parameters.size())
    return &s_.parameters[n - 1];
  return nullptr;
}

void RoleReader::backward_from_name(Parameter& p) {
  const bool device = std::all_of(s_.parameters.begin(), s_.parameters.end(), [](const Parameter& q) {
    return !is_real(q) || lower(q.name).starts_with("d_");
  });
  std::string whole = lower(p.name);
  std::erase(whole, '_');
  if (!device) p.role = backward_role(whole, p.read_only);
  if (p.role == Role::none) p.role = backward_role(plain_name(p), p.read_only);
}

void RoleReader::from_name(Parameter& p) {
  const std::string n = plain_name(p);
  if (p.scalar == Scalar::stream && p.pointers == 0) {
    p.role = Role::stream;
  } else if (!is_blas_alpha(n, has_beta()) && operand_role(p, n) != Role::none) {
    p.role = operand_role(p, n);
  } else if (p.pointers > 0) {
    p.role = pointer_role(n);
    const bool integers = p.scalar == Scalar::i32 || p.scalar == Scalar::u32 || p.scalar == Scalar::i64 ||
                          p.scalar == Scalar::u64;
    if (p.role == Role::none && (n == "stream" || n == "s") && p.scalar == Scalar::nothing)
      p.role = Role::stream;
    // Here only the type tells: int* topk.
    if (p.role == Role::none && integers && !p.read_only) p.role = Role::indices;
    if (p.role != Role::indices && p.role != Role::workspace && integers) p.role = Role::none;
    if (p.role == Role::none && is_lse(n)) lse_ = &p;
  } else if (p.is_integer()) {
    // One letter can mean two things: m is a pointer to maxima or a number of rows; M and N are the sides of
    // a matrix.
    if (p.name == "N" || p.name == "n" || p.name == "M" || p.name == "m") return;
    if (s_.causal && is_square_count(n)) return;
    p.role = number_role(n);
    std::string lower = p.name;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (p.role == Role::none) p.role = pitch_role(lower);
  } else if (is_number(p) && is_threshold(n)) {
    p.role = Role::threshold;
  }
}

bool RoleReader::has_beta() const {
  return std::any_of(s_.parameters.begin(), s_.parameters.end(),
                     [](const Parameter& p) { return p.pointers == 0 && lower(p.name) == "beta"; });
}

void RoleReader::types_over_names() {
  Parameter *in = nullptr, *out = nullptr;
  int reals = 0, pointers = 0;
  for (Parameter& p : s_.parameters) {
    if (operand_of(p)) continue;
    if (p.role == Role::in && !said(p) && !p.read_only) in = &p;
    if (p.role == Role::out && !said(p) && p.read_only) out = &p;
    reals += is_real(p);
    pointers += p.pointers > 0 && p.role != Role::stream;
  }
  if (in && out && reals == 2) std::swap(in->role, out->role);
  // If there is only one buffer, it holds the logits and then the results.
  if (reals == 1 && pointers == 1)
    for (Parameter& p : s_.parameters)
      if (is_real(p) && !p.read_only && !said(p) && &p != lse_) p.role = Role::inout;
}

void RoleReader::one_reading_left_backward() {
  for (const Role r : {Role::gradients, Role::in})
    if (!s_.has(r) && s_.has(r == Role::in ? Role::gradients : Role::in))
      if (Parameter* p = only([](const Parameter& q) { return is_real(q) && q.read_only; })) p->role = r;
}

void RoleReader::one_reading_left() {
  if (backward_) one_reading_left_backward();
  if (!backward_ && !s_.has(Role::in) && !s_.has(Role::inout))
    if (Parameter* p = only([](const Parameter& q) { return is_real(q) && q.read_only; })) p->role = Role::in;
  if (!s_.has(Role::out) && !s_.has(Role::inout)) {
    if (Parameter* p = only([](const Parameter& q) { return is_real(q) && !q.read_only; }))
      p->role = s_.has(Role::in) ? Role::out : Role::inout;
  }
  // float* x and no other buffer: the results overwrite the logits.
  if (!s_.has(Role::out) && !lse_ && !s_.has(Role::m) && !s_.has(Role::d))
    for (Parameter& p : s_.parameters)
      if (p.role == Role::in && !p.read_only) p.role = Role::inout;
}

void RoleReader::settle_op() {
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
                         "': only the backward pass of softmax can be judged; if it is that, --op "
                         "softmax_backward says so");
    s_.op = Op::softmax_backward;
  } else if (const Parameter* p = s_.find(Role::threshold)) {
    s_.op = op_of_threshold(*p);
  } else {
    const std::string f = lower(s_.function);
    const auto says = [&](const char* a, const char* b) {
      return f.find(a) != f.npos || f.find(b) != f.npos;
    };
    if (s_.has(Role::indices))
      s_.op = says("log_softmax", "logsoftmax") || says("log_prob", "logprob") ? Op::log_softmax_topk
              : says("softmax", "prob")                                        ? Op::softmax_topk
              : says("topk", "top_k")                                          ? Op::topk
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

Op RoleReader::op_of_threshold(const Parameter& p) const {
  for (const std::string& said : {lower(s_.function), plain_name(p)}) {
    const auto says = [&](const char* a, const char* b) {
      return said.find(a) != said.npos || said.find(b) != said.npos;
    };
    const bool min_p = says("min_p", "minp"), top_p = says("top_p", "topp") || says("nucleus", "nucleus");
    if (min_p != top_p) return min_p ? Op::min_p : Op::top_p;
  }
  refuse(p, "the threshold of which op? --op min_p or --op top_p; if of neither, --arg " + handle(p) +
                "=VALUE gives it a value");
}

void RoleReader::switches() {
  for (Parameter& p : s_.parameters) {
    if (p.role != Role::none) continue;
    const std::string n = plain_name(p);
    if (p.pointers == 0 && p.scalar == Scalar::boolean && is_mask_switch(n))
      set_literal(p, s_.causal ? "true" : "false");
    else if (p.pointers == 0 && p.scalar == Scalar::boolean && is_log_switch(n) &&
             (s_.op == Op::softmax || s_.op == Op::softmax_topk || log_probabilities(s_.op)))
      set_literal(p, log_probabilities(s_.op) ? "true" : "false");
    else if (!p.initial.empty() && is_plain_expression(p.initial) && knows_length(s_, Role::rows) &&
             knows_length(s_, Role::V))
      set_literal(p, p.initial);
  }
}

const char* name(Role r) { return kRoleNames[static_cast<int>(r)]; }

void assign_roles(EntrySignature& s, const std::vector<EntryArgument>& arguments, std::optional<Op> op,
                  std::optional<Dtype> dtype) {
  RoleReader(s, op, dtype).read(arguments);
}

}  // namespace assay
