// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/graded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "accuracy/case/job.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/declaration.hpp"
#include "reference/files/tensor_file.hpp"
#include "reference/parallel.hpp"
#include "reference/text.hpp"
#include "reports/data/environment.hpp"
#include "reports/runs/manifest.hpp"
#include "reports/runs/report.hpp"

namespace assay {
namespace {

/// Truth takes some 60 bytes per element, so long files are judged one slice of rows at a time.
constexpr std::int64_t kSlice = std::int64_t{1} << 22;

/// A slice of the rows in a user's file.
class StoredRows final : public WrittenRows {
 public:
  StoredRows(const Problem& p, const Tensor* values, const IndexMatrix* indices, std::int64_t first)
      : problem_(p), values_(values), indices_(indices), first_(first) {}

  const Problem& problem() const override { return problem_; }
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const override {
    return load_bits(values_->dtype, values_->bytes.data(), (first_ + row) * problem_.out_columns() + j);
  }
  bool has_values() const override { return values_ != nullptr; }
  bool has_indices() const override { return indices_ != nullptr; }
  std::int64_t index(std::int64_t row, std::int64_t r) const override {
    return indices_->at[static_cast<std::size_t>((first_ + row) * indices_->k + r)];
  }
  bool has_normalizer() const override { return false; }
  float m(std::int64_t) const override { return 0; }
  float d(std::int64_t) const override { return 0; }

 private:
  Problem problem_;
  const Tensor* values_;
  const IndexMatrix* indices_;
  std::int64_t first_;
};

Tensor read_floats(const std::string& where, const char* usual, std::optional<Dtype> said,
                   const std::string& say) {
  const Bf16 bf16 = said == Dtype::bf16 ? Bf16::as_u2 : Bf16::refused;
  return tensor_of(read_stored(where, usual), bf16, say);
}

void must_hold(const std::string& where, const Tensor& t, std::optional<Dtype> said) {
  if (said && t.dtype != *said)
    refuse_file(where, fmt::format("holds {}, not {}", name(t.dtype), name(*said)));
}

}  // namespace

void take_dtype(const std::string& word, Graded& g) {
  const std::size_t colon = word.find(':');
  g.dtype = parse_dtype(word.substr(0, colon));
  bool good = g.dtype && can_judge(*g.dtype);
  if (colon != word.npos) {
    g.out_dtype = parse_dtype(word.substr(colon + 1));
    good = good && g.out_dtype;
  }
  if (!good)
    throw InputError("--dtype " + word + ": must be f16, bf16 or f32, or logits:outputs, as f32:bf16");
}

GradedFiles load_graded(const Graded& g, Op op) {
  GradedFiles l;
  l.logits = read_floats(g.logits, "logits", g.dtype, "--dtype bf16");
  must_hold(g.logits, l.logits, g.dtype);
  if (l.logits.dtype == Dtype::f64)
    refuse_file(g.logits, "holds f64 logits: bounds are derived for arithmetic in f32 and narrower");
  if (l.logits.rows == 0 || l.logits.V == 0) refuse_file(g.logits, "holds no element to judge");
  const auto shaped = [&](const std::string& file, std::int64_t rows, std::int64_t columns,
                          std::int64_t want) {
    if (rows == l.logits.rows && columns == want) return;
    const bool turned = rows == want && columns == l.logits.rows;
    refuse_file(file, fmt::format("is {} x {}, must be {} x {}: {} has {} rows of {}{}", rows, columns,
                                  l.logits.rows, want, g.logits, l.logits.rows, l.logits.V,
                                  turned ? "; it is transposed: save numpy.ascontiguousarray(x.T)" : ""));
  };
  if (!g.indices.empty()) {
    l.indices = indices_of(read_stored(g.indices, "indices"));
    if (l.indices->k < 1 || l.indices->k > INT32_MAX)
      refuse_file(g.indices, fmt::format("has {} columns", l.indices->k));
    shaped(g.indices, l.indices->rows, l.indices->k, l.indices->k);
    l.k = static_cast<int>(l.indices->k);
  }
  if (!g.values.empty()) {
    const std::optional<Dtype> said = g.out_dtype ? g.out_dtype : g.dtype;
    const std::string logits_type = name(l.logits.dtype);
    l.values =
        read_floats(g.values, usual_name(op), said,
                    l.logits.dtype == Dtype::bf16 ? "--dtype bf16" : "--dtype " + logits_type + ":bf16");
    must_hold(g.values, *l.values, g.out_dtype);
    // A vector with one value per row has one dimension.
    if (one_value(op) && l.values->rows == 1 && l.values->V == l.logits.rows)
      std::swap(l.values->rows, l.values->V);
    shaped(g.values, l.values->rows, l.values->V, one_value(op) ? 1 : selects(op) ? l.k : l.logits.V);
  }
  return l;
}

Variant graded_variant(const GradeOptions& o, Dtype in, Dtype out, int k) {
  Variant v;
  v.variant = o.name;
  v.dtype = in;
  if (out != in) v.out_dtype = out;
  v.backend = Backend::plugin;
  v.op = o.op;
  v.max_k = k;
  v.claim = undeclared_claim(v.op);
  v.writes_normalizer = false;
  v.declared = false;
  apply_declaration(o.declaration, v);
  refuse_idle_words(v);
  v.max_k = k;
  return v;
}

namespace {

std::string command_line(const Graded& g, const GradeOptions& o) {
  const bool probs = probabilities(o.op);
  Repeat again;
  again.words = "grade --logits " + shell_quoted(g.logits);
  if (!g.values.empty()) again.words += (probs ? " --probs " : " --values ") + shell_quoted(g.values);
  if (!g.indices.empty()) again.words += " --indices " + shell_quoted(g.indices);
  // A case's line may have --dtype already; this one also gives the outputs' type.
  if (g.out_dtype) again.words += fmt::format(" --dtype {}:{}", name(*g.dtype), name(*g.out_dtype));
  if (o.op != Op::softmax) again.op = o.op;
  if (keeps_a_set(o.op))
    again.numbers = {{SizePart::threshold, false, option_of(kKeptSizes[2]), text_of_number(o.threshold)}};
  if (g.dtype == Dtype::bf16 && !g.out_dtype) again.dtype = g.dtype;
  again.declare = o.declaration;
  again.max_ulp = o.max_ulp;
  return reproduce(again);
}

class Grading {
 public:
  Grading(const std::vector<Graded>& cases, const GradeOptions& options, ReportData& data)
      : cases_(cases), options_(options), data_(data), records_(cases.size()) {}

