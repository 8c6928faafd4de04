// SPDX-License-Identifier: MIT
// Looking at one key: questions, snapshots, waits for a change.
#include "refusals.hpp"

using namespace liblock;
using namespace liblock::capi;

namespace {

liblock_status ask_yes_no(liblock_context *context, const void *key, size_t key_size, int32_t *answer,
                          Ask::What what) {
  if (answer == nullptr) return LIBLOCK_INVALID_ARGUMENT;
  *answer = 0;
  return guarded([&] {
    if (const Status status = usable(context); status != Status::OK) return status;
    if (!key_is_valid(key, key_size)) return Status::INVALID_ARGUMENT;
    WaitedAsk ask(what);
    ask.keys.emplace_back(bytes(key, key_size));
    Outcome outcome;
    const Status status = context->rep->ask(ask, false, outcome);
    *answer = ask.count != 0 ? 1 : 0;
    return status;
  });
}

liblock_status inspect(liblock_context *context, const void *key, size_t key_size, bool queue,
                       liblock_info **info, liblock_result *result) {
  if (info != nullptr) *info = nullptr;
  return guarded_result(result, [&](Outcome &outcome) {
    if (const Status status = usable(context, outcome); status != Status::OK) return status;
    if (const char *why = wrong_place(info)) return refused(outcome, why);
    if (const char *why = wrong_key(key, key_size)) return refused(outcome, why);
    WaitedAsk ask(Ask::What::Inspect);
    ask.keys.emplace_back(bytes(key, key_size));
    ask.flag = queue;
    if (const Status status = context->rep->ask(ask, false, outcome); status != Status::OK) return status;
    if (!queue && !ask.infos.front()->is_held) {
      outcome.message = "nobody holds the key";
      return Status::NOT_HELD;
    }
    *info = new liblock_info{std::move(ask.infos.front())};
    return Status::OK;
  });
}

// A wait for a key to change hands.
liblock_status wait_for_key(liblock_context *context, const void *key, size_t key_size, int64_t wait_ms,
                            Ask::What what, liblock_result *result) {
  return guarded_result(result, [&](Outcome &outcome) {
    Nanos wait;
    if (context == nullptr) return refused(outcome, kNoContext);
    if (const char *why = wrong_key(key, key_size)) return refused(outcome, why);
    if (!read_wait(wait_ms, wait)) return refused(outcome, kWrongWait);
    WaitedAsk ask(what);
    ask.keys.emplace_back(bytes(key, key_size));
    ask.wait = wait;
    const Status status = context->rep->ask(ask, wait != 0, outcome);
    if (status == Status::TIMEOUT && outcome.message.empty())
      outcome.message = what == Ask::What::WaitHeld ? "nobody holds the key yet" : "the key is still held";
    return status;
  });
}

template <typename T>
T get(const liblock_info *info, T KeyInfo::*field, T otherwise) {
  return info == nullptr ? otherwise : (*info->rep).*field;
}

const void *text(const liblock_info *info, std::string KeyInfo::*field, size_t *size) {
  if (size != nullptr) *size = info == nullptr ? 0 : ((*info->rep).*field).size();
  return info == nullptr ? nullptr : ((*info->rep).*field).data();
}

const WaiterInfo *waiter_at(const liblock_info *info, size_t index) {
  return info == nullptr || index >= info->rep->waiters.size() ? nullptr : &info->rep->waiters[index];
}

const void *text_of_waiter(const liblock_info *info, size_t index, std::string WaiterInfo::*field,
                           size_t *size) {
  const WaiterInfo *waiter = waiter_at(info, index);
  if (size != nullptr) *size = waiter == nullptr ? 0 : (waiter->*field).size();
  return waiter == nullptr ? nullptr : (waiter->*field).data();
}

}  // namespace

liblock_status liblock_is_locked(liblock_context *context, const void *key, size_t key_size,
                                 int32_t *locked) {
  return ask_yes_no(context, key, key_size, locked, Ask::What::IsLocked);
}
liblock_status liblock_is_queued(liblock_context *context, const void *key, size_t key_size,
                                 int32_t *queued) {
  return ask_yes_no(context, key, key_size, queued, Ask::What::IsQueued);
}
liblock_status liblock_inspect(liblock_context *context, const void *key, size_t key_size,
                               liblock_info **info, liblock_result *result) {
  return inspect(context, key, key_size, false, info, result);
}
liblock_status liblock_inspect_queue(liblock_context *context, const void *key, size_t key_size,
                                     liblock_info **info, liblock_result *result) {
  return inspect(context, key, key_size, true, info, result);
}

