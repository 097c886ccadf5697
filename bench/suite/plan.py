"""What is measured: one entry per figure, with the program and its arguments.

Used by compare and reproduce.  To add a benchmark: a program under bench/programs and an entry here.
"""

from suite.experiment import Experiment, powers

SMALL = powers(1, 2048)
LARGE = powers(4096, 64 << 20)
STEPS = powers(4096, 64 << 20, 4)  # where every second power is enough
ORDINARY = powers(4096, 65536)  # such memory does not map in shared heaps
WINDOW = "8,64,512,4096,16384,65536,262144,1048576,4194304"
FEW = "0,8,64,1024," + powers(4096, 4 << 20, 4)
DIRECT = ("halves", "streaming", "receiver", "sender", "bulk")
RING = ("lines", "bulk")
MODES = {  # the end of an experiment's name -> what is done to the data (bench/programs/data.h)
    "": "untouched between messages",
    "_fresh": "written before and read after, both timed",
    "_off_cache": "out of cache",
}
MECHANISMS = ("dunlin/heap:DUNLIN_SHM_COPY=shared_heap", "dunlin/cma:DUNLIN_SHM_COPY=cma")
MECHANISMS += ("dunlin/cico:DUNLIN_SHM_COPY=cico", "openmpi/cma:OMPI_MCA_smsc=cma")
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
    "neighbor_allgather",
    "neighbor_alltoall",
)


LIMITS = Experiment("limits", "The machine itself, without MPI", "limits", (), is_curve=False)


def mode_of(suffix):
    return (f"--mode={suffix[1:]}",) if suffix else ()


def point_to_point():
    for suffix, data in MODES.items():
        quick = FEW if suffix == "" else "65536,1048576,4194304"
        yield Experiment(
            suffix[1:] or "latency",
            f"Ping-pong, the data {data}",
            "pingpong",
            (*mode_of(suffix), f"--sizes={'0,' if suffix == '' else '8,64,512,'}{SMALL if suffix == '' else 1024},{LARGE}"),
            quick=(*mode_of(suffix), f"--sizes={quick}") if suffix != "_off_cache" else None,
            ways=(*DIRECT, "lines"),
            machine_limit="line" if suffix == "" else "",
        )
        for call, name in (("sendrecv", "exchange"), ("waitall", "waitall")):
            calls = "Sendrecv" if call == "sendrecv" else "Irecv, Isend and Waitall"
            yield Experiment(
                name + suffix,
                f"{calls} by both ranks, both directions counted, the data {data}",
                "pingpong",
                (f"--call={call}", *mode_of(suffix), f"--sizes=64,1024,{LARGE if call == 'sendrecv' else STEPS}"),
                ways=DIRECT,
            )
        for memory in ("malloc", "stack") if suffix != "_off_cache" else ():
            yield Experiment(
                memory + suffix,
                f"Ping-pong from {'blocks of malloc' if memory == 'malloc' else 'the stack'}, the data {data}",
                "pingpong",
                (f"--memory={memory}", *mode_of(suffix), f"--sizes={ORDINARY}"),
                ways=RING,
            )
        for ways, name in ((1, "bandwidth"), (2, "bidirectional")):
            yield Experiment(
                name + suffix,
                f"Stream of messages {'one way' if ways == 1 else 'both ways'}, 64 in flight, the data {data}",
                "bandwidth",
                (*(("--bidirectional=1",) if ways == 2 else ()), *mode_of(suffix), f"--sizes={WINDOW}"),
                quick=("--sizes=4096,65536,1048576",) if (name, suffix) == ("bandwidth", "") else None,
                ways=DIRECT,
            )
        for ranks in (4, 8):
            yield Experiment(
                f"all_to_all{ranks}{suffix}",
                f"Every rank exchanges a message with every other, {ranks} ranks, the data {data}",
                "all_to_all",
                mode_of(suffix),
                ranks=ranks,
                timeout_s=20,
                ways=("receiver", "halves", "streaming"),
            )
        yield Experiment(
            f"strided{suffix}",
            f"Ping-pong of a column, faces, a list and structs, the data {data}",
            "strided",
            mode_of(suffix),
            is_curve=False,
            ways=DIRECT,
        )
    for new, title in (
        ("sent", "of a new buffer"),
        ("untouched", "into a new buffer that nobody has touched"),
        ("static", "of a part of a static array, into one"),
    ):
        yield Experiment(
            "first_message" if new == "sent" else f"first_message_{new}",
            f"The first and the second large message {title}, to the acknowledgement",
            "first_message",
            (f"--new={new}", f"--sizes={powers(262144, (4 if new == 'static' else 16) << 20, 4)}"),
            repeats=5,
        )
    yield Experiment(
        "rate",
        "Messages per second, 64 in flight",
        "bandwidth",
        ("--report=rate", "--sizes=0,8,16,32,64,128,256,512,1024,2048,4096"),
        repeats=5,
        quick=("--report=rate", "--sizes=8"),
    )


