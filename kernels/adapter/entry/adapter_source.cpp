// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/adapter_source.hpp"

#include "kernels/adapter/entry/call_source.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/declaration.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

/// Roles are numbered like the parts of adapter.h. A literal has no number: it is written out.
int part(Role r) { return r == Role::literal ? 0 : static_cast<int>(r); }

/// Rewrites a formula of rows, V and k for use in a call. Nothing is divided by a size of 0.
std::string of_call(const std::string& formula) {
  std::string t;
  bool divided = false;
  for (const EntryToken& token : entry_tokens(formula)) {
    const Role r = token.is("rows") ? Role::rows
                   : token.is("V")  ? Role::V
                   : token.is("k")  ? Role::k
                                    : Role::none;
    const std::string value =
        "::assay_adapter::value<int64_t, " + std::to_string(part(r)) + ">(assay_arguments)";
    t += r == Role::none ? std::string(token.spelling)
         : divided       ? "::assay_adapter::divisor(" + value + ")"
                         : value;
    divided = token.is("/") || token.is("%");
  }
  return t;
}

/// What stands for the parameter in the array of its slot.
std::string in_slot(const Parameter& p, Slot slot) {
  if (slot_of(p) != slot) return slot == Slot::pointer ? "nullptr" : "0";
  if (p.formula) return of_call(p.literal);
  const std::string role = std::to_string(part(p.role)) + ">(assay_arguments)";
  if (!p.offset.empty())
    return "::assay_adapter::value<unsigned char*, " + role + " + (" + of_call(p.offset) +
           ") /* workspace */";
  const char* const type = slot == Slot::pointer ? "void*, " : slot == Slot::number ? "int64_t, " : "float, ";
  return std::string("::assay_adapter::value<") + type + role + " /* " + name(p.role) + " */";
}

/// What a number is called that does not fit its parameter.
std::string called(const Parameter& p) {
  if (p.scalar == Scalar::own_integer) return "a number";
  return !p.formula ? name(p.role) : p.name.empty() ? "a count" : p.name;
}

/// Adds the words of the signature's limits that the declaration does not have itself.
std::string with_limits(const std::string& declaration, const EntrySignature& s, bool host) {
  std::string all = declaration;
  std::vector<EntryLimit> limits = s.limits();
  if (!s.has(Role::stream) && !host) limits.push_back({"stream", "default"});
  for (const auto& [word, value] : limits)
    if (declared_value(declaration, word).empty()) all += (all.empty() ? "" : "; ") + word + "=" + value;
  return all;
}

/// What the adapter says of a variant.
std::string before(const AdapterFile& file, const EntrySignature& s, const std::string& n) {
  std::string t = "static int32_t assay_run_" + n + "(const assay_call*);\n";
  t += "static ::assay_adapter::Needs assay_needs_" + n + "() {\n  ::assay_adapter::Needs n;\n";
  const auto set = [&](const char* field, bool value) {
    t += std::string("  n.") + field + (value ? " = true;\n" : " = false;\n");
  };
  set("stream", s.has(Role::stream) || file.host);
  set("takes_stream", s.has(Role::stream));
  set("pitches", s.has(Role::in_pitch) &&
                     (s.has(Role::out_pitch) || !(s.op == Op::softmax || s.op == Op::log_softmax ||
                                                  s.op == Op::softmax_backward || keeps_a_set(s.op))));
  set("one_pitch", s.has(Role::pitch));
  set("scale", s.has(Role::scale));
  set("m", s.has(Role::m));
  set("d", s.has(Role::d));
  set("inout", s.has(Role::inout));
  set("one_row", s.one_row);
  if (s.has(Role::out) || s.has(Role::inout))
    t += "  n.out_bytes = " + std::to_string(size_of(s.out)) + ";\n";
  if (const Parameter* p = s.find(Role::indices))
    t += std::string("  n.index_bytes = ") +
         (p->scalar == Scalar::i64 || p->scalar == Scalar::u64 ? "8" : "4") + ";\n";
  if (s.fixed_k > 0) t += "  n.fixed_k = " + std::to_string(s.fixed_k) + ";\n";
  if (s.has(Role::workspace))
    t += "  n.workspace = [](int64_t rows, int64_t V, int64_t k) -> uint64_t {\n    (void)rows, (void)V, "
         "(void)k;\n"
         "    return static_cast<uint64_t>(" +
         s.workspace_bytes + ");\n  };\n";
  t += "  return n;\n}\n";
  t += "static uint64_t assay_bytes_" + n +
       "(const assay_call* call) {\n  return ::assay_adapter::workspace_of(*call, assay_needs_" + n +
       "());\n}\n";
  t += "static const bool assay_added_" + n + " = [] {\n  assay_variant v{};\n";
  t += "  v.op = " + std::to_string(static_cast<int>(s.op)) + ";  // " + name(s.op) + "\n";
  t += "  v.name = " + c_string(file.name) + ";\n";
  t += std::string("  v.in_dtype = \"") + name(s.in) + "\";\n  v.out_dtype = \"" + name(s.out) + "\";\n";
  t += "  v.declaration = " + c_string(with_limits(file.declaration, s, file.host)) + ";\n";
  if (const std::string operands = text_of(s.operands()); !operands.empty())
    t += "  v.operands = " + c_string(operands) + ";\n";
  t += "  v.run = assay_run_" + n + ";\n  v.workspace_bytes = assay_bytes_" + n + ";\n";
  t += "  return ::assay_adapter::add(v);\n}();\n\n";
  return t;
}

