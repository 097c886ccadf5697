"""A sample: one line printed by a benchmark program, and the state of the machine it was taken in.

Written by bench/programs/sample.c and limits.c; read by show_machine, compare, reproduce.
"""

from dataclasses import dataclass

NEAR_NS_MAX = 80.0  # raw cache-line ping-pong below this: the two CPUs are near each other
FAR_NS_MIN = 130.0  # above this: far; between the two, or two different states: mixed
FAR_NS_MAX = 1000.0  # above this the two ranks share a CPU or were interrupted
LIMIT_BYTES_QUICK, LIMIT_BYTES = 4 << 20, 64 << 20  # largest copies of `limits quick` and `limits all`
STATES = ("near", "far", "mixed", "unknown")


@dataclass
class Sample:
    bench: str
    series: str
    x: float
    value: float
    unit: str
    ranks: int
    state: str  # one of STATES
    probe_ns: float  # mean of the probes around the sample; 0 when there were none
    is_right: bool  # the program checked its data
    mpi: str = ""  # filled in by whoever ran the program
    round: int = 0
    experiment: str = ""
    is_disturbed: bool = False  # other processes used the CPUs meanwhile

    @property
    def key(self):
        """What has to be equal for two samples to be comparable, the state of the machine apart."""
        return (self.bench, self.series, self.x, self.ranks)


def state_of(*probes_ns):
    """Name of the state all these probes agree on."""
    known = [probe for probe in probes_ns if probe > 0]
    if not known:
        return "unknown"
    if all(probe < NEAR_NS_MAX for probe in known):
        return "near"
    if all(FAR_NS_MIN < probe < FAR_NS_MAX for probe in known):
        return "far"
    return "mixed"


def parse(line):
    """The sample in a line of output, or None when the line is something else."""
    words = line.split()
    if not words or words[0] != "sample":
        return None
    fields = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    try:
        probes = [float(text) for text in fields.get("probe", "0").split(",")]
        known = [probe for probe in probes if probe > 0]
        return Sample(
            fields["bench"],
            fields["series"],
            float(fields["x"]),
            float(fields["value"]),
            fields["unit"],
            int(fields["ranks"]),
            state_of(*probes),
            sum(known) / len(known) if known else 0.0,
            fields["check"] == "ok",
        )
    except (KeyError, ValueError):
        return None  # a line cut short by a job that died


def parse_all(text):
    return [sample for sample in map(parse, text.splitlines()) if sample]


def is_less_better(unit):
    """Times and memory shrink, rates and kept percentages grow; idle CPU is told apart by its series."""
    return unit not in ("GB/s", "M/s", "%", "x", "steps/s")


def size_text(count):
    """4096 -> 4K, as benchmark tables write sizes."""
    count = int(count)
    for power, letter in ((30, "G"), (20, "M"), (10, "K")):
        if count >= 1 << power and count % (1 << power) == 0:
            return f"{count >> power}{letter}"
    return str(count)
