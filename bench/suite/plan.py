"""What is measured: one entry per figure, with the program and its arguments.

Used by compare and reproduce.  To add a benchmark: a program under bench/programs and an entry here.
"""

from dataclasses import dataclass

POWERS = (
    "0,1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576,"
    "2097152,4194304,8388608,16777216,33554432,67108864"
)
FEW = "0,8,64,1024,4096,16384,65536,262144,1048576,4194304"
LARGE = "4096,16384,65536,262144,1048576,4194304,16777216"
COLLECTIVES = (
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce_scatter_block",
    "reduce_scatter",
    "scan",
    "exscan",
    "gatherv",
    "scatterv",
    "allgatherv",
    "alltoallv",
    "alltoallw",
)


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
    repeats: int = 3  # samples per point and run
    timeout_s: float = 60.0
    limit: str = ""  # which limit of the machine stands beside it: line, copy, copy_out_of_cache, both_copies
    wall: str = ""  # not "": the run's own wall time is a sample of this series (ms)

    def command_arguments(self, is_quick):
        chosen = self.quick if is_quick and self.quick is not None else self.arguments
        return [*chosen, f"--repeats={2 if is_quick else self.repeats}"]


def point_to_point():
    yield Experiment(
        "latency",
        "Ping-pong, the data untouched between messages",
        "pingpong",
        (f"--sizes={POWERS}",),
        quick=(f"--sizes={FEW}",),
        limit="line_and_copy",
    )
    yield Experiment(
        "fresh",
        "Ping-pong with fresh data: the sender writes, the receiver reads, both timed",
        "pingpong",
        ("--mode=fresh", f"--sizes=8,1024,{LARGE}"),
        quick=("--mode=fresh", "--sizes=65536,1048576,4194304"),
    )
    yield Experiment(
        "off_cache",
        "Ping-pong out of cache",
        "pingpong",
        ("--mode=off_cache", f"--sizes={LARGE},67108864"),
        limit="copy_out_of_cache",
    )
    yield Experiment(
        "exchange",
        "Sendrecv by both ranks, both directions counted",
        "pingpong",
        ("--call=sendrecv", f"--sizes=8,64,1024,{LARGE},67108864"),
        limit="two_copies",
    )
    yield Experiment(
        "exchange_off_cache",
        "Sendrecv out of cache, both directions counted",
        "pingpong",
        ("--call=sendrecv", "--mode=off_cache", f"--sizes=1024,{LARGE},67108864"),
    )
    yield Experiment(
        "bandwidth",
        "Stream of messages one way, 64 in flight",
        "bandwidth",
        ("--sizes=8,64,512,4096,16384,65536,262144,1048576,4194304",),
        quick=("--sizes=4096,65536,1048576",),
        limit="copy",
    )
    yield Experiment(
        "bidirectional",
        "Streams both ways, 64 in flight each",
        "bandwidth",
        ("--bidirectional=1", "--sizes=8,64,512,4096,16384,65536,262144,1048576,4194304"),
    )
    yield Experiment(
        "rate",
        "Messages per second, 64 in flight",
        "bandwidth",
        ("--report=rate", "--sizes=0,8,16,32,64,128,256,512,1024,2048,4096"),
        repeats=5,
        quick=("--report=rate", "--sizes=8"),
    )


def matching_and_overlap():
    for kind in ("posted", "posted_wild", "unexpected"):
        yield Experiment(
            f"matching_{kind}",
            f"8-byte ping-pong past a queue of messages ({kind})",
            "matching",
            (f"--kind={kind}",),
            x_label="depth of the queue",
            quick=(f"--kind={kind}", "--sizes=0,1000,10000") if kind != "posted_wild" else None,
        )
    for order in ("same", "reverse", "random"):
        yield Experiment(
            f"flood_{order}",
            f"1,000,000 unexpected messages received in {order} order",
            "flood",
            (f"--order={order}", "--limit-s=2"),
            is_curve=False,
            x_label="messages",
            timeout_s=90,
            quick=(f"--order={order}", "--limit-s=2") if order == "reverse" else None,
        )
    yield Experiment(
        "instructions",
        "Instructions of an 8-byte send and of a receive already arrived",
        "instructions",
        (),
        is_curve=False,
    )
    yield Experiment(
        "overlap", "Computing while a message travels: time saved by overlap", "overlap", (), repeats=3
    )
    yield Experiment(
        "availability", "CPU left to the program while messages are sent and received", "availability", ()
    )


