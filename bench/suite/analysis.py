"""From samples to figures: medians per state of the machine, spread, ratio to the best peer and to the limits.

Only samples of one state are compared, and only with all MPIs that were measured.  Where these were never all met in
one state, all samples of the point make a row of the state "any", so that no point is lost.
"""

import math
import os
import statistics
from dataclasses import dataclass

from suite.parts import PREFIX
from suite.peers import BEFORE, LIMIT_PREFIX
from suite.samples import STATES, is_less_better, size_text

OURS = "dunlin"
LINE_BYTES = 64
MARKS = (
    "~ other processes used the CPUs meanwhile; * extrapolated: the program broke off after two seconds; q a scheduler's "
    "quantum: a waiting rank held the CPU that the rank it waited for needed, so that the time is not that of the work"
)
COMPARED_PERCENTAGES = ("compute_beside", "idle_cpu")
LOWER_SERIES = ("idle_cpu",)  # percentages where less is better
STATE_ORDER = {state: index for index, state in enumerate((*STATES, "any"))}


QUANTUM_US = 1000.0  # a rank that is waited for and does not run takes this long or more,
QUANTUM_TIMES = 100  # and this many times what those take whose waiting ranks give the CPU away
NOISE = 2.0  # the third quartile over the first: above, a point is noise
US = {"ns": 1e-3, "us": 1.0, "ms": 1e3}


@dataclass
class Cell:
    median: float
    low: float  # quartiles; of fewer than 4 samples the smallest and the largest
    high: float
    count: int
    is_disturbed: bool = False  # every sample of it was taken while other processes used the CPUs
    is_extrapolated: bool = False  # from a part of the work
    is_quantum: bool = False  # not the work: ranks wait for their turns on a CPU that another waiting rank holds

    @property
    def spread(self):
        return (self.high - self.low) / self.median if self.median else 0.0

    @property
    def is_noise(self):
        return self.low <= 0 or self.high > NOISE * self.low


@dataclass
class Row:
    experiment: str
    series: str
    x: float
    unit: str
    state: str
    cells: dict  # MPI name -> Cell
    limits: dict  # the same by plain processes, or by the machine itself: name -> median
    is_whole: bool = True  # every MPI that was measured was met in this state

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
        return self.best({name: cell.median for name, cell in self.cells.items() if is_peer(name)})

    def best(self, values):
        if not values:
            return None
        return min(values, key=values.get) if self.is_less_better else max(values, key=values.get)

    @property
    def limit(self):
        """The best of the limits, in the row's unit; 0: none applies."""
        return self.limits[self.best(self.limits)] if self.limits else 0.0

    def ratio(self, name=OURS):
        """How many times better than the best peer; above 1 is ahead.  None when an MPI is missing."""
        peer = self.best_peer()
        if peer is None or name not in self.cells or not self.is_compared or not self.is_whole:
            return None
        return self.times_better(self.cells[name].median, self.cells[peer].median)

    @property
    def is_quantum(self):
        """The best peer shows the scheduler's quantum: the ratio says nothing about the work."""
        peer = self.best_peer()
        return peer is not None and self.cells[peer].is_quantum

    def ratio_range(self):
        """The ratio at the quartiles that are worst for us, and best."""
        mine, theirs = self.cells[OURS], self.cells[self.best_peer()]
        if self.is_less_better:
            return self.times_better(mine.high, theirs.low), self.times_better(mine.low, theirs.high)
        return self.times_better(mine.low, theirs.high), self.times_better(mine.high, theirs.low)

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


def cell_of(found, is_disturbed=False):
    values = [sample.value for sample in found]
    if len(values) >= 4:
        low, _, high = statistics.quantiles(values, n=4)
    else:
        low, high = min(values), max(values)
    is_extrapolated = any(sample.is_extrapolated for sample in found)
    return Cell(statistics.median(values), low, high, len(values), is_disturbed, is_extrapolated)


