// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/usage.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace assay {
namespace {

constexpr const char* kBadCallText = "2  the call or a file is wrong: one line says what";
constexpr const char* kNoGpuText = "3  the machine lacks what was asked for: no GPU, no memory";

const std::vector<const char*> kWrites = {"0  done", kBadCallText, "3  the machine cannot do it"};
const std::vector<const char*> kMeasures = {"0  measured", "1  a measurement failed", kBadCallText,
                                            kNoGpuText};

const std::vector<Usage> kUsages = {
    {"",
     {"0  passed", "1  a verdict failed, or could not be decided", kBadCallText,
      "3  the machine lacks what was asked for, or no output was judged",
      "4  of check, adopt, verify, merge: right within limits that nobody declared, or judged only in part"},
     {"assay list", "assay check safe_block/f32@host --quick"}},
    {"list", {"0  listed", kBadCallText}, {"assay list", "assay list --families"}},
    {"report",
     {"0  every planned case passed", "1  a case failed, was inconclusive, or did not run", kBadCallText,
      "3  the machine lacks what was asked for: no GPU, no memory; or no output was judged"},
     {"assay report --key safe_block/f32@host --family gpt_logits --V 4099",
      "assay report --key 'online_*/f16@host' --out out/online"}},
    {"check",
     {"0  PASS: right, and every limit is declared",
      "1  FAIL: wrong inside the contract; or INCONCLUSIVE: something could not be decided", kBadCallText,
      "3  the machine lacks what was asked for: no GPU, no compiler; or no output was judged",
      "4  right within limits that nobody declared, or judged only in part; --accept-limits makes it 0"},
     {"assay check my.cu --entry softmax --host --quick",
      "assay check safe_block/f32@host --only families --family normal_1 --V 33"}},
    {"adopt",
     {"0  PASS: the check passed, the search found nothing, and every limit is declared",
      "1  FAIL: a step failed; or INCONCLUSIVE: something could not be decided", kBadCallText,
      "3  the machine lacks what was asked for: no GPU, no compiler; or no output was judged",
      "4  right within limits that nobody declared, or judged only in part; --accept-limits makes it 0"},
     {"assay adopt my.cu --entry softmax --host --time 1m",
      "assay adopt safe_block/f32@host --quick --evaluations 320 --out out/safe"}},
    {"verify",
     {"0  every replayed case is as certified, and the certificate says PASS",
      "1  a file, a case, the certificate or its signature is another one; or it does not say PASS",
      kBadCallText, "3  the kernel cannot run here, or could not when the certificate was made",
      "4  as 0, and the certificate has limits that nobody declared, or says JUDGED IN PART"},
     {"assay verify out/adopt/certificate.json", "assay verify certificate.json ./libmine.so --cases 60"}},
    {"inputs",
     {"0  written", kBadCallText, "3  the machine cannot do it"},
     {"assay inputs --out in --family normal_1 --V 33 --rows 4",
      "assay inputs --out in16 --op topk --dtype f16 --family ties --V 1000"}},
    {"grade",
     {"0  every output passed", "1  an output is wrong, could not be decided, or is missing", kBadCallText,
      "3  the machine lacks memory"},
     {"assay grade --logits x.npy --probs y.npy", "assay grade in --out out/mine"}},
    {"sweep",
     {"0  measured, or nothing became slower",
      "1  a measurement failed, or with --compare a key became slower", kBadCallText, kNoGpuText},
     {"assay sweep --quick", "assay sweep --host --key safe_block/f32@host --V 1000 --rows 4 --out out/one"}},
    {"sweep page", kWrites, {"assay sweep page out/sweep", "assay sweep page reports/published/h200"}},
    {"sweep oracle",
     {"0  measured", "1  a comparison failed while it was measured", kBadCallText, kNoGpuText},
     {"assay sweep oracle --key safe_block/f32@host --V 1000 --rows 2",
      "assay sweep oracle --out out/oracle"}},
    {"sweep launch",
     {"0  launched", kBadCallText, kNoGpuText},
     {"assay sweep launch --key safe_block/f32@host --V 1000 --rows 4",
      "assay sweep launch --key online_block/f16@cuda --V 32768 --rows 4000 --launches 3"}},
    {"sweep accesses",
     kMeasures,
     {"assay sweep accesses --key safe_block/f32@host --V 1000", "assay sweep accesses --metrics"}},
    {"sweep rules", {"0  printed", kBadCallText}, {"assay sweep rules", "assay sweep rules > rules.json"}},
    {"sweep split",
     {"0  measured, and the rows are right", "1  a row is wrong", kBadCallText, kNoGpuText},
     {"assay sweep split --gpus 2", "assay sweep split --gpus 4 --dtype bf16 --V 1048576 --rows 1000"}},
    {"functions",
     {"0  no function is further off than declared", "1  one is", kBadCallText, kNoGpuText},
     {"assay functions --list", "assay functions --function 'exp*' --backend host --stride 65537"}},
    {"utilisation",
     {"0  searched", "1  an output was wrong, or nothing was judged", kBadCallText},
     {"assay utilisation --key safe_block/f32@host --V 33 --evaluations 20",
      "assay utilisation --key 'online_*' --dtype f16"}},
    {"selftest",
     {"0  every fault was refused by the check it names, and every right kernel passed", "1  one was not",
      kBadCallText, kNoGpuText},
     {"assay selftest --list", "assay selftest --key no_max --quick"}},
    {"fuzz",
     {"0  nothing was found", "1  an input breaks a kernel; or nothing was judged", kBadCallText,
      "3  no kernel can run here"},
     {"assay fuzz safe_block/f32@host --evaluations 32",
      "assay fuzz my.cu --entry softmax --host --time 5m --corpus corpus"}},
    {"replay",
     {"0  the case passes now", "1  it still fails", kBadCallText, "3  the kernel cannot run here"},
     {"assay replay out/fuzz/online_block-f32-host.element-finite.json",
      "assay replay case.json safe_block/f32@host --quiet"}},
    {"page", {"0  written", kBadCallText}, {"assay page out/report", "assay page reports/published/h200"}},
    {"history",
     {"0  written", kBadCallText},
     {"assay history out/before out/after", "assay history out/before out/after --out out/history"}},
    {"merge",
     {"0  every part is there and passed", "1  a part failed", kBadCallText,
      "3  a part is missing, or nothing was judged",
      "4  right within limits that nobody declared: contract.json has them"},
     {"assay merge out/parts --out out/whole", "assay merge out/a out/b --out out/whole"}},
    {"adapter",
     {"0  written", kBadCallText, "3  no compiler, or the file does not compile"},
     {"assay adapter my.cu --entry softmax --source adapter.cu",
      "assay adapter my.cu --entry softmax --out libmy.so"}},
    {"completion",
     {"0  printed", kBadCallText},
     {"assay completion bash > assay.bash", "assay completion man > assay.1"}},
    {"schema", {"0  printed", kBadCallText}, {"assay schema", "assay schema > records.schema.json"}},
};

std::string text_of(const Usage& u) {
  std::string text = "Exit status:\n";
  for (const char* line : u.statuses) text += std::string("  ") + line + "\n";
  text += "\nExamples:\n";
  for (const char* line : u.examples) text += std::string("  ") + line + "\n";
  text.pop_back();
  return text;
}

void add(CLI::App& app, const std::string& command) {
  if (const Usage* u = usage_of(command)) {
    const std::string more = app.get_footer();
    app.footer("\n" + text_of(*u) + (more.empty() ? "" : "\n\n" + more));
  }
  for (CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    add(*below, command.empty() ? below->get_name() : command + " " + below->get_name());
}

}  // namespace

std::span<const Usage> usages() { return kUsages; }

const Usage* usage_of(const std::string& command) {
  const auto at =
      std::find_if(kUsages.begin(), kUsages.end(), [&](const Usage& u) { return command == u.command; });
  return at == kUsages.end() ? nullptr : &*at;
}

void add_usage(CLI::App& app) { add(app, ""); }

}  // namespace assay
