"""Counts the instructions of an 8-byte MPI_Send and of an MPI_Recv whose message has arrived, by callgrind.

What the caller spends on the call itself (arguments, call, return) is counted with an empty function and
taken off. Used by bench/instructions and by runner.py.  Counts are exact and hold on any machine of the same
architecture.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

COUNT = 50
TIMEOUT_S = 120
FUNCTIONS = {"send": ("measured_send", "empty_send"), "recv": ("measured_recv", "empty_recv")}


class Failed(Exception):
    """A count that could not be taken, with the reason."""


def totals_in(folder):
    """Sums of the counted instructions in callgrind's files, one per process that counted anything."""
    found = []
    for path in sorted(Path(folder).glob("callgrind.out.*")):
        for line in path.read_text(errors="replace").splitlines():
            if line.startswith(("totals:", "summary:")) and int(line.split()[1]) > 0:
                found.append(int(line.split()[1]))
                break
    return found


def count_function(mpi, program, function):
    """Instructions per call of one marked function, or Failed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        tool = [
            "--tool=callgrind",
            "--collect-atstart=no",
            f"--toggle-collect={function}",
            f"--callgrind-out-file={folder}/callgrind.out.%p",
        ]
        command = mpi.launch_command(
            2, shutil.which("valgrind"), [*tool, program, f"--count={COUNT}", "--probe=0"]
        )
        try:
            result = subprocess.run(
                command, capture_output=True, text=True, env=mpi.environment(), timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"took more than {TIMEOUT_S} s under callgrind") from None
        if "check=ok" not in result.stdout:
            raise Failed(f"exit code {result.returncode} under callgrind")
        totals = totals_in(folder)
    if len(totals) != 1:
        raise Failed(f"{len(totals)} processes ran {function} instead of one")
    return totals[0] / COUNT


def count(mpi, program):
    """Instructions per call of send and of receive; `program` is instructions.c built with `mpi`."""
    if not shutil.which("valgrind"):
        raise Failed("valgrind is not installed")
    counts = {}
    for name, (measured, empty) in FUNCTIONS.items():
        counts[name] = count_function(mpi, program, measured) - count_function(mpi, program, empty)
    return counts
