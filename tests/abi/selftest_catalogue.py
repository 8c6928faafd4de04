#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_catalogue.py finds what the catalogue of events and log entries lacks, and what is not true in it."""
from bites import Tap, on_tree

HEADER = """enum {
  LIBLOCK_EVENT_FIRST = 1, /* one */
  LIBLOCK_EVENT_SECOND = 2 /* two */
};
enum {
  LIBLOCK_ENTRY_STARTED = 1,
  LIBLOCK_ENTRY_ENDED = 2
};
typedef struct liblock_event {
  size_t struct_size;
  int32_t kind; /* which */
  int64_t hold_us;
} liblock_event;
"""
FIELDS = """inline constexpr uint32_t kHold = 2;   // hold_us
inline constexpr uint32_t kQueue = 4;  // queue_position, queue_length
"""
CODE = """constexpr const char *kEvents[] = {
    "FIRST", "SECOND",
};
constexpr uint32_t kSeen = kHold | kQueue;
constexpr LogEntryKind kEntries[] = {
    {"started", kDebug, "it begins", 0},
    {"ended", kInfo, "it ends",
     kSeen},
};
"""
PAGE = """# Events

## Events

| kind | when | besides |
|---|---|---|
| `FIRST` | first | |
| `SECOND` | second | `hold_us` |

## Log

| entry | level | when | fields |
|---|---|---|---|
| `STARTED` | debug | it begins | |
| `ENDED` | info | it ends | `hold_us`, `queue_position`, `queue_length` |
"""


def main():
    tap = Tap()
    page, header, code = "docs/events.md", "capi/include/liblock/liblock.h", "core/engine/log_entries.cpp"
    base = {header: HEADER, "core/engine/log_entries.hpp": FIELDS, code: CODE, page: PAGE}
    on_tree(tap, "check_catalogue.py", base, [
        ("an_event_without_a_row_is_found", {page: PAGE.replace("| `FIRST` | first | |\n", "")}, "kind_of_event"),
        ("an_event_with_two_rows_is_found",
         {page: PAGE.replace("| `FIRST` | first | |\n", "| `FIRST` | first | |\n" * 2)}, "kind_of_event"),
        ("a_row_without_an_event_is_found", {page: PAGE.replace("`SECOND`", "`SECOND` | second | |\n| `THIRD`")},
         "kind_of_event"),
        ("an_entry_without_a_row_is_found", {page: PAGE.replace("| `STARTED` | debug | it begins | |\n", "")},
         "entry_of_the_log"),
        ("a_field_that_no_event_has_is_found", {page: PAGE.replace("second | `hold_us`", "second | `held_us`")},
         "field_of_it"),
        ("a_name_that_is_another_in_the_code_is_found", {code: CODE.replace('"SECOND"', '"SEKOND"')}, "names_in"),
        ("a_wrong_level_is_found", {page: PAGE.replace("`ENDED` | info", "`ENDED` | debug")}, "level_and_the_fields"),
        ("a_field_that_is_not_listed_is_found", {page: PAGE.replace(", `queue_length`", "")}, "level_and_the_fields"),
        ("a_field_that_is_not_written_is_found", {code: CODE.replace("    kSeen}", "    kHold}").replace(
            "     kSeen},", "     kHold},")}, "level_and_the_fields"),
    ])
    tap.finish()


if __name__ == "__main__":
    main()
