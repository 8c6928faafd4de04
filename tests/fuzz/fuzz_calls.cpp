// SPDX-License-Identifier: MIT
// Calls of the C interface in any order on a local context: what is there, what is over, what never was. Each answers
// with a status that its docstring names, a request that was accepted ends exactly once, tokens of a key rise, who
// holds is seen to hold until he gives back or is robbed, and at the end nothing is left. No call waits. A byte is a
// call, the next two say on what.
#include <liblock/liblock.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "base/assert.hpp"

namespace {

constexpr size_t kCallsMax = 256, kKeys = 4, kOwners = 2;
constexpr uint64_t kForged = 0x1234567890abcdef;

void is_one_of(liblock_status status, std::initializer_list<liblock_status> expected) {
  for (const liblock_status each : expected) {
    if (status == each) return;
  }
  LIBLOCK_ASSERT(!"a status that the call does not name");
}

class Caller {
 public:
  Caller() {
    liblock_context_options options;
    liblock_context_options_init(&options, sizeof options);
    options.requests_max = 24;
    options.locks_max = 24;
    options.waiters_max = 16;
    LIBLOCK_ASSERT(liblock_open("local:", &options, &context_, nullptr) == LIBLOCK_OK);
    LIBLOCK_ASSERT(liblock_completions_open(context_, 64, &ends_, nullptr) == LIBLOCK_OK);
    for (size_t n = 0; n < kOwners; ++n)
      LIBLOCK_ASSERT(liblock_owner_open(context_, n == 0 ? "a" : "b", 1, &owners_[n], nullptr) == LIBLOCK_OK);
  }

