"""From samples to figures: medians per state of the machine, spread, ratio to the best peer and to the limits.

Only samples of one state are ever compared.  A sample whose probes disagree ("mixed") is used only where a
point has no other, and its row then says "any".
"""

import math
import statistics
from dataclasses import dataclass

from suite.parts import PREFIX
from suite.peers import BEFORE, LIMIT_PREFIX
from suite.samples import STATES, is_less_better, size_text

OURS = "dunlin"
LINE_BYTES = 64
COMPARED_PERCENTAGES = ("compute_beside", "idle_cpu")
LOWER_SERIES = ("idle_cpu",)  # percentages where less is better
STATE_ORDER = {state: index for index, state in enumerate((*STATES, "any"))}


@dataclass
class Cell:
    median: float
    spread: float  # interquartile range / median
    count: int
    is_disturbed: bool = False  # every sample of it was taken while other processes used the CPUs


@dataclass
class Row:
    experiment: str
    series: str
    x: float
    unit: str
    state: str
    cells: dict  # MPI name -> Cell
    limits: dict  # the same by plain processes, or by the machine itself: name -> median

    @property
    def is_less_better(self):
        return self.series in LOWER_SERIES or is_less_better(self.unit)

    @property
    def is_compared(self):
        """Not percentages that lie around 0, nor one figure over another, nor the plain loops, which run no MPI."""
        is_small_percentage = self.unit == "%" and self.series not in COMPARED_PERCENTAGES
        return not is_small_percentage and self.unit != "times" and not self.series.endswith("_loop")

    def best_peer(self):
        """Name of the best MPI that is not ours, or None."""
        return self.best({name: cell.median for name, cell in self.cells.items() if not name.startswith((OURS, PREFIX))})

    def best(self, values):
        if not values:
            return None
        return min(values, key=values.get) if self.is_less_better else max(values, key=values.get)

    @property
    def limit(self):
        """The best of the limits, in the row's unit; 0: none applies."""
        return self.limits[self.best(self.limits)] if self.limits else 0.0

    def ratio(self, name=OURS):
        """How many times better than the best peer; above 1 is ahead.  None when one of them is missing."""
        peer = self.best_peer()
        if peer is None or name not in self.cells or not self.is_compared:
            return None
        return self.times_better(self.cells[name].median, self.cells[peer].median)

    def times_better(self, mine, theirs):
        if mine <= 0 or theirs <= 0:
            return None
        return theirs / mine if self.is_less_better else mine / theirs

    @property
    def count(self):
        """Samples of the MPI that has fewest."""
        return min(cell.count for cell in self.cells.values())

    def limit_ratio(self, ways=(), name=OURS):
        """How many times the time of the limit we take: of the best, or of the best of some `ways`."""
        limits = {way: value for way, value in self.limits.items() if not ways or way in ways}
        if not limits or name not in self.cells:
            return None
        return self.times_better(limits[self.best(limits)], self.cells[name].median)

    def change(self):
        """How many times the time of the build given by `--against` we take; None without it."""
        if BEFORE not in self.cells or OURS not in self.cells or self.unit == "times":
            return None
        return self.times_better(self.cells[BEFORE].median, self.cells[OURS].median)


def cell_of(values, is_disturbed=False):
    middle = statistics.median(values)
    if len(values) >= 4:
        low, _, high = statistics.quantiles(values, n=4)
        width = high - low
    else:
        width = max(values) - min(values)
    return Cell(middle, width / middle if middle else 0.0, len(values), is_disturbed)


def machine_limits(found):
    """What of the machine itself limits a figure: (kind, state) -> value, for the rows of machine_limit."""
    values = {}
    for sample in found:
        if sample.state in STATES and sample.probes_ns:
            values.setdefault(("line", sample.state), []).append(statistics.fmean(sample.probes_ns) / 1e3)
        if sample.bench == "limits" and sample.series == "read_out_of_cache":
            for state in (*STATES, "any"):
                values.setdefault(("read", state), []).append(sample.value)
    return {key: statistics.median(found) for key, found in values.items()}


def machine_limit(limits, kind, state, x):
    """`kind`: "line", a raw cache line for messages that fit one, or "read", out of cache; none: {}."""
    is_there = (kind, state) in limits and (kind != "line" or x <= LINE_BYTES)
    return {kind: limits[kind, state]} if is_there else {}


def rows_of(found, plan):
    """All rows, in the order of the plan.  `plan` maps names to experiments."""
    from_machine = machine_limits(found)
    points = {}
    for sample in found:
        if sample.experiment in plan:
            points.setdefault((sample.experiment, sample.series, sample.x, sample.unit), []).append(sample)
    rows = []
    for (name, series, x, unit), group in points.items():
        undisturbed = {sample.mpi for sample in group if not sample.is_disturbed}
        quiet = [sample for sample in group if not sample.is_disturbed or sample.mpi not in undisturbed]
        states = {sample.state for sample in quiet} & set(STATES)
        for state in states or {"any"}:
            cells, limits = {}, {}
            for sample in quiet:
                if state in ("any", sample.state):
                    cells.setdefault(sample.mpi, []).append(sample.value)
            for mpi in [mpi for mpi in cells if mpi.startswith(LIMIT_PREFIX)]:
                limits[mpi.removeprefix(LIMIT_PREFIX)] = statistics.median(cells.pop(mpi))
            limits |= machine_limit(from_machine, plan[name].machine_limit, state, x)
            kept = {mpi: cell_of(values, mpi not in undisturbed) for mpi, values in cells.items()}
            if kept:
                rows.append(Row(name, series, x, unit, state, kept, limits))
    order = {name: index for index, name in enumerate(plan)}
    series_order = {}
    for row in rows:
        series_order.setdefault((row.experiment, row.series), len(series_order))
    rows.sort(
        key=lambda row: (
            order[row.experiment],
            STATE_ORDER[row.state],
            series_order[row.experiment, row.series],
            row.x,
        )
    )
    return rows


def geometric_mean(values):
    values = [value for value in values if value and value > 0]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def groups(rows):
    """(experiment, state) -> rows, in order."""
    result = {}
    for row in rows:
        result.setdefault((row.experiment, row.state), []).append(row)
    return result


def rounded(value):
    return float(f"{value:.5g}") if value else value


def behind(rows):
    """(ratio, row) of every point behind the best other MPI by a percent or more, worst first."""
    found = [(ratio, row) for row in rows if (ratio := row.ratio()) and round(ratio, 2) < 1]
    return sorted(found, key=lambda pair: pair[0])


def as_json(rows):
    return [
        {
            "experiment": row.experiment,
            "series": row.series,
            "x": row.x,
            "unit": row.unit,
            "state": row.state,
            "limits": {name: rounded(value) for name, value in row.limits.items()},
            "ratio_to_best_peer": rounded(row.ratio()),
            "medians": {
                name: {"median": cell.median, "spread": round(cell.spread, 3), "count": cell.count}
                for name, cell in row.cells.items()
            },
        }
        for row in rows
    ]


def cell_text(cell):
    """The median, with a tilde when it is not to be trusted because other processes were busy."""
    return value_text(cell.median) + ("~" if cell.is_disturbed else "")


def value_text(value):
    """Three significant digits without exponents."""
    if value == 0:
        return "0"
    digits = max(0, 2 - int(math.floor(math.log10(abs(value)))))
    return f"{value:.{min(digits, 4)}f}"


def x_text(row, x_label):
    if not x_label:
        return ""
    return size_text(row.x) if "bytes" in x_label else f"{row.x:g}"
