"""Builds mpi4py from PyPI's source against this library and runs its own tests, each at some numbers of ranks.

usage: mpi4py_suite.py BUILD_DIR [--ranks 1,2,3] [--only REGEX] [--all]

--all runs at these numbers of ranks also what takes too long there for every day; no ranks: it is only built.

The build (a virtual environment and the unpacked source) is kept in BUILD_DIR/programs/mpi4py and made again only when
missing.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

VERSION = "4.1.2"

# Modules of mpi4py's tests that exercise what this library has today, and at which numbers of ranks.  Their time is
# Python's, and it grows with the square of the ranks: what changes with their number runs at a power of two and at an odd
# one, what does not at the smallest number.
MODULES = {
    # They communicate with nobody, or only in pairs.
    "1,2": """address attributes buffer cffi ctypes doc environ errhandler errorcode exceptions grequest handle info mpiapi
    mpimem msgspec msgzero objmodel op p2p_buf_part package pickle request status threads toplevel
    io""",  # io is slow where ranks share CPUs; mpi/files_*.c run at more
    # Without peers, and up to a minute each.
    "1": "datatype pack util_dtlib",
    "1,2,3,5": """comm comm_inter comm_topo group session p2p_buf_matched p2p_obj p2p_obj_matched util_pkl5 util_sync
    cco_buf""",
    "1,2,3,4,5": "rma rma_nb win",
    # Minutes at 5 ranks; of the collectives the same algorithms as those of cco_buf, started in another way or given
    # other data.
    "1,2,3": """p2p_buf cco_vec cco_ngh_buf cco_nb_buf cco_nb_vec cco_pr_buf cco_pr_vec cco_pr_ngh_buf cco_obj
    cco_ngh_obj""",
    "2,3,4": "cco_buf_inter cco_obj_inter cco_vec_inter",
    "1,3": "file subclass",
    "2,3": "util_pool",  # alone it spawns its workers, and MPI_Comm_spawn is not there yet
}
# Single tests (patterns of mpi4py's runner) left out of those modules, with the reason.
TESTS_LEFT_OUT = {
    "test_util_pool.TestThreadPool.test_terminate": "Python's threads without MPI; fails on a busy machine now and then",
}
# Those that only --all runs: minutes of Python's own, which call nothing that others do not.
TESTS_FOR_ALL = {
    "test_datatype.TestDatatypePickle": "Python's pickle looks through all modules for each function's name",
    "test_util_dtlib.TestUtilDTLib.testStruct": "all combinations of numpy's types",
}
LEFT_OUT = {
    "dynproc": "MPI_Comm_connect and MPI_Comm_join are not there yet",
    "spawn": "MPI_Comm_spawn is not there yet",
    "ulfm": "fault tolerance (ULFM) is no part of MPI 5.0",
    "mpiabi": "looks for an installed libmpi_abi by itself, which is mpi4py 4.2's way",
}


def run(command, **kwargs):
    kwargs.setdefault("check", True)
    return subprocess.run([str(word) for word in command], **kwargs)


def prepare(build):
    """Virtual environment with mpi4py built by our mpicc; returns (python, directory of the tests)."""
    home = build / "programs" / "mpi4py"
    python = home / "venv" / "bin" / "python"
    source = home / f"mpi4py-{VERSION}"
    if (home / "ready").exists():
        return python, source / "test"
    home.mkdir(parents=True, exist_ok=True)
    run([sys.executable, "-m", "venv", home / "venv"])
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", home, f"mpi4py=={VERSION}"])
    with tarfile.open(home / f"mpi4py-{VERSION}.tar.gz") as archive:
        archive.extractall(home)
    # Cython's C takes five minutes to compile with optimisation, and nobody times it.
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", CFLAGS="-O0 -g0")
    run([*pip, "install", "numpy", "cffi"])
    run([*pip, "install", "--no-cache-dir", source], env=environment)
    (home / "ready").touch()
    return python, source / "test"


def run_modules(name, launch, python, tests, modules, left_out):
    """One job runs them all: most of a job's time is Python's start.  Returns (passed, tests run by module)."""
    command = [*launch, python, "main.py", "-v", "-f", "-i", rf"test_({'|'.join(modules)})\.py",
               *[word for pattern in left_out for word in ("-x", pattern)]]
    started = time.monotonic()
    result = run(command, cwd=tests, check=False, capture_output=True, text=True)
    passed = result.returncode == 0
    counts = collections.Counter(re.findall(r"^\w+ \(test_(\w+?)\.", result.stderr, re.MULTILINE))
    seconds = time.monotonic() - started
    print(f"{'pass' if passed else 'FAIL'}  {name}, {counts.total()} tests, {seconds:5.1f} s", flush=True)
    if not passed:
        print((result.stdout + result.stderr)[-4000:], flush=True)
    return passed, counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", default="1,2,3,4,5")
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    python, tests = prepare(build)
    ranks_of = {module: sizes.split(",") for sizes, modules in MODULES.items() for module in modules.split()}
    there = {path.stem[5:] for path in tests.glob("test_*.py")}
    unknown = there - set(ranks_of) - set(LEFT_OUT)
    if unknown:
        sys.exit(f"test modules that are neither run nor left out with a reason: {sorted(unknown)}")
    failed, tests_run = [], collections.Counter()
    wanted = set()
    left_out = [*TESTS_LEFT_OUT, *(() if options.all else TESTS_FOR_ALL)]
    for ranks in options.ranks.split(","):
        modules = [module for module, sizes in ranks_of.items() if re.search(options.only, module)
                   and (ranks in sizes or options.all and sizes != ["1"])]
        wanted.update(modules)
        if not modules:
            continue
        launch = [build / "bin" / "mpirun", "--timeout", "900", "-n", ranks]
        passed, counts = run_modules(f"{ranks} ranks", launch, python, tests, modules, left_out)
        tests_run += counts
        if not passed:
            failed.append(f"{ranks} ranks")
    idle = sorted(module for module in wanted if not tests_run[module])
    print(f"{tests_run.total()} tests run; left out: " + "; ".join(f"{m} ({why})" for m, why in LEFT_OUT.items()))
    if idle:
        failed.append(f"modules that ran nothing at any size: {idle}")
    if failed:
        sys.exit("failed: " + ", ".join(failed))
    print("OK")


if __name__ == "__main__":
    main()
