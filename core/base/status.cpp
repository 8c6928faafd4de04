// SPDX-License-Identifier: MIT
// Names, texts and predicates of statuses, all three generated from the one list in the public header.
#include "base/status.hpp"

namespace liblock {

const char *status_name(liblock_status status) {
  switch (status) {
#define LIBLOCK_STATUS_CASE(name, number, predicates, text) \
  case number:                                              \
    return #name;
    LIBLOCK_STATUS_MAP(LIBLOCK_STATUS_CASE)
#undef LIBLOCK_STATUS_CASE
    default:
      return "UNKNOWN";
  }
}

const char *status_text(liblock_status status) {
  switch (status) {
#define LIBLOCK_STATUS_CASE(name, number, predicates, text) \
  case number:                                              \
    return text;
    LIBLOCK_STATUS_MAP(LIBLOCK_STATUS_CASE)
#undef LIBLOCK_STATUS_CASE
    default:
      return "a number that is no status of this version";
  }
}

int32_t status_predicates(liblock_status status) {
  switch (status) {
#define LIBLOCK_STATUS_CASE(name, number, predicates, text) \
  case number:                                              \
    return predicates;
    LIBLOCK_STATUS_MAP(LIBLOCK_STATUS_CASE)
#undef LIBLOCK_STATUS_CASE
    default:
      return 0;
  }
}

}  // namespace liblock
