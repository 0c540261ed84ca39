// SPDX-License-Identifier: Apache-2.0
#include "reports/records/record_parser.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "accuracy/record_fields.hpp"
#include "reference/error.hpp"

namespace assay {

/// Not anonymous: a class with a name outside this file has members of these types.
namespace record_parsing {

using nlohmann::json;

struct Rare {};        // a field that few records have: they are read in the general way
struct ChecksHere {};  // an object of checks by name
struct WorstHere {};
/// A word or a list of two, which an adapter reads.
struct Small {
  std::function<void(const json&)> read;
};
using Target = std::variant<std::string*, double*, std::optional<double>*, std::int64_t*, int*,
                            std::uint64_t*, std::vector<std::string>*, Small, ChecksHere, WorstHere, Rare>;

struct Slot {
  std::string name;
  std::uint64_t bit;  // of the fields that must be there; 0 for others
  Target target;
};

/// The fields of one struct that lies at a fixed address, in alphabetical order.
class Slots {
 public:
  template <class Struct>
  explicit Slots(Struct& s) {
    each_field(s, *this);
    std::sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.name < b.name; });
  }
  // What each_field calls.
  template <class T>
  void operator()(const char* name, T&& v) {
    add(name, v, std::uint64_t{1} << required_++);
  }
  template <class T>
  void if_set(const char* name, T&& v) {
    add(name, v, 0);
  }
  template <class T>
  void newer(const char* name, T&& v) {
    add(name, v, 0);
  }

  /// The slot of `name`, not before place `from`, which moves behind it. Null if there is none.
  const Slot* next(std::string_view name, std::size_t& from) const {
    while (from < slots_.size() && slots_[from].name < name) ++from;
    return from < slots_.size() && slots_[from].name == name ? &slots_[from++] : nullptr;
  }
  bool complete(std::uint64_t seen) const { return seen + 1 == std::uint64_t{1} << required_; }

 private:
  template <class T>
  void add(const char* name, T& v, std::uint64_t bit) {
    using Field = std::remove_const_t<T>;
    Target target;
    if constexpr (std::is_same_v<Field, std::optional<WorstElement>>)
      target = WorstHere{};
    else if constexpr (std::is_same_v<Field, ByName<std::vector<CheckResult>>>)
      target = ChecksHere{};
    else if constexpr (requires(const json& j) { v.read(j); })
      target = Small{[v](const json& j) { v.read(j); }};
    else if constexpr (std::is_assignable_v<Target&, Field*> && !std::is_same_v<Field, bool>)
      target = &v;
    else
      target = Rare{};
    slots_.push_back({name, bit, std::move(target)});
  }

  std::vector<Slot> slots_;
  unsigned required_ = 0;
};

}  // namespace record_parsing

/// Every function returns false where the line has not the usual form.
class RecordParser::Reader {
 public:
  Reader() : slots_(with_group(record_)), check_slots_(check_), worst_slots_(worst_) {
    for (std::size_t i = 0; i < kCheckNames.size(); ++i)
      checks_.emplace_back(kCheckNames[i], static_cast<Check>(i));
    std::sort(checks_.begin(), checks_.end());
  }

  Record record_;

  bool line(std::string_view whole) {
    record_ = Record{};
    record_.facts = 0;
    at_ = whole.data(), end_ = at_ + whole.size();
    if (!object(slots_) || at_ != end_) return false;
    // The slots know no op. A line without the number that its op has is an old one, or a wrong one.
    const std::optional<Op> op = parse_op(record_.op);
    if (op && keeps_a_set(*op) && (record_.threshold == 0 || record_.k != 0)) return false;
    if (op && selects(*op) && record_.k < 1) return false;
    if (record_.facts == 0) read_old_words(record_);
    return true;
  }

 private:
  using Slots = record_parsing::Slots;
  using json = nlohmann::json;

  /// Some fields are only there if a record has a group.
  static Record& with_group(Record& r) {
    r.group = "x";
    return r;
  }