const void *liblock_info_key(const liblock_info *info, size_t *size) {
  return text(info, &KeyInfo::key, size);
}
const void *liblock_info_owner(const liblock_info *info, size_t *size) {
  return text(info, &KeyInfo::owner, size);
}
const void *liblock_info_instance(const liblock_info *info, size_t *size) {
  return text(info, &KeyInfo::instance, size);
}
const void *liblock_info_host(const liblock_info *info, size_t *size) {
  const std::string_view host = info == nullptr ? std::string_view() : host_of_instance(info->rep->instance);
  if (size != nullptr) *size = host.size();
  return info == nullptr ? nullptr : host.empty() ? "" : host.data();
}
const void *liblock_info_value(const liblock_info *info, size_t *size) {
  return text(info, &KeyInfo::value, size);
}
int32_t liblock_info_is_global(const liblock_info *info) { return get(info, &KeyInfo::is_global, false); }
int32_t liblock_info_is_held(const liblock_info *info) { return get(info, &KeyInfo::is_held, false); }
int32_t liblock_info_is_zombie(const liblock_info *info) { return get(info, &KeyInfo::is_zombie, false); }
uint64_t liblock_info_token(const liblock_info *info) { return get(info, &KeyInfo::token, uint64_t{0}); }
int64_t liblock_info_since_us(const liblock_info *info) { return get(info, &KeyInfo::since_us, int64_t{0}); }
int64_t liblock_info_initial_ttl_ms(const liblock_info *info) {
  return get(info, &KeyInfo::initial_ttl_ms, int64_t{0});
}
int64_t liblock_info_remaining_ms(const liblock_info *info) {
  return get(info, &KeyInfo::remaining_ms, int64_t{-1});
}
uint32_t liblock_info_hold_count(const liblock_info *info) { return get(info, &KeyInfo::hold_count, 0u); }

size_t liblock_info_metadata_count(const liblock_info *info) {
  return info == nullptr ? 0 : info->rep->metadata.size();
}
liblock_status liblock_info_metadata_at(const liblock_info *info, size_t index, liblock_metadata *out) {
  if (info == nullptr || out == nullptr || index >= info->rep->metadata.size())
    return LIBLOCK_INVALID_ARGUMENT;
  const auto &[name, value] = info->rep->metadata[index];
  *out = {{name.data(), name.size()}, {value.data(), value.size()}};
  return LIBLOCK_OK;
}

size_t liblock_info_waiter_count(const liblock_info *info) {
  return info == nullptr ? 0 : info->rep->waiter_count();
}
const void *liblock_info_waiter_owner(const liblock_info *info, size_t index, size_t *size) {
  return text_of_waiter(info, index, &WaiterInfo::owner, size);
}
const void *liblock_info_waiter_instance(const liblock_info *info, size_t index, size_t *size) {
  return text_of_waiter(info, index, &WaiterInfo::instance, size);
}
int64_t liblock_info_waiter_since_us(const liblock_info *info, size_t index) {
  const WaiterInfo *waiter = waiter_at(info, index);
  return waiter == nullptr ? 0 : waiter->since_us;
}
int64_t liblock_info_waiter_waited_ms(const liblock_info *info, size_t index) {
  const WaiterInfo *waiter = waiter_at(info, index);
  return waiter == nullptr ? -1 : waiter->waited_ms;
}
int32_t liblock_info_waiter_order(const liblock_info *info, size_t index) {
  const WaiterInfo *waiter = waiter_at(info, index);
  return waiter == nullptr ? -1 : waiter->order;
}
int32_t liblock_info_waiter_priority(const liblock_info *info, size_t index) {
  const WaiterInfo *waiter = waiter_at(info, index);
  return waiter == nullptr ? 0 : waiter->priority;
}
void liblock_info_free(liblock_info *info) { delete info; }

liblock_status liblock_wait_held(liblock_context *context, const void *key, size_t key_size, int64_t wait_ms,
                                 liblock_result *result) {
  return wait_for_key(context, key, key_size, wait_ms, Ask::What::WaitHeld, result);
}
liblock_status liblock_wait_released(liblock_context *context, const void *key, size_t key_size,
                                     int64_t wait_ms, liblock_result *result) {
  return wait_for_key(context, key, key_size, wait_ms, Ask::What::WaitReleased, result);
}
