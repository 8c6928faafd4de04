// SPDX-License-Identifier: MIT
// Results, statuses and version: what every other shim answers with.
#include "base/cut_text.hpp"
#include "boundary.hpp"

namespace liblock::capi {

void fill_result(liblock_result *result, Outcome &outcome) {
  const bool ok = outcome.status == Status::OK;
  fill_numbers(result, outcome.status, outcome.grant, outcome.waited);
  if (outcome.info != nullptr) result->info = new (std::nothrow) liblock_info{std::move(outcome.info)};
  if (ok && outcome.notice.empty()) return;
  const Bytes text = ok                        ? Bytes(outcome.notice)
                     : outcome.message.empty() ? Bytes(status_text(result->status))
                                               : Bytes(outcome.message);
  write_cut(text, result->message, sizeof result->message);
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
