#include "reports/cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "reference/environment_error.hpp"
#include "reference/json_text.hpp"
#include "reports/build_info.hpp"
#include "reports/data/say.hpp"
#include "reports/out/command_line.hpp"

namespace assay {

int run_assay(int argc, const char* const* argv) {
  CLI::App app{
      "assay decides whether a softmax kernel may be adopted: every verdict is backed by an MPFR enclosure."};
  app.name("assay");
  app.set_version_flag("--version",
                       std::string("assay ") + build_info::version + " (" + build_info::commit + ")");
  app.require_subcommand(1);
  int status = kPassed;
  add_list_command(app, status);
  add_report_command(app, status);
  add_check_command(app, status);
  add_inputs_command(app, status);
  add_grade_command(app, status);
  add_sweep_command(app, status);
  add_functions_command(app, status);
  add_utilisation_command(app, status);
  add_selftest_command(app, status);
  add_fuzz_command(app, status);
  add_replay_command(app, status);
  add_page_command(app, status);
  add_history_command(app, status);
  add_merge_command(app, status);
  add_adapter_command(app, status);
  // A file that may grow no further is an error of its write, and no reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc > 1) set_command_line({argv + 1, argv + argc});
  try {
    const auto known = app.get_subcommands([](const CLI::App*) { return true; });
    if (argc > 1 && argv[1][0] != '-' &&
        std::none_of(known.begin(), known.end(), [&](const CLI::App* c) { return c->get_name() == argv[1]; }))
      throw InputError(std::string(argv[1]) + ": no such command (assay --help)");
    app.parse(argc, argv);
    flush_output();
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kPassed;
  } catch (const CLI::CallForVersion& v) {
    std::fprintf(stdout, "%s\n", v.what());
    return kPassed;
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "assay: %s (assay --help)\n", e.what());
    return kBadCall;
  } catch (const EnvironmentError& e) {
    std::fprintf(stderr, "assay: %s\n", e.what());
    return kEnvironment;
  } catch (const InputError& e) {
    std::fprintf(stderr, "assay: %s\n", e.what());
    return kBadCall;
  } catch (const nlohmann::json::exception& e) {
    std::fprintf(stderr, "assay: a file holds what cannot be read: %s\n", plain_words(e).c_str());
    return kBadCall;
  } catch (const std::exception& e) {
    // The machine could not provide memory or threads.
    std::fprintf(stderr, "assay: this machine cannot do that: %s\n", e.what());
    return kEnvironment;
  }
  return status;
}

}  // namespace assay
