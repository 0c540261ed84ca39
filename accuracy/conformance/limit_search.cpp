// Limits of the launch: row lengths, numbers of rows, addresses, k.
#include "accuracy/conformance/limit_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "accuracy/behaves_like.hpp"
#include "accuracy/conformance/rules.hpp"

namespace assay::conformance {
namespace {

/// Limits that a single refusal speaks for are guesses; so many places must agree.
constexpr std::size_t kPlaces = 2;
/// Launches that narrow a limit down between two values that were tried.
constexpr int kSteps = 24;

using Sizes = std::map<std::int64_t, const Record*>;  // with a record that shows it

/// A record whose case has rows of logits, its own length and its own number of rows.
bool plain(const Record& r) {
  return !r.group.empty() && r.group != "races" && r.group != "sanitize" && r.group != "properties" &&
         r.family != kProbeFamily && r.V > 0 && r.rows > 0;
}

bool passes(const Record& r) { return r.status == Status::pass; }
/// It ran, and nobody said no: what it computed is another matter.
bool taken(const Record& r) { return passes(r) || (fails(r) && !says_no(r)); }

std::string seen(const char* what, std::int64_t n, const Record& r) {
  return fmt::format("{} = {} {}", what, n, what_it_said(r));
}

/// The largest of (good, bad) that is taken.
std::int64_t last_good(std::int64_t good, std::int64_t bad, std::int64_t step,
                       const std::function<bool(std::int64_t)>& good_at) {
  good /= step, bad = (bad + step - 1) / step;
  for (int n = 0; n < kSteps && bad - good > 1; ++n) {
    const std::int64_t middle = good + (bad - good) / 2;
    (good_at(middle * step) ? good : bad) = middle;
  }
  return good * step;
}

/// What sizes are taken, what sizes are refused, and how one thing is called.
struct Scan {
  Sizes good, refused;
  const char* what;      // "V"
  const char* multiple;  // "V_multiple"
  const char* most;
  const char* least;
};

/// The limits that tell the refused sizes from the others; none where no such rule does.
std::vector<FoundLimit> limits_of(const Scan& s, const std::function<bool(const char*)>& may,
                                  const std::function<bool(std::int64_t)>& good_at) {
  if (s.refused.empty() || s.good.empty()) return {};
  std::int64_t multiple = 0;
  for (const auto& [n, r] : s.good) multiple = std::gcd(multiple, n);
  const std::int64_t least = s.good.begin()->first, most = s.good.rbegin()->first;
  const Record *rest = nullptr, *above = nullptr, *below = nullptr;
  std::int64_t first_rest = 0, first_above = 0, last_below = 0;
  for (const auto& [n, r] : s.refused) {
    if (n > most) {
      if (n % multiple == 0 && !above) above = r, first_above = n;
      continue;
    }
    if (n < least) {
      if (n % multiple == 0) below = r, last_below = n;
      continue;
    }
    if (n % multiple == 0) return {};  // the good ones around it do not say why
    if (!rest) rest = r, first_rest = n;
  }
  // Sizes between the good ones, or beside them, that are no multiple: a limit of theirs alone.
  if (!rest && multiple > 1)
    for (const auto& [n, r] : s.refused)
      if (n % multiple != 0 && !rest) rest = r, first_rest = n;
  std::vector<FoundLimit> found;
  if (rest && multiple > 1) {
    if (!may(s.multiple)) return {};
    found.push_back({fmt::format("{}={}", s.multiple, multiple), seen(s.what, first_rest, *rest)});
  }
  if (below) {
    if (!may(s.least)) return {};
    found.push_back({fmt::format("{}={}", s.least, least), seen(s.what, last_below, *below)});
  }
  if (above) {
    if (!may(s.most)) return {};
    const std::int64_t last = last_good(most, first_above, multiple, good_at);
    found.push_back({fmt::format("{}={}", s.most, last), seen(s.what, first_above, *above)});
  }
  return found;
}

/// Refused lengths that no multiple explains: the few that are not. A multiple that the author declared is a
/// promise, which a list would take back.
std::vector<FoundLimit> listed_lengths(const Scan& s, const std::function<bool(const char*)>& may) {
  if (!may("V_in") || !may("V_multiple")) return {};
  if (s.refused.empty() || s.good.empty() || s.good.size() > RowLengths::kMost) return {};
  std::vector<std::int64_t> all;
  for (const auto& [n, r] : s.good) all.push_back(n);
  const auto& [first, record] = *s.refused.begin();
  return {{fmt::format("V_in={{{}}}", fmt::join(all, ", ")), seen("V", first, *record)}};
}

void add(Sizes& to, std::int64_t n, const Record& r) { to.emplace(n, &r); }

/// A size that is both taken and refused is no matter of this size alone.
void settle(Scan& s) {
  for (auto at = s.refused.begin(); at != s.refused.end();)
    at = s.good.contains(at->first) ? s.refused.erase(at) : std::next(at);
}

bool of_addresses(const Record& r) {
  return r.group == "layout" || r.group == "families" || r.group == "calls" || r.group == "streams" ||
         r.group == "batch";
}

/// Rows that start at multiples of more bytes than their element has.
std::vector<FoundLimit> alignment_limit(const Variant& v, const std::vector<Record>& records) {
  const auto element = static_cast<std::int64_t>(std::max(size_of(v.dtype), size_of(v.out())));
  const auto off = [](const Record& r, std::int64_t bytes) {
    return base_of(r) % bytes != 0 || (r.rows > 1 && pitch_of(r) % bytes != 0);
  };
  const Record* first = nullptr;
  bool moved = false;
  std::vector<const Record*> refused;
  for (const Record& r : records) {
    if (!plain(r) || !fails(r) || !says_no(r)) continue;
    const bool misaligned = cause_of(r) == FaultKind::misaligned;
    const bool offset = r.group == "layout" && base_of(r) != 0;
    // The same rows at an aligned address pass: it is the address that matters.
    const bool aligned_passes =
        offset && std::any_of(records.begin(), records.end(), [&](const Record& o) {
          return o.group == "layout" && base_of(o) == 0 && o.V == r.V && o.rows == r.rows && passes(o);
        });
    if (!misaligned && !aligned_passes) continue;
    refused.push_back(&r);
    if (offset && !moved) moved = true, first = &r;
    if (!first) first = &r;
  }
  for (std::int64_t bytes = 2 * element; bytes <= 32 && first; bytes *= 2) {
    if (!std::all_of(refused.begin(), refused.end(), [&](const Record* r) { return off(*r, bytes); }))
      continue;
    // Aligned cases pass: it is the address that matters.
    if (std::none_of(
            records.begin(), records.end(),
            [&](const Record& r) { return plain(r) && of_addresses(r) && passes(r) && !off(r, bytes); }) &&
        std::none_of(records.begin(), records.end(),
                     [&](const Record& r) { return plain(r) && r.group == "shapes" && passes(r); }))
      return {};
    // Wrong in silence at such an address is a fault, which the limit must not hide.
    if (std::any_of(records.begin(), records.end(), [&](const Record& r) {
          return plain(r) && r.group == "layout" && fails(r) && !says_no(r) && base_of(r) % bytes != 0;
        }))
      return {};
    const std::int64_t base = base_of(*first);
    return {{fmt::format("alignment={}", bytes),
             base % bytes != 0
                 ? fmt::format("rows that start {} bytes off: {}", base % bytes, what_it_said(*first))
                 : fmt::format("rows {} bytes apart: {}", pitch_of(*first), what_it_said(*first))}};
  }
  return {};
}

std::vector<FoundLimit> pitch_limit(const std::vector<Record>& records) {
  const Record* first = nullptr;
  bool dense = false;
  for (const Record& r : records) {
    if (r.group != "layout") continue;
    if (r.setup.starts_with("pitch_")) {
      // Silent there: a fault, and no limit.
      if (taken(r)) return {};
      if (fails(r) && says_no(r) && !first) first = &r;
    } else {
      dense = dense || passes(r);
    }
  }
  if (!first || !dense) return {};
  return {{"dense=yes", fmt::format("a pitch that is not V: {}", what_it_said(*first))}};
}

/// Of top-k: k that is refused.
std::vector<FoundLimit> k_limits(const std::vector<Record>& records,
                                 const std::function<bool(const char*)>& may) {
  Scan s{{}, {}, "k", "", "max_k", ""};
  bool longer = true, any = false;
  const Record* first = nullptr;
  for (const Record& r : records) {
    if (!plain(r) || r.k == 0) continue;
    if (passes(r)) {
      add(s.good, r.k, r);
      any = any || r.k > r.V;
    }
    if (!fails(r) || !says_no(r)) continue;
    longer = longer && r.k > r.V;
    if (!first) first = &r;
    if (r.k <= r.V) add(s.refused, r.k, r);
  }
  if (!first) return {};
  if (longer && !any && may("k_up_to_V"))
    return {
        {"k_up_to_V=yes", fmt::format("k = {} of {} logits: {}", first->k, first->V, what_it_said(*first))}};
  settle(s);
  if (s.good.empty() || s.refused.empty() || s.refused.begin()->first < s.good.rbegin()->first ||
      !may("max_k"))
    return {};
  return {{fmt::format("max_k={}", s.good.rbegin()->first),
           seen("k", s.refused.begin()->first, *s.refused.begin()->second)}};
}

}  // namespace

bool fails(const Record& r) {
  return r.status == Status::fail || r.status == Status::crashed || r.status == Status::hung;
}

bool says_no(const Record& r) {
  switch (cause_of(r)) {
    case FaultKind::returned_status:
    case FaultKind::threw:
    case FaultKind::refused_call:
    case FaultKind::trap:
    case FaultKind::bad_launch:
    case FaultKind::misaligned:
    case FaultKind::died:
      break;
    default:
      return false;
  }
  const CheckResult* const first = first_failed(r);
  return first && first->check == Check::launch && r.status != Status::hung;
}

std::string what_it_said(const Record& r) {
  const CheckResult* const check = first_failed(r);
  std::string said = check ? check->detail : r.reason;
  said = said.substr(0, said.find('\n'));
  if (said.size() > 120) said = said.substr(0, 117) + "...";
  const FaultKind cause = cause_of(r);
  const char* const how = cause == FaultKind::misaligned ? "crashes"
                          : cause == FaultKind::died     ? "ends the process"
                          : cause == FaultKind::trap     ? "traps"
                                                         : "is an error";
  return fmt::format("{} ({})", how, said);
}

std::vector<FoundLimit> next_limits(const Variant& variant, const std::vector<Record>& records,
                                    const std::function<bool(const char* word)>& may, const Pilot& pilot) {
  const auto tried = [&](const char* group, std::int64_t V, std::int64_t rows) {
    Narrowing n;
    n.V = V, n.rows = rows;
    const std::vector<Record> all = pilot("", {group}, n);
    return !all.empty() &&
           std::none_of(all.begin(), all.end(), [](const Record& r) { return fails(r) && says_no(r); });
  };
  // Rows first: where one row is refused, no length can be told from another.
  Scan rows{{}, {}, "rows", "rows_multiple", "max_rows", "min_rows"};
  std::int64_t V_of_rows = 0;
  for (const Record& r : records) {
    if (!plain(r) || (r.group != "rows" && r.group != "shapes")) continue;
    if (taken(r)) {
      add(rows.good, r.rows, r);
      if (r.group == "rows" && V_of_rows == 0) V_of_rows = r.V;
    }
  }
  for (const Record& r : records)
    if (plain(r) && r.group == "rows" && fails(r) && says_no(r)) add(rows.refused, r.rows, r);
  if (rows.good.size() > kPlaces) {
    // A number of rows that other lengths have is no limit of rows.
    settle(rows);
    const std::int64_t V = V_of_rows > 0 ? V_of_rows : 7;
    if (auto found = limits_of(rows, may, [&](std::int64_t n) { return tried("rows", V, n); });
        !found.empty())
      return found;
  }
  const std::int64_t few = rows.good.empty() ? 1 : rows.good.begin()->first;
  Scan lengths{{}, {}, "V", "V_multiple", "max_V", "min_V"};
  for (const Record& r : records) {
    if (!plain(r) || r.group != "shapes" || r.rows != few) continue;
    if (taken(r)) add(lengths.good, r.V, r);
    if (fails(r) && says_no(r)) add(lengths.refused, r.V, r);
  }
  settle(lengths);
  if (lengths.refused.size() >= kPlaces && !lengths.good.empty()) {
    const bool several = lengths.good.size() >= kPlaces;
    if (auto found = several
                         ? limits_of(lengths, may, [&](std::int64_t n) { return tried("shapes", n, few); })
                         : std::vector<FoundLimit>();
        !found.empty())
      return found;
    if (auto found = listed_lengths(lengths, may); !found.empty()) return found;
  }
  if (may("alignment"))
    if (auto found = alignment_limit(variant, records); !found.empty()) return found;
  if (may("dense"))
    if (auto found = pitch_limit(records); !found.empty()) return found;
  if (auto found = k_limits(records, may); !found.empty()) return found;
  // Last, because every other limit shows in large problems too.
  if (may("max_elements")) {
    std::int64_t good = 0, bad = 0, silent = 0;
    const Record* first = nullptr;
    for (const Record& r : records) {
      if (!plain(r)) continue;
      const std::int64_t n = r.rows * r.V;
      if (passes(r)) good = std::max(good, n);
      if (r.group != "big" || !fails(r)) continue;
      if (!says_no(r)) silent = silent ? std::min(silent, n) : n;
      if (says_no(r) && (!first || n < bad)) first = &r, bad = n;
    }
    // Wrong below the refusal is a finding. The limit is what was seen to pass.
    if (first && bad > good && good > 0 && !(silent && silent < bad))
      return {{fmt::format("max_elements={}", good),
               fmt::format("{} rows of {} {}", first->rows, first->V, what_it_said(*first))}};
  }
  return {};
}

}  // namespace assay::conformance
