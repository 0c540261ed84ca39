// SPDX-License-Identifier: Apache-2.0
// Facts in files, one JSON line each. A kind of fact is a struct that lists its fields (each_field,
// reference/fields.hpp), that says what it is of (identity) and how that ended (outcome), and that names its
// file (kKind). Nothing else of it is written by hand: what reads, writes, replaces, compares and counts is
// here. The .cpp of a kind ends with ASSAY_FACTS (reports/records/store_kind.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/data/outcome.hpp"

namespace assay {

/// What the lines of a kind of fact have in common.
struct FactKind {
  const char* word;     // their field "kind"
  const char* made_by;  // "assay sweep"
};

/// With the fields "kind" and "version".
template <class Fact>
nlohmann::json fact_to_json(const Fact& f);
/// Throws InputError that names the field if one is missing or has the wrong type.
template <class Fact>
Fact fact_from_json(const nlohmann::json& j);
/// The fact as one line, with its line break.
template <class Fact>
std::string fact_line(const Fact& f);

/// Facts in the order in which the first of each identity came. A later one replaces an earlier one.
template <class Fact>
class Facts {
 public:
  const Fact* find(const std::string& identity) const {
    const auto at = at_.find(identity);
    return at == at_.end() ? nullptr : &all_[at->second];
  }
  void add(Fact f) {
    const auto [at, fresh] = at_.emplace(identity(f), all_.size());
    if (fresh)
      all_.push_back(std::move(f));
    else
      all_[at->second] = std::move(f);
  }
  /// Adds those of a file, but not a torn last line (whole_lines). Throws InputError that names the file and
  /// the line.
  void read(const std::filesystem::path& file, bool* torn = nullptr);
  const std::vector<Fact>& all() const { return all_; }

 private:
  std::vector<Fact> all_;
  std::map<std::string, std::size_t> at_;
};

template <class Fact>
std::vector<Fact> read_facts(const std::filesystem::path& file) {
  Facts<Fact> f;
  f.read(file);
  return f.all();
}

/// The same of a file that may be packed (.gz), or absent: then there are none.
template <class Fact>
std::vector<Fact> facts_in(const std::filesystem::path& file) {
  const std::filesystem::path there = file_or_gz(file);
  return there.empty() ? std::vector<Fact>() : read_facts<Fact>(there);
}

/// A growing file of facts. Each is written whole as soon as it is there, so that a stopped run loses only
/// the one under way.
template <class Fact>
class FactFile {
 public:
  /// Reads the file, if it exists, and cuts off a torn last line; a whole one gets its line break. Throws
  /// InputError that names the file.
  explicit FactFile(std::filesystem::path file) : file_(std::move(file)) {
    bool torn = false;
    if (std::filesystem::exists(file_))
      facts_.read(file_, &torn);
    else if (const std::string packed = file_.string() + ".gz"; std::filesystem::exists(packed))
      // A new file beside the packed one would lack what was there before.
      throw InputError(packed + ": is packed: run gunzip on it first, or choose another folder");
    if (torn) compact();
  }
  const Fact* find(const std::string& identity) const { return facts_.find(identity); }
  const std::vector<Fact>& all() const { return facts_.all(); }
  /// Appends a line. Throws if the file cannot be written.
  void add(const Fact& f) {
    LineFile(file_).append(fact_line(f));
    facts_.add(f);
  }
  /// Rewrites the file without the lines that later lines replaced.
  void compact() const {
    std::string text;
    for (const Fact& f : all()) text += fact_line(f);
    write_files({{file_, text}});
  }

 private:
  std::filesystem::path file_;
  Facts<Fact> facts_;
};

/// What two lists of facts have in common, by identity. The pointers are into the lists.
template <class Fact>
struct Paired {
  std::vector<std::pair<const Fact*, const Fact*>> both;  // in the order of the second list
  std::vector<const Fact*> gone, fresh;
};
template <class Fact>
Paired<Fact> paired(const std::vector<Fact>& before, const std::vector<Fact>& after) {
  std::map<std::string, const Fact*> old;
  for (const Fact& f : before) old[identity(f)] = &f;
  Paired<Fact> p;
  for (const Fact& f : after)
    if (const auto at = old.find(identity(f)); at == old.end()) {
      p.fresh.push_back(&f);
    } else {
      p.both.emplace_back(at->second, &f);
      old.erase(at);
    }
  for (const auto& [what, f] : old) p.gone.push_back(f);
  return p;
}

}  // namespace assay

/// For a kind of fact: `ASSAY_FACTS(extern, Fact)` behind its struct, `ASSAY_FACTS(, Fact)` at the end of its
/// .cpp, both inside the namespace. What one file makes no other one makes again, also where files are
/// joined.
#define ASSAY_FACTS(where, Fact)                                   \
  where template nlohmann::json fact_to_json(const Fact&);         \
  where template Fact fact_from_json<Fact>(const nlohmann::json&); \
  where template std::string fact_line(const Fact&);               \
  where template void Facts<Fact>::read(const std::filesystem::path&, bool*)
