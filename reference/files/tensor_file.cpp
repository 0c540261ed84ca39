// SPDX-License-Identifier: Apache-2.0
#include "reference/files/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/files/byte_source.hpp"
#include "reference/files/npy.hpp"
#include "reference/files/zip.hpp"

namespace assay {
namespace {

/// .safetensors files: eight bytes with the length of the header, a JSON header with the dtype, shape and
/// place of each tensor, then the data of the tensors.
class Safetensors {
 public:
  /// Reads the header and checks every place against the size of the file. Throws InputError.
  explicit Safetensors(FileBytes file);

  const std::vector<std::string>& names() const { return names_; }
  /// The tensor of names()[i]. Throws InputError.
  StoredArray read(std::size_t i);

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;  // byte range in the data
  };
  void parse(const std::string& header);
  void check_places() const;

  FileBytes file_;
  std::uint64_t data_ = 0;  // offset in the file where the data begins
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
};

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

/// NumPy .npz files, as numpy.savez and savez_compressed write them: a zip whose members NAME.npy are arrays.
class Npz {
 public:
  /// Throws InputError, also if the file holds no array.
  explicit Npz(FileBytes file);

  /// The names of the arrays, without ".npy".
  const std::vector<std::string>& names() const { return names_; }
  /// The array of names()[i]. Throws InputError.
  StoredArray read(std::size_t i);

 private:
  ZipFile zip_;
  std::vector<std::string> names_;
  std::vector<std::size_t> members_;  // index in the zip of each array of names_
};

Npz::Npz(FileBytes file) : zip_(std::move(file)) {
  constexpr std::string_view kSuffix = ".npy";
  bool pickled = false;
  for (std::size_t i = 0; i < zip_.members().size(); ++i) {
    const std::string& name = zip_.members()[i].name;
    pickled = pickled || name.ends_with("/data.pkl");
    if (!name.ends_with(kSuffix)) continue;
    names_.push_back(name.substr(0, name.size() - kSuffix.size()));
    members_.push_back(i);
  }
  if (pickled && names_.empty())
    refuse_file(zip_.place(),
                "is a file of torch.save, which is not read: write it with "
                "safetensors.torch.save_file({'logits': x}, 'x.safetensors')");
  if (names_.empty()) refuse_file(zip_.place(), "holds no array (no member of the zip is an .npy)");
}

StoredArray Npz::read(std::size_t i) {
  const std::string place = zip_.place() + ":" + printable(names_[i]);
  if (std::count(names_.begin(), names_.end(), names_[i]) > 1)
    refuse_file(place, "damaged: two arrays have this name");
  ZipMemberBytes in(zip_, zip_.members()[members_[i]], place);
  StoredArray array = read_npy_array(in);
  in.finish();
  return array;
}

struct Place {
  std::filesystem::path file;
  std::string name;
};

Place place_of(const std::string& where) {
  std::error_code ignored;
  if (std::filesystem::exists(where, ignored)) return {where, ""};
  for (std::size_t at = where.rfind(':'); at != std::string::npos && at > 0; at = where.rfind(':', at - 1))
    if (std::filesystem::is_regular_file(where.substr(0, at), ignored))
      return {where.substr(0, at), where.substr(at + 1)};
  return {where, ""};
}

enum class Container { npy, npz, safetensors };

std::string first_bytes(FileBytes& file) {
  std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 9)), '\0');
  file.read(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
  file.window(0, file.size());
  return bytes;
}

// The first bytes decide. If they are damaged, the file name does.
Container container_of(FileBytes& file) {
  const std::string bytes = first_bytes(file);
  const std::string extension = std::filesystem::path(file.place()).extension().string();
  if (bytes.starts_with(kNpyMagic)) return Container::npy;
  if (bytes.starts_with("PK")) return Container::npz;
  if (extension == ".npy") return Container::npy;
  if (extension == ".npz") return Container::npz;
  if (extension == ".safetensors" || (bytes.size() == 9 && bytes[8] == '{')) return Container::safetensors;
  refuse_file(file.place(),
              "not an .npy, .npz or .safetensors file (numpy.save, numpy.savez or "
              "safetensors.torch.save_file writes one)");
}

std::size_t choose(const std::string& file, const std::string& name, const std::vector<std::string>& names,
                   const std::string& usual) {
  const std::string& wanted = name.empty() ? usual : name;
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (!name.empty())
    refuse_file(file, fmt::format("has no array '{}', but {}", printable(name), list_of_names(names)));
  if (names.size() == 1) return 0;
  refuse_file(file, fmt::format("which array? Say {}:NAME with one of {}", file, list_of_names(names)));
}

template <class Several>
StoredArray one_of(FileBytes file, const std::string& name, const std::string& usual) {
  const std::string place = file.place();
  Several c(std::move(file));
  return c.read(choose(place, name, c.names(), usual));
}

}  // namespace

std::filesystem::path file_of(const std::string& where) { return place_of(where).file; }

StoredArray read_stored(const std::string& where, const std::string& usual) {
  const Place p = place_of(where);
  return read_stored(FileBytes(p.file), p.name, usual);
}

StoredArray read_stored(FileBytes file, const std::string& name, const std::string& usual) {
  switch (container_of(file)) {
    case Container::npz:
      return one_of<Npz>(std::move(file), name, usual);
    case Container::safetensors:
      return one_of<Safetensors>(std::move(file), name, usual);
    case Container::npy:
      break;
  }
  if (!name.empty())
    refuse_file(file.place(), fmt::format("an .npy file holds one array, without a name: leave ':{}' out",
                                          printable(name)));
  return read_npy_array(file);
}

Tensor tensor_of(StoredArray a, Bf16 bf16, const std::string& say) {
  Tensor t;
  switch (a.type) {
    case Stored::f16:
      t.dtype = Dtype::f16;
      break;
    case Stored::bf16:
      t.dtype = Dtype::bf16;
      break;
    case Stored::f32:
      t.dtype = Dtype::f32;
      break;
    case Stored::f64:
      t.dtype = Dtype::f64;
      break;
    case Stored::bits16:
      if (bf16 == Bf16::refused)
        refuse_file(a.place, fmt::format("dtype {} is no float; if it holds the bits of bf16, say {}",
                                         a.type_in_file, say));
      t.dtype = Dtype::bf16;
      break;
    case Stored::i32:
    case Stored::i64:
      refuse_file(a.place, fmt::format("dtype {} is not supported where floats are read", a.type_in_file));
  }
  t.rows = a.rows;
  t.V = a.columns;
  t.bytes = std::move(a.bytes);
  return t;
}

IndexMatrix indices_of(const StoredArray& a) {
  if (a.type != Stored::i32 && a.type != Stored::i64)
    refuse_file(a.place, fmt::format("indices are int32 or int64, not {}", a.type_in_file));
  IndexMatrix m{a.rows, a.columns, {}};
  const std::size_t element = size_of(a.type);
  m.at.reserve(a.bytes.size() / element);
  for (std::size_t i = 0; i < a.bytes.size(); i += element) {
    const std::byte* const at = a.bytes.data() + i;
    m.at.push_back(element == 4 ? little_endian<std::int32_t>(at) : little_endian<std::int64_t>(at));
  }
  return m;
}

}  // namespace assay
