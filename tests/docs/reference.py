#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference is whole: Doxygen makes it without a warning, every public function has its text there, and every link
leads somewhere. Usage: reference.py ROOT. TAP."""
import functools
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from tap import Tap  # noqa: E402  (the path had to be set first)


class Page(html.parser.HTMLParser):
    """Where a page links to, what can be linked to in it, and its text."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.words = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        self.links += [values[name] for name in ("href", "src", "data") if values.get(name)]

    def handle_data(self, data):
        self.words.append(data)


@functools.cache
def page(path):
    return Page(path)


def broken_links(site):
    for path in sorted(site.glob("*.html")):
        for link in page(path).links:
            if re.match(r"[a-z]+:|#$", link):
                continue
            target, _, anchor = urllib.parse.unquote(link).partition("#")
            full = path.parent / target if target else path
            if not full.is_file():
                yield f"{path.name}: {link}: no such file"
            elif anchor and full.suffix == ".html" and anchor not in page(full).anchors:
                yield f"{path.name}: {link}: no such place"


def functions(root):
    header = (root / "capi/include/liblock/liblock.h").read_text(encoding="utf-8")
    return re.findall(r"^LIBLOCK_API [\w ]+?\*?(liblock_\w+)\(", header, re.MULTILINE)


def untold(root, site):
    """Functions whose part of a page of functions has no words but its declaration."""
    told = {}
    for path in site.glob("group__*.html"):
        parts = re.split(r'<h2 class="memtitle">', path.read_text(encoding="utf-8"))
        for part in parts[1:]:
            name = re.search(r"</span>(\w+)\(\)", part)
            if name:
                told[name.group(1)] = len(re.sub(r"<[^>]*>|\s", "", part.partition('<div class="memdoc">')[2]))
    for name in functions(root):
        if told.get(name, 0) < 20:
            yield f"{name}: {'has no text' if name in told else 'does not stand there'}"


def classes_left_out(root, site):
    header = (root / "capi/include/liblock/liblock.hpp").read_text(encoding="utf-8")
    names = re.findall(r"^(?:class|struct) (?:\[\[\w+\]\] )?(\w+)[^;{]*\{$", header, re.MULTILINE)
    if "Lock" not in names or "Error" not in names:
        yield f"only {names} were found in the header"
    for name in names:
        if not list(site.glob(f"*liblock_1_1{name}.html")):
            yield f"{name} of liblock.hpp does not stand there"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, TOOLS / "reference/make_site.py", root, folder], capture_output=True,
                              text=True, check=False)
        site = pathlib.Path(folder, "html")
        wrong = done.stderr.splitlines() or ([f"it ended with status {done.returncode}"] if done.returncode else [])
        tap.rule("doxygen_makes_the_reference_without_a_warning", wrong)
        tap.rule("the_header_has_functions", [] if len(functions(root)) > 100 else ["they were not found"])
        tap.rule("every_function_has_its_text", untold(root, site))
        tap.rule("every_class_for_cpp_stands_there", classes_left_out(root, site))
        tap.rule("every_link_of_the_site_leads_somewhere", broken_links(site))
        tap.rule("the_pictures_are_there", [] if list(site.glob("*.svg")) else ["none"])
    tap.finish()


if __name__ == "__main__":
    main()
