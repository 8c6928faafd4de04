# SPDX-License-Identifier: MIT
"""The parts of run.py: rows (what against what), programs (running them), machine (where, and who else), and
report (figures and tables)."""