  bool skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  /// A text between quotes. Without an escape it is a part of the line, otherwise it is put into `buffer`.
  bool text(std::string_view& out, std::string& buffer) {
    if (!skip('"')) return false;
    const char* const begin = at_;
    for (; at_ != end_; ++at_) {
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        out = std::string_view(begin, static_cast<std::size_t>(at_++ - begin));
        return true;
      }
      if (c == '\\') break;
      if (c < 0x20 || c >= 0x7f) return false;
    }
    buffer.assign(begin, at_);
    while (at_ != end_) {
      const auto c = static_cast<unsigned char>(*at_++);
      if (c == '"') {
        out = buffer;
        return true;
      }
      if (c < 0x20 || c >= 0x7f) return false;
      if (c != '\\') {
        buffer += static_cast<char>(c);
        continue;
      }
      if (at_ == end_) return false;
      constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
      const auto which = kEscapes.find(*at_++);
      if (which == std::string_view::npos) return false;
      buffer += kMeanings[which];
    }
    return false;
  }

  /// The end of a number, if what stands here is one in JSON.
  const char* number_end(bool whole) const {
    const char* p = at_;
    const auto digits = [&] {
      const char* const first = p;
      while (p != end_ && *p >= '0' && *p <= '9') ++p;
      return p - first;
    };
    if (p != end_ && *p == '-') ++p;
    const bool zero = p != end_ && *p == '0';
    const auto n = digits();
    if (n == 0 || (zero && n > 1)) return nullptr;
    if (p != end_ && *p == '.') {
      ++p;
      if (whole || digits() == 0) return nullptr;
    }
    if (p != end_ && (*p == 'e' || *p == 'E')) {
      ++p;
      if (p != end_ && (*p == '+' || *p == '-')) ++p;
      if (whole || digits() == 0) return nullptr;
    }
    return p;
  }
  template <class T>
  bool number(T& v) {
    const char* const end = number_end(std::is_integral_v<T>);
    if (!end) return false;
    const auto [p, error] = std::from_chars(at_, end, v);
    at_ = end;
    return p == end && error == std::errc();
  }
  /// A number, or one of the texts that stand for what JSON has no number for.
  bool real(double& v) {
    if (at_ == end_ || *at_ != '"') return number(v);
    std::string_view word;
    if (!text(word, buffer_)) return false;
    if (word == "nan")
      v = NAN;
    else if (word == "inf")
      v = INFINITY;
    else if (word == "-inf")
      v = -INFINITY;
    else
      return false;
    return true;
  }
  bool null() {
    if (end_ - at_ < 4 || std::memcmp(at_, "null", 4) != 0) return false;
    at_ += 4;
    return true;
  }

  bool value(std::string* v) {
    std::string_view word;
    if (!text(word, buffer_)) return false;
    v->assign(word);
    return true;
  }
  bool value(double* v) { return real(*v); }
  bool value(std::optional<double>* v) {
    v->reset();
    return null() || real(v->emplace());
  }
  bool value(std::int64_t* v) { return number(*v); }
  bool value(int* v) { return number(*v); }
  bool value(std::uint64_t* v) { return number(*v); }
  bool value(std::vector<std::string>* v) {
    if (!skip('[')) return false;
    if (skip(']')) return true;
    do {
      if (!value(&v->emplace_back())) return false;
    } while (skip(','));
    return skip(']');
  }
  /// The adapter refuses what is no word or no list of two for it.
  bool value(const record_parsing::Small& adapter) {
    json j;
    if (skip('[')) {
      double lo = 0, hi = 0;
      const auto one = [&](double& v) {
        if (null()) return j.push_back(nullptr), true;
        if (!real(v)) return false;
        j.push_back(number_to_json(v));
        return true;
      };
      if (!one(lo) || !skip(',') || !one(hi) || !skip(']')) return false;
    } else {
      std::string_view word;
      if (!text(word, buffer_)) return false;
      j = std::string(word);
    }
    try {
      adapter.read(j);
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }
  bool value(record_parsing::Rare) { return false; }
  bool value(record_parsing::WorstHere) {
    if (null()) return true;
    worst_ = WorstElement{};
    if (!object(worst_slots_)) return false;
    record_.worst = worst_;
    return true;
  }
  bool value(record_parsing::ChecksHere) {
    if (!skip('{')) return false;
    if (skip('}')) return true;
    auto from = checks_.begin();
    do {
      std::string_view name;
      if (!text(name, buffer_) || !skip(':')) return false;
      while (from != checks_.end() && from->first < name) ++from;
      if (from == checks_.end() || from->first != name) return false;
      check_ = CheckResult{};
      check_.check = (from++)->second;
      if (!object(check_slots_)) return false;
      record_.checks.push_back(check_);
    } while (skip(','));
    return skip('}');
  }

  bool object(const Slots& slots) {
    if (!skip('{')) return false;
    std::uint64_t seen = 0;
    std::size_t from = 0;
    do {
      std::string_view name;
      if (!text(name, buffer_) || !skip(':')) return false;
      const record_parsing::Slot* slot = slots.next(name, from);
      if (!slot) return false;
      seen |= slot->bit;
      if (!std::visit([this](const auto& target) { return value(target); }, slot->target)) return false;
    } while (skip(','));
    return skip('}') && slots.complete(seen);
  }

  CheckResult check_;
  WorstElement worst_;
  Slots slots_, check_slots_, worst_slots_;
  std::vector<std::pair<std::string_view, Check>> checks_;  // in alphabetical order
  const char *at_ = nullptr, *end_ = nullptr;
  std::string buffer_;
};

RecordParser::RecordParser() : reader_(std::make_unique<Reader>()) {}
RecordParser::~RecordParser() = default;
RecordParser::RecordParser(RecordParser&&) noexcept = default;
RecordParser& RecordParser::operator=(RecordParser&&) noexcept = default;

const Record* RecordParser::parse_usual(std::string_view line) {
  return reader_->line(line) ? &reader_->record_ : nullptr;
}

void RecordParser::parse_into(std::string_view line, Record& record) {
  parse(line);
  std::swap(reader_->record_, record);
}

const Record& RecordParser::parse(std::string_view line) {
  if (const Record* r = parse_usual(line)) return *r;
  try {
    reader_->record_ = record_from_json(nlohmann::json::parse(line));
  } catch (const nlohmann::json::exception&) {
    throw InputError("is no record in JSON");
  }
  return reader_->record_;
}

}  // namespace assay
