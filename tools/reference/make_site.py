#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the reference: a static site of the public headers and the documents. Usage: make_site.py ROOT FOLDER; the site
is FOLDER/html, its parts as Doxygen reads them are FOLDER/parts. A warning of Doxygen is an error."""
import pathlib
import shutil
import subprocess
import sys

import wrapper
from header import Header
from pages import names_of, page_id, render

TITLES = {"pages": "Guide and documents", "modules": "Functions, by subject"}
HERE = pathlib.Path(__file__).resolve().parent


def write_parts(root, parts):
    """The header, and the pages in the order of the menu."""
    (parts / "liblock").mkdir(parents=True)
    include = root / "capi/include/liblock"
    header = Header((include / "liblock.h").read_text(encoding="utf-8"))
    (parts / "liblock/liblock.h").write_text(header.render(), encoding="utf-8")
    cpp = (include / "liblock.hpp").read_text(encoding="utf-8")
    (parts / "liblock/liblock.hpp").write_text(wrapper.render(cpp, header.told), encoding="utf-8")
    (parts / "main.md").write_text((HERE / "main.md").read_text(encoding="utf-8"), encoding="utf-8")
    names = names_of(root)
    for number, name in enumerate(names):
        part = parts / f"{number:02}-{page_id(name)}.md"
        part.write_text(render(root, name, set(names)), encoding="utf-8")


def version_of(root):
    done = subprocess.run([sys.executable, root / "tools/version.py", "release"], capture_output=True, text=True,
                          check=True)
    return done.stdout.strip()


def layout(folder):
    """Doxygen's own, with titles that say what is there."""
    path = folder / "layout.xml"
    subprocess.run(["doxygen", "-l", path], check=True, capture_output=True)
    text = path.read_text(encoding="utf-8")
    for kind, title in TITLES.items():
        tab = f'<tab type="{kind}" visible="yes" title="'
        text = text.replace(tab, tab + title)
    path.write_text(text, encoding="utf-8")
    return path


def make(root, folder):
    """Doxygen's end: its status and what it said."""
    shutil.rmtree(folder, ignore_errors=True)
    write_parts(root, folder / "parts")
    settings = (HERE / "Doxyfile").read_text(encoding="utf-8") + "\n".join([
        "", f"PROJECT_NUMBER = {version_of(root)}", f"OUTPUT_DIRECTORY = {folder}", f"INPUT = {folder / 'parts'}",
        f"STRIP_FROM_PATH = {folder / 'parts'}", f"STRIP_FROM_INC_PATH = {folder / 'parts'}",
        f"USE_MDFILE_AS_MAINPAGE = {folder / 'parts/main.md'}", f"IMAGE_PATH = {root / 'docs/pictures'}",
        f"HTML_EXTRA_STYLESHEET = {HERE / 'style.css'}", f"LAYOUT_FILE = {layout(folder)}",
        f"GENERATE_TAGFILE = {folder / 'tags.xml'}", ""])
    return subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)


def main():
    root, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    done = make(root, folder)
    sys.stderr.write(done.stderr)
    if done.returncode == 0 and not done.stderr:
        print(f"the reference: {folder / 'html/index.html'}")
    sys.exit(1 if done.returncode or done.stderr else 0)


if __name__ == "__main__":
    main()
