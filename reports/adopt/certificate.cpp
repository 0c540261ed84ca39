// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"
#include "reports/adopt/certificate_fields.hpp"
#include "reports/records/fields_schema.hpp"

namespace assay {
namespace {

constexpr const char* kCertificateFormat = "assay certificate";

/// Throws InputError for a member, at any depth, that the schema does not have: nobody compares it with
/// anything.
void refuse_unknown(const nlohmann::json& j, const nlohmann::json& schema) {
  if (j.is_array() && schema.contains("items"))
    for (const nlohmann::json& one : j) refuse_unknown(one, schema["items"]);
  if (!j.is_object() || !schema.contains("properties")) return;
  const nlohmann::json& known = schema["properties"];
  for (const auto& [member, value] : j.items()) {
    if (!known.contains(member))
      throw InputError("field " + quoted_word(member) + ": is no field of a certificate");
    refuse_unknown(value, known[member]);
  }
}

/// True if a text, at any depth, is none of those that the schema lists for it.
bool has_unknown_word(const nlohmann::json& j, const nlohmann::json& schema) {
  if (j.is_string() && schema.contains("enum"))
    return std::find(schema["enum"].begin(), schema["enum"].end(), j) == schema["enum"].end();
  if (j.is_array() && schema.contains("items"))
    for (const nlohmann::json& one : j)
      if (has_unknown_word(one, schema["items"])) return true;
  if (j.is_object() && schema.contains("properties"))
    for (const auto& [member, known] : schema["properties"].items())
      if (j.contains(member) && has_unknown_word(j[member], known)) return true;
  return false;
}

std::string dumped_members(const nlohmann::json& j, int indent) {
  return j.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string text_of_members(nlohmann::json members) {
  members.erase("sha256");
  const std::string hash = sha256_of(dumped_members(members, -1));
  // For readers: the verdict first.
  nlohmann::ordered_json out;
  for (const char* first : {"format", "version", "verdict", "reason", "exit_status", "not_proved", "command",
                            "made", "target", "files", "steps", "kernels"})
    if (members.contains(first)) out[first] = members[first];
  for (const auto& [member, value] : members.items()) out[member] = value;
  out["sha256"] = hash;
  return out.dump(1) + "\n";
}

std::string render_certificate(const Certificate& c) {
  // What a kernel printed may be no UTF-8. Read back, so that the hash is of what is written.
  nlohmann::json j = nlohmann::json::parse(dumped_members(fields_to_json(c), -1));
  j["format"] = kCertificateFormat;
  return text_of_members(std::move(j));
}

std::string op_of(const Certificate& c, const CertifiedSpeed& s) {
  for (const CertifiedKernel& k : c.kernels)
    if (k.key == s.key) return k.op;
  return {};
}

Certificate certificate_from_text(const std::string& text, const std::string& file) {
  try {
    const nlohmann::json j = parse_json(text);
    if (!j.is_object() || !j.contains("format") || j["format"] != kCertificateFormat)
      throw InputError("is no certificate of assay adopt");
    if (!j.contains("version") || !j["version"].is_number_integer()) throw InputError("has no version");
    if (j["version"] != kCertificateVersion)
      throw InputError(fmt::format("is of version {}, and this program reads version {}",
                                   dumped_members(j["version"], -1), kCertificateVersion));
    if (!j.contains("sha256") || !j["sha256"].is_string()) throw InputError("field sha256: is missing");
    const nlohmann::json schema = certificate_schema();
    refuse_unknown(j, schema);
    try {
      return fields_from_json<Certificate>(j);
    } catch (const InputError& e) {
      if (has_unknown_word(j, schema)) throw UnknownWord(file + ": " + e.what());
      throw;
    }
  } catch (const UnknownWord&) {
    throw;
  } catch (const InputError& e) {
    throw InputError(file + ": " + e.what());
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file + ": " + plain_words(e));
  }
}

std::string changed_since(const std::string& text) {
  const nlohmann::json j = parse_json(text);
  const std::string written = text_of_members(j);
  if (written == text) return {};
  return std::string("it was changed after it was written: ") + (parse_json(written) == j
                                                                     ? "other bytes for the same members"
                                                                     : "its own hash is of other contents");
}

nlohmann::json certificate_schema() {
  using nlohmann::json;
  json j = fields_schema(Certificate{});
  j["properties"]["version"] = {{"const", kCertificateVersion}};
  j["properties"]["format"] = {{"const", kCertificateFormat}};
  j["properties"]["sha256"] = {{"type", "string"}};
  j["required"].push_back("format");
  j["required"].push_back("sha256");
  j["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  j["title"] = fmt::format("certificate.json of assay adopt, version {}", kCertificateVersion);
  j["description"] = "reports/adopt/CERTIFICATE.md says what the fields mean.";
  return j;
}

}  // namespace assay
