// SPDX-License-Identifier: Apache-2.0
// Records travel through JSON without loss, infinities included, and bad lines are refused by field.
#include "accuracy/record.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <set>

#include "accuracy/record_fields.hpp"
#include "accuracy/ulp.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

Record sample() {
  Record r;
  r.key = "online_block/f16@host";
  r.variant = "online_block";
  r.dtype = "f16";
  r.backend = "host";
  r.op = "softmax";
  r.family = "normal_1";
  r.rows = 3;
  r.V = 33;
  r.seed = 18446744073709551615u;
  r.status = Status::fail;
  r.reason = "failed: element";
  r.max_ulp = INFINITY;
  r.p99_ulp = 0.49609375;
  r.checks = {{Check::element, 99, 1, 0, INFINITY, "row 0, column 3: got nan"},
              {Check::range, 99, 0, 2, 0.25, ""}};
  r.worst = WorstElement{0, 3, -INFINITY, -INFINITY, NAN, 0, 0x1p-1074, INFINITY, INFINITY};
  r.behaves_like = "would pass with exp=fast";
  r.nearest = Nearest::other_class;
  r.evidence = {"division: 9 of 9", "shift: \"none\""};
  r.wants = FaultKind::time;
  r.reproduce = "assay report --key online_block/f16@host";
  return r;
}

TEST(Record, SurvivesJson) {
  const nlohmann::json j = nlohmann::json::parse(to_json(sample()).dump());
  EXPECT_EQ(to_json(record_from_json(j)), j);
  for (const char* field : {"key",
                            "variant",
                            "dtype",
                            "backend",
                            "op",
                            "family",
                            "rows",
                            "V",
                            "k",
                            "seed",
                            "status",
                            "reason",
                            "max_ulp",
                            "p99_ulp",
                            "mean_ulp",
                            "correctly_rounded",
                            "max_bound_ratio",
                            "behaves_like",
                            "evidence",
                            "checks",
                            "worst",
                            "reproduce"})
    EXPECT_TRUE(j.contains(field)) << field;
  EXPECT_TRUE(j["mean_ulp"].is_null()) << "a statistic nothing was measured for is absent, not 0";
}

TEST(Record, AThresholdIsAFieldAndOnceWasAKInMillionths) {
  Record r = sample();
  r.op = "min_p", r.threshold = 0.05;
  const nlohmann::json j = nlohmann::json::parse(to_json(r).dump());
  EXPECT_EQ(j.at("threshold"), 0.05);
  EXPECT_FALSE(j.contains("k"));
  EXPECT_EQ(to_json(record_from_json(j)), j);
  EXPECT_NE(identity(r).find(" V=33 rows=3 threshold=0.05 seed="), std::string::npos) << identity(r);
  nlohmann::json old = j;
  old.erase("threshold");
  EXPECT_THROW(record_from_json(old), InputError);
  old["k"] = 50000;
  EXPECT_EQ(to_json(record_from_json(old)), j);
  EXPECT_EQ(identity(record_from_json(old)), identity(r));
  // Of an op that selects, k is k.
  old["op"] = "topk";
  EXPECT_EQ(record_from_json(old).k, 50000);
  EXPECT_EQ(record_from_json(old).threshold, 0);
}

/// Puts something into every field: `x` into the real ones, another number or text into each of the others.
struct Fill {
  double x;
  int n = 0;
  std::set<std::string> names = {};

  void operator()(const char* name, auto&& v) {
    EXPECT_TRUE(names.insert(name).second) << "two fields are called " << name;
    put(v);
  }
  void if_set(const char* name, auto&& v) { (*this)(name, v); }
  void newer(const char* name, auto&& v) { (*this)(name, v); }

