// SPDX-License-Identifier: MIT
// `lockctl dead`: what processes that are gone have left behind, and taking it away. Instances are known on one server
// only; over a quorum their locks are, which end by themselves within its longest lease.
#include <cstdio>

#include "commands.hpp"
#include "context.hpp"
#include "exit_code.hpp"
#include "text.hpp"

namespace lockctl {
namespace {

struct Found {
  bool json = false;
  uint64_t instances = 0, keys = 0;
};

int32_t show_instance(const liblock_instance *instance, void *user_data) {
  auto &found = *static_cast<Found *>(user_data);
  found.instances++;
  const std::string id(bytes(instance->id.data, instance->id.size));
  if (found.json) {
    std::puts(to_json(Record()
                          .set("instance", id)
                          .set("host", std::string(bytes(instance->host.data, instance->host.size)))
                          .set("silent_ms", instance->silent_ms))
                  .c_str());
  } else {
    std::printf("instance %s, silent for %s\n", printable(id).c_str(),
                for_people(instance->silent_ms).c_str());
  }
  return 0;
}

int32_t show_key(const liblock_info *info, void *user_data) {
  auto &found = *static_cast<Found *>(user_data);
  found.keys++;
  if (found.json) {
    std::puts(to_json(record_of(info)).c_str());
  } else {
    const bool is_held = liblock_info_is_held(info) == 1;
    std::printf("key %s, %s, %s waiting\n", printable(key_of(info)).c_str(),
                is_held ? ("held by " + printable(holder_of(info))).c_str() : "free",
                with_commas(liblock_info_waiter_count(info)).c_str());
  }
  return 0;
}

Found show(liblock_context *context, const Arguments &arguments) {
  Found found{arguments.settings.json};
  liblock_result result = LIBLOCK_RESULT_INIT;
  liblock_instance_list_options instances;
  liblock_instance_list_options_init(&instances, sizeof instances);
  instances.zombies_only = 1;
  expect(liblock_list_instances(context, &instances, show_instance, &found, nullptr, &result), result,
         LIBLOCK_UNSUPPORTED);
  liblock_list_options keys;
  liblock_list_options_init(&keys, sizeof keys);
  keys.zombies_only = 1;
  expect(liblock_list_each(context, LIBLOCK_LIST_KEYS, &keys, show_key, &found, nullptr, &result), result);
  if (found.instances + found.keys == 0 && !found.json) std::puts("nobody who is gone has left anything");
  return found;
}

// Requests that wait for too long are dead as well, and not seen here: only where nobody waits there are none.
bool anybody_waits(liblock_context *context) {
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  liblock_result result = LIBLOCK_RESULT_INIT;
  expect(liblock_list_each(context, LIBLOCK_LIST_QUEUES, nullptr, nullptr, nullptr, &report, &result), result);
  return report.queues > 0;
}

int tell(const liblock_report &report, bool json) {
  if (json) {
    std::puts(to_json(Record()
                          .set("locks", report.locks)
                          .set("waiters", report.waiters)
                          .set("instances", report.instances))
                  .c_str());
  } else {
    std::printf("%s locks taken away, %s waiters sent away, %s instances forgotten\n",
                with_commas(report.locks).c_str(), with_commas(report.waiters).c_str(),
                with_commas(report.instances).c_str());
  }
  return report.locks + report.waiters + report.instances > 0 ? kDone : kNothing;
}

}  // namespace

int dead(const Arguments &arguments) {
  const DeadOptions &options = arguments.dead;
  std::string notice;
  const Context context = open_context(arguments.settings, false, &notice);
  if (!options.clear) {
    show(context.get(), arguments);
    say_what_may_be_missing(context.get(), notice);
    return kDone;
  }
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  if (!options.yes) {
    const Found found = show(context.get(), arguments);
    if (found.instances + found.keys == 0 && !anybody_waits(context.get()))
      return found.json ? tell(report, true) : kNothing;  // nothing to ask about
    if (!is_confirmed(false, "Take away what " + with_commas(found.keys) + " keys and " +
                                 with_commas(found.instances) + " instances of the dead have, and requests " +
                                 "that wait for longer than " + for_people(options.dead_ttl_ms) + "?")) {
      return kNothing;
    }
  }
  liblock_clear_options wanted;
  liblock_clear_options_init(&wanted, sizeof wanted);
  wanted.dead_ttl_ms = options.dead_ttl_ms;
  liblock_result result = LIBLOCK_RESULT_INIT;
  expect(liblock_clear_dead(context.get(), &wanted, &report, &result), result);
  return tell(report, arguments.settings.json);
}

}  // namespace lockctl