def processes():
    yield Experiment(
        "pairs",
        "8-byte ping-pong of 4 pairs, 8 ranks",
        "multi_pair",
        ("--ms=100",),
        ranks=8,
        is_curve=False,
        quick=("--ms=60",),
        timeout_s=20,
    )
    yield Experiment(
        "waiters",
        "2 ranks compute beside 6 that wait in MPI_Recv: speed kept",
        "waiters",
        ("--mode=compute",),
        ranks=8,
        is_curve=False,
        x_label="ranks",
        quick=("--mode=compute", "--ms=200"),
    )
    yield Experiment(
        "idle",
        "A rank waits for a second: CPU time it takes",
        "waiters",
        ("--mode=idle",),
        is_curve=False,
        x_label="ranks",
        quick=("--mode=idle",),
        repeats=2,
    )
    yield Experiment(
        "startup",
        "mpirun -n 2 of an empty program, start to end",
        "startup",
        ("--quiet=1", "--probe=0"),
        is_curve=False,
        x_label="ranks",
        wall="wall",
        quick=("--quiet=1", "--probe=0"),
    )
    yield Experiment(
        "init",
        "MPI_Init and memory per rank, 2 ranks",
        "startup",
        ("--probe=0",),
        is_curve=False,
        x_label="ranks",
    )
    yield Experiment(
        "startup64",
        "mpirun -n 64: start to end, memory per rank",
        "startup",
        (),
        ranks=64,
        is_curve=False,
        x_label="ranks",
        wall="wall",
        timeout_s=60,
    )
    for ranks in (2, 4, 8, 16):
        yield Experiment(
            f"one_to_all{ranks}",
            f"One rank's 1 MB read by all others, {ranks} ranks",
            "one_to_all",
            (),
            ranks=ranks,
            is_curve=False,
            timeout_s=15,
        )


def collectives():
    for name in COLLECTIVES:
        is_main = name in ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")
        sizes = "--sizes=8,64,512,4096,16384,65536,262144,1048576,4194304"
        yield Experiment(
            f"{name}2",
            f"{name}, 2 ranks",
            "collective",
            (f"--ops={name}", sizes),
            is_curve=name != "barrier",
            quick=(f"--ops={name}", "--sizes=8,65536,1048576") if name in ("barrier", "allreduce") else None,
        )
        if is_main:
            yield Experiment(
                f"{name}8",
                f"{name}, 8 ranks",
                "collective",
                (f"--ops={name}", "--sizes=8,4096,65536,1048576", "--ms=60"),
                ranks=8,
                is_curve=name != "barrier",
                timeout_s=12,
                quick=(f"--ops={name}", "--sizes=8") if name == "barrier" else None,
            )


def programs():
    for ranks in (2, 4):
        yield Experiment(
            f"halo{ranks}",
            f"Halo exchange by several methods, {ranks} ranks",
            "halo",
            (),
            ranks=ranks,
            x_label="bytes of a side",
            timeout_s=20,
        )
    yield Experiment(
        "datatypes",
        "Ping-pong of non-contiguous data",
        "datatypes",
        (),
        is_curve=False,
        x_label="bytes",
        timeout_s=90,
    )
    yield Experiment(
        "reduce_local",
        "MPI_Reduce_local: data read per second",
        "reduce_local",
        ("--ops=sum,max", "--types=float,double,int32", "--sizes=4096,65536,1048576,16777216"),
        ranks=1,
        is_curve=False,
    )
    yield Experiment(
        "profiles",
        "Kernels with the message profiles of four applications",
        "profiles",
        (),
        is_curve=False,
        x_label="kernel",
    )
    yield Experiment(
        "refinement", "Exchange of an adaptive mesh", "refinement", (), is_curve=False, x_label="blocks"
    )
    yield Experiment(
        "gradients", "Allreduce of AlexNet's gradients", "gradients", (), is_curve=False, x_label="bytes"
    )
    for kernel in ("is", "cg", "mg", "ft"):
        yield Experiment(
            f"nas_{kernel}",
            f"Kernel after NAS {kernel.upper()}",
            f"nas_{kernel}",
            (),
            is_curve=False,
            x_label="size",
            repeats=2,
            timeout_s=60,
        )


def experiments():
    return [*point_to_point(), *matching_and_overlap(), *processes(), *collectives(), *programs()]


def choose(only, is_quick, available):
    """The entries wanted: `only` holds names or beginnings of names; those without a program are left out."""
    chosen = [entry for entry in experiments() if entry.program in available]
    if only:
        chosen = [
            entry
            for entry in chosen
            if any(
                entry.name == word or entry.name.startswith(word.rstrip("*")) and word.endswith("*")
                for word in only
            )
        ]
    elif is_quick:
        chosen = [entry for entry in chosen if entry.quick is not None]
    return chosen
