"""Counts instructions by callgrind: of an 8-byte MPI_Send, of an MPI_Recv whose message has arrived, and of one-sided
operations of 8 bytes with their flush.

What the caller spends on the call itself (arguments, call, return) is taken off: for messages it is counted with an
empty function. Used by bench/instructions and by runner.py.  Counts are exact and hold on any machine of the same
architecture.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

COUNT = 50
TIMEOUT_S = 120
FUNCTIONS = {"send": ("measured_send", "empty_send"), "recv": ("measured_recv", "empty_recv")}
WINDOW_OPERATIONS = ("put", "get", "accumulate", "counter", "cas")
WINDOW_FLAVORS = ("allocate", "shared")  # memory of the program's own does not map under valgrind
WINDOW_CALLS = 10000


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


def run(mpi, folder, options, program, arguments):
    """Two ranks under callgrind, which leaves its files in `folder`."""
    if not shutil.which("valgrind"):
        raise Failed("valgrind is not installed")
    tool = ["--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out.%p", *options]
    command = mpi.launch_command(2, shutil.which("valgrind"), [*tool, program, "--probe=0", *arguments])
    try:
        result = subprocess.run(command, capture_output=True, text=True, env=mpi.environment(), timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {TIMEOUT_S} s under callgrind") from None
    if result.returncode != 0:
        raise Failed(f"exit code {result.returncode} under callgrind")
    return result.stdout


def count_function(mpi, program, function):
    """Instructions per call of one marked function, or Failed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        marks = ["--collect-atstart=no", f"--toggle-collect={function}"]
        if "check=ok" not in run(mpi, folder, marks, program, [f"--count={COUNT}"]):
            raise Failed("wrong data under callgrind")
        totals = totals_in(folder)
    if len(totals) != 1:
        raise Failed(f"{len(totals)} processes ran {function} instead of one")
    return totals[0] / COUNT


def count(mpi, program):
    """Instructions per call of send and of receive; `program` is instructions.c built with `mpi`."""
    counts = {}
    for name, (measured, empty) in FUNCTIONS.items():
        counts[name] = count_function(mpi, program, measured) - count_function(mpi, program, empty)
    return counts


def costs_in(profile, program, is_inclusive):
    """Instructions of each function of the program, with or without what it calls."""
    listing = subprocess.run(
        ["callgrind_annotate", "--threshold=100", f"--inclusive={'yes' if is_inclusive else 'no'}", profile],
        capture_output=True, text=True, check=True,
    ).stdout
    found = re.findall(rf"^\s*([\d,]+) .*?[^\s:]*:(\w+) \[.*/{program.name}\]", listing, re.M)
    return {function: int(count.replace(",", "")) for count, function in found}


def count_window(mpi, program, flavor):
    """Instructions of each operation and its flush; `program` is window.c built with `mpi`."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        chosen = [f"--flavor={flavor}", f"--ops={','.join(WINDOW_OPERATIONS)}", "--sizes=8", f"--calls={WINDOW_CALLS}"]
        run(mpi, folder, [], program, chosen)
        for profile in Path(folder).glob("callgrind.out.*"):
            whole, own = (costs_in(profile, program, inclusive) for inclusive in (True, False))
            if set(WINDOW_OPERATIONS) <= whole.keys():
                return {name: (whole[name] - own[name]) / WINDOW_CALLS for name in WINDOW_OPERATIONS}
    raise Failed("no process ran all operations")