  void put(double& v) { v = x; }
  void put(std::optional<double>& v) { v = x; }
  template <std::integral T>
  void put(T& v) {
    v = static_cast<T>(++n);
  }
  void put(std::string& v) { v = "a \"text\"\n" + std::to_string(++n); }
  void put(SetupField& v) { v.read("a setup " + std::to_string(++n)); }
  void put(std::vector<std::string>& v) { v = {"one", "", std::to_string(++n)}; }
  template <class E, class Names>
  void put(Word<E, Names>& v) {
    v.read(v.names()[1]);
  }
  template <class T>
  void put(FieldPair<T>& v) {
    const nlohmann::json both = {number_to_json(x), 1.5};
    v.read(both);
  }
  void put(std::optional<std::int64_t>& v) { put(v.emplace()); }
  template <class Struct>
  void put(std::optional<Struct>& v) {
    Fill inner{x, n};
    each_field(v.emplace(), inner);
  }
  void put(std::vector<ProbeResult>& v) {
    Fill inner{x, n};
    each_field(v.emplace_back(), inner);
  }
  void put(ByName<std::vector<CheckResult>>& v) {
    Fill inner{x, n};
    CheckResult one;
    each_field(one, inner);
    const nlohmann::json all = {{name(Check::range), fields_to_json(one)},
                                {name(Check::written), fields_to_json(CheckResult{})}};
    v.read(all);
  }
};

/// Every value of a record in words that owe nothing to JSON: reals to the bit.
struct Words {
  std::string all = {};

  void operator()(const char* name, const auto& v) { say(all += std::string(" ") + name + " ", v); }
  void if_set(const char* name, const auto& v) { (*this)(name, v); }
  void newer(const char* name, const auto& v) { (*this)(name, v); }

  static void say(std::string& s, double v) { s += fmt::format("{:a}", std::isnan(v) ? NAN : v); }
  static void say(std::string& s, std::integral auto v) { s += std::to_string(v); }
  static void say(std::string& s, const std::string& v) { s += v; }
  static void say(std::string& s, const SetupField& v) {
    nlohmann::json text;
    v.write(text);
    s += text.get<std::string>();
  }
  static void say(std::string& s, const std::vector<std::string>& v) {
    for (const std::string& e : v) s += e + ",";
  }
  template <class T>
  static void say(std::string& s, const std::optional<T>& v) {
    if (v)
      say(s, *v);
    else
      s += "nothing";
  }
  static void say(std::string& s, const WorstElement& v) {
    s += fmt::format("{} {} {:a} {:a} {:a} {:a} {:a} {:a} {:a}", v.row, v.column, v.logit, v.distance, v.got,
                     v.exact_lo, v.exact_hi, v.ulp_error, v.bound_ratio);
  }
  static void say(std::string& s, const SweptLengths& v) {
    s += fmt::format("{} {} {} {}", v.cases, v.rows_judged, v.lengths, v.sha256);
  }
  static void say(std::string& s, const BufferAccess& v) {
    s += fmt::format("{} {} {} {}", v.read, v.logits, v.byte, v.size);
  }
  static void say(std::string& s, const std::vector<ProbeResult>& v) {
    for (const ProbeResult& p : v)
      s += fmt::format("{} {} {} {} {} {},", p.probe, p.trait, p.sharper, p.refuted, p.sum, p.saw);
  }
  template <class E, class Names>
  static void say(std::string& s, const Word<E, Names>& v) {
    nlohmann::json word;
    v.write(word);
    s += word.get<std::string>();
  }
  template <class T>
  static void say(std::string& s, const FieldPair<T>&) {
    s += "of two, said below";
  }
  static void say(std::string& s, const ByName<const std::vector<CheckResult>>&) { s += "said below"; }
  static std::string of(const Record& r) {
    Words w;
    each_field(r, w);
    for (const CheckResult& c : r.checks) {
      w.all += fmt::format(" {} {} {} {} {:a} {} {} {} ", name(c.check), c.judged, c.failed, c.undecided,
                           c.utilisation, c.detail, name(c.cause), c.of_measurement);
      say(w.all, c.access);
      say(w.all += " ", c.row);
    }
    say(w.all += " maxima ", r.lowest_maximum);
    say(w.all += " ", r.highest_maximum);
    return w.all;
  }
};

