"""From samples to figures: medians per state of the machine, spread, ratio to the best peer and to the limit.

Only samples of one state are ever compared.  A sample whose probes disagree ("mixed") is used only where a
point has no other, and its row then says "any".
"""

import math
import statistics
from dataclasses import dataclass

from suite.parts import PREFIX
from suite.samples import is_less_better, size_text

OURS = "dunlin"
COMPARED_PERCENTAGES = ("compute_beside", "idle_cpu")
LOWER_SERIES = ("idle_cpu",)  # percentages where less is better
STATE_ORDER = {"near": 0, "far": 1, "any": 2}


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
    limit: float = 0.0  # of the machine, in the row's unit; 0: none applies

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
        peers = {name: cell.median for name, cell in self.cells.items() if not name.startswith((OURS, PREFIX))}
        if not peers:
            return None
        return min(peers, key=peers.get) if self.is_less_better else max(peers, key=peers.get)

    def ratio(self, name=OURS):
        """How many times better than the best peer; above 1 is ahead.  None when one of them is missing."""
        peer = self.best_peer()
        if peer is None or name not in self.cells or not self.is_compared:
            return None
        mine, theirs = self.cells[name].median, self.cells[peer].median
        if mine <= 0 or theirs <= 0:
            return None
        return theirs / mine if self.is_less_better else mine / theirs

    @property
    def count(self):
        """Samples of the MPI that has fewest."""
        return min(cell.count for cell in self.cells.values())

    def limit_ratio(self, name=OURS):
        """How many times the limit we take (times), or which part of it we reach (rates)."""
        if not self.limit or name not in self.cells:
            return None
        return self.cells[name].median / self.limit


def cell_of(values, is_disturbed=False):
    middle = statistics.median(values)
    if len(values) >= 4:
        low, _, high = statistics.quantiles(values, n=4)
        width = high - low
    else:
        width = max(values) - min(values)
    return Cell(middle, width / middle if middle else 0.0, len(values), is_disturbed)


class Limits:
    """The machine's limits, by state, from the limits program and from the probes around the samples."""

    def __init__(self, found):
        self.copies, self.lines = {}, {}
        for sample in found:
            if sample.state in ("near", "far") and sample.probe_ns:
                self.lines.setdefault(sample.state, []).append(sample.probe_ns)
            if sample.bench == "limits" and sample.series.startswith(("copy", "read")):
                for state in ("near", "far", "any") if sample.state == "unknown" else (sample.state,):
                    self.copies.setdefault((sample.series, state), {}).setdefault(sample.x, []).append(
                        sample.value
                    )

    def line_us(self, state):
        return statistics.median(self.lines[state]) / 1e3 if state in self.lines else 0.0

    def copy_gbps(self, series, state, size):
        """Median at the nearest size measured, by ratio; 0 when none is near."""
        points = self.copies.get((series, state))
        if not points or size < 1:
            return 0.0
        nearest = min(points, key=lambda point: abs(math.log(point / size)))
        if not 0.25 <= nearest / size <= 4:
            return 0.0
        return statistics.median(points[nearest])

    def of(self, kind, state, size, unit):
        """`kind`: line_and_copy, copy, two_copies (one each way), copy_out_of_cache, read_out_of_cache."""
        series = kind if "out_of_cache" in kind else "copy_clean"
        rate = self.copy_gbps(series, state, size) if size >= 1024 else 0.0
        if unit == "us" and kind:
            line = self.line_us(state)
            if size <= 64:
                return line
            return line + size / rate / 1e3 if rate and line else 0.0
        if unit == "GB/s" and kind and rate:
            return 2 * rate if kind == "two_copies" else rate
        return 0.0


def rows_of(found, plan):
    """All rows, in the order of the plan.  `plan` maps names to experiments."""
    limits = Limits(found)
    points = {}
    for sample in found:
        if sample.experiment in plan:
            points.setdefault((sample.experiment, sample.series, sample.x, sample.unit), []).append(sample)
    rows = []
    for (name, series, x, unit), group in points.items():
        undisturbed = {sample.mpi for sample in group if not sample.is_disturbed}
        quiet = [sample for sample in group if not sample.is_disturbed or sample.mpi not in undisturbed]
        states = {sample.state for sample in quiet} & {"near", "far"}
        kind = "" if series == "fresh" else plan[name].limit  # writing and reading the data has no such limit
        for state in states or {"any"}:
            cells = {}
            for sample in quiet:
                if state in ("any", sample.state):
                    cells.setdefault(sample.mpi, []).append(sample.value)
            kept = {mpi: cell_of(values, mpi not in undisturbed) for mpi, values in cells.items()}
            rows.append(Row(name, series, x, unit, state, kept, limits.of(kind, state, x, unit)))
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
            "limit": rounded(row.limit),
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
