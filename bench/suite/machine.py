"""What this machine is, and whether somebody else was using it while a sample was taken.

Used by runner.py (disturbances), report.py (description).
"""

import ctypes
import os
import platform
import resource
import signal
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def read(path, default=""):
    try:
        return Path(path).read_text()
    except OSError:
        return default


def cpu_model():
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def system_name():
    for line in read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def describe():
    """Facts in the order a reader wants them; no host name, which says nothing to others."""
    memory = next(
        (int(line.split()[1]) for line in read("/proc/meminfo").splitlines() if line.startswith("MemTotal")),
        0,
    )
    caches = []
    for index in range(5):
        base = f"/sys/devices/system/cpu/cpu0/cache/index{index}/"
        if read(base + "size"):
            caches.append(
                f"L{read(base + 'level').strip()} {read(base + 'type').strip().lower()} "
                f"{read(base + 'size').strip()}"
            )
    return {
        "cpu": f"{len(os.sched_getaffinity(0))} x {cpu_model()}",
        "architecture": platform.machine(),
        "caches": ", ".join(caches),
        "memory": f"{memory / (1 << 20):.0f} GiB",
        "system": system_name(),
        "kernel": platform.release().split("-")[0],
        "virtual": "yes" if " hypervisor" in read("/proc/cpuinfo") else "no",
    }


def cpus_of(facts):
    """How many CPUs a description names; 0: it names none."""
    count = facts.get("cpu", "").split(" ")[0]
    return int(count) if count.isdigit() else 0


def adopt_orphans():
    """Processes left behind by an mpirun that died become our children, so that they can be ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap():
    """Waits for adopted processes that have ended, so that their CPU time counts as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def children_of(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for word in read(task / "children").split():
            found += [int(word), *children_of(int(word))]
    return found


def end_children():
    """Ends whatever this process has started and adopted; called after a run that had to be broken off."""
    for attempt in range(20):
        found = children_of(os.getpid())
        for pid in found:
            try:
                os.kill(pid, signal.SIGTERM if attempt < 10 else signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        if not children_of(os.getpid()):
            return
        time.sleep(0.1)


class Meter:
    """CPU time of everybody else between two moments, as a share of the CPUs we may use."""

    def __init__(self):
        self.tick_s = 1.0 / os.sysconf("SC_CLK_TCK")
        self.start()

    def start(self):
        self.started = time.monotonic()
        self.busy = self._busy_s()
        self.ours = self._ours_s()

    def foreign_share(self):
        wall = max(time.monotonic() - self.started, 1e-3)
        foreign = (self._busy_s() - self.busy) - (self._ours_s() - self.ours)
        foreign -= 2 * self.tick_s  # the kernel counts busy time in ticks, ours exactly
        return max(0.0, foreign) / (wall * len(os.sched_getaffinity(0)))

    def _busy_s(self):
        allowed = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
        ticks = 0
        for line in read("/proc/stat").splitlines():
            words = line.split()
            if words and words[0] in allowed:
                numbers = list(map(int, words[1:9]))
                ticks += sum(numbers) - numbers[3] - numbers[4]  # without idle and waiting for disks
        return ticks * self.tick_s

    @staticmethod
    def _ours_s():
        total = 0.0
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
            usage = resource.getrusage(who)
            total += usage.ru_utime + usage.ru_stime
        return total
