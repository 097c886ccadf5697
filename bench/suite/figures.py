"""What was asked for, what was measured, and whether it is reached (bench/figures.toml).

Used by compare for the terminal, the report and the Markdown page.
"""

import fnmatch
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from suite import analysis

SOURCE = Path(__file__).resolve().parent.parent / "figures.toml"
MANY = 4  # points: with more, the result says how many reach the bound


@dataclass(frozen=True)
class Asked:
    topic: str
    what: str
    points: list  # of [experiment, series, x]: names may hold wildcards, x a number, a list, "from-to" or "all"
    kind: str = "ahead"  # times better than the best peer; or value, limit (our time over the limit's), quotient, change
    at_least: float = None
    at_most: float = None
    far: float = None  # the bound where the CPUs are far from each other, if it is another
    ways: list = field(default_factory=list)  # limit: of these ways only
    over: list = field(default_factory=list)  # quotient: the column or the [experiment, series, x] to divide by
    column: str = analysis.OURS
    use: str = "worst"  # or mean: geometric
    scale: float = 1.0  # value: from the row's unit to that of the bound
    unit: str = ""  # value: as printed

    @property
    def text(self):
        sign, bound = ("at least", self.at_least) if self.at_least is not None else ("at most", self.at_most)
        far = f", far {self.far:g}{self.unit or 'x'}" if self.far is not None else ""
        if self.kind == "ahead" and bound == 1:
            return "ahead" + far
        mean = "in the mean " if self.use == "mean" else ""
        return f"{mean}{sign} {bound:g}{self.unit or 'x'}{far}"

    def is_reached(self, value, state):
        bound = self.at_most if self.at_least is None else self.at_least
        if state == "far" and self.far is not None:
            bound = self.far
        return value <= bound if self.at_least is None else value >= bound


@dataclass(frozen=True)
class Result:
    asked: Asked
    texts: dict  # state -> what was measured
    reached: dict  # state -> bool

    @property
    def verdict(self):
        if not self.reached:
            return "not measured"
        if len(set(self.reached.values())) > 1:
            return "only " + ", ".join(state for state, is_reached in self.reached.items() if is_reached)
        return "yes" if all(self.reached.values()) else "NO"


def load(path=SOURCE):
    return [Asked(**entry) for entry in tomllib.loads(path.read_text())["figures"]]


def matches(row, point):
    name, series, x = point
    if isinstance(x, str) and x != "all":
        low, high = map(float, x.split("-"))
        is_x = low <= row.x <= high
    else:
        is_x = x == "all" or row.x in (x if isinstance(x, list) else [x])
    return fnmatch.fnmatchcase(row.experiment, name) and is_x and fnmatch.fnmatchcase(row.series, series)


def median_of(row, column):
    cell = row.cells.get(column)
    return cell.median if cell else None


def divisor(asked, row, rows):
    """What a quotient is taken over: another column of the row, or another point in the same state."""
    if isinstance(asked.over, str):
        return median_of(row, asked.over)
    found = [other for other in rows if other.state == row.state and matches(other, asked.over)]
    return median_of(found[0], asked.column) if found else None


def value_at(asked, row, rows):
    """The figure at one row, or None."""
    if asked.kind == "ahead":
        return row.ratio()
    if asked.kind == "limit":
        return row.limit_ratio(asked.ways, asked.column)
    if asked.kind == "change":
        return row.change()
    mine = median_of(row, asked.column)
    if asked.kind == "value":
        return None if mine is None else mine * asked.scale
    below = divisor(asked, row, rows)
    return mine / below if mine and below else None


def result_text(asked, values, plan, titles):
    """`values`: (figure, row) of one state; the deciding figure and where it was met."""
    worst, row = (min if asked.at_least is not None else max)(values, key=lambda pair: pair[0])
    unit = asked.unit or "x"
    place = ""
    if len(values) > 1:
        names = {each.experiment for _, each in values}, {each.series for _, each in values}
        words = [name for name, found in zip((row.experiment, row.series), names) if len(found) > 1]
        words.append(analysis.x_text(row, plan[row.experiment].x_label))
        place = " at " + " ".join(filter(None, words))
    if asked.kind == "ahead":
        peer = titles.get(row.best_peer(), row.best_peer())
        place += f" ({peer})"
    if len(values) > MANY and asked.use == "worst":
        reached = sum(asked.is_reached(value, row.state) for value, row in values)
        place += f", reached at {reached} of {len(values)} points"
    if asked.use == "mean":
        mean = analysis.geometric_mean([value for value, _ in values])
        return mean, f"{mean:.2f}{unit} (worst {worst:.2f}{unit}{place})"
    return worst, (f"{worst:.2f}" if unit == "x" else analysis.value_text(worst)) + unit + place


def evaluate(asked, rows, plan, titles):
    texts, reached = {}, {}
    for state in analysis.STATE_ORDER:
        chosen = [row for row in rows if row.state == state and any(matches(row, point) for point in asked.points)]
        values = [(value, row) for row in chosen if (value := value_at(asked, row, rows)) is not None]
        if values:
            figure, texts[state] = result_text(asked, values, plan, titles)
            reached[state] = asked.is_reached(figure, state)
    return Result(asked, texts, reached)


def results(rows, plan, titles):
    return [evaluate(asked, rows, plan, titles) for asked in load()]


def lines(found):
    """For the terminal, what was measured only."""
    result, topic = [], None
    for entry in found:
        if not entry.reached:
            continue
        if entry.asked.topic != topic:
            topic = entry.asked.topic
            result.append(f"  {topic}")
        measured = "; ".join(f"{state} {text}" if state != "any" else text for state, text in entry.texts.items())
        result.append(f"    {entry.verdict:<13} {entry.asked.what}: {entry.asked.text}; {measured}")
    return result


def table(found):
    """Head and rows of words, for HTML and Markdown."""
    states = ["one state" if state == "one" else "any state" if state == "any" else state for state in analysis.STATE_ORDER]
    head = ["figure", "asked", *states, "reached"]
    rows = [
        [f"{entry.asked.topic}: {entry.asked.what}", entry.asked.text]
        + [entry.texts.get(state, "") for state in analysis.STATE_ORDER]
        + [entry.verdict]
        for entry in found
    ]
    return head, rows


def count_text(found):
    """How many are reached, in a sentence."""
    measured = [entry for entry in found if entry.reached]
    reached = sum(entry.verdict == "yes" for entry in measured)
    return f"{reached} of {len(measured)} figures asked for are reached, {len(found) - len(measured)} not measured"
