// SPDX-License-Identifier: MIT
// Instances: who is on the list, and what is done about those that are gone.
#include "refusals.hpp"
#include "report.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

liblock_instance shown(const InstanceInfo &info) {
  liblock_instance instance{};
  instance.struct_size = sizeof instance;
  instance.id = {info.id.data(), info.id.size()};
  const std::string_view host = host_of_instance(info.id);
  instance.host = {host.data(), host.size()};
  instance.heard_us = info.heard_us;
  instance.silent_ms = info.silent_ms;
  instance.interval_ms = info.interval_ms;
  instance.listens = info.listens;
  instance.is_zombie = info.is_zombie;
  instance.is_self = info.is_self;
  return instance;
}

Status read_instance_options(const liblock_instance_list_options *given, bool &zombies_only,
                             std::string &message) {
  liblock_instance_list_options known{sizeof known, 0, 0};
  if (given != nullptr) {
    if (const Status status = read_struct(given, known); status != Status::OK) return status;
  }
  zombies_only = known.zombies_only == 1;
  return read_zombies_only(known.zombies_only, known.reserved, message);
}

}  // namespace

void liblock_instance_list_options_init(liblock_instance_list_options *options, size_t struct_size) {
  init_struct(options, struct_size, liblock_instance_list_options{});
}

liblock_status liblock_list_instances(liblock_context *context, const liblock_instance_list_options *options,
                                      liblock_instance_callback callback, void *user_data,
                                      liblock_report *report, liblock_result *result) {
  Tally tally;
  Nanos took = 0;
  const liblock_status status = guarded_result(result, [&](Outcome &outcome) {
    if (const Status usability = usable(context, outcome); usability != Status::OK) return usability;
    if (!report_is_usable(report)) return refused(outcome, kReportSize);
    bool zombies_only = false;
    if (const Status read = read_instance_options(options, zombies_only, outcome.message); read != Status::OK)
      return read;
    for (ListPosition position; !position.at_end;) {
      WaitedAsk ask(Ask::What::ListInstances);
      ask.flag = zombies_only;
      ask.position = position;
      const Status asked = context->rep->ask(ask, false, outcome);
      tally.steps += ask.tally.steps;
      took += outcome.waited;
      if (asked != Status::OK) return asked;
      for (const InstanceInfo &info : ask.instances) {
        ++tally.instances;
        const liblock_instance instance = shown(info);
        if (callback != nullptr && callback(&instance, user_data) != 0) return Status::OK;
      }
      position = ask.position;
    }
    return Status::OK;
  });
  fill_report(report, tally, took);
  return status;
}

void liblock_zombies_status_init(liblock_zombies_status *status, size_t struct_size) {
  liblock_zombies_status nothing{};
  nothing.interval_ms = -1;
  init_struct(status, struct_size, nothing);
}

liblock_status liblock_zombies_status_get(liblock_context *context, liblock_zombies_status *status) {
  if (status == nullptr || status->struct_size < sizeof(size_t) || status->struct_size > 65'536)
    return LIBLOCK_INVALID_ARGUMENT;
  return guarded([&] {
    if (const Status usability = usable(context); usability != Status::OK) return usability;
    liblock_zombies_status now{};
    now.interval_ms = -1;
    context->rep->engine().zombies(now);
    init_struct(status, status->struct_size, now);
    return Status::OK;
  });
}
