// SPDX-License-Identifier: Apache-2.0
// The --entry of a kernel with the names and values of --arg. The same bytes also serve as a source file to
// find an entry in.
#include "fuzz/targets/target.hpp"
#include "kernels/adapter/entry/signature.hpp"
#include "kernels/adapter/units/finder.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string text = fuzz::text_of_bytes(data, size);
  // The lines after the first are arguments.
  std::vector<EntryArgument> arguments;
  std::size_t end = text.find('\n');
  const std::string entry = text.substr(0, end);
  try {
    while (end != std::string::npos && arguments.size() < 8) {
      const std::size_t from = end + 1;
      end = text.find('\n', from);
      arguments.push_back(
          parse_entry_argument(text.substr(from, end == std::string::npos ? end : end - from)));
    }
    (void)entry_is_template(entry);
    const EntrySignature s = parse_entry(entry, arguments);
    (void)s.limits();
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  try {
    const std::vector<FoundFunction> functions = functions_in(text);
    for (const FoundFunction& f : functions) (void)find_entry(f.name, functions);
    (void)find_entry(entry, functions);
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
