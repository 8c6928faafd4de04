#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The check of the pictures finds one that is not what its source draws, one that nobody shows, and a folder that the
architecture leaves out; and a text that would not fit is refused."""
import sys

from bites import TOOLS, Tap, on_tree

ROOT = TOOLS.parent
sys.path.insert(0, str(TOOLS / "pictures"))
from svg import Picture  # noqa: E402  (the path had to be set first)


def base():
    shown = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/pictures").glob("*.svg")}
    tree = {f"docs/pictures/{name}": text for name, text in shown.items()}
    tree["docs/README.md"] = "".join(f"![a picture](pictures/{name})\n" for name in shown)
    kept = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "bench/results").glob("reference*.json"))
    kept.append("tests/reliability/results.json")
    for name in ("bench/README.md", *kept):
        text = (ROOT / name).read_text(encoding="utf-8")
        tree[name] = text.replace("pictures/", "") if name.endswith(".md") else text
    tree["core/local/table.cpp"] = "int table;\n"
    return tree


def fits(text, room):
    try:
        Picture(100, 100, "a test", "").text(10, 10, text, "", "start", room)
    except ValueError:
        return False
    return True


def main():
    tap = Tap()
    tree = base()
    picture = tree["docs/pictures/lease.svg"]
    shown = tree["docs/README.md"]
    cases = [
        ("a_picture_that_was_changed_by_hand_is_found",
         {"docs/pictures/lease.svg": picture.replace("holder A", "holder B")}, "source_draws"),
        ("a_picture_without_a_source_is_found", {"docs/pictures/other.svg": picture}, "source_draws"),
        ("a_picture_that_no_page_shows_is_found",
         {"docs/README.md": shown.replace("pictures/lease.svg", "pictures/leas.svg")}, "shown"),
        ("a_folder_that_the_architecture_leaves_out_is_found", {"core/global/a.cpp": "int a;\n"}, "architecture"),
    ]
    on_tree(tap, "pictures/draw.py", tree, cases, "--check")
    tap.rule("a_text_that_does_not_fit_is_refused", ["it was drawn"] if fits("far too long for that", 40) else [])
    tap.rule("a_text_that_fits_is_drawn", [] if fits("short", 40) else ["it was refused"])
    tap.finish()


if __name__ == "__main__":
    main()
