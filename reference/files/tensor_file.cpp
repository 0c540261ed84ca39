// SPDX-License-Identifier: Apache-2.0
#include "reference/files/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/files/npy.hpp"
#include "reference/files/npy_header.hpp"
#include "reference/files/safetensors.hpp"
#include "reference/files/stored_array.hpp"
#include "reference/files/zip.hpp"

namespace assay {
namespace {

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
