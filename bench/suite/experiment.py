"""What an entry of the plan (plan.py) says of a program: its arguments, its ranks, and how it is shown."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    program: str
    arguments: tuple
    ranks: int = 2
    quick: tuple = None  # arguments of --quick; None: left out there
    x_label: str = "bytes"
    is_curve: bool = True  # drawn as a plot
    family: str = ""  # not "": experiments of this name differ by their ranks, and one plot shows them over the ranks
    repeats: int = 3  # samples per point and run
    timeout_s: float = 60.0
    ways: tuple = ()  # of plain processes that do the same without an MPI (bench/limits/mpi.h)
    machine_limit: str = ""  # which limit of the machine itself stands beside it: see analysis.machine_limit
    wall: str = ""  # not "": the run's own wall time is a sample of this series (ms)
    kinds: tuple = ()  # only these MPIs; empty: all
    variants: tuple = ()  # further entries, as `--variant` takes them; not in --quick
    rounds_max: int = 0  # 0: as many as the run allows
    part: str = ""  # a program without MPI, under build/bench or bench, whose output parts.py reads by this name

    @property
    def has_turns(self):
        """Its time is that of messages: where ranks share a CPU, each waits for its turn."""
        return self.program != "startup" and not self.part

    def command_arguments(self, is_quick):
        chosen = self.quick if is_quick and self.quick is not None else self.arguments
        if self.part:
            return [*chosen]
        return [*chosen, f"--repeats={2 if is_quick else self.repeats}"]


def powers(first, last, factor=2):
    """`--sizes` of all powers from `first` to `last`, both included."""
    sizes = []
    while first <= last:
        sizes.append(str(first))
        first *= factor
    return ",".join(sizes)
