// SPDX-License-Identifier: Apache-2.0
// JSON Schema (draft 2020-12) of the fields of a struct, from the list that also writes and reads them
// (reference/fields.hpp). So it cannot say anything else than they do.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/fields.hpp"

namespace assay {

/// Only fields that are written always, and always were, are required.
struct FieldSchema {
  nlohmann::json properties = nlohmann::json::object();
  nlohmann::json required = nlohmann::json::array();

  template <class T>
  void operator()(const char* name, const T& v) {
    required.push_back(name);
    if_set(name, v);
  }
  template <class T>
  void if_set(const char* name, const T& v) {
    properties[name] = fields::schema_of(v);
  }
  template <class T>
  void newer(const char* name, const T& v) {
    if_set(name, v);
  }
};

/// An object with the fields of `s` and no others. The values of `s` do not matter, unless its list leaves
/// out fields because of them.
template <class Struct>
nlohmann::json fields_schema(const Struct& s) {
  FieldSchema f;
  each_field(s, f);
  return {{"type", "object"},
          {"properties", std::move(f.properties)},
          {"required", std::move(f.required)},
          {"additionalProperties", false}};
}

template <class T>
nlohmann::json fields::schema_of(const T& v) {
  using nlohmann::json;
  if constexpr (requires { v.schema(); }) {
    return v.schema();
  } else if constexpr (requires(FieldSchema & f) { each_field(v, f); }) {
    return fields_schema(v);
  } else if constexpr (kIsOptional<T>) {
    return {{"anyOf", json::array({{{"type", "null"}}, schema_of(typename T::value_type{})})}};
  } else if constexpr (kIsVector<T>) {
    return {{"type", "array"}, {"items", schema_of(typename T::value_type{})}};
  } else if constexpr (std::same_as<T, double>) {
    return {{"anyOf", json::array({{{"type", "number"}}, {{"enum", {"nan", "inf", "-inf"}}}})}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::unsigned_integral<T>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::integral<T>) {
    return {{"type", "integer"}};
  } else {
    static_assert(std::same_as<T, std::string>);
    return {{"type", "string"}};
  }
}

}  // namespace assay