def threads():
    """Threads of two ranks, each with a communicator of its own."""
    shared = {"program": "threads", "x_label": "threads", "timeout_s": 20}
    yield Experiment(
        "threads_rate",
        "Messages of 8 bytes per second, all threads of a rank together, each with its communicator",
        arguments=("--report=rate",),
        **shared,
    )
    for bytes_, suffix in ((8, ""), (65536, "_large")):
        yield Experiment(
            f"threads_latency{suffix}",
            f"Ping-pong of {bytes_} bytes by each thread of a rank over its communicator",
            arguments=(f"--bytes={bytes_}",),
            **shared,
        )


def mechanisms():
    """The curves of every way to copy inside a node."""
    shared = {"program": "pingpong", "kinds": ("dunlin", "openmpi"), "variants": MECHANISMS, "rounds_max": 2, "repeats": 2}
    yield Experiment(
        "mechanisms", "Ping-pong by each mechanism", arguments=(f"--sizes=0,8,1024,{STEPS}",), **shared
    )
    yield Experiment(
        "mechanisms_exchange",
        "Sendrecv by each mechanism, both directions counted",
        arguments=("--call=sendrecv", f"--sizes={STEPS}"),
        **shared,
    )
    yield Experiment(
        "mechanisms_off_cache",
        "Sendrecv out of cache by each mechanism, both directions counted",
        arguments=("--call=sendrecv", "--mode=off_cache", f"--sizes={STEPS}"),
        **shared,
    )
    yield Experiment(
        "ways_one_to_all",
        "One process's 1 MB read by all others, without any protocol",
        "memory/one_to_all",
        (),
        part="one_to_all",
        x_label="processes",
        rounds_max=2,
    )
    yield Experiment(
        "registration",
        "A transfer from a mapped file with and without the registration cache; passes over a new buffer",
        "memory/registration",
        (),
        part="registration",
        rounds_max=2,
    )
    yield Experiment(
        "heap_cost",
        "Loads and programs under the C library's allocator and under the shared heap",
        "memory/heap_cost",
        ("{build}", "4"),
        part="heap_cost",
        rounds_max=2,
        timeout_s=90.0,
        is_curve=False,
        x_label="",
    )


def matching_and_overlap():
    for kind in ("posted", "posted_wild", "unexpected"):
        yield Experiment(
            f"matching_{kind}",
            f"8-byte ping-pong past a queue of messages ({kind})",
            "matching",
            (f"--kind={kind}",),
            x_label="depth of the queue",
            quick=(f"--kind={kind}", "--sizes=0,1000,10000") if kind == "unexpected" else None,
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
        )
    yield Experiment(
        "instructions",
        "Instructions of an 8-byte send and of a receive already arrived",
        "instructions",
        (),
        is_curve=False,
        rounds_max=1,
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
            variants=("dunlin/cma:DUNLIN_SHM_COPY=cma",),
        )


