// SPDX-License-Identifier: MIT
// From public option structs to what the engines take: sizes, defaults, ranges. A failing check names the field, what
// it was and what it may be. Pure.
#pragma once

#include <string>

#include "engine/acquire_params.hpp"
#include "local/table_options.hpp"

namespace liblock {

liblock_context_options default_context_options();
liblock_acquire_options default_acquire_options();

struct ContextOptions {
  TableOptions table;
  void *uv_loop = nullptr;
  liblock_open_callback on_open = nullptr;
  void *on_open_user_data = nullptr;
  int64_t requests_max = 1'000'000;
  bool leave_on_close = false;
};

// message: cause and cure when the status is not OK.
Status read_context_options(const liblock_context_options *given, ContextOptions &options, std::string &message);

// Whether the options ask for nothing but a ttl and how to wait: what the shortest path can do.
inline bool is_plain(const liblock_acquire_options &o) {
  return o.owner == nullptr && o.on_lost == nullptr && o.completions == nullptr && o.renew == 0 && o.value_size == 0 &&
         o.metadata_count == 0 && o.max_hold_ms < 0 && (o.min_remaining_ms == LIBLOCK_DEFAULT || o.min_remaining_ms == 0);
}
// OK when every field is in its range. Cheap: done by every acquire.
Status check_acquire_options(const liblock_acquire_options &o, int64_t max_ttl_ms);
// Why check_acquire_options said no.
std::string explain_acquire_options(const liblock_acquire_options &o, int64_t max_ttl_ms);
// Of checked options. Owner and completions are the context's business.
AcquireParams acquire_params(const liblock_acquire_options &o);
// kNever: no expiry.
inline Nanos ttl_of(int64_t ttl_ms) { return ttl_ms > 0 ? nanos_from_ms(ttl_ms) : kNever; }
inline bool ttl_is_valid(int64_t ttl_ms, int64_t max_ttl_ms) {
  return ttl_ms > 0 ? ttl_ms <= max_ttl_ms
                    : ttl_ms == LIBLOCK_TTL_AUTO || ttl_ms == LIBLOCK_TTL_NONE || ttl_ms == LIBLOCK_DEFAULT;
}

}  // namespace liblock
