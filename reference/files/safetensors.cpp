// SPDX-License-Identifier: Apache-2.0
#include "reference/files/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace assay {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxSafetensorsHeader = std::uint64_t{16} << 20;  // some 150,000 tensors

std::optional<Stored> type_of(const std::string& dtype) {
  if (dtype == "F16") return Stored::f16;
  if (dtype == "BF16") return Stored::bf16;
  if (dtype == "F32") return Stored::f32;
  if (dtype == "F64") return Stored::f64;
  if (dtype == "I32") return Stored::i32;
  if (dtype == "I64") return Stored::i64;
  if (dtype == "I16" || dtype == "U16") return Stored::bits16;
  return std::nullopt;
}

/// An unsigned integer of the header; false if the value is something else.
bool whole(const json& j, std::uint64_t& n) {
  if (!j.is_number_unsigned()) return false;
  n = j.get<std::uint64_t>();
  return n <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
}

/// Throws if a name occurs twice, or the header is nested too deeply. The message names no place.
json parse_header(const std::string& text) {
  std::set<std::string> seen;
  const auto watch = [&seen](int depth, json::parse_event_t event, json& value) {
    if (depth > 3) throw std::invalid_argument("it is nested too deep");
    if (event == json::parse_event_t::key && depth == 1 && !seen.insert(value.get<std::string>()).second)
      throw std::invalid_argument("'" + printable(value.get<std::string>()) + "' stands there twice");
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& e) {
    throw std::invalid_argument(fmt::format("not JSON at byte {}", e.byte));
  } catch (const json::exception&) {
    throw std::invalid_argument("a number that no type holds");
  }
}

}  // namespace

Safetensors::Safetensors(FileBytes file) : file_(std::move(file)) {
  if (file_.size() < 9) refuse_file(file_.place(), "not a .safetensors file (it is too short)");
  std::byte number[8];
  file_.read(number, sizeof number);
  const auto length = little_endian<std::uint64_t>(number);
  if (length > file_.left())
    refuse_file(file_.place(),
                fmt::format("truncated in the header: expected {} bytes, got {}", length, file_.left()));
  if (length > kMaxSafetensorsHeader)
    refuse_file(file_.place(), fmt::format("bad header: {} bytes long", length));
  std::string header(static_cast<std::size_t>(length), '\0');
  file_.read(reinterpret_cast<std::byte*>(header.data()), header.size());
  data_ = sizeof number + length;
  try {
    parse(header);
  } catch (const std::invalid_argument& e) {
    refuse_file(file_.place(), std::string("bad header: ") + e.what());
  }
  if (names_.empty()) refuse_file(file_.place(), "holds no tensor");
  check_places();
}

void Safetensors::parse(const std::string& header) {
  const json all = parse_header(header);
  if (!all.is_object()) throw std::invalid_argument("not a JSON object");
  for (const auto& [name, j] : all.items()) {
    if (name == "__metadata__") continue;
    Entry e;
    bool good = j.is_object() && j.contains("dtype") && j["dtype"].is_string() && j.contains("shape") &&
                j["shape"].is_array() && j.contains("data_offsets") && j["data_offsets"].is_array() &&
                j["data_offsets"].size() == 2 && whole(j["data_offsets"][0], e.begin) &&
                whole(j["data_offsets"][1], e.end);
    if (good) {
      e.dtype = j["dtype"].get<std::string>();
      for (const json& dimension : j["shape"]) {
        std::uint64_t n = 0;
        good = good && whole(dimension, n);
        e.shape.push_back(static_cast<std::int64_t>(n));
      }
    }
    if (!good) throw std::invalid_argument("'" + printable(name) + "' lacks dtype, shape or data_offsets");
    names_.push_back(name);
    entries_.push_back(std::move(e));
  }
}

// The format requires the tensors to fill the data, one after another.
void Safetensors::check_places() const {
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries_[a].begin, entries_[a].end) < std::pair(entries_[b].begin, entries_[b].end);
  });
  const std::uint64_t size = file_.size() - data_;
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    const Entry& e = entries_[i];
    const auto damaged = [&](const char* how) {
      refuse_file(file_.place(), fmt::format("damaged: '{}' has the bytes {} to {} of {}, {}",
                                             printable(names_[i]), e.begin, e.end, size, how));
    };
    if (e.end < e.begin) damaged("which end before they begin");
    if (e.end > size) damaged("which lie outside the file");
    if (e.begin < at) damaged("which are another tensor's too");
    if (e.begin > at) damaged("and the bytes before them belong to no tensor");
    at = e.end;
  }
  if (at != size)
    refuse_file(file_.place(), fmt::format("trailing bytes: the tensors have {} bytes, got {}", at, size));
}

StoredArray Safetensors::read(std::size_t i) {
  const Entry& e = entries_[i];
  const std::string place = file_.place() + ":" + printable(names_[i]);
  const auto type = type_of(e.dtype);
  if (!type)
    refuse_file(place,
                fmt::format("dtype {} is not supported (F16, BF16, F32 and F64 are read, and for indices I32 "
                            "and I64)",
                            printable(e.dtype)));
  if (e.shape.empty()) refuse_file(place, "bad header: the shape [] has no dimension");
  const auto m = matrix_of(e.shape, *type);
  if (!m) refuse_file(place, "bad header: the shape has more than 2^63 bytes");
  if (static_cast<std::uint64_t>(m->bytes) != e.end - e.begin)
    refuse_file(place,
                fmt::format("damaged: its shape has {} bytes, its place {}", m->bytes, e.end - e.begin));
  file_.window(data_ + e.begin, e.end - e.begin);
  return {place, *type, e.dtype, m->rows, m->columns, file_.take(e.end - e.begin)};
}

}  // namespace assay
