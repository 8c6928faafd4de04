// SPDX-License-Identifier: MIT
// Results, statuses and version: what every other shim answers with.
#include "boundary.hpp"

namespace liblock::capi {

void fill_result(liblock_result *result, Outcome &outcome) {
  const Grant &grant = outcome.grant;
  const bool ok = outcome.status == Status::OK;
  result->status = raw(outcome.status);
  result->attempts = grant.attempts;
  result->token = grant.token;
  result->waited_ms = outcome.waited / kMillisecond;
  result->remaining_ms = grant.remaining == kNever ? -1 : ms_from_nanos(grant.remaining);
  result->queue_position = grant.queue_position;
  result->queue_length = grant.queue_length;
  result->hold_count = ok ? grant.hold_count : 0;
  result->flags = grant.flags;
  result->votes = grant.nodes != 0 ? grant.votes : ok;
  result->nodes = grant.nodes != 0 ? grant.nodes : ok;
  result->replicas = ok ? grant.replicas : 0;
  result->reserved = 0;
  result->info = nullptr;
  if (outcome.info != nullptr) result->info = new (std::nothrow) liblock_info{std::move(outcome.info)};
  result->message[0] = '\0';
  if (ok && outcome.notice.empty()) return;
  const std::string text = ok                        ? outcome.notice
                           : outcome.message.empty() ? status_text(result->status)
                                                     : outcome.message;
  const Status copied = copy_text(text, result->message, sizeof result->message, nullptr);
  static_cast<void>(copied);
}

}  // namespace liblock::capi

using namespace liblock;

#define LIBLOCK_TEXT_(x) #x
#define LIBLOCK_TEXT(x) LIBLOCK_TEXT_(x)

const char *liblock_version_string(void) {
  return LIBLOCK_TEXT(LIBLOCK_VERSION_MAJOR) "." LIBLOCK_TEXT(LIBLOCK_VERSION_MINOR) "." LIBLOCK_TEXT(
      LIBLOCK_VERSION_PATCH);
}
uint32_t liblock_version_number(void) { return LIBLOCK_VERSION_NUMBER; }

const char *liblock_status_name(liblock_status status) { return status_name(status); }
const char *liblock_status_text(liblock_status status) { return status_text(status); }
int32_t liblock_status_is(liblock_status status, int32_t predicates) {
  return predicates != 0 && (status_predicates(status) & predicates) == predicates;
}

void liblock_result_init(liblock_result *result, size_t struct_size) {
  init_struct(result, struct_size, liblock_result LIBLOCK_RESULT_INIT);
}
