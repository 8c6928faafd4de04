// SPDX-License-Identifier: MIT
// Questions that change nothing: of a lock, of a key, of all keys, of the context and the library. What two of them say
// of the same agrees.
#pragma once

#include "words.hpp"

namespace calls {

// What can be asked of a handle answers alike.
inline void look_at(Stage &s, uint8_t on, uint8_t) {
  liblock_context *context = s.side().context;
  const liblock_lock which = lock_of(s, on);
  const liblock_status held = liblock_is_held(context, which);
  is_one_of(held, {LIBLOCK_OK, LIBLOCK_LOST, LIBLOCK_NOT_HELD, LIBLOCK_INVALID_HANDLE});
  int64_t remaining_ms = 0;
  uint64_t token = 0;
  uint32_t count = 0;
  is_one_of(liblock_remaining_ms(context, which, &remaining_ms), {held});
  is_one_of(liblock_fencing_token(context, which, &token), {held});
  is_one_of(liblock_hold_count(context, which, &count), {held});
  is_one_of(liblock_verify(context, which, nullptr), {held});
  if (held == LIBLOCK_OK) LIBLOCK_ASSERT(token != 0 && count > 0 && remaining_ms != 0);
}

inline void inspect(Stage &s, uint8_t on, uint8_t) {
  liblock_context *context = s.side().context;
  const std::string name = key_of(on);
  int32_t locked = 7, queued = 7;
  liblock_info *holder = nullptr, *line = nullptr;
  const liblock_status known = liblock_is_locked(context, name.data(), name.size(), &locked);
  is_one_of(known, {LIBLOCK_OK, LIBLOCK_INVALID_ARGUMENT});
  is_one_of(liblock_is_queued(context, name.data(), name.size(), &queued), {known});
  const liblock_status none = known == LIBLOCK_OK ? LIBLOCK_NOT_HELD : known;
  is_one_of(liblock_inspect(context, name.data(), name.size(), &holder, nullptr), {LIBLOCK_OK, none});
  is_one_of(liblock_inspect_queue(context, name.data(), name.size(), &line, nullptr), {LIBLOCK_OK, none});
  if (known != LIBLOCK_OK) LIBLOCK_ASSERT(holder == nullptr && line == nullptr && locked == 0 && queued == 0);
  if (holder != nullptr) LIBLOCK_ASSERT(liblock_info_is_held(holder) == 1 && liblock_info_waiter_count(holder) == 0);
  if (s.is_quiet()) {
    LIBLOCK_ASSERT((holder != nullptr) == (locked == 1) && (line != nullptr || locked + queued == 0));
    // Those who only watch stand in the queue as well.
    LIBLOCK_ASSERT(queued == 0 || liblock_info_waiter_count(line) > 0);
  }
  for (liblock_info *info : {holder, line}) {
    if (info != nullptr) read_info(info);
    liblock_info_free(info);
  }
}

inline liblock_list_options list_options(uint8_t on, uint8_t how) {
  liblock_list_options options;
  liblock_list_options_init(&options, sizeof options);
  options.batch_size = how / 8 % 4 == 0 ? LIBLOCK_DEFAULT : how / 8 % 4;
  if (on % 2 == 1) options.key_prefix = "a", options.key_prefix_size = 1;
  options.zombies_only = how / 32 % 4;
  return options;
}

inline int32_t show_key(const liblock_info *info, void *left) {
  read_info(info);
  return --*static_cast<int *>(left) == 0 ? 1 : 0;
}

inline void list(Stage &s, uint8_t on, uint8_t how) {
  liblock_context *context = s.side().context;
  const liblock_list_options options = list_options(on, how);
  liblock_cursor *cursor = nullptr;
  const auto call = how % 3 == 0 ? liblock_list_locks : how % 3 == 1 ? liblock_list_queues : liblock_list_keys;
  const liblock_status status = call(context, on < 128 ? nullptr : &options, &cursor, nullptr);
  is_one_of(status, {LIBLOCK_OK, on < 128 ? LIBLOCK_OK : LIBLOCK_INVALID_ARGUMENT});
  if (status != LIBLOCK_OK) return liblock_cursor_free(cursor);
  liblock_info *info = nullptr;
  uint64_t shown = 0;
  for (; liblock_cursor_next(cursor, &info) == LIBLOCK_OK && info != nullptr; ++shown) {
    read_info(info);
    liblock_info_free(info);
  }
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  is_one_of(liblock_cursor_report(cursor, &report), {LIBLOCK_OK});
  LIBLOCK_ASSERT(report.keys == report.locks + report.queues && report.waiters == 0);
  LIBLOCK_ASSERT(how % 3 == 2 ? report.keys >= shown : report.keys == shown);
  liblock_cursor_free(cursor);
}

inline void list_each(Stage &s, uint8_t on, uint8_t how) {
  const liblock_list_options options = list_options(on, how);
  liblock_report report;
  liblock_report_init(&report, sizeof report);
  int left = 1 + how % 4;
  is_one_of(liblock_list_each(s.side().context, on / 2 % 4, &options, how % 8 == 7 ? nullptr : show_key, &left, &report,
                              nullptr),
            {LIBLOCK_OK, LIBLOCK_INVALID_ARGUMENT});
}

inline int32_t show_instance(const liblock_instance *instance, void *selves) {
  LIBLOCK_ASSERT(instance->struct_size == sizeof *instance && instance->interval_ms == -1 && instance->silent_ms >= 0);
  LIBLOCK_ASSERT(text_of(instance->id.data, instance->id.size)
                     .ends_with("@" + text_of(instance->host.data, instance->host.size)));
  *static_cast<int *>(selves) += instance->is_self;
  return 0;
}

inline void list_instances(Stage &s, uint8_t, uint8_t how) {
  liblock_instance_list_options options;
  liblock_instance_list_options_init(&options, sizeof options);
  options.zombies_only = how % 3;
  int selves = 0;
  const liblock_status status =
      liblock_list_instances(s.side().context, &options, show_instance, &selves, nullptr, nullptr);
  is_one_of(status, {how % 3 == 2 ? LIBLOCK_INVALID_ARGUMENT : LIBLOCK_OK});
  LIBLOCK_ASSERT(selves == (how % 3 == 0 ? 1 : 0));
}

// As snprintf: what does not fit is cut.
template <typename Write>
void write_text(uint8_t room, Write write) {
  char text[256];
  size_t needed = 0;
  std::memset(text, 'x', sizeof text);
  const liblock_status status = write(text, room, &needed);
  is_one_of(status, {LIBLOCK_OK, LIBLOCK_INVALID_ARGUMENT});
  if (status == LIBLOCK_OK && room > 0) LIBLOCK_ASSERT(std::strlen(text) == std::min<size_t>(needed, room - 1u));
  LIBLOCK_ASSERT(text[room] == 'x');
}

inline void read_texts(Stage &s, uint8_t on, uint8_t how) {
  Side &side = s.side();
  const liblock_owner *owners[] = {side.owners[0], LIBLOCK_OWNER_THREAD, s.other().owners[0], nullptr};
  write_text(on, [&](auto... to) { return liblock_instance_id(side.context, to...); });
  write_text(on, [&](auto... to) { return liblock_owner_id(side.context, owners[how % 4], to...); });
  write_text(on, [&](auto... to) { return liblock_stats_prometheus(side.context, to...); });
  const liblock_status status = static_cast<int8_t>(how);
  LIBLOCK_ASSERT(liblock_status_text(status) != nullptr && liblock_event_name(status) != nullptr);
  if (!is_named(liblock_status_name(status))) LIBLOCK_ASSERT(liblock_status_is(status, on) == 0);
  LIBLOCK_ASSERT(std::strlen(liblock_version_string()) > 0 && liblock_version_number() == LIBLOCK_VERSION_NUMBER);
  is_one_of(liblock_ping(side.context, nullptr), {LIBLOCK_OK});
}

}  // namespace calls
