#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_coming_from.py finds what a page leaves out, makes up, or promises in vain, and is content with a whole one."""
import pathlib
import tempfile

from bites import Tap, expect_clean, on_tree, write_tree

HEADER = """#define X_MAP(X) \\
  X(OK, 0, 0, "success") \\
  X(BUSY, 1, 0, "busy")
enum { LIBLOCK_ORDER_FIFO = 0, LIBLOCK_EVENT_OBTAINED = 6 };
typedef struct liblock_options { long ttl_ms; long wait_ms; } liblock_options;
typedef struct liblock_event { long held_us; } liblock_event;
int liblock_acquire(const liblock_options *options);
"""
LIST = """# Everything of the original.

method: lock = name, ttl
method: lock!
keyword: ttl
keyword: wait
keyword: swarm.period
event: lock_obtained = at
payload: at
failure: :timeout
"""
PAGE = """# Coming from there

| behaviour | liblock | test |
|---|---|---|
| polls every `delay` | does not | `a_release_hands_over` |

| method | takes | liblock |
|---|---|---|
| `lock` | name, `ttl` | `liblock_acquire`: OK, or `LIBLOCK_BUSY` |
| `lock!` | | `liblock_acquire`, as [events.md](../events.md) says of `held_us` |

| keyword | liblock | difference |
|---|---|---|
| `ttl` `wait` | `ttl_ms` with `LIBLOCK_ORDER_FIFO`, or `wait_ms` | as long as `it_takes` |
| `swarm.period` | `period_ms`, planned: issue 3 | |

| event | payload | liblock |
|---|---|---|
| `lock_obtained` | `at` | OBTAINED |

| payload | liblock |
|---|---|
| `at` | `held_us`; the url is `redis://host` |

| failure | liblock |
|---|---|
| `:timeout` | BUSY |
"""
FOLDER = "docs/coming-from/"
PAGE_NAME, LIST_NAME = FOLDER + "there.md", FOLDER + "there.list"
BARE_NAME = FOLDER + "without_a_list.md"
BARE = """# Another

| there | liblock | test |
|---|---|---|
| waits | `liblock_acquire`, served a moment later | `a_release_hands_over` |
"""
HEADER_NAME = "capi/include/liblock/liblock.h"


def page(old, new):
    assert PAGE.count(old) == 1, old
    return {PAGE_NAME: PAGE.replace(old, new)}


def bare(old, new):
    assert BARE.count(old) == 1, old
    return {BARE_NAME: BARE.replace(old, new)}


def listed(old, new):
    assert LIST.count(old) == 1, old
    return {LIST_NAME: LIST.replace(old, new)}


def main():
    tap = Tap()
    base = {PAGE_NAME: PAGE, LIST_NAME: LIST, HEADER_NAME: HEADER, BARE_NAME: BARE}
    item, row, detail = "item_of_the_list", "row_is_about", "defaults_and_contents"
    cases = [
        ("a_line_that_is_no_item_is_found", listed("keyword: ttl\n", "keyword: ttl\nkeyword ttl\n"),
         "one_item_per_line"),
        ("an_item_that_is_listed_twice_is_found", listed("keyword: wait\n", "keyword: wait\nkeyword: wait\n"),
         "one_item_per_line"),
        ("an_item_without_a_row_is_found", listed("keyword: wait\n", "keyword: wait\nkeyword: delay\n"), item),
        ("an_item_in_two_rows_is_found", page("| `:timeout` | BUSY |\n", "| `:timeout` | BUSY |\n" * 2), item),
        ("a_row_under_another_kind_does_not_count", listed("payload: at\n", "payload: at\nevent: at\n"), item),
        ("a_list_without_a_page_is_found", {FOLDER + "none.list": "method: lock\n"}, item),
        ("a_row_of_what_the_list_lacks_is_found", page("| `lock!` |", "| `lock!` `lock?` |"), row),
        ("a_row_that_names_nothing_is_found", page("| `:timeout` | BUSY |", "| `:timeout` | BUSY |\n| all | OK |"),
         row),
        ("a_table_of_no_kind_is_found",
         page("| `:timeout` | BUSY |\n", "| `:timeout` | BUSY |\n\n| color | liblock |\n|---|---|\n| `red` | OK |\n"),
         row),
        ("another_default_is_found", page("| name, `ttl` |", "| name |"), detail),
        ("a_default_that_the_list_lacks_is_found", page("| `lock!` | |", "| `lock!` | name |"), detail),
        ("a_content_that_is_no_item_is_found",
         {**page("| `lock_obtained` | `at` |", "| `lock_obtained` | `on` |"),
          **listed("event: lock_obtained = at", "event: lock_obtained = on")}, detail),
        ("a_row_without_an_answer_is_found", page("| `:timeout` | BUSY |", "| `:timeout` | |"), "something_stands"),
        ("a_function_that_is_not_there_is_found", page("# Coming from there", "Call `liblock_aquire`."),
         "name_of_ours"),
        ("a_constant_that_is_not_there_is_found", page("with `LIBLOCK_ORDER_FIFO`", "with `LIBLOCK_ORDER_FILO`"),
         "name_of_ours"),
        ("a_field_that_is_not_there_is_found", page("or `wait_ms`", "or `wait_s`"), "name_of_ours"),
        ("a_status_that_is_not_there_is_found", page("| `:timeout` | BUSY |", "| `:timeout` | TIMEOUT |"),
         "name_of_ours"),
        ("a_promise_without_an_issue_is_found",
         page("as long as `it_takes`", "planned for later"), "planned_names_its_issue"),
        ("a_promise_for_later_is_found", page("as long as `it_takes`", "bindings wait, later"),
         "planned_names_its_issue"),
        ("a_promise_for_later_that_is_a_sign_is_found", bare("# Another", "# Another\n\n*later* is a promise."),
         "planned_names_its_issue"),
        ("a_function_among_the_tests_is_found", page("`a_release_hands_over`", "`liblock_acquire`"),
         "tests_names_no_function"),
        ("a_function_that_is_not_there_is_found_in_a_page_without_a_list", bare("liblock_acquire", "liblock_aquire"),
         "name_of_ours"),
        ("a_field_that_is_not_there_is_found_in_a_page_without_a_list", bare("`liblock_acquire`", "`wait_s`"),
         "name_of_ours"),
    ]
    on_tree(tap, "check_coming_from.py", base, cases)
    with tempfile.TemporaryDirectory() as root:
        newer = pathlib.Path(root, "newer.h")
        write_tree(root, {**base, **page("or `wait_ms`", "or `later_ms`"), "newer.h": "long later_ms;\n"})
        expect_clean(tap, "a_name_of_another_header_is_known_where_it_is_given", "check_coming_from.py", [root, newer])
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, {**base, **page("or `wait_ms`", "or `first_one`"), "docs/events.md": "`first_one`\n"})
        expect_clean(tap, "a_field_of_a_log_entry_is_known_from_its_page", "check_coming_from.py", [root])
    tap.finish()


if __name__ == "__main__":
    main()
