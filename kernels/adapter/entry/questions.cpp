// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/questions.hpp"

#include "reference/error.hpp"

namespace assay {

std::string entry_place(const EntrySignature& s, const Parameter& p) {
  return std::to_string(&p - s.parameters.data() + 1);
}
std::string entry_handle(const EntrySignature& s, const Parameter& p) {
  return p.name.empty() ? entry_place(s, p) : p.name;
}

void refuse_entry(const EntrySignature& s, const Parameter& p, const std::string& why) {
  // For example "parameter 'block' (int)", or "parameter 3 (int, without a name)".
  throw InputError("--entry: parameter " +
                   (p.name.empty() ? entry_place(s, p) + " (" + p.type + ", without a name)"
                                   : "'" + p.name + "' (" + p.type + ")") +
                   ": " + why);
}

void ask_entry(const EntrySignature& s, const std::vector<const Parameter*>& all,
               const std::vector<Role>& open, const std::string& what) {
  const auto is = [&](std::size_t i, Role r) { return "--arg " + entry_handle(s, *all[i]) + "=" + name(r); };
  std::string which, words;
  for (std::size_t i = 0; i < all.size(); ++i) {
    which += (i == 0                ? ""
              : i + 1 == all.size() ? " and "
                                    : ", ") +
             (all[i]->name.empty() ? entry_place(s, *all[i]) : "'" + all[i]->name + "'") + " (" +
             all[i]->type + ")";
    if (open.size() == 1) words += (i == 0 ? "" : ", or ") + is(i, open[0]);
  }
  if (open.size() == 2 && all.size() == 2)
    words = is(0, open[0]) + " " + is(1, open[1]) + ", or " + is(0, open[1]) + " " + is(1, open[0]);
  else if (open.size() == 2)
    words = std::string("--arg NAME=") + name(open[0]) + " --arg NAME=" + name(open[1]) +
            ", and --arg NAME=VALUE for the others";
  throw InputError("--entry: which of " + which + " is " + what + "? " + words);
}

std::vector<const Parameter*> entry_undecided(const EntrySignature& s, bool pointers) {
  std::vector<const Parameter*> all;
  for (const Parameter& p : s.parameters)
    if (p.role == Role::none && (pointers ? p.pointers > 0 : p.is_integer())) all.push_back(&p);
  return all;
}

}  // namespace assay