  void run() {
    parallel_for(cases_.size(), options_.threads, [this](std::size_t i) { grade_one(i); });
    for (std::vector<Record>& of_case : records_)
      for (Record& r : of_case) {
        data_.executed += r.status != Status::not_run;
        data_.records.push_back(std::move(r));
      }
    data_.planned = static_cast<std::int64_t>(data_.records.size());
  }

 private:
  void grade_one(std::size_t i) {
    const Graded& g = cases_[i];
    for (const std::string& file : {g.values, g.indices})
      if (std::error_code ignored; !file.empty() && !std::filesystem::exists(file_of(file), ignored)) {
        // The user's program wrote no outputs for this input.
        const Variant v =
            graded_variant(options_, g.dtype.value_or(Dtype::f32), g.dtype.value_or(Dtype::f32), 0);
        Record r = blank_record(v, g.name, options_.op, {}, g.seed);
        r.reason = file + ": no such file" + other_container(file);
        r.reproduce = command_line(g, options_);
        keep(i, v, std::move(r));
        return;
      }
    GradedFiles l = load_graded(g, options_.op);
    const Pick pick = {l.k, options_.threshold};
    const Variant v =
        graded_variant(options_, l.logits.dtype, l.values ? l.values->dtype : l.logits.dtype, l.k);
    const std::int64_t rows = l.logits.rows, V = l.logits.V;
    const std::int64_t most = std::max<std::int64_t>(1, kSlice / std::max<std::int64_t>(1, V));
    for (std::int64_t from = 0; from == 0 || from < rows; from += most) {
      const std::int64_t to = std::min(rows, from + most);
      Tensor slice(l.logits.dtype, to - from, V);
      if (!slice.bytes.empty()) std::memcpy(slice.bytes.data(), l.logits.row(from), slice.bytes.size());
      const bool whole = from == 0 && to == rows;
      const Case inputs(whole ? g.name : fmt::format("{}[{}:{}]", g.name, from, to), std::move(slice));
      Problem p = problem_of(v, options_.op, to - from, V, pick, V);
      const StoredRows stored(p, l.values ? &*l.values : nullptr, l.indices ? &*l.indices : nullptr, from);
      CheckOptions options;
      options.max_ulp = options_.max_ulp;
      Record r = judge_written(v, inputs, options_.op, pick, stored, options);
      r.seed = g.seed;
      r.reproduce = command_line(g, options_);
      keep(i, v, std::move(r));
    }
  }

  void keep(std::size_t i, const Variant& v, Record r) {
    const std::lock_guard lock(mutex_);
    const auto known = [&](const KeyInfo& k) { return k.key == v.key(); };
    if (std::none_of(data_.keys.begin(), data_.keys.end(), known)) data_.keys.push_back(key_info(v));
    records_[i].push_back(std::move(r));
  }

  const std::vector<Graded>& cases_;
  const GradeOptions& options_;
  ReportData& data_;
  std::vector<std::vector<Record>> records_;
  std::mutex mutex_;
};

}  // namespace

std::string other_container(const std::string& file) {
  const std::filesystem::path npz = std::filesystem::path(file_of(file)).replace_extension(".npz");
  if (std::error_code ignored; !std::filesystem::exists(npz, ignored)) return "";
  return " (" + npz.filename().string() + " is there: write it with numpy.save, not numpy.savez)";
}

ReportData grade(const std::vector<Graded>& cases, const GradeOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ReportData data;
  data.environment = environment();
  if (!options.declaration.empty()) data.environment.emplace_back("declared", options.declaration);
  for (const Graded& g : cases) {
    const auto known = [&](const FamilyInfo& f) { return f.name == g.name; };
    if (std::none_of(data.families.begin(), data.families.end(), known))
      data.families.push_back({g.name, g.why});
  }
  // A wrong declaration is refused before anything is read. Some words need 16-bit outputs.
  try {
    graded_variant(options, Dtype::f32, Dtype::f16, 1);
  } catch (const InputError&) {
    graded_variant(options, Dtype::f32, Dtype::f32, 1);
  }
  Grading(cases, options, data).run();
  std::sort(data.keys.begin(), data.keys.end(),
            [](const KeyInfo& a, const KeyInfo& b) { return a.key < b.key; });
  data.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return data;
}

}  // namespace assay
