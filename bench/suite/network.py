"""What bench/network measures: hosts of its own, the ways by which messages cross between them, and the parts.

Hosts are namespaces of this machine, joined by a bridge (test/cluster/cluster.py); what crosses it is TCP, as between
machines, but through one kernel.  Every MPI keeps its shared memory inside a host.  Each host has one CPU; where there are
more hosts, they take turns.
"""

import json
import os
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite import machine, peers, runner, samples

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH.parent / "test/cluster"))
import cluster  # noqa: E402

LIMITS = ("message", "tagged", "write", "read")
STAGES = ("messages", "basic", "piggyback", "pipeline", "zerocopy_read", "zerocopy_write",
          "messages_read", "messages_write")  # fmt: skip
MATCHING, OFFLOAD = "matching", "offload"
# With a libfabric whose providers are files of their own, as MPICH of PyPI brings it: for the start, which depends on it.
MATCHING_FILES, OFFLOAD_FILES = "matching_files", "offload_files"
LIBFABRIC_OF_FILES = "peers/mpich/lib/mpich"
SIZES = (8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20)
BLOCKS = "10.1.0.0/24"
# What makes the others use TCP between hosts.  MPICH of PyPI takes UCX unless told otherwise.
OVER_TCP = {
    "mpich": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0"},
    "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm,tcp", "OMPI_MCA_btl_tcp_if_include": BLOCKS},
    "intel": {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "I_MPI_PIN": "0"},
}
PINNED = 'name=$(hostname); exec taskset -c $(((${name#h} - 1) % $0)) "$@"'
# Where a host has more ranks than CPUs: how they wait.  Dunlin sees by itself that ranks of one host share a CPU.
SHARED = {
    "mpich": {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"},
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "intel": {"I_MPI_THREAD_YIELD": "2"},
}
COUNTED = ("messages", "writes", "reads", "words", "bytes copied", "registrations")
COUNTS = re.compile(r"rank 0: network: " + ", ".join(rf"(\d+) {name}" for name in COUNTED))
COUNTED_ROUNDS = (200, 1200)  # of ping-pong: their difference is without start and end
COUNTED_SIZES = (8, 4 << 10, 64 << 10, 1 << 20)
KERNELS = ("hydrodynamics", "particle_in_cell", "ocean", "combustion")
PROFILED_STEPS = 10
ONCE = ("count", "profile")  # ways of measuring that do not depend on the machine
STARTS = 3  # in a round, of each program
PROGRAM, PLAIN = "MPI program", "plain program"
TIMEOUT_S = 60.0
ATTEMPTS = 2  # where others used the CPUs meanwhile
FOREIGN_SHARE_MAX = 0.08  # the kernel's work for a packet is nobody's


@dataclass(frozen=True)
class Way:
    name: str
    title: str
    kind: str  # dunlin, limit, or one of the peers
    settings: dict = field(default_factory=dict)
    libfabric: str = ""  # a folder of `build` with another one than the system's


def ways_of(provider):
    found = [Way(f"limit_{name}", f"libfabric: {name}", "limit") for name in LIMITS]
    common = {"DUNLIN_OFI_PROVIDER": provider}
    found += [Way(name, name, "dunlin", {**common, "DUNLIN_OFI_STAGE": name}) for name in STAGES]
    found.append(Way(MATCHING, MATCHING, "dunlin", common))
    found.append(Way(OFFLOAD, OFFLOAD, "dunlin", {**common, "DUNLIN_P2P": "offload"}))
    newer = ", libfabric of files"
    found.append(Way(MATCHING_FILES, MATCHING + newer, "dunlin", common, LIBFABRIC_OF_FILES))
    found.append(Way(OFFLOAD_FILES, OFFLOAD + newer, "dunlin", {**common, "DUNLIN_P2P": "offload"}, LIBFABRIC_OF_FILES))
    found += [Way(kind, peers.TITLES[kind] + ", TCP", kind, settings) for kind, settings in OVER_TCP.items()]
    return {way.name: way for way in found}


@dataclass(frozen=True)
class Part:
    name: str
    title: str
    programs: tuple  # (program, arguments) each
    ways: tuple
    unit: str
    hosts: int = 2
    per_host: int = 1
    is_curve: bool = False
    way_of_measuring: str = "measure"  # of Hosts; the others count, and one round is enough
    note: str = ""  # what a reader has to know


OURS = (MATCHING, OFFLOAD)
OTHERS = tuple(OVER_TCP)
NAS = ("pipeline", "zerocopy_read", "zerocopy_write")


def nas(side):
    return (("nas_is", ("--log2-keys=18",)), ("nas_cg", ("--rows=7000", "--iterations=15")),
            ("nas_mg", (f"--side={side}", "--cycles=4")), ("nas_ft", (f"--side={side}", "--steps=2")))  # fmt: skip


def parts():
    sizes = f"--sizes={','.join(map(str, SIZES))}"
    yield Part("ladder", "Half round trip, us", (("pingpong", (sizes,)),),
               (*(f"limit_{name}" for name in LIMITS), *STAGES, OFFLOAD, *OTHERS), "us", is_curve=True)
    yield Part("rate", "Messages a second, a window of 64, million", (("bandwidth", (
        "--report=rate", "--window=64", "--sizes=8,1024,4096")),), (*STAGES, OFFLOAD, *OTHERS), "M/s")
    yield Part("availability", "CPU left to the program while a message travels, %", (("availability", (
        "--sizes=65536,1048576,4194304",)),), ("pipeline", "zerocopy_read", "zerocopy_write", OFFLOAD, *OTHERS), "%",
        note="100: the transfer cost the program nothing; 0: as much as without computing; below: more.")
    yield Part("allreduce", "Allreduce of 2 hosts x 2 ranks, us", (("collective", (
        "--ops=allreduce", "--sizes=8,65536,1048576")),), (*OURS, *OTHERS), "us", per_host=2)
    yield Part("kernels", "Four applications' messages on 2 hosts x 2 ranks, us a step", (("profiles", ()),),
               (*OURS, *OTHERS), "us", per_host=2)
    yield Part("transports", "Halo exchange of 2 x 2 ranks by shared memory and network, us", (("halo", (
        "--methods=nonblocking", "--sizes=64,4096,65536,524288")),), (*OURS, *OTHERS), "us",
        per_host=2)
    yield Part("waiting", "CPU of a rank that waits for the network, %", (("waiters", ("--mode=idle",)),),
               (*OURS, *OTHERS), "%", note="Of one second in MPI_Recv.")
    yield Part("start", "Start and end of 2 hosts x 4 ranks, ms", (("startup", ("--quiet=1",)),),
               (*OURS, MATCHING_FILES, OFFLOAD_FILES, *OTHERS), "ms", per_host=4, way_of_measuring="start",
               note="Plain: `true`, started by the same launcher; for Dunlin by Hydra.")  # fmt: skip
    yield Part("counts", "What a message of a ping-pong asks of the network", (), (*STAGES, OFFLOAD), "",
               way_of_measuring="count", note="Operations: messages, RDMA writes and reads; credits: writes of a count"
               " alone; copies: of each byte, on both sides.")  # fmt: skip
    yield Part("profile", f"Messages of the four applications in {PROFILED_STEPS} steps of 2 x 2 ranks", (), OURS, "",
               per_host=2, way_of_measuring="profile", note="Short: up to 16 KiB, of the program's own sends; fetched:"
               " long ones that came before their receive.")  # fmt: skip
    for hosts in (4, 8):
        yield Part(f"nas{hosts}", f"NAS-like kernels on {hosts} hosts of one rank, s", nas(64), (*NAS, OFFLOAD), "s",
                   hosts=hosts)


class Hosts:
    """Starts programs on the first few of the hosts."""

    def __init__(self, build, provider, count, say):
        self.build, self.provider, self.say = build, provider, say
        self.cluster = cluster.Cluster(count)
        self.cpus = len(os.sched_getaffinity(0))
        self.hydra = shutil.which("mpiexec.hydra") or str(build / "peers/mpich/bin/mpiexec.hydra")

    def mpi_of(self, way):
        home = self.build if way.kind == "dunlin" else self.build / "peers" / way.kind
        return peers.Mpi(way.kind, way.kind, home, way.settings)

    def is_there(self, way):
        if way.kind == "limit":
            return (self.build / "bench/limits/network").exists()
        return self.mpi_of(way).home.exists() and (self.build / way.libfabric).exists()

    def launch(self, way, part, words, is_plain=False):
        """The command line and its environment; of a plain program by Hydra alone, where mpirun hands over to it."""
        if way.kind == "limit":
            inits = [str(self.cluster.inits[name]) for name in self.cluster.names[:2]]
            return [*words, *inits], dict(os.environ)
        names, ranks = self.cluster.names[: part.hosts], part.hosts * part.per_host
        mpi, shell = self.mpi_of(way), self.cluster.remote_shell
        environment = mpi.environment()
        environment |= SHARED.get(way.kind, {}) if part.per_host > 1 else {}
        if way.libfabric:
            environment["LD_LIBRARY_PATH"] = str(self.build / way.libfabric)
        words = ["sh", "-c", PINNED, str(self.cpus), *words]
        if way.kind == "dunlin":
            environment |= {"DUNLIN_REMOTE_LAUNCHER": self.hydra, "HYDRA_LAUNCHER_EXEC": shell}
            start = [self.hydra, "-hosts"] if is_plain else [mpi.home / "bin/mpirun", "--hosts"]
            start += [",".join(names), "-ppn", part.per_host]
        elif way.kind == "openmpi":
            environment |= {name: str(mpi.home) for name in ("OPAL_PREFIX", "PMIX_PREFIX", "PRTE_PREFIX")}
            slots = ",".join(f"{name}:{part.per_host}" for name in names)
            start = [mpi.home / "bin/mpirun", "--prtemca", "plm_ssh_agent", shell, "--prtemca", "prte_if_include",
                     BLOCKS, "--host", slots, "--bind-to", "none"]  # fmt: skip
        else:
            option = "launcher" if way.kind == "mpich" else "bootstrap"
            start = [mpi.home / "bin/mpiexec.hydra", f"-{option}", "ssh", f"-{option}-exec", shell,
                     "-hosts", ",".join(names), "-ppn", part.per_host]  # fmt: skip
            start += ["-localhost", "10.1.0.254", "-bind-to", "none"] if way.kind == "mpich" else []
        return [str(word) for word in (*start, "-n", ranks, *words)], environment

    def program(self, way, program):
        if way.kind == "dunlin":
            return self.build / "bench" / program
        return runner.compile_program(self.mpi_of(way), program, self.build / "bench/network-peers")

    def run(self, way, part, words, more=(), has_errors=False, is_plain=False):
        """What a program prints, its errors only where they are wanted, and what went wrong."""
        command, environment = self.launch(way, part, [str(word) for word in words], is_plain)
        command = ["sh", "-c", 'exec "$@" 2>&1', "sh", *command] if has_errors else command
        return runner.output_of(command, {**environment, **dict(more)}, TIMEOUT_S)

    def measure(self, way, part, number):
        """The samples of one way in one round; a trouble is said."""
        found = []
        for program, arguments in part.programs:
            if way.kind == "limit":
                words = [self.build / "bench/limits/network", self.provider, way.name.removeprefix("limit_")]
            else:
                words = [self.program(way, program), *arguments, "--probe=0", "--repeats=3"]
            for _ in range(ATTEMPTS):
                meter = machine.Meter()
                output, trouble = self.run(way, part, words)
                machine.reap()
                is_disturbed = meter.foreign_share() > FOREIGN_SHARE_MAX
                if not is_disturbed or trouble:
                    break
            if trouble:
                self.say(f"{part.name}: {way.title}: {trouble}")
            more = [replace(sample, is_disturbed=is_disturbed) for sample in samples.parse_all(output)]
            found += [sample for sample in more if sample.is_right]
        return [replace(sample, mpi=way.name, experiment=part.name, round=number) for sample in found]

    def start(self, way, part, number):
        """Wall time of the whole job, in turns with a plain program's under the same launcher."""
        program, arguments = part.programs[0]
        jobs = {PROGRAM: [self.program(way, program), *arguments], PLAIN: ["true"]}
        found = []
        for _ in range(STARTS):
            for name, words in jobs.items():
                meter, started = machine.Meter(), time.monotonic()
                _, trouble = self.run(way, part, words, is_plain=name == PLAIN)
                spent_ms = (time.monotonic() - started) * 1e3
                machine.reap()
                if trouble:
                    self.say(f"{part.name}: {way.title}: {trouble}")
                    return found
                is_disturbed = meter.foreign_share() > FOREIGN_SHARE_MAX
                sample = counted(part, name, 0, spent_ms, way.name)
                found.append(replace(sample, unit="ms", round=number, is_disturbed=is_disturbed))
        return found

    def count(self, way, part, _):
        """What a message asks of the network, which does not depend on the machine."""
        found, verbose = [], {"DUNLIN_VERBOSE": "1"}
        for bytes_ in COUNTED_SIZES:
            words = [self.program(way, "pingpong"), f"--sizes={bytes_}", "--probe=0", "--repeats=1"]
            told = []
            for rounds in COUNTED_ROUNDS:
                output, trouble = self.run(way, part, [*words, f"--iterations={rounds}"], verbose, has_errors=True)
                match = COUNTS.search(output)
                if trouble or not match:
                    self.say(f"{part.name}: {way.title}: {trouble or 'no counters'}")
                    return found
                told.append(dict(zip(COUNTED, map(int, match.groups()))))
            less, more = told
            each = {name: (more[name] - less[name]) / (COUNTED_ROUNDS[1] - COUNTED_ROUNDS[0]) for name in COUNTED}
            figures = {
                "operations": each["messages"] + each["writes"] + each["reads"],
                "credits": each["words"],
                "copies": each["bytes copied"] / bytes_,
                "registrations": each["registrations"],
            }
            found += [counted(part, name, bytes_, value, way.name) for name, value in figures.items()]
        return found

    def profile(self, way, part, _):
        """Which messages the kernels send, over all ranks."""
        found = []
        with tempfile.TemporaryDirectory(dir=self.cluster.folder) as folder:
            for kernel in KERNELS:
                words = [self.program(way, "profiles"), f"--kernels={kernel}", "--probe=0", "--repeats=1",
                         f"--iterations={PROFILED_STEPS}"]  # fmt: skip
                _, trouble = self.run(way, part, words, {"DUNLIN_PROFILE": f"{folder}/"})
                if trouble:
                    self.say(f"{part.name}: {way.title}: {trouble}")
                    continue
                ranks = [json.loads(path.read_text()) for path in Path(folder).glob("profile.*.json")]
                for name in ("short", "long", "fetched"):
                    total = sum(rank[f"{name}_messages"] for rank in ranks)
                    found.append(counted(part, name, 0, total, f"{way.title}: {kernel}"))
        return found


def counted(part, series, x, value, name):
    return samples.Sample(part.name, series, float(x), value, "", 2, 0.0, 0.0, True, name, 0, part.name)
