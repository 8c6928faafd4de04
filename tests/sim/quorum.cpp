// SPDX-License-Identifier: MIT
// Random lives with a quorum, seed by seed in all CPUs: double grants, tokens, values, liveness; and whether enough
// happened for that to mean something. --seed N tells one life; see seeds.hpp for the rest.
#include <cinttypes>
#include <cstdio>

#include "quorum_run.hpp"
#include "seeds.hpp"

using namespace unit;

namespace {

using liblock_test::SeedsReport;
using liblock_test::Tap;

// What must have happened, in all lives together, at the size gate; the others in proportion.
struct Least {
  const char *counter, *name;
  uint64_t count;
};
constexpr Least kLeast[] = {{"simulated_ms", "simulated_time", 40'000ull * 3'600},
                            {"grants", "grants", 300'000},
                            {"restarts_with_loss", "restarts_with_loss", 10'000},
                            {"faults_in_flight", "faults_while_something_was_under_way", 5'000},
                            {"raises", "rounds_that_raise_a_token", 1'000},
                            {"passed_on", "locks_passed_on", 20'000}};

// What is rare, and must have happened at least once.
constexpr const char *kRare[] = {"late_refused_acquire",
                                 "late_refused_extend",
                                 "extend_INVALID_ARGUMENT",
                                 "config_refused",
                                 "votes_withheld",
                                 "raise_gone",
                                 "passed_on",
                                 "holder_gone",
                                 "tokens_withheld",
                                 "outsiders_seen",
                                 "floor_told",
                                 "floor_too_early",
                                 "floors_by_clock",
                                 "lives_by_clock",
                                 "quarantines_seen",
                                 "steps_seen",
                                 "lock_written_anew",
                                 "value_restored",
                                 "value_settled",
                                 "stale_refused",
                                 "lock_of_another",
                                 "surplus_grants",
                                 "kept_by_silent",
                                 "renewed_by_silent",
                                 "won_by_raise",
                                 "won_too_late",
                                 "orphans_undone",
                                 "undone_again",
                                 "claims_taken",
                                 "claims_expired",
                                 "dead_pruned",
                                 "messages",
                                 "busy_held",
                                 "busy_kept_for_another",
                                 "error_NOSCRIPT",
                                 "hello_without_mark",
                                 "hello_of_silent",
                                 "marked",
                                 "calls_configure",
                                 "lost_by_time",
                                 "calls_raise",
                                 "losses_told",
                                 "freed_nothing",
                                 "release_PARTIAL",
                                 "release_IN_DOUBT",
                                 "release_LOST",
                                 "extend_LOST",
                                 "extend_NO_QUORUM",
                                 "extend_IN_DOUBT",
                                 "ends_BUSY",
                                 "ends_TIMEOUT",
                                 "ends_CANCELED",
                                 "ends_QUARANTINED",
                                 "ends_NO_QUORUM",
                                 "ends_IN_DOUBT",
                                 "ends_TOO_LATE",
                                 "ends_INVALID_ARGUMENT",
                                 "fault_restart",
                                 "fault_loss",
                                 "fault_rollback",
                                 "fault_flush",
                                 "fault_script_flush",
                                 "fault_replacement",
                                 "fault_replica",
                                 "fault_freeze",
                                 "fault_eviction",
                                 "fault_step_ahead",
                                 "fault_step_back",
                                 "fault_fence_expired",
                                 "fault_pause",
                                 "fault_suspend",
                                 "fault_kill",
                                 "fault_arrival",
                                 "fault_cut",
                                 "fault_half_cut",
                                 "fault_ring",
                                 "fault_hold_up",
                                 "fault_break",
                                 "fault_deaf",
                                 "fault_silent",
                                 "fault_lossy",
                                 "renewals",
                                 "value_operations_judged",
                                 "update_OK",
                                 "update_LOST",
                                 "update_IN_DOUBT",
                                 "update_key_OK",
                                 "update_key_NOT_OWNER",
                                 "update_key_NOT_HELD",
                                 "read_OK",
                                 "release_key_OK",
                                 "joint_stood",
                                 "set_nodes_OK",
                                 "set_nodes_NO_QUORUM",
                                 "changes_taken_up",
                                 "fault_operator_kill"};

// What a twentieth of the lives may miss.
constexpr const char *kVeryRare[] = {"lost_by_taking"};

void check_enough(const SeedsReport &report, Tap &tap) {
  for (const Least &least : kLeast) {
    const uint64_t wanted = least.count * report.seeds / 3'600;
    char name[120];
    std::snprintf(name, sizeof name, "%s: %" PRIu64 " of at least %" PRIu64, least.name,
                  report.counters.get(least.counter), wanted);
    tap.check(report.counters.get(least.counter) >= wanted, name);
  }
  std::string missing;
  for (const char *rare : kRare) {
    if (report.counters.get(rare) == 0) missing += std::string(" ") + rare;
  }
  for (const char *rare : kVeryRare) {
    if (report.seeds >= 3'600 && report.counters.get(rare) == 0) missing += std::string(" ") + rare;
  }
  tap.check(missing.empty(), "all " + std::to_string(std::size(kRare)) + " rare events have happened");
  if (!missing.empty()) tap.comment("never happened:" + missing);
}

void tell(const SeedsReport &report, Tap &tap) {
  const auto count = [&](const char *name) { return report.counters.get(name); };
  const uint64_t wrong = count("double_grants") + count("overlaps");
  tap.check(wrong == 0, "double grants: " + std::to_string(wrong));
  tap.check(count("bad_tokens") == 0,
            "tokens that repeat or go back: " + std::to_string(count("bad_tokens")));
  tap.check(count("bad_values") == 0,
            "values that no order explains: " + std::to_string(count("bad_values")));
  const double hours = static_cast<double>(count("simulated_ms")) / 3.6e6;
  char text[200];
  std::snprintf(text, sizeof text,
                "double grants outside of the model: %" PRIu64 " in %" PRIu64 " lives; %.1f h",
                count("double_grants_outside"), count("lives_outside"), hours);
  tap.comment(text);
  std::snprintf(text, sizeof text,
                "tokens behind, where only clocks were left: %" PRIu64 " in %" PRIu64 " lives",
                count("bad_tokens_by_clock"), count("lives_by_clock"));
  tap.comment(text);
  std::snprintf(text, sizeof text, "%.0f times real time in each process",
                hours * 3'600 / report.seed_seconds);
  tap.comment(text);
}

}  // namespace

int main(int argc, char **argv) {
  liblock_test::SeedsOptions options;
  options.to = scaled(130, 3'600, 26'000);
  if (!options.read(argc, argv)) return 2;
  const auto report = liblock_test::run_seeds(
      "quorum", options, [](uint64_t seed, liblock_test::Counters &counters, bool is_verbose) {
        QuorumRun life(seed, counters, is_verbose);
        return life.run(28'000);
      });
  Tap tap;
  report.print(tap, options);
  tell(report, tap);
  if (report.seeds >= 100) check_enough(report, tap);  // a few prove nothing
  return tap.finish();
}
