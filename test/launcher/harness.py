# What the launcher's tests share: run mpirun, find processes by a mark, wait for a condition.
import ctypes
import errno
import os
import signal
import struct
import subprocess
import time
import unittest

MPIRUN = os.environ["LAUNCHER_TEST_MPIRUN"]
PROBE = os.environ["LAUNCHER_TEST_PROBE"]

# "Within a second", on a machine that does nothing else; tests may run beside others.
SECOND = 1.0 if os.getloadavg()[0] < os.cpu_count() else 4.0

_marks = 0


def new_mark():
    """A number of seconds that no other process sleeps: "sleep MARK" is found again in /proc."""
    global _marks
    _marks += 1
    return "3600.%d%05d" % (os.getpid(), _marks)


def processes_with(mark):
    """Pids of live processes whose command line contains `mark`, without mpirun itself."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                words = file.read().split(b"\0")
            with open("/proc/%s/stat" % name) as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and mark.encode() in b" ".join(words) and not words[0].endswith(b"mpirun"):
            found.append(int(name))
    return found


def launchers_with(mark):
    """Pids of mpirun's own processes for the job with `mark`: guard and worker."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"mpirun") and mark.encode() in b" ".join(words):
                found.append(int(name))
    return sorted(found)


def states_of(pids):
    """One letter each, as in ps: S sleeping, T stopped."""
    states = ""
    for pid in pids:
        with open("/proc/%d/stat" % pid) as file:
            states += file.read().rpartition(")")[2].split()[0]
    return states


CALLS = {
    "socketpair": 53, "vfork": 58, "ptrace": 101, "signalfd4": 289, "epoll_create1": 291, "process_vm_readv": 310,
    "process_vm_writev": 311, "memfd_create": 319,
}  # x86-64  # fmt: skip


def refuse(call, error=errno.EPERM):
    """Lets this process and all it starts get an error from a system call, as a container's filter does."""
    filter_calls([(0x20, 0, 0, 0), (0x15, 0, 1, CALLS[call]), (0x06, 0, 0, 0x00050000 + error), (0x06, 0, 0, 0x7FFF0000)])


def kill_who_lets_anybody_trace():
    """SIGSYS for prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)."""
    prctl, yama, anybody = 157, 0x59616D61, 0xFFFFFFFF
    tests = [(0x20, 0, 0, 0), (0x15, 0, 5, prctl), (0x20, 0, 0, 16), (0x15, 0, 3, yama), (0x20, 0, 0, 24)]
    filter_calls([*tests, (0x15, 0, 1, anybody), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)])


def filter_calls(rules):
    """Rules of a seccomp filter for this process and all that it starts."""
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    memory = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):  # no new privileges; a filter
        raise OSError(ctypes.get_errno(), "prctl")


def memory_group(limit_bytes):
    """Folder of a new control group with little memory, of either version; OSError where none may be made."""
    with open("/proc/self/cgroup") as file:
        groups = [line.rstrip("\n").split(":", 2) for line in file]
    first = [("/sys/fs/cgroup/memory" + path, "memory.limit_in_bytes") for _, names, path in groups if names == "memory"]
    first += [("/sys/fs/cgroup" + os.path.dirname(path), "memory.max") for number, _, path in groups if number == "0"]
    parent, limit = first[0]
    folder = os.path.join(parent, "dunlin-test-%d" % os.getpid())
    os.mkdir(folder)
    try:
        with open(os.path.join(folder, limit), "w") as file:
            file.write(str(limit_bytes))
    except OSError:
        os.rmdir(folder)
        raise
    return folder


def remove_group(folder):
    """Whether the kernel has let go of it."""
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def shared_files():
    """Names in /dev/shm that could be ours: not of another MPI, nor of our tests of files and benchmarks, which may run."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {name for name in names if "dunlin" in name and not name.startswith(("dunlin-files", "dunlin-bench"))}


def eventually(condition, seconds=3.0):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if condition():
            return True
        time.sleep(0.005)
    return bool(condition())


class LauncherTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.shm_before = shared_files()

    def run_job(self, *words, timeout=30, stdin=subprocess.DEVNULL, **more):
        """Runs mpirun to its end; returns (exit code, standard output, standard error)."""
        done = subprocess.run(
            [MPIRUN, *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            **({"stdin": stdin} if "input" not in more else {}),
            **more
        )
        return done.returncode, done.stdout, done.stderr

    def start_job(self, *words, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        job = subprocess.Popen(
            [MPIRUN, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",  # of a page that a rank has overwritten mpirun may print any bytes
            **more
        )
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        if job.poll() is None:
            job.send_signal(signal.SIGTERM)
        job.communicate(timeout=10)

    def assert_gone(self, mark, seconds=1.5):
        self.assertTrue(
            eventually(lambda: not processes_with(mark), seconds), "still there: %s" % processes_with(mark)
        )

    def wait_for(self, mark, count):
        self.assertTrue(
            eventually(lambda: len(processes_with(mark)) >= count, 10), "processes did not start"
        )
