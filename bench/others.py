#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps a run of another host, so that the pages show it beside their own tables.

  others.py RUN NAME   RUN, a results/run-*.json, becomes results/other-NAME.json; NAME: a date and a processor, such
                       as 2026-11-26-xeon
  others.py            the pages show what is kept (./dev bench does that, too)
"""
import argparse
import json
import pathlib

from harness import others


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=pathlib.Path)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--commit", help="what was measured, where the run does not say")
    given = parser.parse_args()
    if given.run:
        run = json.loads(given.run.read_text(encoding="utf-8"))
        run = {**run, "commit": run.get("commit") or given.commit}
        path = others.RESULTS / f"other-{given.name}.json"
        path.write_text(json.dumps(others.stripped(run), indent=1) + "\n", encoding="utf-8")
    others.into_pages()


if __name__ == "__main__":
    main()
