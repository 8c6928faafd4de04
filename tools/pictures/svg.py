# SPDX-License-Identifier: MIT
"""The little of SVG that the pictures need. Same source, same bytes: nothing depends on a machine, a font or a library.
Colours follow the reader's (light or dark); a text that would not fit where it stands is an error, not a smear."""
from xml.sax.saxutils import escape

STYLE = """
  text { font: 13px "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif }
  text { fill: #1f2733 }
  .small { font-size: 11.5px } .large { font-size: 16px; font-weight: 600 } .strong { font-weight: 600 }
  .code { font-family: "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px }
  .muted { fill: #5d6877 } .on { fill: #ffffff }
  .page { fill: #ffffff } .box { fill: #f3f6fa; stroke: #9aa7b6 } .plain { fill: none; stroke: #9aa7b6 }
  .spread { stroke: #111820; fill: none } .line { stroke: #5d6877; fill: none }
  .thin { stroke: #c6cfd9; fill: none } .head { fill: #5d6877 }
  .main { fill: #1c6fd0 } .main-soft { fill: #d9e8fb; stroke: #1c6fd0 } .main-line { stroke: #1c6fd0; fill: none }
  .other { fill: #8794a5 } .good { fill: #1d8a4f } .good-soft { fill: #dcf3e5; stroke: #1d8a4f }
  .bad { fill: #c8372d } .bad-soft { fill: #fbe3e1; stroke: #c8372d } .bad-line { stroke: #c8372d; fill: none }
  .warn-soft { fill: #fff1d0; stroke: #c98a00 }
  .dashed { stroke-dasharray: 5 4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e9f0 } .muted { fill: #9fabba } .page { fill: #0f141b } .box { fill: #1a222d; stroke: #556375 }
    .plain { stroke: #556375 } .line { stroke: #9fabba }
    .thin { stroke: #33404f } .spread { stroke: #e4e9f0 } .head { fill: #9fabba }
    .main { fill: #2f7fdd } .main-soft { fill: #14304f } .other { fill: #67768a } .good-soft { fill: #12351f }
    .bad-soft { fill: #431a17 } .warn-soft { fill: #3d2f0a }
    .good { fill: #2aa864 } .bad { fill: #e0564c }
  }
"""
# Width of a character in parts of the font's size, on the wide side, so that what fits here fits everywhere.
WIDTH = {"code": 0.61, "plain": 0.56, "strong": 0.6}
SIZE = {"small": 11.5, "large": 16, "code": 12}


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(text, classes):
    names = classes.split()
    size = next((SIZE[name] for name in names if name in SIZE), 13)
    kind = "code" if "code" in names else "strong" if {"strong", "large"} & set(names) else "plain"
    return len(text) * size * WIDTH[kind]


class Picture:
    """Shapes in the order in which they are drawn."""

    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.title = title
        self.parts = [f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>",
                      f"<style>{STYLE}</style>", '<rect class="page" width="100%" height="100%"/>']

    def add(self, name, classes, body=None, **attributes):
        shown = "".join(f' {key.replace("_", "-")}="{number(value) if isinstance(value, (int, float)) else value}"'
                        for key, value in attributes.items())
        end = "/>" if body is None else f">{escape(body)}</{name}>"
        self.parts.append(f'<{name} class="{classes}"{shown}{end}')

    def box(self, x, y, width, height, classes="box", radius=5):
        self.add("rect", classes, x=x, y=y, width=width, height=height, rx=radius)

    def text(self, x, y, text, classes="", anchor="start", room=None):
        """room: how wide it may be; what stands at the border of the picture is looked at without being asked."""
        wide = text_width(text, classes)
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        if left < 0 or left + wide > self.width or (room is not None and wide > room):
            raise ValueError(f"{self.title}: '{text}' needs {wide:.0f} px and does not have them")
        self.add("text", classes, text, x=x, y=y, text_anchor=anchor)

    def lines(self, x, y, texts, classes="", anchor="start", room=None, step=16):
        for index, text in enumerate(texts):
            self.text(x, y + index * step, text, classes, anchor, room)

    def label(self, x, y, width, height, texts, classes="box", text_classes="", step=16):
        """A box with lines of text in its middle."""
        self.box(x, y, width, height, classes)
        first = y + height / 2 + 4.5 - (len(texts) - 1) * step / 2
        for index, text in enumerate(texts):
            style = text_classes if index == 0 else "small muted" if text_classes != "on" else "small on"
            self.text(x + width / 2, first + index * step, text, style, "middle", width - 8)

    def line(self, x1, y1, x2, y2, classes="line"):
        self.add("line", classes, x1=x1, y1=y1, x2=x2, y2=y2)

    def arrow(self, x1, y1, x2, y2, classes="line", head="head"):
        """From the first point to the second, with its head there."""
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1e-9)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - 8 * ux, y2 - 8 * uy
        self.line(x1, y1, bx, by, classes)
        points = ((x2, y2), (bx - 4 * uy, by + 4 * ux), (bx + 4 * uy, by - 4 * ux))
        self.add("polygon", head, points=" ".join(f"{number(x)},{number(y)}" for x, y in points))

    def server(self, x, y, width, height, classes="box"):
        """The cylinder that stands for a server with data."""
        curve, half = 7, width / 2
        self.add("path", classes, d=f"M{number(x)} {number(y + curve)} v{number(height - 2 * curve)} "
                 f"a{number(half)} {curve} 0 0 0 {number(width)} 0 v{number(2 * curve - height)}")
        self.add("ellipse", classes, cx=x + half, cy=y + curve, rx=half, ry=curve)

    def render(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" role="img">')
        return "\n".join([head, *self.parts, "</svg>", ""])
