#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the pictures of docs/pictures from what stands beside this file and from the figures in bench/.

  draw.py ROOT           writes them
  draw.py ROOT --check   wants those that stand there to be the same, shown somewhere, and whole; TAP
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import architecture  # noqa: E402  (the path had to be set first)
import figures  # noqa: E402
import growth  # noqa: E402
import lease  # noqa: E402
import soak  # noqa: E402
import vote  # noqa: E402
from tap import Tap, files_of  # noqa: E402


def pictures(root):
    """Name and text of each."""
    drawn = {"architecture": architecture.draw(), "lease": lease.draw(), "quorum": vote.draw(),
             "figures-local": figures.draw_local(root), "figures-redis": figures.draw_redis(root),
             "figures-servers": figures.draw_servers(root), "growth": growth.draw(root), "soak": soak.draw(root)}
    return {f"{name}.svg": picture.render() for name, picture in drawn.items()}


def different(folder, drawn):
    for name, text in drawn.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield f"{name} is not what its source draws: python3 tools/pictures/draw.py ."
    for path in folder.glob("*.svg"):
        if path.name not in drawn:
            yield f"{path.name} has no source"


def unreadable(drawn):
    for name, text in drawn.items():
        try:
            tree.fromstring(text)
        except tree.ParseError as error:
            yield f"{name}: {error}"


def unseen(root, drawn):
    pages = "".join((root / name).read_text(encoding="utf-8") for name in files_of(root) if name.endswith(".md"))
    for name in drawn:
        if f"pictures/{name})" not in pages:
            yield f"no page shows {name}"


def folders_left_out(root, drawn):
    for folder in sorted(path.name for path in (root / "core").iterdir() if path.is_dir()):
        if not re.search(rf">{folder}<", drawn["architecture.svg"]):
            yield f"core/{folder} does not stand in architecture.svg"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    folder = root / "docs/pictures"
    drawn = pictures(root)
    if "--check" not in sys.argv[2:]:
        for name, text in drawn.items():
            (folder / name).write_text(text, encoding="utf-8")
        return
    tap = Tap()
    tap.rule("every_picture_is_what_its_source_draws", different(folder, drawn))
    tap.rule("every_picture_can_be_read", unreadable(drawn))
    tap.rule("every_picture_is_shown_by_a_page", unseen(root, drawn))
    tap.rule("every_folder_of_core_stands_in_the_architecture", folders_left_out(root, drawn))
    tap.finish()


if __name__ == "__main__":
    main()
