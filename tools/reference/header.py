# SPDX-License-Identifier: MIT
"""The public header as Doxygen reads it. The header's own comments are plain: what stands above a declaration, or
behind it on its line, is about it; a comment of dashes opens a section; a declaration right below another one has its
comment. Here they become Doxygen's, word for word, with statuses and functions as links."""
import re

SECTION = re.compile(r"^/\* -{20,} (.*?) -+ \*/$")
NAMED = re.compile(r"\b(liblock_\w+)\s*\(")
RETURNS = re.compile(r"Returns (\[.*?\])\.?", re.DOTALL)
SINCE = re.compile(r"\s*Since (\d+\.\d+)\.")
INIT = "Sets struct_size and fills in the defaults (convention 4); NULL and a size that is too small are ignored."
FREE = "Frees it: the last call on it; NULL does nothing (convention 7)."


def slug(title):
    return re.sub(r"\W+", "_", title).strip("_")


def statuses(header):
    """(name, number, text) of each."""
    return re.findall(r'^  X\((\w+), (\d+), [^"]*"([^"]*)"\)', header, re.MULTILINE)


def escaped(text):
    return re.sub(r"([@\\<>#%*$&])", r"\\\1", text)


class Header:
    """Turns lines into lines. `doc` is the comment of the declaration before, for those that have none of their own."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.statuses = statuses(text)
        self.functions = set(NAMED.findall(text))
        self.at = 0
        self.out = []
        self.group = None
        self.doc = ""

    def told(self, comment):
        """The words of a comment, as Doxygen's."""
        body = re.sub(r"^\s*/\*+ ?|\s*\*/\s*$", "", comment)
        text = "\n".join(re.sub(r"^\s*\* ?", "", line) for line in body.splitlines())
        text = escaped(text)
        text = RETURNS.sub(lambda match: "\n@return " + self.linked(match.group(1)) + "\n\n", text)
        text = SINCE.sub(r"\n@since \1\n", text)
        return re.sub(r"(?<![\w/.#])liblock_\w+\b(?!\.)", self.link_to_function, text).strip()

    def linked(self, text):
        names = {name for name, _, _ in self.statuses}
        return re.sub(r"\b[A-Z_]{2,}\b", lambda match: f'@ref LIBLOCK_{match.group(0)} "{match.group(0)}"'
                      if match.group(0) in names else match.group(0), text).strip("[]")

    def link_to_function(self, match):
        return f"#{match.group(0)}" if match.group(0) in self.functions else match.group(0)

    def comment(self):
        """The comment that begins at this line, whole; `at` is behind it."""
        first = self.at
        while "*/" not in self.lines[self.at]:
            self.at += 1
        self.at += 1
        return "\n".join(self.lines[first:self.at])

    def open_section(self, title):
        """With what is said of it as a whole: a comment with empty lines around it."""
        self.close_section()
        self.group = slug(title)
        self.doc = ""
        shown = title[0].upper() + title[1:]
        words, after = "", self.at
        if not self.lines[self.at].strip() and self.lines[self.at + 1].startswith("/*"):
            self.at += 1
            words = self.told(self.comment())
            if self.lines[self.at].strip():
                words, self.at = "", after
        self.say(f"@defgroup {self.group} {shown}\n\n{words}")
        self.out += [f"/** @addtogroup {self.group}", " * @{ */"]

    def close_section(self):
        if self.group:
            self.out.append("/** @} */")
        self.group = None

    def say(self, words):
        self.out.append("/** " + words.replace("\n", "\n * ") + " */")

    def follow(self):
        """The comment above what comes."""
        self.doc = self.told(self.comment())
        self.say(self.doc)

    def code(self):
        """One line of code; what is said behind it is said of it."""
        line = self.lines[self.at]
        before, mark, behind = line.partition("/*")
        if mark and before.strip():
            self.lines[self.at] = "/*" + behind
            self.out.append(before + "/**< " + self.told(self.comment()).replace("\n", "\n * ") + " */")
            return
        self.out.append(line)
        self.at += 1

    def statuses_as_enum(self):
        """In the place of the map and of the enum that is made of it."""
        while self.lines[self.at].strip() != "};":
            self.at += 1
        self.at += 1
        self.out.append("enum {")
        for name, number, text in self.statuses:
            self.out.append(f"  LIBLOCK_{name} = {number}, /**< {escaped(text)} */")
        self.out.append("};")
        self.doc = ""

    def declaration(self):
        """Whole, up to its ';'. One without a comment of its own has that of the one right above it."""
        line = self.lines[self.at]
        commented = bool(self.out) and self.out[-1].rstrip().endswith("*/") and "/**<" not in self.out[-1]
        if not commented:
            name = NAMED.search(line)
            above = self.lines[self.at - 1].strip()
            if re.search(r"_init\(.*struct_size\);", line):
                self.say(INIT)
            elif name and name.group(1).endswith("_free"):
                self.say(FREE)
            elif self.doc and above:
                self.say(self.doc)
        while ";" not in self.lines[self.at].partition("/*")[0]:
            self.code()
        self.code()

    def step(self):
        line = self.lines[self.at]
        section = SECTION.match(line)
        if section:
            self.at += 1
            self.open_section(section.group(1))
        elif line.startswith("#define LIBLOCK_STATUS_MAP"):
            self.statuses_as_enum()
        elif line.lstrip().startswith("/*"):
            if line.startswith("/*"):
                self.follow()
            else:
                self.code()
        elif line.startswith("LIBLOCK_API"):
            self.declaration()
        else:
            if not line.strip():
                self.doc = self.doc if self.lines[self.at - 1].startswith("LIBLOCK_API") else ""
            self.code()

    def head(self):
        """The comment at the top: the conventions."""
        words = self.told(self.comment())
        words = words.replace("SPDX-License-Identifier: MIT", "@page conventions What holds of every function", 1)
        words = re.sub(r"^ (\d)\. ", r"\n\1. ", words, flags=re.MULTILINE)
        self.say(words)

    def render(self):
        self.head()
        while self.at < len(self.lines):
            if self.lines[self.at].startswith("#ifdef __cplusplus") and self.group:
                self.close_section()
            self.step()
        return "\n".join(self.out) + "\n"
