// SPDX-License-Identifier: Apache-2.0
#include "fuzz/case_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "accuracy/record_fields.hpp"
#include "reference/error.hpp"
#include "reference/k_range.hpp"

namespace assay::fuzz {
namespace {

using nlohmann::json;

constexpr int kCaseVersion = 1;
constexpr std::int64_t kMostInFile = std::int64_t{1} << 24;  // elements, repeated ones included
constexpr std::int64_t kRun = 4;                             // equal neighbours that are written as a count

/// Before the bits of a NaN that is not the usual one: a kernel may treat another sign, or a signalling one,
/// in another way.
constexpr const char* kNanOfBits = "nan:";
std::uint64_t canonical_nan(Dtype dtype) { return encode(dtype, std::numeric_limits<double>::quiet_NaN()); }

json row_json(const Tensor& t, std::int64_t row) {
  json out = json::array();
  for (std::int64_t j = 0; j < t.V;) {
    const std::uint64_t bits = load_bits(t.dtype, t.row(row), j);
    std::int64_t n = 1;
    while (j + n < t.V && load_bits(t.dtype, t.row(row), j + n) == bits) ++n;
    const std::string text = hex_text(t.dtype, bits);
    if (n >= kRun)
      out.push_back({{"value", text}, {"times", n}});
    else
      for (std::int64_t i = 0; i < n; ++i) out.push_back(text);
    j += n;
  }
  return out;
}

const json& field_of(const json& j, const char* field) {
  const auto at = j.find(field);
  if (at == j.end()) throw InputError(fmt::format("{}: is missing", field));
  return *at;
}
const json& object_in(const json& j, const char* field) {
  const json& v = field_of(j, field);
  if (!v.is_object()) throw InputError(fmt::format("{}: must be an object", field));
  return v;
}
/// Empty if the field is optional and missing.
std::string text_in(const json& j, const char* field, bool optional = false) {
  if (optional && !j.contains(field)) return {};
  const json& v = field_of(j, field);
  if (!v.is_string()) throw InputError(fmt::format("{}: must be a text", field));
  return v.get<std::string>();
}

void read_row(const json& list, Tensor& t, std::int64_t row) {
  if (!list.is_array()) throw InputError(fmt::format("logits: row {} is not a list", row));
  std::int64_t at = 0;
  for (const json& item : list) {
    const bool counted = item.is_object();
    const json& value = counted ? field_of(item, "value") : item;
    std::int64_t times = 1;
    if (counted) {
      if (!field_of(item, "times").is_number_integer())
        throw InputError(fmt::format("logits: row {}: times is not a whole number", row));
      times = item.at("times").get<std::int64_t>();
    }
    if (!value.is_string()) throw InputError(fmt::format("logits: row {}, column {}: not a text", row, at));
    if (times < 1 || times > t.V - at)
      throw InputError(fmt::format("logits: row {} does not have {} columns", row, t.V));
    const std::uint64_t bits = bits_of_text(value.get<std::string>(), t.dtype);
    for (std::int64_t i = 0; i < times; ++i) store_bits(t.dtype, t.row(row), at++, bits);
  }
  if (at != t.V) throw InputError(fmt::format("logits: row {} has {} columns instead of {}", row, at, t.V));
}

std::int64_t whole(const json& j, const char* field, std::int64_t lo, std::int64_t hi) {
  const json& v = field_of(j, field);
  const bool fits = v.is_number_unsigned() ? v.get<std::uint64_t>() <= static_cast<std::uint64_t>(hi)
                                           : v.is_number_integer() && v.get<std::int64_t>() <= hi;
  if (!fits || v.get<std::int64_t>() < lo)
    throw InputError(fmt::format("{}: must be a whole number from {} to {}", field, lo, hi));
  return v.get<std::int64_t>();
}
std::uint64_t word64(const json& j, const char* field) {
  if (!field_of(j, field).is_number_unsigned())
    throw InputError(fmt::format("{}: must be a whole number from 0", field));
  return j.at(field).get<std::uint64_t>();
}

CaseFile parsed(const json& j) {
  if (!j.is_object() || !j.contains("assay_case")) throw InputError("not a case file");
  if (j.at("assay_case") != kCaseVersion)
    throw InputError(fmt::format("a case file of another version than {}", kCaseVersion));
  CaseFile c;
  c.key = text_in(j, "key");
  c.origin = text_in(j, "origin", true);
  // Older files do not say it.
  c.with_options =
      j.contains("with_options") ? j.at("with_options") == true : c.origin.find(" --") != c.origin.npos;
  c.claim = text_in(j, "claim", true);
  const std::string op = text_in(j, "op"), dtype = text_in(j, "dtype");
  if (!parse_op(op)) throw InputError("op: '" + op + "' is not one");
  if (!parse_dtype(dtype)) throw InputError("dtype: '" + dtype + "' is not one");
  c.op = *parse_op(op);
  if (c.op == Op::softmax_backward)
    throw InputError("op: a case file holds logits, and a backward pass has none");
  const std::int64_t rows = whole(j, "rows", 0, kMostInFile), V = whole(j, "V", 0, kMostInFile);
  if (V > 0 && rows > kMostInFile / V) throw InputError("rows x V is too large for a case file");
  const json& logits = field_of(j, "logits");
  if (!logits.is_array() || logits.size() != static_cast<std::size_t>(rows))
    throw InputError(fmt::format("logits: must be a list of {} rows", rows));
  c.trial.logits = Tensor(*parse_dtype(dtype), rows, V);
  for (std::int64_t r = 0; r < rows; ++r) read_row(logits[static_cast<std::size_t>(r)], c.trial.logits, r);
  CaseShape shape;
  if (j.contains("threshold"))
    FieldReader{j}("threshold", shape.threshold);
  else
    shape.k = static_cast<int>(whole(j, "k", 0, kMostK));
  read_old_threshold(j, op, shape);
  c.trial.pick = pick_for(c.op, shape.pick());
  if (const std::string why = why_not(c.op, shape.pick()); !why.empty()) throw InputError(why);
  const json& layout = object_in(j, "layout");
  c.trial.pitch_gap = whole(layout, "pitch_gap", 0, 1 << 20);
  c.trial.first = whole(layout, "first", 0, 1 << 20);
  c.trial.max_blocks = whole(layout, "max_blocks", 0, std::int64_t{1} << 31);
  c.trial.schedule = word64(layout, "schedule");
  c.trial.seed = word64(j, "seed");
  const json& fails = object_in(j, "fails");
  c.fails = {text_in(fails, "check"), text_in(fails, "rows")};
  c.detail = text_in(fails, "detail", true);
  c.found = text_in(j, "found", true);
  if (const auto g = j.find("genome"); g != j.end() && !g->is_null()) c.genome = genome_from_json(*g);
  return c;
}

}  // namespace

std::string hex_text(Dtype dtype, std::uint64_t bits) {
  const double x = decode(dtype, bits);
  if (std::isnan(x)) return bits == canonical_nan(dtype) ? "nan" : fmt::format("{}{:#x}", kNanOfBits, bits);
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return fmt::format("{}", x == 0 ? (std::signbit(x) ? "-0" : "0") : fmt::format("{:a}", x));
}

std::uint64_t bits_of_text(const std::string& text, Dtype dtype) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("logits: '{}' is {}", text.substr(0, 64), why));
  };
  if (text == "nan") return canonical_nan(dtype);
  if (text.starts_with(kNanOfBits)) {
    const std::string_view word = std::string_view(text).substr(std::string_view(kNanOfBits).size());
    std::uint64_t bits = 0;
    const auto read = word.size() > 2 && word.starts_with("0x")
                          ? std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16)
                          : std::from_chars_result{word.data(), std::errc::invalid_argument};
    if (read.ec != std::errc() || read.ptr != word.data() + word.size() ||
        (size_of(dtype) < sizeof bits && bits >> 8 * size_of(dtype) != 0) || !is_nan_bits(dtype, bits))
      refuse(fmt::format("no NaN of {}", assay::name(dtype)));
    return bits;
  }
  char* end = nullptr;
  const bool plain = !text.empty() && text.size() < 64 &&
                     text.find_first_not_of("0123456789abcdefABCDEFxXpPinfnat+-.") == std::string::npos;
  const double x = plain ? std::strtod(text.c_str(), &end) : 0;
  if (!plain || end != text.c_str() + text.size() || std::isnan(x)) refuse("not a number");
  if (round_to(dtype, x) != x) refuse(fmt::format("not a value of {}", assay::name(dtype)));
  return encode(dtype, x);
}

