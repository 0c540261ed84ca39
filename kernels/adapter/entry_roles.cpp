#include "kernels/adapter/entry_roles.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "kernels/adapter/entry_tokens.hpp"
#include "kernels/adapter/size_formula.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

#define ASSAY_PART(part) #part,
constexpr const char* kRoleNames[] = {ASSAY_PARTS(ASSAY_PART) "literal"};
#undef ASSAY_PART
constexpr int kRoles = static_cast<int>(Role::literal) + 1;
static_assert(std::size(kRoleNames) == kRoles);

struct Names {
  Role role;
  std::vector<std::string_view> names;  // lower case
};
const std::vector<Names>& pointer_names() {
  static const std::vector<Names> all = {
      {Role::in,
       {"in", "inp", "input", "inputs", "x", "logits", "logit", "src", "source", "scores", "in_data",
        "input_data"}},
      {Role::out,
       {"out",  "output",   "outputs",     "y",           "probs",     "prob",         "dst",
        "dest", "values",   "vals",        "value",       "result",    "res",          "o",
        "p",    "out_data", "output_data", "topk_values", "topk_vals", "topk_weights", "out_values"}},
      {Role::inout, {"inout", "data", "in_out"}},
      {Role::indices,
       {"indices", "idx", "index", "inds", "ids", "topk_idx", "topk_indices", "topk_ids", "out_indices"}},
      {Role::m, {"m", "max", "maxs", "maxes", "maxima", "row_max", "rowmax", "max_out", "m_out"}},
      {Role::d, {"d", "sum", "sums", "row_sum", "rowsum", "denom", "normalizer", "sum_out"}},
      {Role::workspace, {"workspace", "ws", "scratch", "tmp", "temp", "temp_storage", "d_temp_storage"}},
  };
  return all;
}
const std::vector<Names>& number_names() {
  static const std::vector<Names> all = {
      {Role::rows,
       {"rows", "num_rows", "nrows", "n_rows", "row_count", "batch", "batch_size", "batches", "b", "bs",
        "bsz", "outer", "outer_size", "tokens", "num_tokens", "n_tokens"}},
      {Role::V, {"v",     "cols",  "num_cols",   "ncols",       "n_cols",  "columns", "c",
                 "dim",   "vocab", "vocab_size", "row_length",  "row_len", "hidden",  "hidden_size",
                 "width", "d",     "row_size",   "num_classes", "classes", "len",     "length"}},
      {Role::k, {"k", "topk", "top_k", "num_topk"}},
      {Role::workspace_bytes,
       {"workspace_bytes", "workspace_size", "ws_bytes", "ws_size", "scratch_bytes", "temp_storage_bytes"}},
  };
  return all;
}
const std::vector<std::string_view> kScaleNames = {"scale", "softmax_scale", "sm_scale", "alpha"};
const std::vector<std::string_view> kLseNames = {"lse", "logsumexp", "log_sum_exp", "lse_out"};

bool is_one_of(std::string_view s, const std::vector<std::string_view>& all) {
  return std::find(all.begin(), all.end(), s) != all.end();
}
Role look_up(std::string_view s, const std::vector<Names>& all) {
  for (const Names& n : all)
    if (is_one_of(s, n.names)) return n.role;
  return Role::none;
}

/// In lower case, without what says only "a pointer, on the device": d_in, dev_in, in_ptr, in_.
std::string plain_name(const Parameter& p) {
  std::string s = p.name;
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string_view prefix : {"d_", "dev_", "g_", "p_"})
    if (p.pointers > 0 && s.size() > prefix.size() && s.starts_with(prefix)) {
      s.erase(0, prefix.size());
      break;
    }
  for (const std::string_view suffix : {"_ptr", "_d", "_gpu", "_"})
    if (s.size() > suffix.size() && s.ends_with(suffix)) {
      s.erase(s.size() - suffix.size());
      break;
    }
  return s;
}