  ~Caller() {
    read_ends();
    for (const auto &[request, was_seen] : requests_) {
      // A cycle that the library's thread has just found ends it as well.
      if (!was_seen) is_one_of(liblock_cancel(context_, request), {LIBLOCK_OK, LIBLOCK_INVALID_HANDLE});
    }
    while (std::any_of(requests_.begin(), requests_.end(), [](const auto &one) { return !one.second; }))
      LIBLOCK_ASSERT(read_end(10'000));
    for (const liblock_lock lock : locks_)
      is_one_of(liblock_release(context_, lock, nullptr),
                {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
    liblock_stats stats;
    liblock_stats_init(&stats, sizeof stats);
    LIBLOCK_ASSERT(liblock_stats_get(context_, &stats) == LIBLOCK_OK);
    LIBLOCK_ASSERT(stats.locks_held == 0 && stats.waiters == 0);
    for (liblock_owner *owner : owners_) liblock_owner_free(owner);
    LIBLOCK_ASSERT(liblock_close(context_) == LIBLOCK_OK);
    is_one_of(liblock_ping(context_, nullptr), {LIBLOCK_CLOSED});
    liblock_completions_free(ends_);
    liblock_context_free(context_);
  }

  void call(uint8_t which, uint8_t on, uint8_t how) {
    static void (Caller::*const kCalls[])(uint8_t, uint8_t) = {
        &Caller::try_key, &Caller::try_key, &Caller::try_keys, &Caller::ask,       &Caller::ask,
        &Caller::cancel,  &Caller::release, &Caller::release,  &Caller::extend,    &Caller::update,
        &Caller::look_at, &Caller::look_at, &Caller::inspect,  &Caller::take_away, &Caller::pass_on,
        &Caller::list,    &Caller::owner,   &Caller::global};
    (this->*kCalls[which % std::size(kCalls)])(on, how);
    read_ends();
  }

 private:
  // No key, one that is too long, or one of a few.
  static std::string key(uint8_t on) {
    if (on == 255) return {};
    if (on == 254) return std::string(513, 'k');
    if (on == 253) return std::string(512, '\0');
    return std::string(1, static_cast<char>('a' + on % kKeys));
  }

  liblock_acquire_options options(uint8_t how) {
    liblock_acquire_options options;
    liblock_acquire_options_init(&options, sizeof options);
    options.owner = how % 4 < kOwners ? owners_[how % 4] : nullptr;
    options.order = how / 4 % 5;
    options.on_conflict = how / 16 % 5;
    options.ttl_ms = how / 64 % 3 == 0 ? LIBLOCK_TTL_AUTO : how / 64 % 3 == 1 ? 3'600'000 : 0;
    if (how % 7 == 0) options.value = "value", options.value_size = 5;
    options.wait_ms = 0;
    return options;
  }

  liblock_lock lock(uint8_t on) const {
    if (on == 255) return 0;
    if (on == 254 || locks_.empty()) return kForged;
    return locks_[on % locks_.size()];
  }

  void granted(liblock_lock lock, const std::string &key, uint64_t token, bool reentered) {
    LIBLOCK_ASSERT(lock != 0 && token != 0);
    if (!key.empty()) LIBLOCK_ASSERT(reentered || token > tokens_[key]);
    if (!key.empty()) tokens_[key] = token;
    locks_.push_back(lock);
    is_one_of(liblock_is_held(context_, lock), {LIBLOCK_OK});
  }

  void ended(liblock_status status, liblock_lock lock, const std::string &key, const liblock_result &result) {
    is_one_of(status, {LIBLOCK_OK, LIBLOCK_BUSY, LIBLOCK_ALREADY_HELD, LIBLOCK_LIMIT,
                       LIBLOCK_INVALID_ARGUMENT, LIBLOCK_DEADLOCK, LIBLOCK_CLOSED});
    LIBLOCK_ASSERT((status == LIBLOCK_OK) == (lock != 0));
    LIBLOCK_ASSERT(result.status == status && (status == LIBLOCK_OK) == (result.message[0] == '\0'));
    if (status == LIBLOCK_OK)
      granted(lock, key, result.token, (result.flags & LIBLOCK_RESULT_REENTERED) != 0);
  }

  void try_key(uint8_t on, uint8_t how) {
    const std::string name = key(on);
    const liblock_acquire_options given = options(how);
    liblock_lock lock = 1;
    liblock_result result = LIBLOCK_RESULT_INIT;
    const liblock_status status =
        how % 2 == 0 ? liblock_try_acquire(context_, name.data(), name.size(), &given, &lock, &result)
                     : liblock_acquire(context_, name.data(), name.size(), &given, &lock, &result);
    ended(status, lock, name, result);
  }

  void try_keys(uint8_t on, uint8_t how) {
    const std::string names[] = {key(on), key(static_cast<uint8_t>(on / 4)),
                                 key(static_cast<uint8_t>(on / 16))};
    liblock_bytes keys[3];
    for (size_t n = 0; n < 3; ++n) keys[n] = {names[n].data(), names[n].size()};
    const liblock_acquire_options given = options(how);
    liblock_lock lock = 1;
    liblock_result result = LIBLOCK_RESULT_INIT;
    const liblock_status status = liblock_acquire_many(context_, keys, how % 4, &given, &lock, &result);
    ended(status, lock, {}, result);
  }

  void ask(uint8_t on, uint8_t how) {
    const std::string name = key(on);
    liblock_acquire_options given = options(how);
    given.wait_ms = -1;
    given.completions = ends_;
    liblock_request request = 1;
    const liblock_status status =
        liblock_acquire_async(context_, name.data(), name.size(), &given, nullptr, nullptr, &request);
    is_one_of(status, {LIBLOCK_OK, LIBLOCK_LIMIT, LIBLOCK_INVALID_ARGUMENT, LIBLOCK_CLOSED});
    LIBLOCK_ASSERT((status == LIBLOCK_OK) == (request != 0));
    if (status != LIBLOCK_OK) return;
    LIBLOCK_ASSERT(requests_.emplace(request, false).second);
    keys_[request] = name;
  }

  // Reads what has ended; a grant's token is compared with what was granted before it only where nothing came between.
  void read_ends() {
    while (read_end(0)) {}
  }

  bool read_end(int64_t wait_ms) {
    liblock_completion end;
    std::memset(&end, 0, sizeof end);
    end.struct_size = sizeof end;
    if (liblock_completions_next(ends_, wait_ms, &end) != LIBLOCK_OK) return false;
    if (end.kind != LIBLOCK_KIND_ACQUIRE) return true;
    const auto found = requests_.find(end.request);
    LIBLOCK_ASSERT(found != requests_.end() && !found->second);
    found->second = true;
    LIBLOCK_ASSERT((end.status == LIBLOCK_OK) == (end.lock != 0));
    if (end.status == LIBLOCK_OK) {
      locks_.push_back(end.lock);
      uint64_t &last = tokens_[keys_[end.request]];
      last = std::max(last, end.token);
    }
    return true;
  }

  void cancel(uint8_t on, uint8_t) {
    liblock_request request = kForged;
    if (!requests_.empty() && on < 250) {
      auto at = requests_.begin();
      std::advance(at, on % requests_.size());
      request = at->first;
    }
    is_one_of(liblock_cancel(context_, request), {LIBLOCK_OK, LIBLOCK_INVALID_HANDLE});
  }

  void release(uint8_t on, uint8_t how) {
    const liblock_lock which = lock(on);
    const bool was_held = liblock_is_held(context_, which) == LIBLOCK_OK;
    const liblock_status status = liblock_release(context_, which, nullptr);
    is_one_of(status, {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
    LIBLOCK_ASSERT((status == LIBLOCK_OK) == was_held);
    if (how % 3 == 0)
      is_one_of(liblock_release(context_, which, nullptr), {LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
  }

  void extend(uint8_t on, uint8_t how) {
    const int64_t ttl_ms = how % 5 == 0   ? 0
                           : how % 5 == 1 ? INT64_MAX
                           : how % 5 == 2 ? LIBLOCK_TTL_NONE
                                          : 3'600'000;
    is_one_of(liblock_extend(context_, lock(on), ttl_ms, how % 3, nullptr),
              {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE, LIBLOCK_INVALID_ARGUMENT,
               LIBLOCK_UNSUPPORTED});
  }

  void update(uint8_t on, uint8_t how) {
    const std::string value(how % 3 == 0 ? 4'097 : how, 'v');
    is_one_of(liblock_update(context_, lock(on), value.data(), value.size(), nullptr),
              {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE, LIBLOCK_INVALID_ARGUMENT});
  }

  // What can be asked of a handle answers alike.
  void look_at(uint8_t on, uint8_t) {
    const liblock_lock which = lock(on);
    const liblock_status held = liblock_is_held(context_, which);
    is_one_of(held, {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
    int64_t remaining_ms = 0;
    uint64_t token = 0;
    uint32_t count = 0;
    is_one_of(liblock_remaining_ms(context_, which, &remaining_ms), {held});
    is_one_of(liblock_fencing_token(context_, which, &token), {held});
    is_one_of(liblock_hold_count(context_, which, &count), {held});
    is_one_of(liblock_verify(context_, which, nullptr), {held});
    if (held == LIBLOCK_OK) LIBLOCK_ASSERT(token != 0 && count > 0 && remaining_ms != 0);
  }

  void inspect(uint8_t on, uint8_t) {
    const std::string name = key(on);
    liblock_info *info = nullptr;
    const liblock_status status = liblock_inspect(context_, name.data(), name.size(), &info, nullptr);
    is_one_of(status, {LIBLOCK_OK, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_ARGUMENT});
    if (info != nullptr && liblock_info_is_held(info) == 1) LIBLOCK_ASSERT(liblock_info_token(info) != 0);
    liblock_info_free(info);
  }

  void take_away(uint8_t on, uint8_t how) {
    const std::string name = key(on);
    if (how % 4 == 0)
      is_one_of(liblock_clear(context_, nullptr, nullptr, nullptr), {LIBLOCK_OK, LIBLOCK_INVALID_ARGUMENT});
    if (how % 4 != 0)
      is_one_of(liblock_force_release(context_, name.data(), name.size(), how % 2, nullptr),
                {LIBLOCK_OK, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_ARGUMENT});
  }

  // A lock on its way to another process, which is this one; half of the bytes may have suffered.
  void pass_on(uint8_t on, uint8_t how) {
    std::string exported(8'192, '\0');
    size_t needed = 0;
    const liblock_status status =
        liblock_export(context_, lock(on), exported.data(), exported.size(), &needed);
    is_one_of(status, {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE,
                       LIBLOCK_UNSUPPORTED, LIBLOCK_LIMIT, LIBLOCK_INVALID_ARGUMENT});
    if (status != LIBLOCK_OK) needed = how;
    exported.resize(std::min(needed, exported.size()));
    if (how % 2 == 1 && !exported.empty()) exported[on % exported.size()] ^= static_cast<char>(how);
    liblock_lock adopted = 1;
    const liblock_status end =
        liblock_adopt(context_, exported.data(), exported.size(), nullptr, &adopted, nullptr);
    LIBLOCK_ASSERT((end == LIBLOCK_OK) == (adopted != 0));
    if (end == LIBLOCK_OK) locks_.push_back(adopted);
  }

  void list(uint8_t, uint8_t how) {
    liblock_cursor *cursor = nullptr;
    const liblock_status status = how % 2 == 0 ? liblock_list_locks(context_, nullptr, &cursor, nullptr)
                                               : liblock_list_queues(context_, nullptr, &cursor, nullptr);
    is_one_of(status, {LIBLOCK_OK});
    liblock_info *info = nullptr;
    while (liblock_cursor_next(cursor, &info) == LIBLOCK_OK && info != nullptr) liblock_info_free(info);
    liblock_cursor_free(cursor);
  }

  // An owner who leaves, and another of the same name.
  void owner(uint8_t on, uint8_t) {
    liblock_owner *&owner = owners_[on % kOwners];
    is_one_of(liblock_owner_close(owner), {LIBLOCK_OK});
    liblock_owner_free(owner);
    is_one_of(liblock_owner_open(context_, on % kOwners == 0 ? "a" : "b", 1, &owner, nullptr), {LIBLOCK_OK});
  }

  void global(uint8_t, uint8_t how) {
    const liblock_acquire_options given = options(how);
    liblock_lock lock = 1;
    liblock_result result = LIBLOCK_RESULT_INIT;
    const liblock_status status = liblock_acquire_global(context_, &given, &lock, &result);
    ended(status, lock, {}, result);
  }

  liblock_context *context_ = nullptr;
  liblock_completions *ends_ = nullptr;
  liblock_owner *owners_[kOwners] = {};
  std::vector<liblock_lock> locks_;
  std::map<liblock_request, bool> requests_;  // its end was read
  std::map<liblock_request, std::string> keys_;
  std::map<std::string, uint64_t> tokens_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Caller caller;
  for (size_t at = 0; at + 2 < size && at < 3 * kCallsMax; at += 3)
    caller.call(data[at], data[at + 1], data[at + 2]);
  return 0;
}