std::string text_of(const CaseFile& c) {
  const Trial& t = c.trial;
  nlohmann::ordered_json j = {{"assay_case", kCaseVersion}, {"key", c.key}};
  if (!c.origin.empty()) j["origin"] = c.origin, j["with_options"] = c.with_options;
  if (!c.claim.empty()) j["claim"] = c.claim;
  j["op"] = assay::name(c.op);
  j["dtype"] = assay::name(t.logits.dtype);
  j["rows"] = t.logits.rows;
  j["V"] = t.logits.V;
  if (keeps_a_set(c.op))
    j["threshold"] = t.pick.threshold;
  else
    j["k"] = t.pick.k;
  j["layout"] = {
      {"pitch_gap", t.pitch_gap}, {"first", t.first}, {"max_blocks", t.max_blocks}, {"schedule", t.schedule}};
  j["seed"] = t.seed;
  json logits = json::array();
  for (std::int64_t r = 0; r < t.logits.rows; ++r) logits.push_back(row_json(t.logits, r));
  j["logits"] = std::move(logits);
  j["fails"] = {{"check", c.fails.check}, {"rows", c.fails.rows}, {"detail", c.detail}};
  j["found"] = c.found;
  j["genome"] = c.genome ? to_json(*c.genome) : json(nullptr);
  return j.dump(1) + "\n";
}

CaseFile case_from_text(const std::string& text, const std::string& file) {
  try {
    return parsed(json::parse(text));
  } catch (const json::parse_error& e) {
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
    throw InputError(
        fmt::format("{}: is no JSON: line {} can not be read", file, 1 + std::count(text.begin(), at, '\n')));
  } catch (const json::exception&) {
    throw InputError(file + ": the genome is not one that this build reads");
  } catch (const InputError& e) {
    throw InputError(file + ": " + e.what());
  }
}

}  // namespace assay::fuzz
