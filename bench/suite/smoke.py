"""Runs every benchmark program and the examples once, briefly; fails when one fails or carries wrong data.

smoke.py BUILD_DIR          called by the tests (bench/CMakeLists.txt)
"""

import subprocess
import sys
from pathlib import Path

from suite import parts, samples

SHORT = ["--ms=1", "--repeats=1"]
RUNS = [
    (2, "pingpong", ["--sizes=0,8,4096,300000"]),
    (2, "pingpong", ["--sizes=8,100000", "--mode=fresh", "--call=sendrecv"]),
    (2, "pingpong", ["--sizes=8,100000", "--mode=off_cache", "--pool=4000000"]),
    (2, "pingpong", ["--sizes=5000", "--memory=malloc", "--call=waitall"]),
    (2, "pingpong", ["--sizes=5000,65536", "--memory=stack"]),
    (2, "bandwidth", ["--sizes=8,70000"]),
    (2, "bandwidth", ["--sizes=8,70000", "--mode=fresh"]),
    (3, "all_to_all", ["--sizes=8,70000", "--mode=off_cache", "--pool=4000000"]),
    (2, "strided", []),
    (2, "window", ["--sizes=8,70000"]),
    (2, "files", ["--sizes=8,4096", "--mb=1"]),
    (3, "file_calls", ["--sizes=4096", "--mb=1"]),
    (2, "file_overlap", ["--sizes=64", "--mb=1"]),
    (2, "window", ["--sizes=8,70000", "--flavor=create"]),
    (2, "window", ["--sizes=8", "--flavor=static"]),
    (2, "window", ["--sizes=8", "--flavor=shared"]),
    (2, "window", ["--sizes=8", "--flavor=dynamic"]),
    (2, "strided", ["--mode=fresh", "--layouts=column,structs"]),
    (2, "bandwidth", ["--sizes=8,70000", "--bidirectional=1", "--window=3"]),
    (2, "threads", ["--threads=1,3"]),
    (2, "threads", ["--threads=0", "--report=rate"]),
    (5, "multi_pair", ["--sizes=8,5000"]),
    (2, "matching", ["--kind=posted", "--sizes=0,50"]),
    (2, "matching", ["--kind=posted_wild", "--sizes=50"]),
    (2, "matching", ["--kind=unexpected", "--sizes=50"]),
    (2, "flood", ["--count=3000", "--order=reverse"]),
    (2, "flood", ["--count=3000", "--order=random", "--tags=7"]),
    (4, "waiters", ["--mode=compute", "--ms=20"]),
    (3, "waiters", ["--mode=idle", "--ms=20"]),
    (3, "startup", []),
    (3, "collective", ["--sizes=8,20000"]),
    (3, "collective", ["--ops=bcast,reduce,allreduce,allgather,alltoall", "--sizes=8,20000", "--memory=stack"]),
    (3, "one_to_all", ["--sizes=4096,200000"]),
    (2, "availability", ["--sizes=8,100000"]),
    (3, "overlap", ["--sizes=1024,100000"]),
    (6, "halo", ["--sizes=16,100000"]),
    (1, "halo", ["--sizes=16"]),
    (2, "datatypes", []),
    (1, "reduce_local", ["--sizes=4096"]),
    (2, "first_message", ["--sizes=100000"]),
    (3, "profiles", []),
    (3, "refinement", ["--blocks=5"]),
    (2, "gradients", []),
    (3, "nonblocking", ["--sizes=8,20000"]),
    (3, "nas_is", ["--log2-keys=14"]),
    (3, "nas_cg", ["--rows=1500"]),
    (4, "nas_mg", ["--side=32"]),
    (2, "nas_ft", ["--side=32", "--steps=1"]),
    (2, "instructions", ["--count=3"]),
]
PLAIN = [
    (2, "pingpong", ["--sizes=0,8,4096,300000"]),
    (2, "pingpong", ["--sizes=8,5000", "--memory=stack", "--call=waitall"]),
    (2, "bandwidth", ["--sizes=8,70000", "--bidirectional=1", "--mode=fresh"]),
    (4, "all_to_all", ["--sizes=8,70000"]),
    (2, "strided", ["--mode=fresh"]),
    (2, "collective", ["--sizes=8,5000"]),
]
WAYS = ("halves", "streaming", "receiver", "sender", "bulk", "lines")
PARTS = [
    ("one_to_all", ["bench/memory/one_to_all", "65536", "2"]),
    ("registration", ["bench/memory/registration"]),
    (
        "kernels",
        ["bench/bench_datatype_kernels", "--benchmark_filter=column4", "--benchmark_min_time=0.001",
         "--benchmark_format=csv"],
    ),
]
EXAMPLES = [(ranks, "heat2d", ["60", "30"]) for ranks in (1, 2, 3, 4, 7)]
EXAMPLES += [(3, "heat2d", ["60", "100", "live"]), (2, "heat2d", ["60", "30", "none"])]
TIMEOUT_S = 60


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S)


def fails(name, result):
    """Whether a program failed or carried wrong data; says so."""
    found = samples.parse_all(result.stdout)
    if result.returncode == 0 and found and all(sample.is_right for sample in found):
        return False
    print(f"{name}: exit code {result.returncode}, {len(found)} samples\n{result.stderr.strip()[-1000:]}")
    return True


def main():
    build, failures = Path(sys.argv[1]), 0
    mpirun = [build / "bin/mpirun", "-n"]
    for ranks, name, arguments in RUNS:
        result = run(*mpirun, ranks, build / "bench" / name, *SHORT, *arguments)
        failures += fails(f"{name} {' '.join(arguments)} on {ranks} ranks", result)
    for ranks, name, arguments in PLAIN:
        for way in WAYS:
            words = [f"--ranks={ranks}", f"--way={way}", "--alloc=mpi", *SHORT, *arguments]
            failures += fails(f"limits/{name} {' '.join(words)}", run(build / "bench/limits" / name, *words))
    for part, (program, *arguments) in PARTS:
        if not (build / program).exists():
            continue  # Google Benchmark was not there to build it with
        result = run(build / program, *arguments)
        if result.returncode != 0 or not parts.parse(part, result.stdout):
            failures += 1
            print(f"{program}: exit code {result.returncode}, or its table is not understood\n{result.stdout}")
    for ranks, name, arguments in EXAMPLES:
        result = run(*mpirun, ranks, build / "examples" / name, *arguments)
        if result.returncode != 0 or "correct" not in result.stdout:
            failures += 1
            print(
                f"{name} on {ranks} ranks: exit code {result.returncode}\n{result.stdout}"
                f"{result.stderr.strip()[-1000:]}"
            )
    count = len(RUNS) + len(PLAIN) * len(WAYS) + len(PARTS) + len(EXAMPLES)
    print(f"{count - failures} of {count} runs passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