def shares_cpus(experiment, cells, cpus):
    """With each other, or with what else ran then."""
    return experiment.ranks > cpus or any(cell.is_disturbed for cell in cells.values())


def mark_quanta(row):
    """For rows whose ranks share CPUs: the cells of those that wait for turns instead of giving the CPU away."""
    if row.unit not in US:
        return
    best = min(cell.median for cell in row.cells.values())
    for cell in row.cells.values():
        cell.is_quantum = cell.median * US[row.unit] >= QUANTUM_US and cell.median >= QUANTUM_TIMES * best


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


def mpis_of(found):
    return {sample.mpi for sample in found if sample.mpi == OURS or is_peer(sample.mpi)}


def states_met(found):
    """State -> samples of a point: those met, or "any" where no state met every MPI."""
    met = {state: [sample for sample in found if sample.state == state] for state in STATES}
    everybody = mpis_of(found)
    if not any(chosen and mpis_of(chosen) == everybody for chosen in met.values()):
        return {"any": found}
    return {state: chosen for state, chosen in met.items() if chosen}


def is_peer(name):
    return not name.startswith((OURS, PREFIX, LIMIT_PREFIX))


def rows_of(found, plan, cpus=0):
    """All rows, in the order of the plan.  `plan` maps names to experiments; `cpus`: of the machine measured, 0: this."""
    cpus = cpus or len(os.sched_getaffinity(0))
    from_machine = machine_limits(found)
    points = {}
    for sample in found:
        if sample.experiment in plan:
            points.setdefault((sample.experiment, sample.series, sample.x, sample.unit), []).append(sample)
    rows = []
    for (name, series, x, unit), group in points.items():
        undisturbed = {sample.mpi for sample in group if not sample.is_disturbed}
        quiet = [sample for sample in group if not sample.is_disturbed or sample.mpi not in undisturbed]
        for state, chosen in states_met(quiet).items():
            cells, limits = {}, {}
            for sample in chosen:
                cells.setdefault(sample.mpi, []).append(sample)
            for mpi in [mpi for mpi in cells if mpi.startswith(LIMIT_PREFIX)]:
                limits[mpi.removeprefix(LIMIT_PREFIX)] = statistics.median(sample.value for sample in cells.pop(mpi))
            limits |= machine_limit(from_machine, plan[name].machine_limit, state, x)
            kept = {mpi: cell_of(ours, mpi not in undisturbed) for mpi, ours in cells.items()}
            if kept:
                rows.append(Row(name, series, x, unit, state, kept, limits, mpis_of(chosen) == mpis_of(quiet)))
                if plan[name].has_turns and shares_cpus(plan[name], kept, cpus):
                    mark_quanta(rows[-1])
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


def mean_ratio(rows):
    """Geometric mean of the ratios to the best peer, those apart that show a scheduler's quantum."""
    return geometric_mean([row.ratio() for row in rows if row.ratio() and not row.is_quantum])


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
                name: {"median": cell.median, "low": cell.low, "high": cell.high, "count": cell.count}
                for name, cell in row.cells.items()
            },
        }
        for row in rows
    ]


def cell_text(cell):
    """The median, marked where it is less than a measurement; MARKS says what the marks mean."""
    marks = (("~", cell.is_disturbed), ("*", cell.is_extrapolated), ("q", cell.is_quantum))
    return value_text(cell.median) + "".join(mark for mark, is_marked in marks if is_marked)


def ratio_text(row):
    """The column "ahead"."""
    ratio = row.ratio()
    return "" if not ratio else "quantum" if row.is_quantum else factor_text(ratio)


def factor_text(ratio):
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"


def value_text(value):
    """Three significant digits without exponents."""
    if value == 0:
        return "0"
    digits = max(0, 2 - int(math.floor(math.log10(abs(value)))))
    return f"{value:.{min(digits, 4)}f}"


def x_text(row, x_label):
    if not x_label:
        return ""
    return size_text(row.x) if "bytes" in x_label else f"{row.x:.10g}"
