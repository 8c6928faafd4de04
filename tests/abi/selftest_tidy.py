#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_tidy.py finds each kind of untidiness, and is content with a tidy file."""
import subprocess
import tempfile

from bites import Tap, expect_broken, expect_clean, on_tree, write_tree

HEAD = "// SPDX-License-Identifier: MIT\n// Says what this file is for.\n"
BODY = "int f(int a) {\n  return a;\n}\n"
LONG_BODY = "int f(int a) {\n" + "  a += 1;\n" * 70 + "}\n"
# Braces that are none, and a class around the function: the counting must not be led astray.
HIDDEN = 'class C {\n public:\n  int f(int a) {\n    const char *s = "}";  // }\n' + "    a += 1;\n" * 68 + "  }\n};\n"
# 70 lines in all, with a nested block: exactly at the bound.
AT_BOUND = "int f(int a) {\n" + "  if (a) {\n    a += 1;\n  }\n" * 22 + "  a += 1;\n" * 2 + "}\n"
LONG_PYTHON = '# SPDX-License-Identifier: MIT\n"""Purpose."""\n\n\ndef f(a):\n' + "    a += 1\n" * 70
LONG_SHELL = "# SPDX-License-Identifier: MIT\n# Purpose.\nf() {\n" + "  true\n" * 69 + "}\n"


def what_git_knows(tap, base):
    """Of a checkout: what somebody keeps beside it is his, what is new within it is looked at."""
    loose = HEAD + "int g(char *s) { return std::sprintf (s, s); }\n"
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, base)
        for words in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", "-C", root, *words], check=True)
        write_tree(root, {"mine/a.c": loose, "b.c": loose})
        expect_clean(tap, "files_of_somebody_who_tries_it_are_his", "check_tidy.py", [root])
        write_tree(root, {"core/base/new.cpp": loose})
        expect_broken(tap, "a_file_that_is_new_in_a_folder_is_looked_at", "check_tidy.py", [root], "banned")


def main():
    tap = Tap()
    base = {
        "core/base/a.cpp": HEAD + BODY + AT_BOUND,
        "tests/api/rows.h": HEAD + 'ROW(a, call("x"))\n' * 75 + "ROW(b, call((type){1}))\n",
        "tests/unit/t.cpp": HEAD + "// sleep_for (as a word in a comment)\n" + BODY,
        "tools/a.py": '#!/usr/bin/env python3\n# SPDX-License-Identifier: MIT\n"""Purpose."""\n',
        "core/meson.build": "# SPDX-License-Identifier: MIT\n# Says what is built.\n" +
                            "lock_core_mutants = static_library('m',\n  files('base/m.cpp'),\n)\n",
        "core/base/m.cpp": HEAD + "bool m() { return LIBLOCK_MUTANT(m); }\n",
        "core/base/lookalike.cpp": HEAD + 'int g() { return snprintf_like("sprintf(") + my_rand(1) + o.rand(); }\n',
    }
    file = "core/base/b.cpp"
    on_tree(tap, "check_tidy.py", base, [
        ("a_file_of_501_lines_is_found", {file: HEAD + "int a;\n" * 499}, "file_has_at_most"),
        ("a_function_of_72_lines_is_found", {file: HEAD + LONG_BODY}, "function_has_at_most"),
        ("a_long_method_behind_misleading_braces_is_found", {file: HEAD + HIDDEN}, "function_has_at_most"),
        ("a_long_python_function_is_found", {"tools/b.py": LONG_PYTHON}, "function_has_at_most"),
        ("a_long_shell_function_is_found", {"tools/b.sh": LONG_SHELL}, "function_has_at_most"),
        ("a_line_of_121_columns_is_found", {file: HEAD + "// " + "x" * 118 + "\n"}, "line_has_at_most"),
        ("a_missing_licence_is_found", {file: "// Says what this file is for.\n" + BODY}, "opens_with"),
        ("a_missing_purpose_is_found", {file: "// SPDX-License-Identifier: MIT\n#include <a>\n" + BODY}, "opens_with"),
        ("a_bare_python_file_is_found", {"tools/b.py": "# SPDX-License-Identifier: MIT\nimport os\n"}, "opens_with"),
        ("a_loose_end_is_found", {file: HEAD + "// TO" + "DO: later\n"}, "loose_end"),
        ("a_banned_call_is_found", {file: HEAD + "int g(char *s) { return std::sprintf (s, s); }\n"}, "banned"),
        ("a_sleeping_unit_test_is_found", {"tests/unit/b.cpp": HEAD + "int g() { return usleep(1); }\n"}, "sleep"),
        ("a_fault_on_purpose_that_is_not_built_is_found", {file: HEAD + "int g() { return LIBLOCK_MUTANT(g); }\n"},
         "faults_on_purpose"),
        ("a_path_of_a_machine_is_found", {file: HEAD + 'const char *p = "/' + 'home/me/x";\n'}, "path"),
        ("a_trailing_blank_is_found", {file: HEAD + "int a; \n"}, "clean"),
        ("a_tab_is_found", {file: HEAD + "\tint a;\n"}, "clean"),
        ("a_carriage_return_is_found", {file: HEAD + "int a;\r\n"}, "clean"),
        ("a_missing_last_line_break_is_found", {file: HEAD + "int a;"}, "clean"),
        ("a_bad_script_without_suffix_is_found", {".ci/run": "#!/bin/sh\necho hello\n"}, "opens_with"),
    ])
    what_git_knows(tap, base)
    tap.finish()


if __name__ == "__main__":
    main()
