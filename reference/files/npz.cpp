// SPDX-License-Identifier: Apache-2.0
#include "reference/files/npz.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "reference/files/npy.hpp"

namespace assay {

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

}  // namespace assay
