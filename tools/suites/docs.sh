# SPDX-License-Identifier: MIT
# The documents: links lead somewhere, names of functions and constants exist in the header, programs compile.
suite_needs="python compiler"

quick() { run_program "$root/tools/check_docs.py" "$root"; }
gate() { quick; }
nightly() { quick; }
