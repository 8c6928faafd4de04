// SPDX-License-Identifier: MIT
// Administration and statistics.
#include "refusals.hpp"
#include "report.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

constexpr int64_t kBatch = 100;
constexpr int64_t kScan = 500;
constexpr int64_t kDeadTtlMs = 86'400'000;

Status read_clear_options(const liblock_clear_options *given, Ask &ask, std::string &message) {
  liblock_clear_options known{sizeof known, LIBLOCK_DEFAULT, LIBLOCK_DEFAULT, LIBLOCK_DEFAULT};
  if (given != nullptr) {
    if (const Status status = read_struct(given, known); status != Status::OK) return status;
  }
  const int64_t dead_ttl_ms = known.dead_ttl_ms == LIBLOCK_DEFAULT ? kDeadTtlMs : known.dead_ttl_ms;
  if (dead_ttl_ms < 1) {
    message = "dead_ttl_ms is " + std::to_string(dead_ttl_ms) + "; use 1 and more, or LIBLOCK_DEFAULT";
    return Status::INVALID_ARGUMENT;
  }
  ask.dead_after = nanos_from_ms(dead_ttl_ms);
  const Status status = read_batch("batch_size", known.batch_size, kBatch, ask.batch, message);
  if (status != Status::OK) return status;
  return read_batch("scan_size", known.scan_size, kScan, ask.scan_batch, message);
}

liblock_status clear(liblock_context *context, Engine::Whom whom, const void *id, size_t id_size,
                     const liblock_clear_options *options, liblock_report *report, liblock_result *result) {
  Tally tally;
  Nanos took = 0;
  const liblock_status status = guarded_result(result, [&](Outcome &outcome) {
    if (const Status usability = usable(context, outcome); usability != Status::OK) return usability;
    if (!report_is_usable(report)) return refused(outcome, kReportSize);
    const bool by_id = whom == Engine::Whom::Owner || whom == Engine::Whom::Instance;
    if (by_id && (id == nullptr || id_size == 0)) return refused(outcome, "the id is NULL, or empty");
    WaitedAsk ask(Ask::What::Clear);
    if (const Status read = read_clear_options(options, ask, outcome.message); read != Status::OK)
      return read;
    ask.number = static_cast<uint64_t>(whom);
    ask.text = bytes(id, id_size);
    const Status asked = context->rep->ask(ask, false, outcome);
    tally = ask.tally;
    took = outcome.waited;
    return asked;
  });
  fill_report(report, tally, took);
  return status;
}

}  // namespace

liblock_status liblock_force_release(liblock_context *context, const void *key, size_t key_size,
                                     int32_t flags, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_key(key, key_size)) return refused(outcome, why);
    if ((flags & ~LIBLOCK_DROP_QUEUE) != 0) return refused(outcome, "flags must be 0 or LIBLOCK_DROP_QUEUE");
    WaitedAsk ask(Ask::What::ForceRelease);
    ask.keys.emplace_back(bytes(key, key_size));
    ask.flag = (flags & LIBLOCK_DROP_QUEUE) != 0;
    const Status status = context->rep->ask(ask, false, outcome);
    if (ask.tally.locks != 0) outcome.grant.flags |= LIBLOCK_RESULT_HAD_LOCK;
    if (ask.tally.queues != 0) outcome.grant.flags |= LIBLOCK_RESULT_HAD_QUEUE;
    outcome.grant.queue_length = static_cast<int64_t>(ask.tally.waiters);
    return status;
  });
}

void liblock_report_init(liblock_report *report, size_t struct_size) {
  init_struct(report, struct_size, liblock_report{});
}
void liblock_clear_options_init(liblock_clear_options *options, size_t struct_size) {
  init_struct(options, struct_size,
              liblock_clear_options{0, LIBLOCK_DEFAULT, LIBLOCK_DEFAULT, LIBLOCK_DEFAULT});
}
liblock_status liblock_clear(liblock_context *context, const liblock_clear_options *options,
                             liblock_report *report, liblock_result *result) {
  return clear(context, Engine::Whom::Everybody, nullptr, 0, options, report, result);
}
liblock_status liblock_clear_owner(liblock_context *context, const void *owner_id, size_t size,
                                   const liblock_clear_options *options, liblock_report *report,
                                   liblock_result *result) {
  return clear(context, Engine::Whom::Owner, owner_id, size, options, report, result);
}
liblock_status liblock_clear_instance(liblock_context *context, const void *instance_id, size_t size,
                                      const liblock_clear_options *options, liblock_report *report,
                                      liblock_result *result) {
  return clear(context, Engine::Whom::Instance, instance_id, size, options, report, result);
}
liblock_status liblock_clear_dead(liblock_context *context, const liblock_clear_options *options,
                                  liblock_report *report, liblock_result *result) {
  return clear(context, Engine::Whom::Dead, nullptr, 0, options, report, result);
}
liblock_status liblock_sweep(liblock_context *context, uint64_t *ended, liblock_result *result) {
  if (ended != nullptr) *ended = 0;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    const uint64_t count = context->rep->engine().sweep();
    if (ended != nullptr) *ended = count;
    return Status::OK;
  });
}

void liblock_stats_init(liblock_stats *stats, size_t struct_size) {
  liblock_stats zeros{};
  init_struct(stats, struct_size, zeros);
}
liblock_status liblock_stats_get(liblock_context *context, liblock_stats *stats) {
  if (stats == nullptr || stats->struct_size < sizeof(size_t) || stats->struct_size > 65'536) {
    return LIBLOCK_INVALID_ARGUMENT;
  }
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    liblock_stats now{};
    context->rep->engine().stats(now);
    now.dropped_notices = context->rep->dropped_notices();
    now.dropped_events = context->rep->instruments().events().dropped();
    init_struct(stats, stats->struct_size, now);
    return Status::OK;
  });
}
