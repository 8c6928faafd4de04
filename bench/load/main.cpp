// SPDX-License-Identifier: MIT
// The load driver: one mode per process, figures on standard output. README.md has the modes and their options.
#include <cstring>

#include "modes.hpp"

int main(int argc, char **argv) {
  using namespace liblock_bench;
  static constexpr struct {
    const char *name;
    void (*run)(const Settings &, Figures &);
  } modes[] = {{"closed", run_closed},     {"open", run_open},           {"threads", run_threads},
               {"acquires", run_acquires}, {"hand-over", run_hand_over}, {"leases", run_leases},
               {"found", run_found}};
  const Settings settings(argc, argv);
  const std::string name = settings.text("name", settings.mode());
  static_cast<void>(settings.servers());  // given to every mode, whether or not it tells their CPU time
  for (const auto &mode : modes) {
    if (settings.mode() != mode.name) continue;
    Figures figures;
    mode.run(settings, figures);
    return figures.print(name);
  }
  Settings::fail("bench-load MODE --name value …: closed, open, threads, acquires, hand-over, leases, found");
}
