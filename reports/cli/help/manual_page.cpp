// SPDX-License-Identifier: Apache-2.0
// The manual page, made from the options of the commands.
#include <fmt/format.h>

#include "reports/build_info.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/help/command_texts.hpp"

namespace assay {
namespace {

/// Text for roff: no character of it is taken for a request or an escape.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      (out += "\\&") += c;
    else
      out += c;
  }
  return out;
}

std::string synopsis(const CommandText& c) {
  std::string out = "assay" + (c.path.empty() ? "" : " " + c.path);
  if (c.path.empty()) return out + " COMMAND";
  if (c.options.size() > 1) out += " [options]";
  for (const OptionText& o : c.options)
    if (o.positional) {
      const std::string word = o.name + (o.many ? "..." : "");
      out += o.required ? " " + word : " [" + word + "]";
    }
  if (!c.below.empty()) out += " [COMMAND]";
  return out;
}

std::string lines(const std::vector<const char*>& all) {
  std::string out = ".nf\n";
  for (const char* line : all) out += roff(line) + "\n";
  return out + ".fi\n";
}

std::string section(const CommandText& c) {
  std::string out = c.path.empty() ? "" : fmt::format(".SS {}\n{}\n", roff(synopsis(c)), roff(c.text));
  for (const OptionText& o : c.options) {
    if (o.name == "--help") continue;
    out += fmt::format(".TP\n\\fB{}\\fR", roff(o.name));
    if (!o.value.empty() && !o.positional) out += fmt::format(" \\fI{}\\fR", roff(o.value));
    if (o.many) out += " ...";
    out += "\n" + roff(o.text) + "\n";
  }
  if (const Command* u = command_of(c.path)) {
    if (!c.path.empty()) out += ".PP\nExit status:\n" + lines(u->statuses) + ".PP\nExamples:\n";
    if (!c.path.empty()) out += lines(u->examples);
  }
  return out;
}

}  // namespace

std::string manual_page(const std::vector<CommandText>& commands) {
  std::string out = fmt::format(".TH ASSAY 1 \"\" \"assay {}\" \"User Commands\"\n", build_info::version);
  out += ".SH NAME\nassay \\- decides whether a softmax kernel may be adopted\n.SH SYNOPSIS\n.nf\n";
  for (const CommandText& c : commands) out += roff(synopsis(c)) + "\n";
  out +=
      ".fi\n.SH DESCRIPTION\n" + roff(commands.front().text) + "\n.SH OPTIONS\n" + section(commands.front());
  out += ".SH COMMANDS\n";
  for (const CommandText& c : commands)
    if (!c.path.empty()) out += section(c);
  if (const Command* u = command_of(""))
    out += ".SH EXIT STATUS\n" + lines(u->statuses) + ".SH EXAMPLES\n" + lines(u->examples);
  out += R"(.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
If it is set and not empty, verdicts have no colour.
.TP
\fBASSAY_DATA\fR
The folder of the recorded logits, if it is not beside the program.
)";
  return out;
}

}  // namespace assay
