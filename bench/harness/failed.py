# SPDX-License-Identifier: MIT
"""A benchmark that could not be measured: never a figure."""


class Failed(Exception):
    pass
