"""A decision tree as a picture: SVG, which every browser shows and any text may stand in."""

from __future__ import annotations

import textwrap
from html import escape

from ppdm_sql.mining.tree import Node, Tree

WIDTH, HEIGHT, GAP, RISE = 188, 76, 16, 120
LETTERS, LINES = 27, 3
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1b1b1b;text-anchor:middle}.edge{stroke:#777;fill:none}"
    ".split{fill:#eef2f7;stroke:#4a6078}.leaf{fill:#eaf4ea;stroke:#4d7a4d}.word{fill:#555;font-size:11px}"
)


def draw(tree: Tree) -> str:
    """The tree as the text of an SVG file."""
    picture = _Picture(tree)
    picture.place(tree.root, 0, 0)
    width = len(list(tree.root.leaves())) * (WIDTH + GAP) + GAP
    height = tree.depth * RISE + HEIGHT + 2 * GAP
    title = escape(f"Decision tree for {tree.target} of {tree.table}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    return "\n".join(
        [head, f"<title>{title}</title><style>{STYLE}</style>", *picture.edges, *picture.boxes, "</svg>\n"]
    )


class _Picture:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.edges: list[str] = []
        self.boxes: list[str] = []

    def place(self, node: Node, first: int, level: int) -> float:
        """Draw a node and what is below it, its leaves from column `first` on; the middle of the node."""
        top = GAP + level * RISE
        if node.children is None:
            middle = GAP + first * (WIDTH + GAP) + WIDTH / 2
            share = f"{node.share:.1%} of {max(sum(node.rows), 0):,.0f}"
            self._box(middle, top, "leaf", [_shortened(self.tree.classes[node.label]), share])
            return middle
        places = []
        for child in node.children:
            places.append(self.place(child, first, level + 1))
            first += len(list(child.leaves()))
        middle = sum(places) / 2
        for word, place in zip(("yes", "no"), places, strict=True):
            self.edges.append(
                f'<path class="edge" d="M{middle:g} {top + HEIGHT} L{place:g} {top + RISE}"/><text class="word" '
                f'x="{(middle + place) / 2:g}" y="{top + (HEIGHT + RISE) / 2 + 4:g}">{word}</text>'
            )
        self._box(middle, top, "split", _wrapped(node.condition or ""))
        return middle

    def _box(self, middle: float, top: float, kind: str, lines: list[str]) -> None:
        rows = "".join(
            f'<text x="{middle:g}" y="{top + HEIGHT / 2 + 4 + 16 * (i - (len(lines) - 1) / 2):g}">{escape(line)}</text>'
            for i, line in enumerate(lines)
        )
        place = f'x="{middle - WIDTH / 2:g}" y="{top:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"'
        whole = "" if kind == "leaf" else f"<title>{escape(' '.join(lines))}</title>"
        self.boxes.append(f'<g>{whole}<rect class="{kind}" {place}/>{rows}</g>')


def _wrapped(text: str) -> list[str]:
    lines = textwrap.wrap(text, LETTERS, break_long_words=True)
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], _shortened(lines[LINES - 1] + " ..", cut=True)]


def _shortened(text: str, *, cut: bool = False) -> str:
    if len(text) <= LETTERS and not cut:
        return text
    return text[: LETTERS - 2].rstrip(" .") + " .."