/// The function that makes the call: one slot for each parameter.
std::string run(const EntrySignature& s, const std::string& n) {
  std::string t = "static int32_t assay_run_" + n + "(const assay_call* assay_the_call) {\n";
  t += "  return ::assay_adapter::run(assay_the_call, assay_needs_" + n +
       "(), [](const ::assay_adapter::Arguments& assay_arguments) -> int32_t {\n    (void)assay_arguments;\n";
  const auto array = [&](const char* type, const char* of, Slot slot) {
    t += std::string("    ") + type + " " + of + "[] = {";
    for (std::size_t i = 0; i < s.parameters.size(); ++i)
      t += (i ? ",\n        " : "\n        ") + in_slot(s.parameters[i], slot);
    t += "};\n";
  };
  array("void* const", "pointers", Slot::pointer);
  array("const long long", "numbers", Slot::number);
  array("const float", "reals", Slot::real);
  t += "    constexpr const char* called[] = {";
  for (const Parameter& p : s.parameters) t += c_string(called(p)) + ", ";
  t += "};\n    int misfit = -1;\n    const long long returned = assay_call_" + n +
       "(pointers, numbers, reals, &misfit);\n"
       "    if (misfit >= 0) ::assay_adapter::refuse_number(numbers[misfit], called[misfit]);\n    return ";
  t += s.returned == Returned::nothing   ? "static_cast<void>(returned), 0"
       : s.returned == Returned::success ? "::assay_adapter::status_of_success(returned != 0)"
                                         : "static_cast<int32_t>(returned)";
  return t + ";\n  });\n}\n";
}

}  // namespace

std::string variant_name(const std::string& function) {
  // Take the last part of ns::name<arguments>.
  const std::string plain = function.substr(0, function.find('<'));
  const std::size_t colon = plain.rfind(':');
  std::string s = colon == plain.npos ? plain : plain.substr(colon + 1);
  for (char& c : s)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
      c = '_';
  return s.empty() ? "kernel" : s;
}

std::string adapter_source(const AdapterFile& file, const std::vector<EntrySignature>& entries) {
  std::string t =
      "// Written by assay: the variants of a file that it does not know, but for how it is called.\n";
  if (file.host)
    t += "#include \"kernels/adapter/host_runtime.hpp\"\n#include \"kernels/adapter/host_exports.hpp\"\n";
  else
    t += "#include <cuda_runtime.h>\n";
  if (!entries.empty()) t += "#include <assay/adapter.h>\n\n" + call_declarations(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    t += before(file, entries[i], std::to_string(i)) + run(entries[i], std::to_string(i));
  return t;
}

std::string whole_adapter(const AdapterFile& file, const std::vector<EntrySignature>& entries,
                          const std::string& source) {
  const std::string include = "#include " + c_string(source) + "\n\n";
  if (entries.empty())
    return "// Written by assay: makes a plugin of the file it includes.\n"
           "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n"
           "#include <assay/variant.h>\n\n" +
           include;
  return adapter_source(file, entries) + "\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n" + include +
         call_source(entries, "");
}

}  // namespace assay
