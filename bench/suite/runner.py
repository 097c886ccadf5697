"""Builds the programs for every MPI and runs them interleaved, so that each MPI meets the same states of the
machine.

Used by compare.  A run is repeated when other processes used the CPUs meanwhile; one that fails, hangs or carries
wrong data is noted, not tried again, and never ends the others.
"""

import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from suite import callgrind, machine, parts, peers, samples

FOREIGN_SHARE_MAX = 0.04
ATTEMPTS, ATTEMPTS_QUICK = 3, 1
QUIET_S = 0.1  # nobody else may have used the CPUs for this long before a run
QUIET_WAIT_S, QUIET_WAIT_QUICK_S = 4.0, 0.2  # how long to wait for that
LIMITS = "limits"
BENCH = Path(__file__).resolve().parent.parent
SOURCES = BENCH / "programs"
PROBE_TIMEOUT_S = 10.0
TIMEOUT_QUICK_S = 12.0  # what is not done by then has printed what it has, also where others use the CPUs
LIMITS_TIMEOUT_S = 60.0


class Failed(Exception):
    """A program that does not compile or run, with the reason."""


def available_programs():
    return {path.stem for path in SOURCES.glob("*.c")} - {"sample"}


def compile_program(mpi, program, folder):
    """Compiles when the source is newer than the result; returns the executable."""
    sources = [SOURCES / f"{program}.c", SOURCES / "sample.c"]
    output = folder / f"{mpi.folder_name}/{program}"
    output.parent.mkdir(parents=True, exist_ok=True)
    inputs = [*sources, *SOURCES.glob("*.h")]
    if output.exists() and output.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return output
    command = mpi.compile_command(sources, output)
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=mpi.environment())
    if result.returncode != 0:
        raise Failed(f"{program} does not compile: {last_line(result.stderr)}")
    return output


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


@dataclass
class Outcome:
    found: list  # samples
    trouble: str = ""  # why there are none, or not all
    foreign_share: float = 0.0  # of the CPUs, used by other processes meanwhile
    wall_s: float = 0.0

    @property
    def is_disturbed(self):
        return self.foreign_share > FOREIGN_SHARE_MAX