/// in_pitch, ldx, output_row_stride, ...
Role pitch_role(std::string_view name) {
  if (name == "ldx" || name == "lda" || name == "ldi") return Role::in_pitch;
  if (name == "ldy" || name == "ldb" || name == "ldo") return Role::out_pitch;
  bool pitch = false, in = false, out = false;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string_view word = name.substr(0, end);
    pitch |= word == "pitch" || word == "stride" || word == "ld" || word == "ldim";
    const Role side = look_up(word, pointer_names());
    in |= side == Role::in;
    out |= side == Role::out;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (!pitch || (in && out)) return Role::none;
  return in ? Role::in_pitch : out ? Role::out_pitch : Role::pitch;
}

class Reader {
 public:
  Reader(EntrySignature& s, std::optional<Op> op, std::optional<Dtype> dtype)
      : s_(s), op_(op), dtype_(dtype) {}

  void read(const std::vector<EntryArgument>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        if (arguments[j].name == arguments[i].name)
          throw InputError("--arg " + quote_entry(arguments[i].name) + " is given twice");
      take(arguments[i]);
    }
    for (Parameter& p : s_.parameters)
      if (p.role == Role::none) from_name(p);
    one_reading_left();
    settle_op();
    lengths();
    check();
    settle_dtypes();
  }

 private:
  /// "parameter 'block' (int)", or "parameter 3 (int, without a name)".
  std::string describe(const Parameter& p) const {
    return p.name.empty() ? "parameter " + place(p) + " (" + p.type + ", without a name)"
                          : "parameter '" + p.name + "' (" + p.type + ")";
  }
  std::string place(const Parameter& p) const { return std::to_string(&p - s_.parameters.data() + 1); }
  std::string handle(const Parameter& p) const { return p.name.empty() ? place(p) : p.name; }
  [[noreturn]] void refuse(const Parameter& p, const std::string& why) const {
    throw InputError("--entry: " + describe(p) + ": " + why);
  }

  void take(const EntryArgument& a) {
    const auto role = std::find_if(std::begin(kRoleNames) + 1, std::end(kRoleNames) - 1,
                                   [&](const char* n) { return a.value == n; });
    const bool is_role = role != std::end(kRoleNames) - 1;
    if (!is_role && !is_plain_expression(a.value))
      throw InputError("--arg " + quote_entry(a.name + "=" + a.value) +
                       ": neither a role nor a value that can stand in a call");
    Parameter* p = named(a.name);
    if (a.name == "workspace_bytes" && !is_role) {
      s_.workspace_bytes = a.value;
      if (p) p->role = Role::workspace_bytes;
      return;
    }
    if (!p && a.name == "k") {
      const auto [end, error] = std::from_chars(a.value.data(), a.value.data() + a.value.size(), s_.fixed_k);
      if (error != std::errc() || end != a.value.data() + a.value.size() || s_.fixed_k < 1)
        throw InputError("--arg " + quote_entry("k=" + a.value) +
                         ": no parameter is called k, and no k of 1 or more");
      return;
    }
    if (!p)
      throw InputError("--arg " + quote_entry(a.name + "=" + a.value) + ": the entry has no such parameter");
    if (is_role) {
      p->role = static_cast<Role>(role - std::begin(kRoleNames));
      const bool to_pointer = p->role == Role::in || p->role == Role::out || p->role == Role::inout ||
                              p->role == Role::indices || p->role == Role::workspace || p->role == Role::m ||
                              p->role == Role::d;
      if (to_pointer != (p->pointers > 0) && p->role != Role::stream)
        refuse(*p, "cannot be " + a.value + (to_pointer ? ", which is a pointer" : ", which is a number"));
    } else {
      check_literal(*p, a);
      p->role = Role::literal;
      p->literal = a.value;
    }
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

  void from_name(Parameter& p) {
    const std::string n = plain_name(p);
    if (p.scalar == Scalar::stream && p.pointers == 0) {
      p.role = Role::stream;
    } else if (p.pointers > 0) {
      p.role = look_up(n, pointer_names());
      const bool integers = p.scalar == Scalar::i32 || p.scalar == Scalar::u32 || p.scalar == Scalar::i64 ||
                            p.scalar == Scalar::u64;
      if (p.role == Role::none && n == "stream" && p.scalar == Scalar::nothing) p.role = Role::stream;
      if (p.role == Role::none && n == "s" && p.scalar == Scalar::nothing) p.role = Role::stream;
      // Where only the type tells: int* topk.
      if (p.role == Role::none && integers && !p.read_only) p.role = Role::indices;
      if (p.role != Role::indices && p.role != Role::workspace && integers) p.role = Role::none;
      if (p.role == Role::none && is_one_of(n, kLseNames)) lse_ = &p;
    } else if (p.is_integer()) {
      // One letter is two things: m is a pointer to maxima or a number of rows, M and N are a matrix's sides.
      if (p.name == "N" || p.name == "n" || p.name == "M" || p.name == "m") return;
      p.role = look_up(n, number_names());
      if (p.role == Role::none) p.role = pitch_role(n);
    } else if (p.scalar == Scalar::f32 && is_one_of(n, kScaleNames)) {
      p.role = Role::scale;
    }
  }

  static bool is_real(const Parameter& p) {
    return p.pointers > 0 && (p.scalar == Scalar::f16 || p.scalar == Scalar::bf16 ||
                              p.scalar == Scalar::f32 || p.scalar == Scalar::f64);
  }
  /// The only parameter without a role for which `f` holds; null if there is none or more than one.
  template <class F>
  Parameter* only(F f) {
    Parameter* found = nullptr;
    for (Parameter& p : s_.parameters)
      if (p.role == Role::none && &p != lse_ && f(p)) {
        if (found) return nullptr;
        found = &p;
      }
    return found;
  }

  void one_reading_left() {
    if (!s_.has(Role::in) && !s_.has(Role::inout))
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
    } else {
      std::string f = s_.function;
      for (char& c : f)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
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

  /// rows, V, and k where there is one, of numbers that could be several.
  void lengths() {
    Parameter *N = nullptr, *n = nullptr, *M = nullptr;
    for (Parameter& p : s_.parameters) {
      if (p.role != Role::none || !p.is_integer()) continue;
      if (p.name == "N") N = &p;
      if (p.name == "n") n = &p;
      if (p.name == "M" || p.name == "m") M = &p;
    }
    const auto free = [&](Role r) { return !s_.has(r); };
    // A matrix is M x N, and n x m for those who count that way: only the usual order is read.
    if (M && (N || n) && !(N && n) && M < (N ? N : n) && free(Role::rows) && free(Role::V)) {
      M->role = Role::rows;
      (N ? N : n)->role = Role::V;
    } else if (N && n && free(Role::rows) && free(Role::V)) {
      N->role = Role::rows;
      n->role = Role::V;
    } else {
      for (Parameter* p : {M, N, n}) {
        if (!p || (M && (N || n))) continue;
        if (free(Role::rows) && !free(Role::V))
          p->role = Role::rows;
        else if (free(Role::V) && !free(Role::rows) && p != M)
          p->role = Role::V;
      }
    }
    // One number is left, and one thing to be.
    if (Parameter* p = only([](const Parameter& q) { return q.is_integer() && q.name.empty(); })) {
      if (free(Role::rows) != free(Role::V)) p->role = free(Role::rows) ? Role::rows : Role::V;
    }
  }

  void need(Role r, const char* what) {
    if (s_.has(r)) return;
    const Parameter* candidate = nullptr;
    for (const Parameter& p : s_.parameters)
      if (p.role == Role::none &&
          (r == Role::rows || r == Role::V || r == Role::k ? p.is_integer() : p.pointers > 0)) {
        candidate = &p;
        break;
      }
    const std::string example = candidate ? handle(*candidate) : "NAME";
    if (candidate)
      refuse(*candidate, std::string("is it ") + what + "? --arg " + example + "=" + name(r) + " says so");
    throw InputError(std::string("--entry: no parameter is ") + what + ": --arg " + example + "=" + name(r) +
                     " says which");
  }

  void check() {
    if (!s_.has(Role::inout)) need(Role::in, "the logits");
    if (s_.op == Op::normalizer) {
      if (!s_.has(Role::m) && !s_.has(Role::d)) need(Role::m, "the rows' maxima");
    } else if (!s_.has(Role::inout)) {
      need(Role::out, "the results");
    }
    if (selects(s_.op)) need(Role::indices, "the indices");
    need(Role::rows, "the number of rows");
    need(Role::V, "the length of a row");
    if (selects(s_.op) && s_.fixed_k == 0) need(Role::k, "the k of top-k");
    for (const Parameter& p : s_.parameters) {
      if (p.role == Role::none)
        refuse(p, "not known what it is for: --arg " + handle(p) + "=VALUE, or --arg " + handle(p) +
                      "=ROLE (" + roles(p) + ")");
      if (p.role == Role::literal) continue;
      for (const Parameter& q : s_.parameters)
        if (&q < &p && q.role == p.role)
          refuse(p, std::string(name(p.role)) + " already is '" + handle(q) + "': --arg " + handle(p) +
                        "=... says what it is");
      types(p);
    }
    if (const Parameter* p = s_.find(Role::k); p && !selects(s_.op))
      refuse(*p, std::string(name(s_.op)) + " has no k: --arg " + handle(*p) +
                     "=V or another role says what it is");
    for (const Role side : {Role::in_pitch, Role::out_pitch})
      if (const Parameter* p = s_.find(Role::pitch); p && s_.has(side))
        refuse(*p, std::string("beside ") + name(side) + ": --arg " + handle(*p) +
                       "=in_pitch or out_pitch says which");
    if (s_.has(Role::workspace) && s_.workspace_bytes.empty())
      refuse(*s_.find(Role::workspace),
             "how many bytes? --arg workspace_bytes='rows * V * 4', of rows, V and k");
    if (!s_.workspace_bytes.empty()) check_bytes();
  }
  void check_bytes() const {
    const std::string& text = s_.workspace_bytes;
    // What it is asked for: k is 0 where nothing is selected.
    const std::int64_t k = s_.fixed_k > 0 ? s_.fixed_k : selects(s_.op) ? 1 : 0;
    for (const std::int64_t rows : {0, 1, 65536})
      for (const std::int64_t V : {0, 1, 131072})
        if (const std::string why = size_formula(text, {rows, V, k}); !why.empty())
          throw InputError("--arg workspace_bytes=" + quote_entry(text) + ": " + why);
  }

  std::string roles(const Parameter& p) const {
    if (p.pointers > 0) return "in, out, inout, indices, m, d, workspace, stream";
    return p.is_integer() ? "rows, V, k, in_pitch, out_pitch, pitch, workspace_bytes" : "scale";
  }

  void types(const Parameter& p) const {
    const auto one_of = [&](std::initializer_list<Scalar> all, const char* what) {
      if (std::find(all.begin(), all.end(), p.scalar) == all.end())
        refuse(p, std::string(name(p.role)) + " is " + what);
    };
    switch (p.role) {
      case Role::out:
      case Role::inout:
        if (p.read_only)
          refuse(p, "is const and cannot be written: --arg " + handle(p) + "=in if it is the input");
        [[fallthrough]];
      case Role::in:
        one_of({Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64, Scalar::nothing},
               "a pointer to half, bfloat16 or float");
        break;
      case Role::m:
      case Role::d:
        one_of({Scalar::f32}, "a pointer to float, one for each row");
        if (p.read_only) refuse(p, "is const and cannot be written");
        break;
      case Role::indices:
        one_of({Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64},
               "a pointer to 32-bit or 64-bit integers");
        if (p.read_only) refuse(p, "is const and cannot be written");
        break;
      case Role::stream:
        one_of({Scalar::stream, Scalar::nothing}, "a cudaStream_t or a void*");
        break;
      case Role::scale:
        one_of({Scalar::f32, Scalar::f64}, "a float");
        break;
      case Role::workspace:
        break;
      default:
        if (!p.is_integer()) refuse(p, std::string(name(p.role)) + " is an integer");
    }
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
    if (const Parameter* out = s_.find(Role::out)) s_.out = dtype_of(*out);
  }

  EntrySignature& s_;
  std::optional<Op> op_;
  std::optional<Dtype> dtype_;
  Parameter* lse_ = nullptr;
};

}  // namespace

const char* name(Role r) { return kRoleNames[static_cast<int>(r)]; }

void assign_roles(EntrySignature& s, const std::vector<EntryArgument>& arguments, std::optional<Op> op,
                  std::optional<Dtype> dtype) {
  Reader(s, op, dtype).read(arguments);
}

}  // namespace assay
