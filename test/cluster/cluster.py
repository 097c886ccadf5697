"""Several hosts on one machine: what the tests of this folder run on.

Each host is a set of namespaces (network, host name, processes, mounts, shared memory) with an address of its own,
joined by a bridge, and its share of the machine's CPUs: ranks that took all of them for their own would poll while those
of the other hosts wait for a CPU.  All of it lies inside namespaces of the test's own, so that tests do not meet, and
nothing is left when the test ends, however it ends: the kernel takes the processes and the networks down with the
first process.  Needs root (or a container that may make namespaces); else the tests are skipped with one line.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # exit code, for ctest
NAMESPACES = ["--net", "--uts", "--ipc", "--pid", "--mount"]

HOST = """
hostname %(name)s
cd %(keep)s
for folder in /tmp /run /dev/shm; do mount -t tmpfs tmpfs $folder; done
case %(keep)s in /tmp/*) mkdir -p %(keep)s && mount --bind . %(keep)s;; esac
ip link set lo up
read go
ip address add %(address)s/24 dev eth0 && ip link set eth0 up
echo ready
exec sleep infinity
"""

# Stands in for ssh: runs a command on a host, given by name or address.
REMOTE_SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do case $1 in -o|-p|-l|-i) shift;; esac; shift; done
host=$1; shift
[ -s %(folder)s/process.$host ] || { echo "no host $host" >&2; exit 255; }
taskset --cpu-list $(cat %(folder)s/cpus.$host) nsenter --target $(cat %(folder)s/process.$host) \
  %(namespaces)s sh -c "cd '$PWD'; $*"
code=$?
[ $code -le 128 ] || code=255  # as ssh says it where the host is gone
exit $code
"""

# Of the test's own: its daemons run as root, and its sockets lie in its folder.
SLURM = """
ClusterName=test
SlurmctldHost=h0(10.1.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%(folder)s/munge.socket
StateSaveLocation=%(folder)s/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=1
SlurmdTimeout=3
%(nodes)s
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def enter():
    """Goes on in namespaces of this test's own; ends the test with one line where that is not allowed."""
    if os.environ.get("CLUSTER_TEST_PLACE") == "inside":
        return
    missing = [tool for tool in ("ip", "nsenter", "taskset", "unshare") if not shutil.which(tool)]
    if missing:
        print("skipped: %s not installed (Debian packages iproute2, util-linux)" % " and ".join(missing))
        sys.exit(SKIPPED)
    new = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc"]
    trial = "ip link add name br0 type bridge && ip link add v0 type veth peer name v1 && mount -t tmpfs x /run"
    tried = subprocess.run([*new, "sh", "-c", trial], capture_output=True, text=True)
    if tried.returncode != 0:
        print("skipped: this machine allows no namespaces with networks (%s)" % tried.stderr.strip())
        sys.exit(SKIPPED)
    os.environ["CLUSTER_TEST_PLACE"] = "inside"
    os.execvp(new[0], [*new, sys.executable, *sys.argv])


def wait_for_link(*show):
    for _ in range(500):
        if "state UP" in subprocess.run(show, capture_output=True, text=True, check=True).stdout:
            return
        time.sleep(0.01)
    raise RuntimeError("no link after 5 s: %s" % " ".join(show))


def command(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


class Cluster:
    """Hosts h1, h2, ... at 10.1.0.1, 10.1.0.2, ...; this process is on h0, 10.1.0.254."""

    def __init__(self, count):
        # Hosts have a /tmp of their own, but see this project.
        self.keep = os.path.commonpath([os.getcwd(), os.path.abspath(__file__)])
        self.folder = tempfile.mkdtemp(prefix="cluster-", dir=os.getcwd())
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.names = ["h%d" % (i + 1) for i in range(count)]
        self.addresses = ["10.1.0.%d" % (i + 1) for i in range(count)]
        mine = sorted(os.sched_getaffinity(0))
        share = max(1, len(mine) // count)
        self.cpus = {name: ",".join(str(mine[(i * share + k) % len(mine)]) for k in range(share))
                     for i, name in enumerate(self.names)}
        self.inits = {}
        self.processes = []  # that go on until the test ends
        self.remote_shell = os.path.join(self.folder, "ssh")
        with open(self.remote_shell, "w") as file:
            file.write(REMOTE_SHELL % {"folder": self.folder, "namespaces": " ".join(NAMESPACES)})
        os.chmod(self.remote_shell, 0o755)
        self._join_network()
        for name, address in zip(self.names, self.addresses):
            self._start(name, address)
        # The kernel says a little later that a link is up; PRRTE does not listen where it is not, and then waits.
        wait_for_link("ip", "link", "show", "br0")
        for name in self.names:
            wait_for_link(*self.on(name, "ip", "link", "show", "eth0"))

    def _join_network(self):
        hosts = "127.0.0.1 localhost\n10.1.0.254 h0\n"
        for name, address in zip(self.names, self.addresses):
            hosts += "%s %s\n" % (address, name)
        self.write("hosts", hosts)
        command("hostname", "h0")
        command("mount", "--bind", os.path.join(self.folder, "hosts"), "/etc/hosts")
        command("ip", "link", "set", "lo", "up")
        command("ip", "link", "add", "name", "br0", "type", "bridge")
        command("ip", "address", "add", "10.1.0.254/24", "dev", "br0")
        command("ip", "link", "set", "br0", "up")

    def _start(self, name, address):
        host = subprocess.Popen(
            ["unshare", *NAMESPACES, "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             HOST % {"name": name, "address": address, "keep": self.keep}],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        children = "/proc/%d/task/%d/children" % (host.pid, host.pid)
        init = ""
        while not init:
            time.sleep(0.001)
            with open(children) as file:
                init = file.read().strip()
        command("ip", "link", "add", "v" + name, "type", "veth", "peer", "name", "eth0", "netns", init)
        command("ip", "link", "set", "v" + name, "master", "br0", "up")
        host.stdin.write("go\n")
        host.stdin.flush()
        if host.stdout.readline() != "ready\n":
            raise RuntimeError("host %s did not start" % name)
        self.inits[name] = int(init)
        self.processes.append(host)
        for known_as in (name, address):
            self.write("process." + known_as, init)
            self.write("cpus." + known_as, self.cpus[name])

    def add_network(self):
        """A second one: eth1 of each host, 10.2.0.1, 10.2.0.2, ..."""
        command("ip", "link", "add", "name", "br1", "type", "bridge")
        command("ip", "link", "set", "br1", "up")
        for number, name in enumerate(self.names, start=1):
            command("ip", "link", "add", "w" + name, "type", "veth", "peer", "name", "eth1", "netns",
                    str(self.inits[name]))
            command("ip", "link", "set", "w" + name, "master", "br1", "up")
            command(*self.on(name, "ip", "address", "add", "10.2.0.%d/24" % number, "dev", "eth1"))
            command(*self.on(name, "ip", "link", "set", "eth1", "up"))

    def write(self, name, text):
        """A file that all hosts see; answers its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def on(self, name, *words):
        """A command line that runs on a host."""
        return ["taskset", "--cpu-list", self.cpus[name], "nsenter", "--target", str(self.inits[name]), *NAMESPACES, *words]

    def kill(self, name):
        """The host is gone from one moment to the next, with all its processes."""
        os.kill(self.inits[name], signal.SIGKILL)

    def start_slurm(self):
        """Its daemons; afterwards srun works from here."""
        nodes = ["NodeName=%s NodeAddr=%s CPUs=16" % each for each in zip(self.names, self.addresses)]
        config = self.write("slurm.conf", SLURM % {"folder": self.folder, "nodes": "\n".join(nodes)})
        self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\n")
        os.environ["SLURM_CONF"] = config
        with open(os.open(os.path.join(self.folder, "munge.key"), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(128))
        files = ["--%s=%s/munge.%s" % (each[0], self.folder, each[1]) for each in
                 (("key-file", "key"), ("socket", "socket"), ("log-file", "log"), ("pid-file", "pid"),
                  ("seed-file", "seed"))]
        command("munged", "--force", *files)
        log = open(os.path.join(self.folder, "slurm.log"), "w")
        daemons = [["slurmctld", "-D"]] + [self.on(name, "slurmd", "-D", "-N", name) for name in self.names]
        for words in daemons:
            self.processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        limit = time.monotonic() + 60
        while True:
            states = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True).stdout.split()
            if states and all(state == "idle" for state in states):
                return
            if time.monotonic() > limit:
                raise RuntimeError("Slurm's nodes are %s; see %s/slurm.log" % (states, self.folder))
            time.sleep(0.1)
