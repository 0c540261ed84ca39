// SPDX-License-Identifier: Apache-2.0
// The targets of what reference, kernels, accuracy and fuzz read. The build makes a program of each: it
// defines TARGET_name.
#include "fuzz/targets/target.hpp"

#ifdef TARGET_case_file
#include "fuzz/case_file.hpp"

/// Case files: what is read, written and read again is unchanged.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const CaseFile c = case_from_text(text_of_bytes(data, size), "file");
  const std::string text = text_of(c);
  const CaseFile again = case_from_text(text, "file");
  require(again.trial.logits.bytes == c.trial.logits.bytes, "other logits");
  require(text_of(again) == text, "another case");
}
#endif

#ifdef TARGET_corpus
#include "fuzz/search/corpus.hpp"

/// Corpora of a search: what is read, written and read again is unchanged.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const Corpus c = corpus_from_text(text_of_bytes(data, size), "file");
  require(corpus_from_text(c.text(), "file").text() == c.text(), "another corpus");
}
#endif

#ifdef TARGET_declaration
#include "kernels/declaration.hpp"

/// A kernel's declaration: an accepted one is written in words that are accepted again and mean the same.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  Variant v;
  v.claim = undeclared_claim(v.op);
  apply_declaration(text_of_bytes(data, size), v);
  if (v.claim.height)
    for (std::int64_t V : {0, 1, 1000, 1 << 30}) v.claim.height(V);
  const std::string words = declaration_of(v);
  Variant again;
  again.claim = undeclared_claim(v.op);
  try {
    apply_declaration(words, again);
  } catch (const InputError&) {
    require(false, "words that are not accepted");
  }
  require(declaration_of(again) == words, "another declaration");
}
#endif

#ifdef TARGET_entry_signature
#include "kernels/adapter/entry/signature.hpp"
#include "kernels/adapter/units/finder.hpp"

/// The --entry of a kernel with the names and values of --arg. The same bytes also serve as a source file to
/// find an entry in.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of_bytes(data, size);
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
    require_words(e);
  }
  const std::vector<FoundFunction> functions = functions_in(text);
  for (const FoundFunction& f : functions) (void)find_entry(f.name, functions);
  (void)find_entry(entry, functions);
}
#endif

#ifdef TARGET_npy
#include "reference/files/npy.hpp"
#include "reference/files/tensor_file.hpp"

/// .npy files.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  FileBytes file("file", bytes_of(data, size));
  const Tensor t = tensor_of(read_npy_array(file), Bf16::refused);
  require(t.bytes.size() == static_cast<std::size_t>(t.rows * t.V) * size_of(t.dtype),
          "a tensor of another size");
  require(t.bytes.size() <= size, "more elements than bytes");
}
#endif

#ifdef TARGET_record
#include <nlohmann/json.hpp>

#include "accuracy/record.hpp"

/// Records: what is read, written and read again is unchanged.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  // The caller parses the line and reports its errors itself.
  const nlohmann::json line = nlohmann::json::parse(data, data + size, nullptr, false);
  if (line.is_discarded()) return;
  const nlohmann::json once = to_json(record_from_json(line));
  require(to_json(record_from_json(nlohmann::json::parse(once.dump()))) == once, "another record");
}
#endif

#ifdef TARGET_tensor_file
#include "reference/files/tensor_file.hpp"

/// .npy, .npz and .safetensors files through tensor_file.hpp.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const StoredArray a = read_stored(FileBytes("file", bytes_of(data, size)), "", "logits");
  require(a.bytes.size() == static_cast<std::size_t>(a.rows * a.columns) * size_of(a.type),
          "an array of another size");
  // Deflate expands one byte to at most 1032.
  require(a.bytes.size() <= 1032 * size, "more elements than bytes");
}
#endif
