"""The conclusion of a run: one sentence, and the curves of one chart (ratio to the best other MPI over bytes).

Used by compare, report.py and markdown.py; plots.py draws the curves.
"""

import fnmatch
import re
from dataclasses import dataclass

from suite import analysis

# Name of a curve -> its experiments, whose points count alike.
KINDS = {
    "ping-pong": ("latency", "malloc", "stack"),
    "exchange": ("exchange", "waitall", "all_to_all[48]"),
    "stream": ("bandwidth", "bidirectional"),
    "fresh data": ("fresh", "exchange_fresh", "waitall_fresh", "bandwidth_fresh", "bidirectional_fresh"),
    "out of cache": ("off_cache", "exchange_off_cache", "waitall_off_cache", "bandwidth_off_cache"),
    "collectives, 2 ranks": ("*gather2", "*scatter*2", "*reduce2", "*scan2", "bcast2", "alltoall2", "*v2"),
    "collectives, 8 ranks": ("*gather8", "*reduce8", "bcast8", "alltoall8"),
}
COVERED_MIN = 0.5  # of a kind's curves: sizes that fewer of them have would make the line jump


@dataclass
class Point:
    bytes: float
    ratio: float  # geometric mean over the rows of this size
    low: float  # the same of the ratios at the quartiles
    high: float

    @property
    def is_noise(self):
        return self.low <= 0 or self.high > analysis.NOISE * self.low


def rows_of_kind(rows, kind):
    chosen = [row for row in rows if row.ratio() and not row.is_quantum]
    return [row for row in chosen if any(fnmatch.fnmatchcase(row.experiment, name) for name in KINDS[kind])]


def curves(rows):
    """Kind -> points, by size."""
    result = {}
    for kind in KINDS:
        by_size = {}
        for row in rows_of_kind(rows, kind):
            by_size.setdefault(row.x, []).append(row)
        most = max(map(len, by_size.values()), default=0)
        points = [point_of(size, group) for size, group in sorted(by_size.items()) if len(group) >= COVERED_MIN * most]
        if points:
            result[kind] = points
    return result


def point_of(size, rows):
    lows, highs = zip(*(row.ratio_range() for row in rows))
    means = [analysis.geometric_mean(values) for values in ([row.ratio() for row in rows], lows, highs)]
    return Point(size, *means)


def is_clear(row):
    """Whether a single point may be named: neither side is noise."""
    cells = row.cells[analysis.OURS], row.cells[row.best_peer()]
    return not any(cell.is_noise or cell.is_disturbed for cell in cells)


def times_text(ratio):
    """1.7 -> "1.7 times"; 1234 is not more exact than it was measured."""
    return f"{float(f'{ratio:.2g}'):g} times"


def place_of(row, plan):
    size = analysis.x_text(row, plan[row.experiment].x_label)
    where = f" (CPUs {row.state})" if row.state not in ("one", "any") else ""
    return f"{row.experiment}, {row.series}" + (f" at {size}" if size else "") + where


def conclusion(run, rows, plan):
    """Sentences, the first of which says it all."""
    titles, compared = run["titles"], [row for row in rows if row.ratio()]
    if not any(analysis.OURS in row.cells for row in rows):
        return ["Dunlin was not measured in this run."]
    if not compared:
        return [alone(rows)]
    machine = run["machine"].get("cpu", "this machine") + (" (virtual)" if run["machine"].get("virtual") == "yes" else "")
    curve = [point.ratio for points in curves(rows).values() for point in points]
    ahead = sum(row.ratio() > 1 for row in compared)
    count = f"ahead at {ahead} of {len(compared)} points"
    sentences = []
    if curve:
        times = times_text(analysis.geometric_mean(curve))
        mean = f"Dunlin moves messages {times} as fast as the best other MPI in the mean"
        sentences.append(f"On {machine}, {mean}, and is {count}.")
    else:
        sentences.append(f"On {machine}, Dunlin is {count}.")
    worst = min(filter(is_clear, compared), key=lambda row: row.ratio(), default=None)
    if worst and round(worst.ratio(), 2) < 1:
        peer = titles.get(worst.best_peer(), worst.best_peer())
        sentences.append(f"Its worst point is {place_of(worst, plan)}: {worst.ratio():.2f} of the speed of {peer}.")
    unclear = sum(not is_clear(row) for row in compared)
    if 2 * unclear > len(compared):
        what = "the figures are noise, or other processes used the CPUs: a quiet machine says more"
        sentences.append(f"At {unclear} of {len(compared)} points {what}.")
    if quanta := sum(row.is_quantum for row in compared):
        sentences.append(f"{quanta} points show a scheduler's quantum, not work; no mean counts them.")
    if missing := sorted({text.split(":")[0] for text in run["troubles"] if ": Dunlin:" in text}):
        sentences.append(f"Dunlin did not run in {', '.join(missing)}.")
    return sentences


def without_folders(text):
    """What is published names files, and not where they lie on the machine that measured."""
    return re.sub(r"(?<![\w.~/-])/(?:[^\s/'\":,]+/)+", "", text)


def command_text(words):
    """The command of a run, for its reader to repeat: without where the results went."""
    kept, rest = [], iter(words)
    for word in rest:
        if word == "--out":
            next(rest, None)
        elif not word.startswith("--out="):
            kept.append(without_folders(word))
    return " ".join(kept)


def alone(rows):
    """Without another MPI the machine itself is the measure."""
    small = [row for row in rows if (row.experiment, row.x) == ("latency", 8) and row.limit_ratio(["line"])]
    if not small:
        return "No other MPI was measured beside Dunlin."
    ratio = min(row.limit_ratio(["line"]) for row in small)
    return f"No other MPI was measured; 8 bytes take {times_text(ratio)} as long as one raw cache line."
