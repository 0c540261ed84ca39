// SPDX-License-Identifier: Apache-2.0
// The completion scripts of bash and zsh. Both find out which command the line has, and offer what may
// follow.
#include <fmt/format.h>

#include "reference/text.hpp"
#include "reports/cli/help/command_texts.hpp"

namespace assay {
namespace {

/// The pattern of a command in `case`: 'sweep page', or '' for assay itself.
std::string pattern(const CommandText& c) { return "'" + c.path + "'"; }

std::string options_of(const CommandText& c) {
  std::string words;
  for (const OptionText& o : c.options)
    if (!o.positional) words += (words.empty() ? "" : " ") + o.name;
  return words;
}

/// The lines that find the command: "$at|$word" becomes the longer path.
std::string steps(const std::vector<CommandText>& commands) {
  std::string out;
  for (const CommandText& c : commands)
    for (const std::string& name : c.below)
      out += fmt::format("      '{}|{}') at={} ;;\n", c.path, name,
                         in_shell_quotes(c.path.empty() ? name : c.path + " " + name));
  return out;
}

/// What is offered for a value, as assignments to variables that both scripts have.
std::string offer(const ValueWords& w) {
  switch (w.kind) {
    case WordKind::fixed:
      return "offered=" + in_shell_quotes(w.words);
    case WordKind::asked:
      return fmt::format("offered=$(\"$program\" completion {} 2>/dev/null)", w.words);
    case WordKind::files:
      return "files=1";
    case WordKind::folders:
      return "folders=1";
    case WordKind::none:
      break;
  }
  return "offered=";
}

/// A `case` that sets what may follow the option $prev of the command $at.
std::string values(const std::vector<CommandText>& commands) {
  std::string out = "  case \"$at|$prev\" in\n";
  for (const CommandText& c : commands)
    for (const OptionText& o : c.options)
      if (!o.positional && !o.value.empty())
        out += fmt::format("    '{}|{}') value=1; {} ;;\n", c.path, o.name, offer(words_of(c, o)));
  return out + "  esac\n";
}

/// A `case` that sets what may follow the command itself: commands, keys, files.
std::string positionals(const std::vector<CommandText>& commands) {
  std::string out = "    case $at in\n";
  for (const CommandText& c : commands) {
    std::string what;
    for (const OptionText& o : c.options)
      if (o.positional) {
        const ValueWords w = words_of(c, o);
        what += (what.empty() ? "" : "; ") + offer(w);
        if (o.name == "target" || o.name == "candidates" || o.name == "candidate") what += "; files=1";
      }
    if (!c.below.empty()) {
      what = "offered='";
      for (const std::string& name : c.below) what += (&name == &c.below.front() ? "" : " ") + name;
      what += "'";
    }
    if (!what.empty()) out += fmt::format("      {}) {} ;;\n", pattern(c), what);
  }
  return out + "    esac\n";
}

std::string options(const std::vector<CommandText>& commands) {
  std::string out = "    case $at in\n";
  for (const CommandText& c : commands)
    out += fmt::format("      {}) offered='{}' ;;\n", pattern(c), options_of(c));
  return out + "    esac\n";
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& commands) {
  return fmt::format(R"(# Completion of assay for bash, made by: assay completion bash
_assay() {{
  local line=${{COMP_LINE:0:COMP_POINT}} at= prev= cur= program value= offered= files= folders= word
  local -a typed
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=("")
  program=${{typed[0]}}
  cur=${{typed[-1]}}
  if ((${{#typed[@]}} > 2)); then prev=${{typed[-2]}}; fi
  for word in "${{typed[@]:1:${{#typed[@]}}-2}}"; do
    case "$at|$word" in
{0}    esac
  done
{1}  if [[ -z $value && $cur == -* ]]; then
{2}  elif [[ -z $value ]]; then
{3}  fi
  COMPREPLY=()
  if [[ -n $offered ]]; then mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$cur"); fi
  if [[ -n $files ]]; then
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
  elif [[ -n $folders ]]; then
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
    compopt -o filenames 2>/dev/null
  fi
  # Where @ divides words for the shell, as in a key, it has typed what stands in front of it.
  if [[ $cur == *@* && $COMP_WORDBREAKS == *@* ]]; then
    COMPREPLY=("${{COMPREPLY[@]#"${{cur%"${{cur##*@}}"}}"}}")
  fi
}}
complete -F _assay assay
)",
                     steps(commands), values(commands), options(commands), positionals(commands));
}

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string described;
  for (const CommandText& c : commands) {
    if (c.below.empty()) continue;
    described += fmt::format("      {}) described=(\n", pattern(c));
    for (const CommandText& one : commands)
      for (const std::string& name : c.below)
        if (one.path == (c.path.empty() ? name : c.path + " " + name))
          described += fmt::format("        {}\n", in_shell_quotes(name + ":" + one.text));
    described += "      ) ;;\n";
  }
  std::string options_described;
  for (const CommandText& c : commands) {
    options_described += fmt::format("      {}) described=(\n", pattern(c));
    for (const OptionText& o : c.options)
      if (!o.positional)
        options_described += fmt::format("        {}\n", in_shell_quotes(o.name + ":" + o.text));
    options_described += "      ) ;;\n";
  }
  return fmt::format(R"(#compdef assay
# Completion of assay for zsh, made by: assay completion zsh
_assay() {{
  local at= prev cur program value= offered= word
  local files= folders=
  local -a described
  program=${{words[1]}}
  cur=${{words[CURRENT]}}
  prev=${{words[CURRENT-1]}}
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$at|$word" in
{0}    esac
  done
{1}  if [[ -z $value && $cur == -* ]]; then
    case $at in
{2}    esac
    _describe -o 'option' described
    return
  elif [[ -z $value ]]; then
    case $at in
{3}    esac
    if (( ${{#described}} )); then
      _describe 'command' described
      return
    fi
{4}  fi
  [[ -n $offered ]] && compadd -- ${{=offered}}
  if [[ -n $files ]]; then _files; elif [[ -n $folders ]]; then _files -/; fi
}}
_assay "$@"
)",
                     steps(commands), values(commands), options_described, described, positionals(commands));
}

}  // namespace assay
