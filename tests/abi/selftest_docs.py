#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_docs.py finds each kind of rot, and is content with a sound set of documents."""
import pathlib
import subprocess
import sys
import tempfile

from bites import TOOLS, Tap, on_tree

sys.path.insert(0, str(TOOLS))
import check_docs  # noqa: E402  (the path had to be set first)

STATUSES = "| status | number | cause | cure |\n|---|---|---|---|\n| BUSY | 1 | held | wait |\n"
HEADER = """#include <stddef.h>
#include <stdint.h>
#define X_MAP(X) \\
  X(BUSY, 1, 0, "busy")
typedef int32_t liblock_status;
typedef struct liblock_context liblock_context;
typedef struct liblock_owner liblock_owner;
typedef struct liblock_completions liblock_completions;
typedef uint64_t liblock_lock;
typedef uint64_t liblock_request;
typedef struct liblock_result { int a; } liblock_result;
typedef struct liblock_acquire_options { int ttl_ms; } liblock_acquire_options;
typedef struct liblock_context_options { int a; } liblock_context_options;
typedef void (*liblock_callback)(void);
liblock_status liblock_release(liblock_context *context, liblock_lock lock, liblock_result *result);
"""
THREATS = "| threat | done | test |\n|---|---|---|\n" + "".join(
    f"| {threat.partition('|')[0]} | it is | `a_key_is_held` |\n" for threat in check_docs.THREATS)
MENDED = "# Changelog\n\n### Found and mended\n\n"
README = """# A title, with `code`

[inside](docs/guide.md#second-part) [itself](#a-title-with-code) [outside](https://example.org/none)
`liblock_release` gives BUSY as `LIBLOCK_BUSY`; `liblock_info_…` is a family; `liblock_quorum_init` comes later.
`LIBLOCK_REQUIRE_ALL=1 ./dev test`

```c
options.ttl_ms = 5;
status = liblock_release(context, lock, &result);
```

```c
#include <liblock/liblock.h>
int main(void) { return 0; }
```

```sh
[not](a-link.md)
```
"""


BASE = {
    "README.md": README,
    "CHANGELOG.md": MENDED + "- A key stayed (`a_key_is_held`).\n- Found in `tests/api/test_a.c`:\n  - One went.\n",
    "docs/README.md": "# Documents\n",
    "docs/guide.md": "# Guide\n## Second part\n",
    "docs/errors.md": "# Errors\n\n" + STATUSES,
    "docs/task.md": "# A task\n```c task.c\nint main(void) { return 3; }\n```\n```sql a.sql\nSELECT 1;\n```\n",
    "docs/shell.md": "# Shell\n```sh exit=3\nexit 3\n```\n",
    "tests/tool/README.md": "# A tool\n",
    "tests/tool/shell.py": 'run_snippets(ROOT / "docs/shell.md", 1)\n',
    "tests/docs/README.md": "# The documents\n",
    "tests/docs/tasks.py": 'names = ("task.c", "a.sql")\n',
    "dev": "case $command in\n  test) run_tests ;;\n  help | -h) usage ;;\nesac\n",
    "SECURITY.md": "# Security\n\n" + THREATS,
    "capi/README.md": "# The C API\n",
    "capi/include/liblock/liblock.h": HEADER,
    "core/README.md": "# Core\n",
    "docs/metrics.md": "# Metrics\n`liblock_held_total`, `liblock_hold_seconds`\n",
    "core/context/README.md": "# Context\n",
    "core/context/prometheus.cpp": '    {"held_total", "counter", ""},\n  add("liblock_hold_seconds");\n',
    "core/base/README.md": "# Base\n",
    "core/base/a.cpp": "int a;\n",
    "tests/README.md": "# Tests\n\n| promise | test |\n|---|---|\n"
                       "| `held` | `a_key_is_held` `a key, held` `all_is_clean` |\n"
                       "| `bound` | `TestAKeyIsHeld` `a_key_is_held_in_rust` `test_a_key_is_held` |\n",
    "bindings/README.md": "# Bindings\n",
    "bindings/go/README.md": "# Go\n",
    "bindings/go/key_test.go": "func TestAKeyIsHeld(t *testing.T) {}\n",
    "bindings/rust/README.md": "# Rust\n",
    "bindings/rust/liblock/tests/keys.rs": "fn a_key_is_held_in_rust() {}\n",
    "bindings/ruby/README.md": "# Ruby\n",
    "bindings/ruby/test/key_test.rb": "def test_a_key_is_held; end\n",
    "tests/api/README.md": "# The C API\n",
    "tests/api/test_a.c": "void a_key_is_held(void);\n",
    "tests/api/lines.txt": "schedule a key, held\n",
    "tools/README.md": "# Tools\n",
    "tools/check_all.py": 'tap.rule("all_is_clean", [])\n',
}