# Those of --quick, and those that bench/limits/collective.c does, too.
QUICK = ("barrier", "bcast", "allreduce", "alltoall")
HALVED = ("bcast", "reduce", "allreduce", "allgather", "alltoall")
FRESH = (*HALVED, "gather", "scatter", "scan")
WITH_MORE_RANKS = ("barrier", *HALVED, "scan", "exscan")


def collectives_on_stacks():
    """Operands that nobody else can map."""
    for name in HALVED:
        for ranks in (2, 8):
            yield Experiment(
                f"{name}{ranks}_stack",
                f"{name} from the stack, {ranks} ranks",
                "collective",
                (f"--ops={name}", "--memory=stack", f"--sizes=8,{powers(1024, 65536, 2 if ranks == 2 else 4)}",
                 f"--ms={10 if ranks == 2 else 40}"),
                ranks=ranks,
                timeout_s=60.0 if ranks == 2 else 15,
            )


def collectives():
    for name in COLLECTIVES:
        last = 64 << 20 if name in HALVED else 4 << 20
        yield Experiment(
            f"{name}2",
            f"{name}, 2 ranks",
            "collective",
            (f"--ops={name}", f"--sizes=8,64,512,{powers(4096, last, 4)}", "--ms=10"),
            is_curve=name != "barrier",
            quick=(f"--ops={name}", "--sizes=8,65536,1048576") if name in QUICK else None,
            ways=("halves",) if name in HALVED else (),
        )
        if name in FRESH:
            yield Experiment(
                f"{name}2_fresh",
                f"{name}, 2 ranks, buffers written before and read after",
                "collective",
                (f"--ops={name}", "--mode=fresh", f"--sizes=8,{powers(4096, last, 4)}", "--ms=10"),
                ways=("halves",) if name in HALVED else (),
            )
        for ranks in (8, 16) if name in WITH_MORE_RANKS else ():
            yield Experiment(
                f"{name}{ranks}",
                f"{name}, {ranks} ranks",
                "collective",
                (f"--ops={name}", "--sizes=8,4096,65536,1048576", "--ms=40"),
                ranks=ranks,
                is_curve=name != "barrier",
                timeout_s=6,
                quick=(f"--ops={name}", "--sizes=8,65536", "--ms=30")
                if name in ("barrier", "allreduce") and ranks == 8
                else None,
            )
    yield from collectives_on_stacks()
    for name in ("reduce", "allreduce"):
        for ranks in (4, 8, 16):
            yield Experiment(
                f"{name}_4mb_{ranks}",
                f"{name} of 4 MB, {ranks} ranks",
                "collective",
                (f"--ops={name}", "--sizes=4194304", "--ms=60"),
                ranks=ranks,
                is_curve=False,
                timeout_s=15,
            )
    yield Experiment(
        "nonblocking2",
        "Collectives called blocking, nonblocking with a wait at once, and persistent, 2 ranks",
        "nonblocking",
        ("--sizes=8,512,4096,65536", "--ms=10"),
        is_curve=False,
    )
    for suffix, ranks in (("", 2), ("4", 4)):
        yield Experiment(
            f"refinement{suffix}",
            f"Exchange of an adaptive mesh, {ranks} ranks",
            "refinement",
            (),
            ranks=ranks,
            is_curve=False,
            x_label="blocks",
            timeout_s=20,
        )
        yield Experiment(
            f"gradients{suffix}",
            f"Allreduce of AlexNet's gradients, {ranks} ranks",
            "gradients",
            (),
            ranks=ranks,
            is_curve=False,
            timeout_s=20,
        )


