// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/help/command_texts.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "reference/formats.hpp"
#include "reference/ops.hpp"

namespace assay {
namespace {

OptionText option_text(const CLI::Option& o) {
  OptionText t;
  t.positional = o.get_positional();
  t.name = t.positional             ? o.get_name(true)
           : o.get_lnames().empty() ? "-" + o.get_snames().front()
                                    : "--" + o.get_lnames().front();
  if (o.get_items_expected_max() > 0) t.value = o.get_type_name();
  t.many = o.get_expected_max() > 1;
  t.required = o.get_required();
  t.text = o.get_description();
  return t;
}

void add(const CLI::App& app, const std::string& path, std::vector<CommandText>& all) {
  CommandText c;
  c.path = path;
  c.text = app.get_description();
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  // Options of a group, such as those of a source file, belong to a nameless command below.
  const auto take = [&](const CLI::App& from) {
    for (const CLI::Option* o : from.get_options()) c.options.push_back(option_text(*o));
  };
  take(app);
  for (const CLI::App* one : below)
    if (one->get_name().empty())
      take(*one);
    else
      c.below.push_back(one->get_name());
  all.push_back(std::move(c));
  for (const CLI::App* one : below)
    if (!one->get_name().empty())
      add(*one, path.empty() ? one->get_name() : path + " " + one->get_name(), all);
}

}  // namespace

std::vector<CommandText> command_texts(const CLI::App& app) {
  std::vector<CommandText> all;
  add(app, "", all);
  return all;
}

ValueWords words_of(const CommandText& command, const OptionText& option) {
  const bool selftest = command.path == "selftest";
  static const std::map<std::string, ValueWords> kKnown = {
      {"--family", {WordKind::asked, "families"}},
      {"--only", {WordKind::asked, "groups"}},
      {"--function", {WordKind::asked, "functions"}},
      {"--dtype", {WordKind::fixed, names_of_judged()}},
      {"--types", {WordKind::fixed, names_of_judged()}},
      {"--require", {WordKind::fixed, "cuda host"}},
      {"--backend", {WordKind::fixed, "cuda host"}},
      {"--oracle", {WordKind::fixed, "fast mpfr"}},
      {"--op", {WordKind::fixed, names_of_ops()}},
      {"--exchange", {WordKind::fixed, "nccl peers held held_in_order"}},
      {"--out", {WordKind::folders, ""}},
      {"--corpus", {WordKind::folders, ""}},
      {"--merge", {WordKind::folders, ""}},
      {"--build-dir", {WordKind::folders, ""}},
      {"what", {WordKind::fixed, "bash zsh man keys families groups functions entries"}},
  };
  if (option.name == "--key") return {WordKind::asked, selftest ? "entries" : "keys"};
  if (option.name == "target" || option.name == "candidates" || option.name == "candidate")
    return {WordKind::asked, "keys"};
  if (const auto at = kKnown.find(option.name); at != kKnown.end()) return at->second;
  if (command.path == "adapter" && option.name == "--out") return {WordKind::files, ""};
  for (const char* file :
       {"--logits", "--probs", "--values", "--indices", "--compare", "--new", "--oracle-speed", "--functions",
        "--junit", "--source", "--races", "--ncu", "--python", "file", "case"})
    if (option.name == file) return {WordKind::files, ""};
  if (option.name == "folder" || option.name == "folders") return {WordKind::folders, ""};
  return {};
}

}  // namespace assay
