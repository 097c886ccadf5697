"""Builds the programs for every MPI and runs them interleaved, so that each MPI meets the same states of the
machine.

Used by compare and reproduce.  A run is repeated when other processes used the CPUs meanwhile.
"""

import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from suite import callgrind, machine, samples

FOREIGN_SHARE_MAX = 0.04
ATTEMPTS = 3
QUIET_S = 0.2  # nobody else may have used the CPUs for this long before a run
QUIET_WAIT_S = 4.0  # how long to wait for that
LIMITS = "limits"
SOURCES = Path(__file__).resolve().parent.parent / "programs"


class Failed(Exception):
    """A program that does not compile or run, with the reason."""


def available_programs():
    return {path.stem for path in SOURCES.glob("*.c")} - {"sample"}


def compile_program(mpi, program, folder):
    """Compiles when the source is newer than the result; returns the executable."""
    is_plain = program == LIMITS
    sources = [SOURCES / f"{program}.c"] + ([] if is_plain else [SOURCES / "sample.c"])
    output = folder / (LIMITS if is_plain else f"{mpi.folder_name}/{program}")
    output.parent.mkdir(parents=True, exist_ok=True)
    inputs = [*sources, *SOURCES.glob("*.h")]
    if output.exists() and output.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return output
    command = (
        ["cc", "-O3", "-D_GNU_SOURCE", "-o", output, *sources]
        if is_plain
        else mpi.compile_command(sources, output)
    )
    result = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env=None if is_plain else mpi.environment(),
    )
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


def run_once(mpi, experiment, executable, arguments, probe):
    before = probe()
    meter = machine.Meter()
    started = time.monotonic()
    command = mpi.launch_command(experiment.ranks, executable, arguments)
    trouble, output = "", ""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=mpi.environment(),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=experiment.timeout_s)
        if process.returncode != 0:
            trouble = f"exit code {process.returncode}: {last_line(errors)}"
    except subprocess.TimeoutExpired:
        machine.end_children()
        output, _ = process.communicate()
        trouble = f"broken off after {experiment.timeout_s:.0f} s"
    wall_s = time.monotonic() - started
    machine.reap()
    share = meter.foreign_share()
    found = samples.parse_all(output)
    outer = samples.state_of(*before, *probe())
    for sample in found:
        if sample.state == "unknown":
            sample.state = outer  # the program could not probe: its ranks share CPUs, or wait for long
    if experiment.wall and not trouble:
        found.append(
            samples.Sample(
                experiment.program,
                experiment.wall,
                experiment.ranks,
                wall_s * 1e3,
                "ms",
                experiment.ranks,
                outer,
                0.0,
                True,
            )
        )
    return Outcome(found, trouble, share, wall_s)


class Runner:
    def __init__(self, mpis, folder, is_quick, rounds, rounds_extra, say):
        self.mpis, self.folder, self.is_quick, self.rounds, self.say = mpis, folder, is_quick, rounds, say
        self.rounds_extra = rounds_extra  # where the MPIs were not all met in one state of the machine
        self.limits = compile_program(None, LIMITS, folder)
        self.troubles = {}  # (experiment, mpi) -> why
        machine.adopt_orphans()

    def probe(self):
        """Cache-line ping-pong now, as a list for samples.state_of."""
        result = subprocess.run([self.limits, "probe"], capture_output=True, text=True)
        return [sample.value for sample in samples.parse_all(result.stdout)]

    def measure_limits(self, is_whole):
        """The machine's own figures; `is_whole` adds copies up to 64 MB, which takes 13 s instead of 2."""
        result = subprocess.run([self.limits, "all" if is_whole else "quick"], capture_output=True, text=True)
        return samples.parse_all(result.stdout)

    def measure(self, experiment):
        """All samples of one experiment, every MPI in turn, round after round."""
        if experiment.program == "instructions":
            return self.count_instructions(experiment)
        executables = {}
        for mpi in self.mpis:
            try:
                executables[mpi.name] = compile_program(mpi, experiment.program, self.folder)
            except (Failed, OSError) as reason:
                self.troubles[experiment.name, mpi.name] = str(reason)
        found = []
        for number in range(self.rounds + self.rounds_extra):
            if number >= self.rounds and self.is_covered(found):
                break
            order = [mpi for mpi in self.mpis if mpi.name in executables]
            for mpi in order[number % len(order) :] + order[: number % len(order)] if order else []:
                if (experiment.name, mpi.name) in self.troubles:
                    continue  # what failed or took too long once is not tried again
                found += self.run_checked(mpi, experiment, executables[mpi.name], number)
        return found

    def count_instructions(self, experiment):
        """Under callgrind instead of timed; once, because counts do not vary."""
        found = []
        for mpi in self.mpis:
            self.say(f"{experiment.name}: {mpi.title}")
            try:
                counts = callgrind.count(mpi, compile_program(mpi, experiment.program, self.folder))
            except (Failed, callgrind.Failed, OSError) as reason:
                self.troubles[experiment.name, mpi.name] = str(reason)
                continue
            counts["total"] = sum(counts.values())
            found += [
                samples.Sample(
                    experiment.program, name, 8, value, "instructions", 2, "unknown", 0.0, True, mpi.name
                )
                for name, value in counts.items()
            ]
        return found

    def run_checked(self, mpi, experiment, executable, number):
        arguments = experiment.command_arguments(self.is_quick)
        outcome = None
        for attempt in range(ATTEMPTS):
            self.wait_for_quiet()
            self.say(f"{experiment.name}: {mpi.title}, round {number + 1}" + (", again" if attempt else ""))
            latest = run_once(mpi, experiment, executable, arguments, self.probe)
            if outcome is None or latest.trouble or latest.foreign_share < outcome.foreign_share:
                outcome = latest
            if not outcome.is_disturbed or outcome.trouble:
                break
        if outcome.trouble:
            self.troubles[experiment.name, mpi.name] = outcome.trouble
        if any(not sample.is_right for sample in outcome.found):
            self.troubles[experiment.name, mpi.name] = "wrong data"
        return [
            replace(sample, mpi=mpi.name, round=number, is_disturbed=outcome.is_disturbed)
            for sample in outcome.found
            if sample.is_right
        ]

    def wait_for_quiet(self):
        """Returns when other processes leave the CPUs alone, or after QUIET_WAIT_S."""
        deadline = time.monotonic() + QUIET_WAIT_S
        meter = machine.Meter()
        while time.monotonic() < deadline:
            meter.start()
            time.sleep(QUIET_S)
            if meter.foreign_share() <= FOREIGN_SHARE_MAX:
                return

    def is_covered(self, found):
        """Whether most points have a state of the machine in which every working MPI was seen."""
        seen, names = {}, {sample.mpi for sample in found}
        for sample in found:
            seen.setdefault(sample.key, {}).setdefault(sample.state, set()).add(sample.mpi)
        whole = sum(
            any(mpis == names for state, mpis in states.items() if state != "mixed")
            for states in seen.values()
        )
        return whole >= 0.9 * len(seen)