def output_of(command, environment, timeout_s):
    """What a command prints, and what went wrong with it ("" when nothing did)."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout_s)
        trouble = f"exit code {process.returncode}: {last_line(errors)}" if process.returncode else ""
        return output, trouble
    except subprocess.TimeoutExpired:
        machine.end_children()
        output, _ = process.communicate()
        return output, f"broken off after {timeout_s:.0f} s"


def run_once(mpi, experiment, executable, arguments, probe, timeout_s):
    before = probe()
    meter = machine.Meter()
    started = time.monotonic()
    command = mpi.launch_command(experiment.ranks, executable, arguments)
    output, trouble = output_of(command, mpi.environment(), timeout_s)
    wall_s = time.monotonic() - started
    machine.reap()
    share = meter.foreign_share()
    found = parts.parse(experiment.part, output) if experiment.part else samples.parse_all(output)
    if not (found or trouble or experiment.wall):
        trouble = "printed no sample"
    after = probe()
    for sample in found:
        if not sample.probes_ns:  # the program could not probe: its ranks share CPUs, or wait for long
            sample.before_ns, sample.after_ns = before, after
    if experiment.wall and not trouble:
        found.append(
            samples.Sample(
                experiment.program,
                experiment.wall,
                experiment.ranks,
                wall_s * 1e3,
                "ms",
                experiment.ranks,
                before,
                after,
                True,
            )
        )
    return Outcome(found, trouble, share, wall_s)


class PlainProgram:
    """A program of one part of the library in the place of an MPI: it is started as it is."""

    def __init__(self, name, build):
        self.name, self.title, self.build = name, name, build

    def find(self, program):
        for folder in (self.build / "bench", BENCH):
            if (folder / program).is_file():
                return folder / program
        raise Failed(f"{program} is not built")

    def launch_command(self, _, executable, arguments):
        return [str(word) for word in (executable, *arguments)]

    def environment(self):
        return None


class Runner:
    def __init__(self, mpis, build, is_quick, say):
        self.mpis, self.build, self.is_quick, self.say = mpis, build, is_quick, say
        self.folder = build / "benchmarks/programs"
        self.machine = build / "bench/limits/machine"
        self.probes_ns = []  # of all samples of this run
        self.troubles = {}  # (experiment, mpi) -> why
        self.titles = {mpi.name: mpi.title for mpi in mpis}
        machine.adopt_orphans()

    def probe(self):
        """Cache-line ping-pong now; 0 when it cannot be taken."""
        output, _ = output_of([self.machine, "probe"], None, PROBE_TIMEOUT_S)
        return next((sample.value for sample in samples.parse_all(output)), 0.0)

    def state(self):
        """Of the machine now, among those that this run has met."""
        return samples.States(self.probes_ns).of(self.probe())

    def mark(self, found):
        self.probes_ns += [probe for sample in found for probe in sample.probes_ns]
        samples.States(self.probes_ns).mark(found)

    def measure_machine(self):
        output, _ = output_of([self.machine], None, LIMITS_TIMEOUT_S)
        found = [
            replace(sample, mpi=parts.PREFIX + "this machine", experiment=LIMITS) for sample in samples.parse_all(output)
        ]
        self.titles.update((sample.mpi, parts.title_of(sample.mpi)) for sample in found)
        return found

    def entries(self, experiment):
        """The MPIs that take part in an experiment; a program without MPI counts as one."""
        if experiment.part:
            return [PlainProgram(experiment.part, self.build)]
        kinds = {mpi.name: mpi for mpi in self.mpis if not experiment.kinds or mpi.kind in experiment.kinds}
        wanted = [] if self.is_quick else experiment.variants
        found = [peers.variant(text, kinds) for text in wanted if text.split("/")[0] in kinds]
        limits = [peers.PlainProcesses(way, self.build) for way in experiment.ways]
        return [*kinds.values(), *(mpi for mpi in found if mpi.name not in kinds), *limits]

    def executable(self, mpi, experiment):
        if not isinstance(mpi, peers.Mpi):
            return mpi.find(experiment.program)
        return compile_program(mpi, experiment.program, self.folder)

    def build_programs(self, chosen):
        """Compiles everything before the first measurement, so that no compiler takes its time or its CPUs."""
        for experiment in chosen:
            for mpi in self.entries(experiment):
                self.say(f"building {experiment.program}: {mpi.title}")
                try:
                    self.executable(mpi, experiment)
                except (Failed, OSError) as reason:
                    self.troubles[experiment.name, mpi.name] = str(reason)

    def measure(self, experiment, number, keep, stored=()):
        """The samples of one round of an experiment: every MPI in turn, begun with another one each round.

        `stored` are those of this round that an earlier run has left; what they lack is measured, and given to `keep` as
        soon as a program ends.
        """
        entries = self.entries(experiment)
        self.titles.update((mpi.name, mpi.title) for mpi in entries)
        found, new, first = [*stored], [], number % len(entries) if entries else 0
        for mpi in entries[first:] + entries[:first]:
            if (experiment.name, mpi.name) in self.troubles:
                continue  # what failed or took too long once is not tried again
            if any(experiment.part or sample.mpi == mpi.name for sample in stored):
                continue
            try:
                latest = self.run_of(mpi, experiment, number)
            except (Failed, OSError) as reason:
                self.troubles[experiment.name, mpi.name] = str(reason)
                continue
            keep(latest)
            new += latest
        found += new
        self.titles.update((name, parts.title_of(name)) for name in {sample.mpi for sample in found} - set(self.titles))
        self.mark(new)
        return found

    def run_of(self, mpi, experiment, number):
        if experiment.program == "instructions":
            return self.count_instructions(mpi, experiment)  # once, because counts do not vary
        return self.run_checked(mpi, experiment, self.executable(mpi, experiment), number)

    def count_instructions(self, mpi, experiment):
        """Under callgrind instead of timed."""
        self.say(f"{experiment.name}: {mpi.title}")
        try:
            counts = callgrind.count(mpi, self.executable(mpi, experiment))
        except callgrind.Failed as reason:
            raise Failed(str(reason)) from None
        counts["total"] = sum(counts.values())
        return [
            samples.Sample(
                experiment.program, name, 8, value, "instructions", 2, 0.0, 0.0, True, mpi.name, experiment=experiment.name
            )
            for name, value in counts.items()
        ]

    def run_checked(self, mpi, experiment, executable, number):
        arguments = [word.format(build=self.build) for word in experiment.command_arguments(self.is_quick)]
        timeout_s = min(experiment.timeout_s, TIMEOUT_QUICK_S) if self.is_quick else experiment.timeout_s
        outcome = None
        for attempt in range(ATTEMPTS_QUICK if self.is_quick else ATTEMPTS):
            self.wait_for_quiet()
            self.say(f"{experiment.name}: {mpi.title}, round {number + 1}" + (", again" if attempt else ""))
            latest = run_once(mpi, experiment, executable, arguments, self.probe, timeout_s)
            if outcome is None or latest.trouble or latest.foreign_share < outcome.foreign_share:
                outcome = latest
            if not outcome.is_disturbed or outcome.trouble:
                break
        if outcome.trouble:
            self.troubles[experiment.name, mpi.name] = outcome.trouble
        if any(not sample.is_right for sample in outcome.found):
            self.troubles[experiment.name, mpi.name] = "wrong data"
        return [
            replace(sample, mpi=sample.mpi or mpi.name, round=number, experiment=experiment.name,
                    is_disturbed=outcome.is_disturbed)
            for sample in outcome.found
            if sample.is_right
        ]

    def wait_for_quiet(self):
        """Returns when other processes leave the CPUs alone, or after a while."""
        deadline = time.monotonic() + (QUIET_WAIT_QUICK_S if self.is_quick else QUIET_WAIT_S)
        meter = machine.Meter()
        while time.monotonic() < deadline:
            meter.start()
            time.sleep(QUIET_S)
            if meter.foreign_share() <= FOREIGN_SHARE_MAX:
                return
