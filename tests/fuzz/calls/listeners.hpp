// SPDX-License-Identifier: MIT
// Who listens: to events, the log, losses, places in queues. They look at what they are shown, on whatever thread that
// is, and keep nothing, since some of it may still come when the context is gone.
#pragma once

#include <liblock/liblock.h>

#include <cstring>

#include "grants.hpp"

namespace calls {

inline bool is_named(const char *name) { return name != nullptr && std::strcmp(name, "UNKNOWN") != 0; }

inline void hear_event(const liblock_event *event, void *) {
  LIBLOCK_ASSERT(event->struct_size == sizeof *event && is_named(liblock_event_name(event->kind)));
  LIBLOCK_ASSERT(is_named(liblock_status_name(event->status)) && event->at_us > 0 && event->instance.size > 0);
  LIBLOCK_ASSERT(event->keys == nullptr || event->key_count > 0);
}

inline void hear_log(const liblock_log_entry *entry, void *) {
  LIBLOCK_ASSERT(entry->struct_size == sizeof *entry && entry->name != nullptr && entry->message != nullptr);
  LIBLOCK_ASSERT(entry->level >= LIBLOCK_LOG_ERROR && entry->level <= LIBLOCK_LOG_DEBUG && entry->at_us > 0);
  for (size_t n = 0; n < entry->field_count; ++n) {
    const liblock_log_field &field = entry->fields[n];
    LIBLOCK_ASSERT(field.name != nullptr && (field.type == LIBLOCK_FIELD_NUMBER || field.type == LIBLOCK_FIELD_TEXT));
    LIBLOCK_ASSERT(field.type == LIBLOCK_FIELD_NUMBER || field.text.data != nullptr || field.text.size == 0);
  }
}

inline void hear_loss(const liblock_completion *end, void *) {
  LIBLOCK_ASSERT(end->kind == LIBLOCK_KIND_LOST && end->status == LIBLOCK_LOST && end->lock != 0);
  LIBLOCK_ASSERT(end->request == 0);
}

inline void hear_place(int64_t position, int64_t length, void *) {
  LIBLOCK_ASSERT(position >= 0 && length > position);
}

inline int32_t sample(int32_t percent, const liblock_bytes *key, uint64_t, void *) {
  return key == nullptr || percent > 50 ? 1 : 0;
}

// So long that no retry comes while an input is run.
inline int64_t back_off(uint32_t, void *) { return 3'600'000; }

}  // namespace calls