def windows():
    flavors = {
        "allocate": "memory of MPI_Win_allocate",
        "create": "a block of malloc",
        "static": "a static array",
        "dynamic": "a block of malloc in a dynamic window",
        "shared": "memory of MPI_Win_allocate_shared",
    }
    single = "--ops=put,get,accumulate,counter,cas,lock,fence,barrier,memcpy,loop,flags,column,face"
    many = "--ops=puts,gets,start"
    sizes = "--sizes=8,256,4096,65536,1048576,4194304"
    for flavor, memory in flavors.items():
        options = (f"--flavor={flavor}", single, sizes)
        yield Experiment(f"window_{flavor}", f"One-sided operations, {memory}", "window", options, timeout_s=30)
    for flavor in ("allocate", "create"):
        title = f"One-sided operations, 64 and a flush, and with start and post, {flavors[flavor]}"
        yield Experiment(f"window_rates_{flavor}", title, "window", (f"--flavor={flavor}", many, sizes), timeout_s=30)
    for ranks in (2, 4, 8, 16):
        yield Experiment(
            f"window_programs{ranks}",
            f"One-sided operations of all ranks: counters, locks, a hash table, halos, {ranks} ranks",
            "window_programs",
            ("--cases=counter,lock,hash,steal,halo,transpose",),
            ranks=ranks,
            is_curve=False,
            family="window_programs",
            timeout_s=30,
        )
    for flavor, memory in (("shared", "memory of MPI_Win_allocate_shared"), ("create", "a block of malloc")):
        yield Experiment(
            f"window_busy_{flavor}",
            f"One-sided operations on a rank that computes, {memory}",
            "window_programs",
            ("--cases=busy", f"--flavor={flavor}"),
            is_curve=False,
            timeout_s=30,
        )


def files():
    disk = "--file=/var/tmp/dunlin-bench-file"
    for name, where, ranks, options in (
        ("files2", "in memory", 2, ()),
        ("files4", "in memory", 4, ()),
        ("files8", "in memory", 8, ("--mb=2",)),
        ("files_disk2", "on a disk", 2, (disk,)),
    ):
        yield Experiment(
            name,
            f"One file {where}, written and read by {ranks} ranks",
            "files",
            ("--sizes=8,64,4096", "--ms=60", *options),
            ranks=ranks,
            x_label="bytes of a piece",
        )
    for name, where, options in (("file_calls2", "in memory", ()), ("file_calls_disk2", "on a disk", (disk,))):
        yield Experiment(
            name,
            f"Files {where}, written and read by a call for each piece, 2 ranks",
            "file_calls",
            ("--sizes=4096,65536,1048576", "--ms=40", *options),
            x_label="bytes of a piece",
        )
    yield Experiment(
        "file_overlap1",
        "Computing while a nonblocking collective write of 8 MB goes on: time saved, 1 rank",
        "file_overlap",
        ("--sizes=64,512,4096",),
        ranks=1,
        x_label="bytes of a piece",
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
        ("--ops=sum,max", "--types=float,double,int32,int16", "--sizes=4096,65536,1048576,16777216"),
        ranks=1,
        is_curve=False,
    )
    yield Experiment(
        "kernels_layouts",
        "Kernels of the layouts beside a plain loop, without MPI",
        "bench_datatype_kernels",
        ("--benchmark_filter=/(pack|unpack|copy)", "--benchmark_min_time=0.03", "--benchmark_format=csv"),
        part="kernels",
        is_curve=False,
        x_label="",
        rounds_max=2,
    )
    yield Experiment(
        "kernels_reduce",
        "Kernels of the reductions beside reading memory, without MPI",
        "bench_datatype_kernels",
        ("--benchmark_filter=reduce", "--benchmark_min_time=0.03", "--benchmark_format=csv"),
        part="kernels",
        machine_limit="read",
        is_curve=False,
        x_label="bytes of an operand",
        rounds_max=2,
    )
    yield Experiment(
        "profiles",
        "Kernels with the message profiles of four applications",
        "profiles",
        (),
        is_curve=False,
        x_label="kernel",
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
    return [*point_to_point(), *threads(), *mechanisms(), *matching_and_overlap(), *processes(), *collectives(),
            *windows(), *files(), *programs()]


GROUPS = {"collectives": collectives, "windows": windows, "files": files}


def choose(only, is_quick, available):
    """The entries wanted: `only` holds names, beginnings of names, or names of groups; those without a program are left
    out."""
    only = [name for word in only for name in ([e.name for e in GROUPS[word]()] if word in GROUPS else [word])]
    chosen = [entry for entry in experiments() if entry.part or entry.program in available]
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
