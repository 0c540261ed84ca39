// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/corpus.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/text.hpp"

namespace assay::fuzz {
namespace {

using nlohmann::json;

constexpr int kCorpusVersion = 1;

/// Values of V with equally many bits behave alike.
int band(std::int64_t V) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(V))); }

bool better(const Entry& a, const Entry& b) {
  if (a.score != b.score) return a.score > b.score;
  return to_json(a.genome).dump() < to_json(b.genome).dump();  // the order of arrival does not matter
}

}  // namespace

std::string share_feature(Check check, bool far, std::int64_t V) {
  return fmt::format("{}{}/{}", name(check), far ? "_far" : "", band(V));
}

std::vector<std::pair<std::string, double>> features(const Genome& g, const Evaluation& e) {
  std::vector<std::pair<std::string, double>> f;
  if (!e.signature.check.empty()) {
    f.emplace_back("fail/" + e.signature.check + "/" + e.signature.rows, -static_cast<double>(g.V * g.rows));
    return f;  // the shares of a failing trial say nothing about rows that pass
  }
  for (int c = 0; c < kChecks; ++c)
    if (const double share = e.share[static_cast<std::size_t>(c)]; share >= 0 && std::isfinite(share))
      f.emplace_back(share_feature(static_cast<Check>(c),
                                   static_cast<Check>(c) == Check::normalizer ? e.far_sum : e.far, g.V),
                     share);
  if (e.dispatch != 0)
    f.emplace_back(fmt::format("dispatch/{:016x}", e.dispatch), 0);
  else
    f.emplace_back(fmt::format("length/{}", band(g.V)), 0);
  return f;
}

bool Corpus::learn(const Genome& g, const Evaluation& e) {
  bool learned = false;
  for (const auto& [feature, score] : features(g, e)) {
    const auto [at, added] = entries.try_emplace(feature, Entry{g, score});
    if (added || score > at->second.score || (drifts && score == at->second.score)) {
      at->second = {g, score};
      learned = true;
    }
  }
  return learned;
}

void Corpus::take(const Corpus& other) {
  for (const auto& [feature, entry] : other.entries) {
    const auto [at, added] = entries.try_emplace(feature, entry);
    if (!added && better(entry, at->second)) at->second = entry;
  }
}

std::string Corpus::text() const {
  std::string out =
      json({{"assay_corpus", kCorpusVersion}, {"key", key}, {"seed", seed}, {"evaluations", evaluations}})
          .dump() +
      "\n";
  for (const auto& [feature, e] : entries)
    out += json({{"feature", feature}, {"score", e.score}, {"genome", to_json(e.genome)}}).dump() + "\n";
  return out;
}

namespace {
template <class T>
void read_whole(const json& j, const char* field, T& into) {
  try {
    into = whole_from_json<T>(j.at(field));
  } catch (const InputError& e) {
    throw InputError(std::string(field) + " " + e.what());
  }
}
}  // namespace

Corpus corpus_from_text(const std::string& text, const std::string& file) {
  Corpus c;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) try {
      const json j = parse_json_line(line);
      if (number == 1) {
        if (!j.is_object() || !j.contains("assay_corpus")) throw InputError("not a corpus");
        if (j.at("assay_corpus") != kCorpusVersion) throw InputError("a corpus of another version");
        c.key = j.at("key").get<std::string>();
        read_whole(j, "seed", c.seed);
        read_whole(j, "evaluations", c.evaluations);
        if (c.evaluations < 0) throw InputError("evaluations is negative");
        continue;
      }
      const auto score = j.at("score").get<double>();
      if (!std::isfinite(score)) throw InputError("score is not finite");
      c.entries[j.at("feature").get<std::string>()] = {genome_from_json(j.at("genome")), score};
    } catch (const json::exception& e) {
      throw InputError(fmt::format("{}:{}: {}", file, number, plain_words(e)));
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}:{}: {}", file, number, e.what()));
    }
  if (text.empty()) throw InputError(file + ": empty, not a corpus");
  return c;
}

std::string file_name(const std::string& key) {
  std::string s = key;
  for (char& c : s) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!plain) c = '-';
  }
  return s;
}

std::filesystem::path corpus_file(const std::filesystem::path& folder, const std::string& key,
                                  const std::string& suffix) {
  return folder / (file_name(key) + suffix + ".corpus.jsonl");
}

}  // namespace assay::fuzz
