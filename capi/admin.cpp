// SPDX-License-Identifier: MIT
// Administration and statistics.
#include "boundary.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

liblock_status clear(liblock_context *context, Engine::Whom whom, const void *id, size_t id_size,
                     uint64_t *cleared, liblock_result *result) {
  if (cleared != nullptr) *cleared = 0;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context); status != Status::OK) return status;
    const bool by_id = whom == Engine::Whom::Owner || whom == Engine::Whom::Instance;
    if (by_id && (id == nullptr || id_size == 0)) return Status::INVALID_ARGUMENT;
    WaitedAsk ask(Ask::What::Clear);
    ask.number = static_cast<uint64_t>(whom);
    ask.text = bytes(id, id_size);
    const Status status = context->rep->ask(ask, false, outcome);
    if (cleared != nullptr) *cleared = ask.count;
    return status;
  });
}

}  // namespace

liblock_status liblock_force_release(liblock_context *context, const void *key, size_t key_size,
                                     int32_t flags, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (!key_is_valid(key, key_size) || (flags & ~LIBLOCK_DROP_QUEUE) != 0) return Status::INVALID_ARGUMENT;
    WaitedAsk ask(Ask::What::ForceRelease);
    ask.keys.emplace_back(bytes(key, key_size));
    ask.flag = (flags & LIBLOCK_DROP_QUEUE) != 0;
    return context->rep->ask(ask, false, outcome);
  });
}
liblock_status liblock_clear(liblock_context *context, uint64_t *cleared, liblock_result *result) {
  return clear(context, Engine::Whom::Everybody, nullptr, 0, cleared, result);
}
liblock_status liblock_clear_owner(liblock_context *context, const void *owner_id, size_t size,
                                   uint64_t *cleared, liblock_result *result) {
  return clear(context, Engine::Whom::Owner, owner_id, size, cleared, result);
}
liblock_status liblock_clear_instance(liblock_context *context, const void *instance_id, size_t size,
                                      uint64_t *cleared, liblock_result *result) {
  return clear(context, Engine::Whom::Instance, instance_id, size, cleared, result);
}
liblock_status liblock_clear_dead(liblock_context *context, uint64_t *cleared, liblock_result *result) {
  return clear(context, Engine::Whom::Dead, nullptr, 0, cleared, result);
}
liblock_status liblock_sweep(liblock_context *context, uint64_t *ended, liblock_result *result) {
  if (ended != nullptr) *ended = 0;
  return guarded_result(result, [&](Outcome &) {
    if (const Status status = usable(context); status != Status::OK) return status;
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
