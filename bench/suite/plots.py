"""Curves as SVG, written by hand: log-log axes, one colour per MPI, dashed where the CPUs were far from each
other.

No plotting package is needed, so the report can be made on a machine without a network, and the files are
small text.
"""

import math
from html import escape

from suite.samples import size_text

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 62, 120, 34, 44
COLOURS = {
    "dunlin": "#c0392b",
    "mpich": "#2471a3",
    "openmpi": "#1e8449",
    "intel": "#7d3c98",
    "limit": "#909497",
}
SPARE = ("#b9770e", "#117a65", "#515a5a", "#cb4335", "#5b2c6f")
DASHES = {"near": "", "far": "6 3", "any": ""}


class Axis:
    """Logarithmic axis; 0 is drawn at `zero_as`, one step left of the smallest value."""

    def __init__(self, values, start, end, base):
        positive = [value for value in values if value > 0] or [1.0]
        self.base, self.zero_as = base, min(positive) / base
        self.has_zero = any(value <= 0 for value in values)
        low = self.zero_as if self.has_zero else min(positive)
        self.low, self.high = math.log(low, base), math.log(max(positive), base)
        if self.high - self.low < 1e-9:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log(value if value > 0 else self.zero_as, self.base) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, at_most):
        """Powers of the base along the axis, with 0 where it is drawn."""
        first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        step = max(1, math.ceil((last - first + 1) / at_most))
        powers = [float(self.base) ** power for power in range(first, last + 1, step)]
        return [0.0, *(power for power in powers if power > self.zero_as * 1.01)] if self.has_zero else powers


def number_text(value):
    return f"{value:g}" if value == 0 or 1e-3 <= value < 1e5 else f"{value:.0e}"


def colour(name, spare):
    return COLOURS.get(name) or spare.setdefault(name, SPARE[len(spare) % len(SPARE)])


def frame(title, x_axis, y_axis, x_label, unit):
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="18" font-size="13" font-weight="bold">{escape(title)}</text>',
    ]
    for value in x_axis.ticks(10):
        x = x_axis.at(value)
        text = size_text(value) if "bytes" in x_label and value >= 1 else number_text(value)
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e5e7e9"/>'
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{text}</text>'
        )
    for value in y_axis.ticks(8):
        y = y_axis.at(value)
        parts.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e5e7e9"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number_text(value)}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
    )
    parts.append(f'<text x="14" y="{TOP - 4}">{escape(unit)}</text>')
    return parts


def curve(points, x_axis, y_axis, stroke, dash):
    path = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in points)
    parts = [
        f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="1.8"'
        + (f' stroke-dasharray="{dash}"' if dash else "")
        + "/>"
    ]
    parts += [
        f'<circle cx="{x_axis.at(x):.1f}" cy="{y_axis.at(y):.1f}" r="2" fill="{stroke}"/>' for x, y in points
    ]
    return parts


def legend(entries):
    parts = []
    for index, (text, stroke, dash) in enumerate(entries):
        y = TOP + 10 + 16 * index
        parts.append(
            f'<line x1="{WIDTH - RIGHT + 8}" y1="{y}" x2="{WIDTH - RIGHT + 30}" y2="{y}" stroke="{stroke}"'
            f' stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>"
            f'<text x="{WIDTH - RIGHT + 34}" y="{y + 4}">{escape(text)}</text>'
        )
    return parts


def draw(rows, titles, title, x_label):
    """One SVG of one series in all states, or "" when there is no curve in it."""
    curves = {}
    for row in rows:
        for name, cell in row.cells.items():
            if cell.median > 0:
                curves.setdefault((name, row.state), []).append((row.x, cell.median))
        if row.limit:
            curves.setdefault(("limit", row.state), []).append((row.x, row.limit))
    curves = {key: sorted(points) for key, points in curves.items() if len(points) > 1}
    if not curves:
        return ""
    xs = [x for points in curves.values() for x, _ in points]
    ys = [y for points in curves.values() for _, y in points]
    x_axis = Axis(xs, LEFT, WIDTH - RIGHT, 2 if "bytes" in x_label else 10)
    y_axis = Axis(ys, HEIGHT - BOTTOM, TOP, 10)
    spare, parts, entries = {}, frame(title, x_axis, y_axis, x_label, rows[0].unit), []
    has_states = len({state for _, state in curves}) > 1
    for (name, state), points in sorted(curves.items(), key=lambda item: (item[0][0] != "limit", item[0])):
        stroke = colour(name, spare)
        parts += curve(points, x_axis, y_axis, stroke, DASHES[state])
        label = "machine's limit" if name == "limit" else titles.get(name, name)
        entries.append((label + (f", {state}" if has_states else ""), stroke, DASHES[state]))
    return "\n".join([*parts, *legend(sorted(entries)), "</svg>"]) + "\n"