/// Stands for a value of any type, to count what a struct is made of.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Parts>
consteval std::size_t members() {
  if constexpr (requires { T{Parts{}..., Anything{}}; })
    return members<T, Parts..., Anything>();
  else
    return sizeof...(Parts);
}

TEST(Record, EveryFieldSurvivesJson) {
  for (const double x : {static_cast<double>(NAN), static_cast<double>(INFINITY),
                         -static_cast<double>(INFINITY), -0.0, 0x1p-1074, 0.1}) {
    Record r;
    r.group = "shapes";  // with one, a record has all its fields
    Fill fill{x};
    each_field(r, fill);
    if (x == 0) r.threshold = 0;  // -0 is none
    r.status = Status::pass;      // of one that fails, older words are looked for
    const std::string line = to_json(r).dump();
    const Record again = record_from_json(nlohmann::json::parse(line));
    EXPECT_EQ(Words::of(again), Words::of(r));
    EXPECT_EQ(to_json(again).dump(), line);
    // Of an op that is none, a threshold of 0 is none.
    EXPECT_EQ(to_json(r).size() + (x == 0), fill.names.size()) << "a field is not in the JSON: " << line;
    // Every member is in the list, and so is every figure; the two maxima are one field.
    // So are the numbers of an op that is none: V, rows, k, threshold.
    EXPECT_EQ(fill.names.size() + 1, members<Record>() - 2 + members<Figures>() + 4);
  }
}

TEST(Record, WhatIsEmptyStaysEmpty) {
  const Record empty;
  const nlohmann::json j = nlohmann::json::parse(to_json(empty).dump());
  EXPECT_EQ(Words::of(record_from_json(j)), Words::of(empty));
  for (const char* field :
       {"max_ulp", "p99_ulp", "mean_ulp", "correctly_rounded", "max_bound_ratio", "worst"})
    EXPECT_TRUE(j.at(field).is_null()) << field;
  for (const char* field :
       {"group", "setup", "maxima", "resolution", "resolution_sum", "open", "escalated", "nearest", "alone",
        "at_first", "wants", "evidence", "probes", "why", "unpromised"})
    EXPECT_FALSE(j.contains(field)) << field;
  nlohmann::json old = j;
  for (const char* newer : {"behaves_like", "p99_ulp"}) old.erase(newer);
  EXPECT_EQ(Words::of(record_from_json(old)), Words::of(empty));
}

TEST(Record, FiguresAreMeasuredAndWrittenUnderTheirNames) {
  ElementErrors errors;
  for (const double ulp : {4.0, 1.0, 3.0, 0.25, 5.5}) errors.take(ulp, ulp, ulp < 0.5, false);
  Record r;
  for (const Figure& f : kFigures) r.*f.value = f.measure(errors);
  const nlohmann::json j = to_json(r);
  EXPECT_EQ(j["max_ulp"], 5.5);
  EXPECT_EQ(j["p99_ulp"], 5.5);
  EXPECT_EQ(j["mean_ulp"], 2.75);
  EXPECT_EQ(j["correctly_rounded"], 0.2);
  EXPECT_EQ(errors.quantile(0.6), 3.0);
  EXPECT_EQ(errors.quantile(0.2), 0.25);
}

