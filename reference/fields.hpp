// SPDX-License-Identifier: Apache-2.0
// The fields of a struct as JSON, from one list. A struct names its fields once, and what writes them and
// what reads them both go through that list:
//
//   template <IsA<Point> P, class Visit>
//   void each_field(P& p, Visit& visit) {
//     visit("x", p.x);               // always there
//     visit.if_set("note", p.note);  // only where it is not the default: "", 0, the first name of an enum
//     visit.newer("unit", p.unit);   // always written; files from before it was a field lack it
//   }
//
//   json j = fields_to_json(p);
//   Point q = fields_from_json<Point>(j);
//
// A field is a number, a text, an optional (null where it is empty), a vector, a struct with a list of its
// own, or one of the adapters below. Any type with write(json&) and read(const json&) is an adapter.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {

/// JSON has no infinity and no NaN: they travel as texts.
inline nlohmann::json number_to_json(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}
/// A text from a file as it stands in a message: on one line, whatever is in it.
inline std::string quoted_word(const std::string& word) {
  return nlohmann::json(word).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
/// Throws InputError for another text, and json::exception for what is no number at all.
inline double number_from_json(const nlohmann::json& j) {
  if (j.is_number()) return j.get<double>();
  const auto s = j.get<std::string>();
  if (s == "nan") return NAN;
  if (s == "inf") return INFINITY;
  if (s == "-inf") return -INFINITY;
  throw InputError(quoted_word(s) + " is not a number");
}

/// Throws InputError for what is no whole number, or none that T has.
template <std::integral T>
T whole_from_json(const nlohmann::json& j) {
  if (!j.is_number_integer()) throw InputError("is not a whole number");
  const bool fits = j.is_number_unsigned() ? std::in_range<T>(j.get<std::uint64_t>())
                                           : std::in_range<T>(j.get<std::int64_t>());
  if (!fits) throw InputError("is a number that is too large or too small");
  return j.get<T>();
}

/// What a list of fields takes: the struct to be read, or the constant one to be written.
template <class T, class Struct>
concept IsA = std::same_as<std::remove_const_t<T>, Struct>;

namespace fields {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <class T>
void write(nlohmann::json& j, const T& v);
template <class T>
void read(const nlohmann::json& j, T& v);
template <class T>
nlohmann::json schema_of(const T& v);  // fields_schema.hpp

template <class T>
bool is_default(const T& v) {
  if constexpr (requires { v.is_default(); })
    return v.is_default();
  else if constexpr (kIsOptional<T>)
    return !v.has_value();
  else
    return v == T{};
}

}  // namespace fields

struct FieldWriter {
  nlohmann::json j = nlohmann::json::object();

  template <class T>
  void operator()(const char* name, const T& v) {
    fields::write(j[name], v);
  }
  template <class T>
  void if_set(const char* name, const T& v) {
    if (!fields::is_default(v)) (*this)(name, v);
  }
  template <class T>
  void newer(const char* name, const T& v) {
    (*this)(name, v);
  }
};

/// Throws InputError naming the field that is missing or of the wrong type.
struct FieldReader {
  const nlohmann::json& j;

  template <class T>
  void operator()(const char* name, T&& v) const {
    const auto refuse = [name](const std::string& why) {
      throw InputError("field " + std::string(name) + ": " + why);
    };
    try {
      fields::read(j.at(name), v);
    } catch (const nlohmann::json::exception& e) {
      refuse(plain_words(e));
    } catch (const InputError& e) {
      refuse(e.what());
    }
  }
  template <class T>
  void if_set(const char* name, T&& v) const {
    if (j.contains(name)) (*this)(name, v);
  }
  template <class T>
  void newer(const char* name, T&& v) const {
    if_set(name, v);
  }
};

template <class Struct>
nlohmann::json fields_to_json(const Struct& s) {
  FieldWriter w;
  each_field(s, w);
  return std::move(w.j);
}
template <class Struct>
Struct fields_from_json(const nlohmann::json& j) {
  Struct s;
  const FieldReader r{j};
  each_field(s, r);
  return s;
}

/// A field that is one of a list of names. `Chosen` is an enum that counts them from 0; a value whose name is
/// null is none of the file's.
template <class Chosen, class Names>
class Word {
 public:
  Word(Chosen& v, const Names& names) : v_(v), names_(names) {}
  void write(nlohmann::json& j) const { j = names_[static_cast<std::size_t>(v_)]; }
  void read(const nlohmann::json& j) const {
    const auto word = j.get<std::string>();
    for (std::size_t i = 0; i < std::size(names_); ++i)
      if (names_[i] && word == names_[i]) {
        v_ = static_cast<Chosen>(i);
        return;
      }
    throw InputError(quoted_word(word) + " is not known");
  }
  bool is_default() const { return v_ == Chosen{}; }
  const Names& names() const { return names_; }
  nlohmann::json schema() const {
    nlohmann::json words = nlohmann::json::array();
    for (const char* const word : names_)
      if (word) words.push_back(word);
    return {{"enum", words}};
  }

 private:
  Chosen& v_;
  const Names& names_;
};

/// Two fields as one list of two: [lo, hi].
template <class T>
class FieldPair {
 public:
  FieldPair(T& lo, T& hi) : lo_(lo), hi_(hi) {}
  void write(nlohmann::json& j) const {
    j = nlohmann::json::array({nullptr, nullptr});
    fields::write(j[0], lo_);
    fields::write(j[1], hi_);
  }
  void read(const nlohmann::json& j) const {
    fields::read(j.at(0), lo_);
    fields::read(j.at(1), hi_);
  }
  bool is_default() const { return fields::is_default(lo_) && fields::is_default(hi_); }
  nlohmann::json schema() const {
    return {{"type", "array"}, {"items", fields::schema_of(lo_)}, {"minItems", 2}, {"maxItems", 2}};
  }

 private:
  T &lo_, &hi_;
};

namespace fields {

template <class T>
void write(nlohmann::json& j, const T& v) {
  if constexpr (requires { v.write(j); }) {
    v.write(j);
  } else if constexpr (requires(FieldWriter & w) { each_field(v, w); }) {
    j = fields_to_json(v);
  } else if constexpr (kIsOptional<T>) {
    if (v)
      write(j, *v);
    else
      j = nullptr;
  } else if constexpr (kIsVector<T>) {
    j = nlohmann::json::array();
    for (const auto& e : v) write(j.emplace_back(), e);
  } else if constexpr (std::same_as<T, double>) {
    j = number_to_json(v);
  } else {
    j = v;
  }
}

template <class T>
void read(const nlohmann::json& j, T& v) {
  if constexpr (requires { v.read(j); }) {
    v.read(j);
  } else if constexpr (requires(const FieldReader& r) { each_field(v, r); }) {
    v = fields_from_json<T>(j);
  } else if constexpr (kIsOptional<T>) {
    v.reset();
    if (!j.is_null()) read(j, v.emplace());
  } else if constexpr (kIsVector<T>) {
    v.clear();
    if (!j.is_array()) throw InputError("is not a list");
    for (const auto& e : j) read(e, v.emplace_back());
  } else if constexpr (std::same_as<T, double>) {
    v = number_from_json(j);
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    v = whole_from_json<T>(j);
  } else {
    v = j.get<T>();
  }
}

}  // namespace fields
}  // namespace assay