def main():
    tap = Tap()
    cases = [
        ("a_link_to_no_file_is_found", {"docs/a.md": "[a](none.md)\n"}, "link"),
        ("a_link_to_no_heading_is_found", {"docs/a.md": "[a](guide.md#third-part)\n"}, "link"),
        ("an_image_that_is_not_there_is_found", {"docs/a.md": "![a](none.png)\n"}, "link"),
        ("a_function_that_is_not_there_is_found", {"docs/a.md": "Call `liblock_relaese`.\n"}, "public_name"),
        ("a_metric_that_is_not_there_is_found", {"docs/a.md": "`liblock_held_total` and `liblock_hold_total`\n"},
         "public_name"),
        ("a_constant_that_is_not_there_is_found", {"docs/a.md": "It says LIBLOCK_BUZY.\n"}, "public_name"),
        ("a_fragment_that_does_not_compile_is_found", {"docs/a.md": "```c\noptions.tll_ms = 5;\n```\n"}, "fragment"),
        ("a_program_that_does_not_link_is_found",
         {"docs/a.md": "```c\nint none(void);\nint main(void) { return none(); }\n```\n"}, "program_runs"),
        ("a_program_that_fails_is_found", {"docs/a.md": "```c\nint main(void) { return 3; }\n```\n"}, "program_runs"),
        ("a_named_program_that_no_test_runs_is_found",
         {"docs/a.md": "```c other.c\nint main(void) { return 0; }\n```\n"}, "named_block"),
        ("a_block_of_another_language_that_nothing_runs_is_found", {"docs/a.md": "```sql\nSELECT 1;\n```\n"},
         "named_block"),
        ("a_name_that_is_used_twice_is_found",
         {"docs/a.md": "```sql a.sql\nSELECT 1;\n```\n```sql a.sql\nSELECT 2;\n```\n"}, "named_block"),
        ("a_status_without_a_cure_is_found",
         {"docs/errors.md": STATUSES.replace("wait", "")}, "cause_and_its_cure"),
        ("a_test_that_is_not_there_is_found", {"docs/a.md": "| a | test |\n|---|---|\n| b | `a_key_is_hled` |\n"},
         "named_test"),
        ("a_test_of_a_binding_that_is_none_is_found",
         {"docs/a.md": "| a | test |\n|---|---|\n| b | `held_without_a_test` |\n",
          "bindings/go/key.go": "func held_without_a_test() {}\n"}, "named_test"),
        ("a_sentence_of_a_test_that_is_not_there_is_found",
         {"docs/a.md": "| a | test |\n|---|---|\n| b | `a key, hled` |\n"}, "named_test"),
        ("a_threat_without_a_test_is_found",
         {"SECURITY.md": "# Security\n\n" + THREATS.replace("| `a_key_is_held` |", "| |", 1)}, "every_threat"),
        ("a_threat_that_is_not_in_the_plan_and_has_no_test_is_found",
         {"SECURITY.md": "# Security\n\n" + THREATS + "| another one | it is | the same |\n"}, "every_threat"),
        ("an_exception_that_leaves_c_is_missed",
         {"SECURITY.md": "# Security\n\n" + THREATS.replace("exception", "error")}, "every_threat"),
        ("a_table_of_threats_that_is_gone_is_found", {"SECURITY.md": "# Security\n"}, "every_threat"),
        ("a_mend_without_a_test_is_found", {"CHANGELOG.md": MENDED + "- A key stayed `held`.\n"}, "mended"),
        ("a_mend_whose_test_is_not_there_is_found", {"CHANGELOG.md": MENDED + "- It stayed (`a_key_is_left`).\n"},
         "mended"),
        ("a_mend_that_no_file_with_a_test_is_named_of_is_found",
         {"CHANGELOG.md": MENDED + "- It stayed (`tests/api/test_b.c`).\n"}, "mended"),
        ("a_command_that_is_not_there_is_found", {"docs/a.md": "Run ./dev tset\n"}, "command"),
        ("a_folder_without_readme_is_found", {"tool/a.py": "a = 1\n"}, "readme"),
        ("a_folder_of_core_without_readme_is_found", {"core/local/a.cpp": "int a;\n"}, "readme"),
    ]
    with tempfile.TemporaryDirectory() as library:
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", pathlib.Path(library, "liblock.so")],
                       input="int liblock_release(void) { return 0; }\n", text=True, check=True)
        on_tree(tap, "check_docs.py", BASE, cases, library)
    tap.finish()


if __name__ == "__main__":
    main()