TEST(Record, ACauseIsAFieldAndNoSentence) {
  Record r = sample();
  r.checks = {{Check::launch, 1, 1, 0, 0, "returned status 3", FaultKind::returned_status},
              {Check::property, 25, 1, 0, 0, "a shifted row differs"}};
  r.nearest = Nearest::other_class;
  r.alone = Alone::passes;
  const nlohmann::json j = to_json(r);
  EXPECT_EQ(j["checks"]["launch"]["cause"], "returned_status");
  EXPECT_FALSE(j["checks"]["property"].contains("cause"));
  EXPECT_EQ(j["nearest"], "other_class");
  EXPECT_EQ(j["alone"], "passes");
  const Record again = record_from_json(j);
  EXPECT_EQ(cause_of(again), FaultKind::returned_status);
  EXPECT_EQ(again.nearest, Nearest::other_class);
  EXPECT_EQ(again.alone, Alone::passes);
  ASSERT_NE(find_check(again, Check::property), nullptr);
  EXPECT_EQ(first_failed(again)->check, Check::launch);

  nlohmann::json unknown = j;
  unknown["checks"]["shades"] = j["checks"]["property"];
  EXPECT_THROW(record_from_json(unknown), InputError);
  unknown = j;
  unknown["checks"]["launch"]["cause"] = "weather";
  EXPECT_THROW(record_from_json(unknown), InputError);
}

TEST(Record, EveryCheckAndKindOfFaultHasANameOfItsOwn) {
  for (int i = 0; i < kChecks; ++i)
    EXPECT_EQ(parse_check(name(static_cast<Check>(i))), static_cast<Check>(i));
  for (int i = 0; i < kFaultKinds; ++i)
    EXPECT_EQ(parse_fault_kind(name(static_cast<FaultKind>(i))), static_cast<FaultKind>(i));
}

TEST(Record, RefusesABrokenLineByField) {
  for (const char* field : {"key", "V", "status", "worst"}) {
    nlohmann::json j = to_json(sample());
    j.erase(field);
    try {
      record_from_json(j);
      ADD_FAILURE() << field << " was not missed";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  }
  nlohmann::json j = to_json(sample());
  j["status"] = "fine";
  EXPECT_THROW(record_from_json(j), InputError);
  for (const char* field : {"status", "max_ulp"}) {
    j = to_json(sample());
    j[field] = "two\nlines";
    try {
      record_from_json(j);
      ADD_FAILURE() << field << " was read";
    } catch (const InputError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  }
}

TEST(UlpError, IsARealNumberOfTheExactValue) {
  const double y = 1 + 0x1p-30;  // between two floats, just above 1
  EXPECT_NEAR(ulp_error(Dtype::f32, 1.0, {y, y}).hi, 0x1p-7, 1e-12);
  EXPECT_NEAR(ulp_error(Dtype::f32, 1 + 0x1p-23, {y, y}).hi, 1 - 0x1p-7, 1e-12);
  // Below a power of two the unit is half as large.
  const double z = 1 - 0x1p-30;
  EXPECT_NEAR(ulp_error(Dtype::f32, 1.0, {z, z}).hi, 0x1p-6, 1e-12);
  // Subnormal results are measured in the smallest subnormal, and so is 0.
  EXPECT_EQ(ulp_error(Dtype::f32, 0x1p-149, {0x1p-150, 0x1p-150}).hi, 0.5);
  EXPECT_EQ(ulp_error(Dtype::f16, 0x1p-24, {0, 0}).hi, 1);
  for (double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)})
    EXPECT_TRUE(std::isinf(ulp_error(Dtype::f32, bad, {1, 1}).lo));
  // An enclosure gives an enclosure; a result inside it may be exact.
  const Enclosure e = ulp_error(Dtype::f32, 1.0, {1 - 0x1p-40, 1 + 0x1p-40});
  EXPECT_EQ(e.lo, 0);
  EXPECT_GT(e.hi, 0);
}

TEST(UlpDistance, CountsSteps) {
  EXPECT_EQ(ulp_distance(Dtype::f32, 0x80000000u, 0), 0) << "+0 and -0 are the same place";
  EXPECT_EQ(ulp_distance(Dtype::f32, 0x80000001u, 1), 2);
  EXPECT_EQ(ulp_distance(Dtype::f16, 0x3c00, 0x3bff), 1);
  EXPECT_EQ(ulp_distance(Dtype::f16, 0x7e00, 0x3c00), -1);
}

}  // namespace
}  // namespace assay
