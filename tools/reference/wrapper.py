# SPDX-License-Identifier: MIT
"""The C++ header as Doxygen reads it: the same plain comments as in the C header, made Doxygen's in the same words."""
import re

from header import SECTION

COMMENT = re.compile(r"^( *)(/\*.*?\*/)[ \t]*$", re.MULTILINE | re.DOTALL)
BEHIND = re.compile(r"^( *[^\s/*].*?\S +)(/\*[^*\n]*\*/)$", re.MULTILINE)


def marked(words, indent, opening="/**"):
    return f"{indent}{opening} " + words.replace("\n", f"\n{indent} * ") + " */"


def render(text, told):
    """told: what makes Doxygen's words of a comment."""
    head, _, rest = text.partition("*/\n")
    intro = told(head + "*/").replace("SPDX-License-Identifier: MIT", "@page cpp For C++: liblock.hpp", 1)
    intro = re.sub(r"^ *(\d)\. ", r"\n\1. ", intro, flags=re.MULTILINE)

    def above(match):
        if SECTION.match(match.group(2)):
            return "\n" * match.group(2).count("\n")
        return marked(told(match.group(2)), match.group(1))

    rest = BEHIND.sub(lambda match: match.group(1) + marked(told(match.group(2)), "", "/**<"), rest)
    # Programs do not name it, and pages need not.
    rest = re.sub(r"^(inline namespace \w+ \{|\}  // namespace v\d+)$", "", rest, flags=re.MULTILINE)
    return marked(intro, "") + "\n" + COMMENT.sub(above, rest)
