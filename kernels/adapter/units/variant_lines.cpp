// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/units/variant_lines.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "kernels/adapter/embedded.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

constexpr std::string_view kVariant = "ASSAY_VARIANT";

/// The tokens of a directive: "ifdef", "ASSAY_VARIANT".
std::vector<SourceToken> words_in(std::string_view directive) {
  std::vector<SourceToken> all = source_tokens(directive.substr(1));
  std::erase_if(all, [](const SourceToken& t) { return t.kind == SourceToken::blank; });
  return all;
}
bool has_word(const std::vector<SourceToken>& tokens, std::string_view word) {
  return std::any_of(tokens.begin(), tokens.end(), [&](const SourceToken& t) { return t.is(word); });
}

/// A conditional that is open.
struct Open {
  bool names = false;     // it asks for ASSAY_VARIANT, or stands in one that does
  bool judged = false;    // this branch is there only when the file is judged
  bool negative = false;  // #ifndef: the other branch is
};

/// The names of this project's headers for plugins.
std::set<std::string> words_of_headers() {
  std::set<std::string> all;
  const auto add = [&](std::string_view text, const auto& again) -> void {
    for (const SourceToken& t : source_tokens(text)) {
      if (t.kind == SourceToken::word) all.emplace(t.spelling);
      if (t.kind == SourceToken::directive) again(t.spelling.substr(1), again);
    }
  };
  for (const EmbeddedText& e : embedded_texts())
    if (e.path.ends_with(".h")) add(e.text, add);
  return all;
}

}  // namespace

bool includes_variant_header(std::string_view text) {
  for (const SourceToken& t : source_tokens(text)) {
    if (t.kind != SourceToken::directive || t.spelling.find("/variant.h") == t.spelling.npos) continue;
    const std::vector<SourceToken> words = words_in(t.spelling);
    if (!words.empty() && words[0].is("include")) return true;
  }
  return false;
}

std::string variant_lines(std::string_view text, const std::string& source) {
  std::string lines(text);
  std::vector<Open> open;
  const std::vector<SourceToken> tokens = source_tokens(text);
  const auto refuse = [&](const SourceToken& t, const std::string& why) {
    throw InputError(source + ":" + std::to_string(t.line) + ": " + why);
  };
  int brackets = 0;  // of an ASSAY_VARIANT line
  bool line = false;
  for (const SourceToken& t : tokens) {
    bool kept = !open.empty() && open.back().judged;
    if (t.kind == SourceToken::directive) {
      const std::vector<SourceToken> words = words_in(t.spelling);
      const std::string_view what = words.empty() ? std::string_view() : words[0].spelling;
      if (what.starts_with("if")) {
        Open o;
        o.names = has_word(words, kVariant) || kept;
        o.negative = !kept && (what == "ifndef" || has_word(words, "!"));
        o.judged = o.names && !o.negative;
        open.push_back(o);
        kept = o.names;
      } else if (what.starts_with("el") && !open.empty()) {
        kept = open.back().names;
        if (kept)
          open.back().judged = open.back().negative || (open.size() > 1 && open[open.size() - 2].judged);
      } else if (what == "endif" && !open.empty()) {
        kept = open.back().names;
        open.pop_back();
      } else if (kept && what != "define" && what != "undef" && what != "error") {
        refuse(
            t,
            "#" + std::string(what) +
                " would be there only when the file is judged: in #ifdef ASSAY_VARIANT stand ASSAY_VARIANT "
                "lines and macros");
      }
    } else if (t.kind != SourceToken::blank && kept) {
      if (brackets == 0 && t.is(kVariant)) {
        line = true;
      } else if (line) {
        brackets += t.is("(") ? 1 : t.is(")") ? -1 : 0;
        line = brackets > 0;
      } else if (!t.is(";")) {
        refuse(
            t,
            std::string(t.spelling.substr(0, 40)) +
                " would be there only when the file is judged: in #ifdef ASSAY_VARIANT stand ASSAY_VARIANT "
                "lines and macros");
      }
    } else if (t.is(kVariant)) {
      refuse(t,
             "an ASSAY_VARIANT line stands in #ifdef ASSAY_VARIANT, or the file includes <assay/variant.h>");
    }
    if (kept) continue;
    const std::size_t from = static_cast<std::size_t>(t.spelling.data() - text.data());
    for (std::size_t i = from; i < from + t.spelling.size(); ++i)
      if (lines[i] != '\n') lines[i] = ' ';
  }
  return lines;
}

std::string registration_source(const std::string& lines, const std::string& source,
                                const std::filesystem::path& headers, const std::string& suffix, bool host) {
  // Names that a static object of the file could use are others here. They stay so: ASSAY_VARIANT expands to
  // them.
  const std::set<std::string> renamed = {"assay_adapter", "assay_plugin_entry", "assay_plugin_fault",
                                         "assay_plugin_fault_kind"};
  std::string t, after;
  for (const std::string& w : words_of_headers()) {
    if (w.starts_with("ASSAY_") || renamed.contains(w)) {
      t += "#undef " + w + "\n";
    } else if (w != "defined" && w[0] != '_' && !w.starts_with("cuda") &&
               std::any_of(w.begin(), w.end(), [](char c) { return c >= 'a'; })) {
      // The file's own macros are back for the ASSAY_VARIANT lines, whose words are the author's.
      t += "#pragma push_macro(\"" + w + "\")\n#undef " + w + "\n";
      after += "#pragma pop_macro(\"" + w + "\")\n";
    }
  }
  for (const std::string& name : renamed) t += "#define " + name + " " + name + suffix + "\n";
  if (host) t += "#define ASSAY_HOST_CUDA 1\n";
  t += "#include " + c_string((headers / "assay/variant.h").string()) + "\n";
  return t + after + "#line 1 " + c_string(source) + "\n" + lines + "\n";
}

}  // namespace assay
