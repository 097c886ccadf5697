"""A sample: one line printed by a benchmark program, and the state of the machine it was taken in.

Written by bench/programs/sample.c and bench/limits; read by show_machine, compare, reproduce.
"""

import math
import statistics
from dataclasses import dataclass

SHARE_MIN = 0.1  # of all probes: fewer are interruptions, not a state
APART_MIN = 1.5  # two states differ by at least this factor
BETWEEN_MAX = 0.1  # and at most this share of the probes lies in the middle third between them
STATES = ("one", "nearest", "near", "far")  # those compared; besides "mixed" (the probes disagree) and "unknown" (none)


@dataclass
class Sample:
    bench: str
    series: str
    x: float
    value: float
    unit: str
    ranks: int
    before_ns: float  # the raw time of a cache line just before the sample and just after; 0: not taken
    after_ns: float
    is_right: bool  # the program checked its data
    mpi: str = ""  # filled in by whoever ran the program
    round: int = 0
    experiment: str = ""
    is_disturbed: bool = False  # other processes used the CPUs meanwhile
    is_extrapolated: bool = False  # the program broke the work off and extrapolates
    state: str = "unknown"  # set by States.mark

    @property
    def key(self):
        """What has to be equal for two samples to be comparable, the state of the machine apart."""
        return (self.bench, self.series, self.x, self.ranks)

    @property
    def probes_ns(self):
        return [probe for probe in (self.before_ns, self.after_ns) if probe > 0]


class States:
    """The states of the machine in one run, from the probes of that run alone: one, two or three.

    The probes are cut in two where the logarithms of both parts vary least, and so is the lower part: two CPUs of a
    virtual machine share a core, a cache, or neither.  If one part holds too few of the probes, the parts are too near to
    each other, or much lies between, there is no cut.
    """

    def __init__(self, probes_ns):
        logs = sorted(math.log(probe) for probe in probes_ns if probe > 0)
        few = max(1, math.ceil(SHARE_MIN * len(logs)))
        self.limits_ns = []  # between two states, ascending
        while len(self.limits_ns) < 2 and (limit := cut_in_two(logs, few)):
            self.limits_ns.insert(0, math.exp(limit))
            logs = [log for log in logs if log < limit]

    def of(self, *probes_ns):
        names = {self.name(probe) for probe in probes_ns if probe > 0}
        return "unknown" if not names else names.pop() if len(names) == 1 else "mixed"

    def name(self, probe_ns):
        if not self.limits_ns:
            return "one"
        above = sum(probe_ns >= limit for limit in self.limits_ns)
        return STATES[len(STATES) - 1 - len(self.limits_ns) + above]

    def mark(self, found):
        for sample in found:
            sample.state = self.of(*sample.probes_ns)


def cut_in_two(logs, few):
    """Where a sorted list falls into two parts of at least `few` each, or None."""
    cuts = range(few, len(logs) - few + 1)
    if not cuts:
        return None
    cut = min(cuts, key=Scatter(logs).of)
    low, high = statistics.median(logs[:cut]), statistics.median(logs[cut:])
    third = (high - low) / 3
    between = sum(low + third < log < high - third for log in logs)
    is_cut = high - low >= math.log(APART_MIN) and between <= BETWEEN_MAX * len(logs)
    return (low + high) / 2 if is_cut else None


class Scatter:
    """Sum of the squared distances of both parts of a sorted list from their means, for every cut."""

    def __init__(self, values):
        self.sums, self.squares = [0.0], [0.0]
        for value in values:
            self.sums.append(self.sums[-1] + value)
            self.squares.append(self.squares[-1] + value * value)

    def of(self, cut):
        return self.part(0, cut) + self.part(cut, len(self.sums) - 1)

    def part(self, begin, end):
        total = self.sums[end] - self.sums[begin]
        return self.squares[end] - self.squares[begin] - total * total / (end - begin)


def mark(found):
    """Finds the states of the run that took these samples, and marks each with its own."""
    states = States([probe for sample in found for probe in sample.probes_ns])
    states.mark(found)
    return states


def parse(line):
    """The sample in a line of output, or None when the line is something else."""
    words = line.split()
    if not words or words[0] != "sample":
        return None
    fields = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    try:
        before, after = map(float, fields.get("probe", "0,0").split(","))
        return Sample(
            fields["bench"],
            fields["series"],
            float(fields["x"]),
            float(fields["value"]),
            fields["unit"],
            int(fields["ranks"]),
            before,
            after,
            fields["check"] == "ok",
            is_extrapolated=fields.get("extrapolated") == "yes",
        )
    except (KeyError, ValueError):
        return None  # a line cut short by a job that died


def parse_all(text):
    return [sample for sample in map(parse, text.splitlines()) if sample]


def is_less_better(unit):
    """Times and memory shrink, rates and kept percentages grow; idle CPU is told apart by its series."""
    return not unit.endswith("/s") and unit not in ("%", "x")


def size_text(count):
    """4096 -> 4K, as benchmark tables write sizes."""
    count = int(count)
    for power, letter in ((30, "G"), (20, "M"), (10, "K")):
        if count >= 1 << power and count % (1 << power) == 0:
            return f"{count >> power}{letter}"
    return str(count)
