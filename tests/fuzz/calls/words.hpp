// SPDX-License-Identifier: MIT
// What the bytes of a call mean as its arguments: a key, a lock, an owner, options. `on` says on what, `how` in which
// way; of each there is something that is wrong.
#pragma once

#include "listeners.hpp"
#include "stage.hpp"

namespace calls {

constexpr size_t kKeys = 4;
constexpr uint64_t kForged = 0x1234567890abcdef;
constexpr int64_t kLongMs = 3'600'000;

// No key, one that is too long, or one of a few.
inline std::string key_of(uint8_t on) {
  if (on == 255) return {};
  if (on == 254) return std::string(513, 'k');
  if (on == 253) return std::string(512, '\0');
  return std::string(1, static_cast<char>('a' + on % kKeys));
}

// Three keys, or as many of them as are wanted; they may be the same.
struct ThreeKeys {
  explicit ThreeKeys(uint8_t on)
      : names{key_of(on), key_of(static_cast<uint8_t>(on / 4)), key_of(static_cast<uint8_t>(on / 16))} {
    for (size_t n = 0; n < names.size(); ++n) keys[n] = {names[n].data(), names[n].size()};
  }
  Keys first(size_t count) const { return {names.begin(), names.begin() + static_cast<ptrdiff_t>(count)}; }

  const Keys names;
  liblock_bytes keys[3];
};

inline liblock_lock lock_of(const Stage &s, uint8_t on) {
  if (on == 255) return 0;
  return on == 254 || s.grants.is_empty() ? kForged : s.grants[on].lock;
}

inline std::string value_of(uint8_t how) { return std::string(how % 3 == 0 ? 4'097 : how % 5, 'v'); }

// 0 is none, and the largest cannot be counted.
inline int64_t ttl_of(uint8_t how) {
  return how % 5 == 0 ? 0 : how % 5 == 1 ? INT64_MAX : how % 5 == 2 ? LIBLOCK_TTL_NONE : kLongMs;
}

// For asynchronous calls: the end is called back, or read, here or there, or nobody wants to know.
struct Where {
  Where(Side &side, uint8_t how)
      : queue(how % 4 == 0   ? side.queue
              : how % 4 == 1 ? side.extra
                             : nullptr),
        callback(queue == nullptr && how % 4 != 3 ? Stage::hear : nullptr) {}
  Asked asked(int32_t kind) const {
    return {.kind = kind, .queue = queue, .is_heard = queue != nullptr || callback != nullptr};
  }
  liblock_completions *const queue;
  const liblock_callback callback;
};

inline void make_special(Side &side, uint8_t which, uint8_t more, liblock_acquire_options &given) {
  static const liblock_metadata kMetadata[] = {{{"n", 1}, {"v", 1}}, {{"m", 1}, {nullptr, 0}}};
  static const char *const kNodes[] = {"n1"};
  switch (which % 22) {
    case 1: return static_cast<void>((given.metadata = kMetadata, given.metadata_count = more % 3));
    case 2: return static_cast<void>(given.on_queued = hear_place);
    case 3: return static_cast<void>(given.busy_info = more % 3);
    case 4: return static_cast<void>((given.instrument = more % 9, given.event_tag = more));
    case 5: return static_cast<void>((given.ttl_ms = kLongMs, given.renew = 1));
    case 6: return static_cast<void>((given.ttl_ms = kLongMs, given.renew = 1, given.max_hold_ms = kLongMs));
    case 7: return static_cast<void>((given.ttl_ms = kLongMs, given.min_remaining_ms = more * kLongMs / 128));
    case 8: return static_cast<void>(given.retries = 0);
    case 9: return static_cast<void>(given.queue_ttl_ms = more % 2 == 0 ? kLongMs : -2);
    case 10: return static_cast<void>(given.on_lost = hear_loss);
    case 11: return static_cast<void>(given.completions = more % 4 != 0 ? side.queue : side.extra);
    case 12: return static_cast<void>(given.owner = LIBLOCK_OWNER_THREAD);
    // As of an older header: with wait_ms at least, so that nothing waits.
    case 13: return static_cast<void>(given.struct_size = std::min<size_t>(sizeof given, 32 + 8 * (more % 48)));
    case 14: return static_cast<void>(given.replicas = more % 2);
    case 15: return static_cast<void>(given.votes = more % 4 - 1);
    case 16: return static_cast<void>((given.nodes = kNodes, given.node_count = more % 2));
    case 17: return static_cast<void>((given.order = LIBLOCK_ORDER_PRIORITY, given.priority = more - 128));
    case 18: return static_cast<void>(given.on_deadlock = more % 4);
    case 19: return static_cast<void>(given.backoff_callback = back_off);
    case 20: return static_cast<void>((given.backoff = more % 4, given.retry_interval_ms = kLongMs));
    case 21: return static_cast<void>(given.mode = more % 2);
    default: return;
  }
}

// Of the context whose turn it is. Does not wait.
inline liblock_acquire_options options_of(Stage &s, uint8_t how) {
  Side &side = s.side();
  liblock_acquire_options options;
  liblock_acquire_options_init(&options, sizeof options);
  options.owner = how % 4 < kOwners ? side.owners[how % 4] : nullptr;
  options.order = how / 4 % 5;
  options.on_conflict = how / 16 % 5;
  options.ttl_ms = how / 64 % 3 == 0 ? LIBLOCK_TTL_AUTO : how / 64 % 3 == 1 ? kLongMs : 0;
  if (how % 7 == 0) options.value = "value", options.value_size = 5;
  options.wait_ms = 0;
  make_special(side, std::exchange(s.season, uint8_t{0}), s.season_more, options);
  return options;
}

}  // namespace calls
