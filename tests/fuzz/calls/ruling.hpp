// SPDX-License-Identifier: MIT
// What is done to others, and to the context as a whole: locks are taken away, owners leave, somebody begins to listen
// or to measure; and what only servers have is refused.
#pragma once

#include "looking.hpp"

namespace calls {

inline void take_away(Stage &s, uint8_t on, uint8_t how) {
  const std::string name = key_of(on);
  if (how % 4 == 0)
    is_one_of(liblock_clear(s.side().context, nullptr, nullptr, nullptr), {LIBLOCK_OK});
  if (how % 4 != 0)
    is_one_of(liblock_force_release(s.side().context, name.data(), name.size(), how % 2, nullptr),
              {LIBLOCK_OK, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_ARGUMENT});
}

template <typename Write>
std::string text_by(Write write) {
  char text[256];
  size_t needed = 0;
  is_one_of(write(text, sizeof text, &needed), {LIBLOCK_OK});
  return {text, std::min(needed, sizeof text - 1)};
}

// From whoever is meant, and from nobody else.
inline void clear(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  liblock_clear_options options;
  liblock_clear_options_init(&options, sizeof options);
  options.batch_size = on / 4 % 8;
  options.dead_ttl_ms = on / 32 == 0 ? 0 : kLongMs;
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  const liblock_owner *owner = on % 4 == 3 ? LIBLOCK_OWNER_THREAD : side.owners[on % kOwners];
  const std::string owner_id = text_by([&](auto... to) { return liblock_owner_id(side.context, owner, to...); });
  const std::string id = text_by([&](auto... to) { return liblock_instance_id(side.context, to...); });
  std::vector<Grant> others;
  for (const Grant &grant : s.grants.all()) {
    const bool is_meant = grant.context == side.context && (how % 4 == 1 || grant.owner == owner);
    if (!is_meant && liblock_is_held(grant.context, grant.lock) == LIBLOCK_OK) others.push_back(grant);
  }
  liblock_status status = LIBLOCK_OK;
  if (how % 4 == 0)
    status = liblock_clear_owner(side.context, owner_id.data(), owner_id.size(), &options, &report, nullptr);
  if (how % 4 == 1) status = liblock_clear_instance(side.context, id.data(), id.size(), &options, &report, nullptr);
  if (how % 4 == 2) status = liblock_clear_dead(side.context, &options, &report, nullptr);
  if (how % 4 == 3) status = liblock_clear_owner(side.context, id.data(), on % 2, nullptr, nullptr, nullptr);
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_INVALID_ARGUMENT});
  if (status != LIBLOCK_OK || how % 4 > 1) return;
  for (const Grant &grant : s.grants.all()) {
    const bool is_meant = grant.context == side.context && (how % 4 == 1 || grant.owner == owner);
    if (is_meant) LIBLOCK_ASSERT(liblock_is_held(grant.context, grant.lock) != LIBLOCK_OK);
  }
  for (const Grant &grant : others) is_one_of(liblock_is_held(grant.context, grant.lock), {LIBLOCK_OK});
}

inline void sweep(Stage &s, uint8_t, uint8_t) {
  uint64_t ended = 1;
  is_one_of(liblock_sweep(s.side().context, &ended, nullptr), {LIBLOCK_OK});
  LIBLOCK_ASSERT(ended == 0);  // no lease is as short as an input
  liblock_zombies_status zombies;
  liblock_zombies_status_init(&zombies, sizeof zombies);
  is_one_of(liblock_zombies_status_get(s.side().context, &zombies), {LIBLOCK_OK});
  LIBLOCK_ASSERT(zombies.enabled == 0 && zombies.interval_ms == -1);
}

