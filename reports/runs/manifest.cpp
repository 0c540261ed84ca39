// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/k_range.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"

namespace assay {

namespace {

std::filesystem::path beside(std::filesystem::path logits, const char* what) {
  return logits.replace_extension(std::string(".") + what + ".npy");
}

}  // namespace

const char* usual_name(Op op) { return probabilities(op) ? "probs" : "values"; }

std::filesystem::path values_beside(const std::filesystem::path& logits, Op op) {
  return beside(logits, usual_name(op));
}

std::filesystem::path indices_beside(const std::filesystem::path& logits) {
  return beside(logits, "indices");
}

using nlohmann::ordered_json;

std::string render_manifest(const Manifest& m, const std::string& folder) {
  ordered_json j;
  j["format"] = "assay inputs 1";
  j["op"] = name(m.op);
  if (selects(m.op)) j["k"] = m.pick.k;
  if (keeps_a_set(m.op)) j["threshold"] = m.pick.threshold;
  j["seed"] = m.seed;
  j["grade"] = "assay grade " + shell_quoted(folder);
  j["bf16"] = "files of dtype bf16, logits and outputs, hold its bits as uint16";
  j["cases"] = ordered_json::array();
  for (const Manifest::Entry& e : m.entries) {
    ordered_json c;
    c["logits"] = e.file;
    c["dtype"] = name(e.dtype);
    c["rows"] = e.rows;
    c["V"] = e.V;
    c["family"] = e.family;
    c["attacks"] = e.attacks;
    c["values"] = values_beside(e.file, m.op).string();
    if (selects(m.op)) c["indices"] = indices_beside(e.file).string();
    j["cases"].push_back(std::move(c));
  }
  return j.dump(1) + "\n";
}

Manifest manifest_from_text(const std::string& text, const std::string& file) {
  Manifest m;
  std::string field = "manifest";
  const auto fail = [&](const std::string& why) { throw InputError(file + ": " + why); };
  nlohmann::json j;
  try {
    j = parse_json(text);
  } catch (const InputError& e) {
    fail(e.what());
  }
  try {
    const auto get = [&](const nlohmann::json& from, const char* f) -> const nlohmann::json& {
      field = f;
      return from.at(f);
    };
    const auto whole = [&](const nlohmann::json& from, const char* f, auto& into) {
      try {
        into = whole_from_json<std::decay_t<decltype(into)>>(get(from, f));
      } catch (const InputError& e) {
        fail("field '" + field + "': " + e.what());
      }
    };
    if (get(j, "format").get<std::string>() != "assay inputs 1") fail("is no manifest of assay inputs");
    const std::string op = get(j, "op").get<std::string>();
    const auto known = parse_op(op);
    if (!known || *known == Op::normalizer) fail("op '" + op + "' is unknown");
    m.op = *known;
    if (keeps_a_set(m.op) && j.contains("threshold")) {
      m.pick = of_threshold(number_from_json(get(j, "threshold")));
    } else if (picks(m.op)) {
      whole(j, "k", m.pick.k);
      m.pick = of_old_k(m.op, m.pick.k);
    }
    if (const std::string why = why_not(m.op, m.pick); !why.empty()) fail(why);
    whole(j, "seed", m.seed);
    for (const auto& c : get(j, "cases")) {
      Manifest::Entry e;
      e.file = get(c, "logits").get<std::string>();
      if (e.file.empty() || e.file.find('/') != std::string::npos)
        fail("logits '" + e.file + "' is no file name");
      const std::string dtype = get(c, "dtype").get<std::string>();
      const auto t = parse_dtype(dtype);
      if (!t) fail("dtype '" + dtype + "' is unknown");
      e.dtype = *t;
      whole(c, "rows", e.rows);
      whole(c, "V", e.V);
      e.family = get(c, "family").get<std::string>();
      e.attacks = get(c, "attacks").get<std::string>();
      m.entries.push_back(std::move(e));
    }
  } catch (const nlohmann::json::exception& e) {
    fail("field '" + field + "': " + plain_words(e));
  }
  if (m.entries.empty()) fail("has no cases");
  return m;
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kManifest;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw InputError(folder.string() + ": no such folder (assay inputs --out FOLDER makes one)");
  if (!std::filesystem::exists(file, ignored))
    throw InputError(file.string() + ": no such file (assay inputs --out FOLDER writes it)");
  return manifest_from_text(read_file(file), file.string());
}

std::vector<Graded> outputs_of(const Manifest& m, const std::filesystem::path& folder) {
  std::vector<Graded> all;
  for (const Manifest::Entry& e : m.entries) {
    const std::filesystem::path logits = folder / e.file;
    Graded g{e.family, e.attacks, logits.string(), values_beside(logits, m.op).string(), "", e.dtype, m.seed};
    if (selects(m.op)) g.indices = indices_beside(logits).string();
    all.push_back(std::move(g));
  }
  return all;
}

}  // namespace assay
