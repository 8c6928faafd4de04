// SPDX-License-Identifier: MIT
// The floors beneath a lock on a server: one mode per process, figures on standard output. ../README.md has the modes.
#include "floors.hpp"

int main(int argc, char **argv) {
  using namespace liblock_bench;
  static constexpr struct {
    const char *name;
    void (*run)(const Settings &, Figures &);
  } modes[] = {{"replay", run_replay},
               {"replay-once", run_replay_once},
               {"sync", run_sync},
               {"async", run_asynchronous},
               {"publish", run_publish}};
  const Settings settings(argc, argv);
  const std::string name = settings.text("name", settings.mode());
  static_cast<void>(settings.servers());  // given to every mode, whether or not it tells their CPU time
  for (const auto &mode : modes) {
    if (settings.mode() != mode.name) continue;
    Figures figures;
    mode.run(settings, figures);
    return figures.print(name);
  }
  Settings::fail("bench-floors MODE --name value …: replay, replay-once, sync, async, publish");
}