// An owner who leaves, and another of the same name.
inline void owner(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  liblock_owner *&owner = s.side().owners[on % kOwners];
  is_one_of(liblock_owner_close(owner), {LIBLOCK_OK});
  if (how % 8 == 7) {
    const ThreeKeys names(0);
    is_one_of(liblock_owner_close(owner), {LIBLOCK_OK});
    is_one_of(liblock_release_keys(context, owner, names.keys, 1, nullptr), {LIBLOCK_CLOSED});
    liblock_acquire_options given = options_of(s, 0);
    given.owner = owner;
    liblock_lock lock = 1;
    is_one_of(liblock_acquire(context, "a", 1, &given, &lock, nullptr),
              {LIBLOCK_CLOSED, LIBLOCK_INVALID_ARGUMENT, LIBLOCK_UNSUPPORTED});
  }
  for (const Grant &grant : s.grants.all()) {
    if (grant.owner == owner) LIBLOCK_ASSERT(liblock_is_held(context, grant.lock) != LIBLOCK_OK);
  }
  liblock_owner_free(owner);
  is_one_of(liblock_owner_open(context, on % kOwners == 0 ? "a" : "b", 1, &owner, nullptr), {LIBLOCK_OK});
}

inline void measure(Stage &s, uint8_t, uint8_t how) {
  liblock_context *context = s.side().context;
  liblock_stats stats;
  liblock_stats_init(&stats, sizeof stats);
  is_one_of(liblock_stats_get(context, &stats), {LIBLOCK_OK});
  LIBLOCK_ASSERT(stats.locks_held <= 24 + 1 && stats.acquired >= stats.released + stats.taken_away);
  liblock_histogram histogram;
  liblock_histogram_init(&histogram, sizeof histogram);
  const liblock_status status = liblock_histogram_get(context, how % 4, &histogram);
  is_one_of(status, {how % 4 == 1 || how % 4 == 2 ? LIBLOCK_OK : LIBLOCK_INVALID_ARGUMENT});
  uint64_t count = 0;
  for (const uint64_t bucket : histogram.buckets) count += bucket;
  LIBLOCK_ASSERT(count == histogram.count);
}

inline void listen(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  liblock_instrument_options options;
  liblock_instrument_options_init(&options, sizeof options);
  options.events_percent = on % 102;
  options.log_percent = how % 102;
  if (on % 8 == 0) options.events_sampler = options.log_sampler = sample;
  options.events_max = how % 8 == 0 ? 0 : how % 8;
  options.log_attempts = on / 8 % 2;
  options.histograms = on / 16 % 2;
  is_one_of(liblock_set_instruments(context, how % 16 == 15 ? nullptr : &options),
            {LIBLOCK_OK, LIBLOCK_INVALID_ARGUMENT});
  is_one_of(liblock_set_events(context, ~uint64_t{0} << how % 32, on % 4 == 0 ? nullptr : hear_event, nullptr),
            {LIBLOCK_OK});
  is_one_of(liblock_set_log(context, on % 7 - 1, how % 4 == 0 ? nullptr : hear_log, nullptr),
            {on % 7 == 0 || on % 7 == 6 ? LIBLOCK_INVALID_ARGUMENT : LIBLOCK_OK});
}

// What a local context has not.
inline void ask_quorum(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  static const char *const kServers[] = {"redis://a", "redis://b", nullptr, "redis://a"};
  const std::string name = key_of(on);
  const char *node = how % 4 == 3 ? "n1" : nullptr;
  liblock_info *info = nullptr;
  liblock_quorum_state state;
  liblock_quorum_state_init(&state, sizeof state);
  const auto refused = [](liblock_status status) {
    is_one_of(status, {LIBLOCK_UNSUPPORTED, LIBLOCK_INVALID_ARGUMENT});
  };
  const auto refused_later = [&](auto call, auto... what) {
    liblock_request request = 1;
    refused(call(side.context, what..., side.queue, nullptr, nullptr, &request));
    LIBLOCK_ASSERT(request == 0);
  };
  const size_t servers = on % 5, observers = how % 3;
  const int32_t votes = on / 8 % 6 - 2;
  refused(liblock_read(side.context, name.data(), name.size(), how / 4 % 5 - 1, node, &info, nullptr));
  LIBLOCK_ASSERT(info == nullptr);
  refused(liblock_quorum_init(side.context, how % 3, nullptr));
  refused(liblock_quorum_set_nodes(side.context, kServers, servers, kServers + 1, observers, votes, nullptr));
  refused(liblock_quorum_status(side.context, &state, nullptr, nullptr, nullptr));
  refused_later(liblock_read_async, name.data(), name.size(), how / 4 % 5 - 1, node);
  refused_later(liblock_quorum_init_async, how % 3);
  refused_later(liblock_quorum_set_nodes_async, kServers, servers, kServers + 1, observers, votes);
}

}  // namespace calls
