// SPDX-License-Identifier: Apache-2.0
// What reports/records/store.hpp declares, for the .cpp of a kind of fact.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "accuracy/record_fields.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/text.hpp"
#include "reports/records/store.hpp"

namespace assay {

/// A text that is one of a list.
template <class Text, class Words>
class OneOf {
 public:
  OneOf(Text& v, const Words& words) : v_(v), words_(words) {}
  void write(nlohmann::json& j) const { j = v_; }
  void read(const nlohmann::json& j) const {
    v_ = j.get<std::string>();
    if (std::find(words_.begin(), words_.end(), v_) == words_.end())
      throw InputError(quoted_word(v_) + " is not known");
  }

 private:
  Text& v_;
  const Words& words_;
};

template <class Fact>
nlohmann::json fact_to_json(const Fact& f) {
  nlohmann::json j = fields_to_json(f);
  j.update({{"kind", Fact::kKind.word}, {"version", 1}});
  return j;
}

template <class Fact>
Fact fact_from_json(const nlohmann::json& j) {
  if (!j.is_object() || !j.contains("kind") || j["kind"] != Fact::kKind.word)
    throw InputError(std::string("field kind: no record of ") + Fact::kKind.made_by);
  if (!j.contains("version") || j["version"] != 1) throw InputError("field version: must be 1");
  auto f = fields_from_json<Fact>(j);
  if constexpr (requires { op_of(f); }) read_old_threshold(j, op_of(f), f);
  return f;
}

template <class Fact>
std::string fact_line(const Fact& f) {
  return fact_to_json(f).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

template <class Fact>
void Facts<Fact>::read(const std::filesystem::path& file, bool* torn) {
  for_each_line(file, whole_lines(file, torn),
                [this](const std::string& line) { add(fact_from_json<Fact>(parse_json_line(line))); });
}

}  // namespace assay
