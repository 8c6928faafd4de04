# SPDX-License-Identifier: MIT
"""The documents as pages of the site: links between them become Doxygen's, links to what is not on the site become
plain text, headings get the names by which they are linked to."""
import pathlib
import posixpath
import re

FENCE = re.compile(r"(^```[^\n]*\n.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(``.*?``|`[^`]*`|\]\(@ref [^)]*\)|@subpage \w+|^@image html .*$|\{#[^}]*\}$)", re.MULTILINE)
FOLDERS = ("docs", "docs/guide", "docs/guide/tasks", "docs/internals", "docs/monitoring")
# What a reader meets first stands first.
ORDER = ("docs/guide/README.md", "docs/safety.md", "docs/errors.md", "docs/operations.md", "docs/events.md",
         "docs/threads-and-fork.md")


def page_id(name):
    return "page_" + re.sub(r"\W", "_", str(pathlib.PurePosixPath(name).with_suffix("")))


def anchor(name, heading):
    """As rendered pages name it, behind the page's own name, so that it is unique."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return page_id(name) + "-" + re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def names_of(root):
    names = [f"{folder}/{path.name}" for folder in FOLDERS for path in sorted((root / folder).glob("*.md"))]
    return [name for name in ORDER if name in names] + [name for name in names if name not in ORDER and
                                                       name != "docs/README.md"]


def title_of(root, name):
    return (root / name).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def link(root, name, known, below, match):
    is_picture, text, target = match.groups()
    path, _, heading = target.partition("#")
    if re.match(r"[a-z]+:", target):
        return match.group(0)
    if is_picture:
        return f"\n@image html {posixpath.basename(path)}\n"
    full = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    if full not in known:
        return text
    if text.endswith(".md"):
        text = title_of(root, full)
    if full in below and not heading:
        below.remove(full)
        return f'@subpage {page_id(full)} "{text}"'
    to = f"{page_id(full)}-{heading}" if heading else page_id(full)
    return f"[{text}](@ref {to})"


def below(name, known):
    """What the menu shows under this page: under a README those of its folder, and the READMEs of folders in it."""
    folder, last = posixpath.split(name)
    if last != "README.md":
        return set()
    return {one for one in known if one != name and (posixpath.dirname(one) == folder or (
        posixpath.basename(one) == "README.md" and posixpath.dirname(posixpath.dirname(one)) == folder))}


def heading(name, match):
    marks, text = match.groups()
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return f"{marks} {plain} {{#{page_id(name) if marks == '#' else anchor(name, text)}}}"


def prose(root, name, known, left, text):
    text = LINK.sub(lambda match: link(root, name, known, left, match), text)
    text = re.sub(r"^(#{1,6}) +(.*?)$", lambda match: heading(name, match), text, flags=re.MULTILINE)
    # What Doxygen would take for a command or a tag, outside of code.
    parts = CODE.split(text)
    return "".join(part if index % 2 else re.sub(r"([@\\<>])", r"\\\1", part) for index, part in enumerate(parts))


def code(block):
    """Doxygen knows the language by its name in braces; C++ is what it calls C."""
    first, _, rest = block.partition("\n")
    language = (re.match(r"```(\w*)", first).group(1) or "txt").replace("cpp", "c")
    return f"```{{.{language}}}\n{rest}"


def render(root, name, known):
    parts = FENCE.split((root / name).read_text(encoding="utf-8"))
    left = below(name, known)
    return "".join(code(part) if index % 2 else prose(root, name, known, left, part)
                   for index, part in enumerate(parts))
