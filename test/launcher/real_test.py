# A real MPI program under mpirun and under Hydra: how it starts, how it ends.  Run by ctest.
import ctypes.util
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import (
    LauncherTest,
    MPIRUN,
    SECOND,
    eventually,
    kill_who_lets_anybody_trace,
    new_mark,
    processes_with,
    refuse,
)

PROGRAM = os.environ["LAUNCHER_TEST_PROGRAM"]
SESSIONS = os.environ["LAUNCHER_TEST_SESSIONS"]
LARGE_BUFFERS = os.environ["LAUNCHER_TEST_LARGE_BUFFERS"]
HYDRA = shutil.which("mpiexec.hydra")
NETWORK = ctypes.util.find_library("fabric")


class Real(LauncherTest):
    def assert_fails(self, words, code, pattern, size=3):
        start = time.monotonic()
        got, _, err = self.run_job("-n", str(size), PROGRAM, *words)
        self.assertEqual(got, code, err)
        self.assertRegex(err, pattern)
        self.assertLess(time.monotonic() - start, SECOND)

    def test_sum(self):
        for size in (1, 2, 3, 7, 16):
            code, out, err = self.run_job("-n", str(size), PROGRAM)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(out, "sum %d of %d\n" % (size * (size - 1) // 2, size) * size)

    def test_64_ranks(self):
        code, out, err = self.run_job("-n", "64", PROGRAM)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "sum 2016 of 64\n" * 64)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a container without help")
    def test_in_a_container(self):
        # Another user, 64 KiB of /dev/shm, nothing to write to, no network, processes numbered anew, no debugging.
        inside = [
            "mount --make-rprivate / && mount -t tmpfs -o size=64k tmpfs /dev/shm",
            "mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp",
            "cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \"$@\"",
        ]
        unshare = "unshare --mount --ipc --net --pid --fork --mount-proc sh -c".split() + [" && ".join(inside)]

        def run(*words):
            def forbid():
                for call in ("ptrace", "process_vm_readv", "process_vm_writev"):
                    refuse(call)

            return subprocess.run([*unshare, "sh", *words], capture_output=True, text=True, timeout=60, preexec_fn=forbid)

        can = run("test", "-x", MPIRUN)
        if can.returncode:
            self.skipTest("no container here, or its user cannot reach the build folder: " + can.stderr)
        done = run(MPIRUN, "-n", "4", PROGRAM)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "sum 6 of 4\n" * 4, ""))
        done = run(MPIRUN, "-n", "3", LARGE_BUFFERS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_singleton(self):
        done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "sum 0 of 1\n", ""))

    def test_abort(self):
        self.assert_fails(
            ["abort", "17"],
            17,
            r"mpirun: rank 2 \(.*, process \d+\) called MPI_Abort with error code 17 on MPI_COMM_WORLD\n$",
        )

    def test_what_the_c_library_holds_is_written(self):
        # Of the rank that ends the job, and where the program called; a handler may have interrupted printf.
        for what, code, held in (("held-abort", 7, True), ("held-error", 2, True), ("held-handler", 12, False)):
            got, out, err = self.run_job("-n", "3", PROGRAM, what)
            self.assertEqual(got, code, err)
            self.assertEqual("held by rank 2" in out, held, what)

    def test_limits_in_the_way_are_named(self):
        for limit, bytes, text in (
            (resource.RLIMIT_FSIZE, 1000, "mpirun: cannot make shared memory .*the size of files is limited .ulimit -f"),
            (resource.RLIMIT_FSIZE, 10 << 20, "MPI_Init failed: .* cannot grow .*the size of files is limited .ulimit -f"),
            (resource.RLIMIT_AS, 100 << 20, "MPI_Init failed: .* be mapped: the address space is limited .ulimit -v"),
        ):
            narrow = lambda: resource.setrlimit(limit, (bytes, bytes))
            code, _, err = self.run_job("-n", "4", PROGRAM, preexec_fn=narrow)
            self.assertNotEqual(code, 0)
            self.assertRegex(err, text)

    def test_what_is_not_there_says_so(self):
        code, out, err = self.run_job("-n", "2", PROGRAM, "unsupported")
        self.assertEqual(out, "all data written\n" * 2)
        for rank in "01":
            for call in ("MPI_Comm_accept", "MPI_Comm_join"):
                pattern = "dunlin: rank %s: %s did nothing: this version of Dunlin does not support" % (rank, call)
                self.assertEqual(err.count(pattern), 1, err)

    def test_exit_without_finalize(self):
        self.assert_fails(["exit", "0"], 1, r"rank 2 .* exited with code 0 without calling MPI_Finalize\n$")
        self.assert_fails(["exit", "6"], 6, r"rank 2 .* exited with code 6 without calling MPI_Finalize\n$")

    def test_killed(self):
        self.assert_fails(["kill"], 137, r"rank 2 .* was killed by signal 9 \(Killed\)\n$")

    def test_crash(self):
        self.assert_fails(["crash"], 139, r"rank 2 .* was killed by signal 11 \(Segmentation fault")

    def test_crash_says_where(self):
        code, _, err = self.run_job("-n", "3", PROGRAM, "wild")
        self.assertEqual(code, 139)
        self.assertRegex(err, r"dunlin: rank 2: signal 11 \(Segmentation fault\) at address 0x10; its calls")
        calls = err.partition("innermost first:\n")[2].splitlines()
        for file in ("libmpi_abi.so", "mpi_rank"):
            self.assertTrue(any(re.search(file + r"\S*\(\S*\+0x", call) for call in calls), err)
        for what, words in (
            ("null", r"signal 11 \(Segmentation fault\) at address 0x0; its"),
            ("assertion", r"signal 6 \(Aborted\), raised by the program itself; its calls"),
        ):
            self.assertRegex(self.run_job("-n", "2", PROGRAM, what)[2], "dunlin: rank 1: " + words)
        code, _, err = self.run_job("-n", "3", "-x", "DUNLIN_CRASH_REPORT=0", PROGRAM, "wild")
        self.assertEqual(code, 139)
        self.assertNotIn("its calls", err)

    def test_shared_memory_is_for_its_owner(self):
        show = "stat -L -c %a /proc/self/fd/$DUNLIN_LAUNCH_NODE_FD"
        self.assertEqual(self.run_job("-n", "2", "sh", "-c", show)[1], "600\n600\n")

    @unittest.skipUnless(os.uname().machine == "x86_64", "knows numbers of system calls of x86-64")
    def test_only_the_job_may_trace_a_rank(self):
        code, out, err = self.run_job("-n", "2", PROGRAM, preexec_fn=kill_who_lets_anybody_trace)
        self.assertEqual((code, out, err), (0, "sum 1 of 2\n" * 2, ""))
        if HYDRA:  # whose ranks share no ancestor that they know: docs/memory.md
            killed = subprocess.run(
                [HYDRA, "-n", "2", PROGRAM], capture_output=True, timeout=60, preexec_fn=kill_who_lets_anybody_trace
            )
            self.assertNotEqual(killed.returncode, 0)

    def test_error_is_one_sentence_and_ends_the_job(self):
        start = time.monotonic()
        code, _, err = self.run_job("-n", "3", PROGRAM, "error")
        self.assertNotEqual(code, 0)
        self.assertIn("MPI_Send", err)
        self.assertIn("rank 2", err)
        self.assertLess(time.monotonic() - start, SECOND)

    def test_program_started_by_a_rank_is_alone(self):
        code, out, err = self.run_job("-n", "2", PROGRAM, "child")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["sum 0 of 1", "sum 1 of 2", "sum 1 of 2"])

    def test_a_child_of_fork_is_no_rank(self):
        code, _, err = self.run_job("-n", "3", PROGRAM, "fork")
        self.assertEqual(code, 16)
        self.assertIn("rank 2: MPI_Barrier failed: it was called in a child process of fork, which is no rank", err)
        code, _, err = self.run_job("-n", "3", PROGRAM, "fork-put")
        self.assertEqual(code, 16)
        self.assertIn("rank 2: MPI_Put failed: it was called in a child process of fork, which is no rank", err)
        code, out, err = self.run_job("-n", "2", PROGRAM, "fork-exit")
        self.assertEqual((code, out, err), (0, "sum 1 of 2\n" * 2, ""))

    def test_library_opened_again(self):
        for size in (1, 2, 5):
            code, out, err = self.run_job("-n", str(size), SESSIONS)
            self.assertEqual((code, out, err), (0, "ok\n" * size, ""))
            if HYDRA:
                done = subprocess.run(
                    [HYDRA, "-n", str(size), SESSIONS], capture_output=True, text=True, timeout=60
                )
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ok\n" * size, ""))

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_library_opened_again_over_nodes(self):
        for nodes in ("2", "0,1"):
            for what in ("", "gone"):
                code, out, err = self.run_job("-n", "4", SESSIONS, what, env={**os.environ, "DUNLIN_NODES": nodes})
                self.assertEqual((code, out, err), (0, "ok\n" * 4, ""))

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_a_job_on_one_node_loads_no_network(self):
        for nodes, is_loaded in (("", False), ("2", True)):
            with tempfile.TemporaryDirectory() as folder:
                told = {"DUNLIN_NODES": nodes, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.join(folder, "files")}
                code, out, err = self.run_job("-n", "2", PROGRAM, env={**os.environ, **told})
                self.assertEqual((code, err), (0, ""))
                loaded = "".join(file.read_text(errors="replace") for file in Path(folder).iterdir())
            self.assertIn("libmpi_abi.so.1", loaded)
            self.assertEqual("libfabric.so" in loaded, is_loaded)

    def test_exit_inside_a_later_session(self):
        code, _, err = self.run_job("-n", "3", SESSIONS, "exit")
        self.assertEqual(code, 1)
        self.assertIn("rank 2", err)
        self.assertIn("without calling MPI_Finalize", err)

    def test_exit_inside_a_session_under_hydra(self):
        for nodes in ("", "2", "0,1,1") if HYDRA and NETWORK else ("",) if HYDRA else ():
            environment = {**os.environ, "DUNLIN_NODES": nodes}
            words = [HYDRA, "-n", "3", SESSIONS, "exit"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("rank 2: exited with code 0 without ending its use of MPI", done.stdout + done.stderr)

    @unittest.skipUnless(HYDRA, "no mpiexec.hydra")
    def test_a_rank_that_does_not_begin_under_hydra(self):
        words = [HYDRA, "-n", "1", SESSIONS, ":", "-n", "1", "sh", "-c", "sleep 22; exec " + SESSIONS]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n" * 2))
        self.assertIn("rank 0: has waited 20 s for the others of the job's 2 ranks to begin MPI", done.stderr)

    @unittest.skipUnless(NETWORK, "libfabric.so.1 is not installed (Debian package libfabric1)")
    def test_who_waits_in_its_exit_is_told(self):
        code, out, err = self.run_job("--timeout", "5", "-n", "2", SESSIONS, "late", env={**os.environ, "DUNLIN_NODES": "2"})
        self.assertEqual(code, 124)
        self.assertIn("the other ranks to exit", out + err)

    def test_killed_launcher(self):
        mark = new_mark()
        job = self.start_job("-n", "4", PROGRAM, "wait", mark)
        self.wait_for(mark, 4)
        os.kill(job.pid, signal.SIGKILL)
        self.assert_gone(mark)

    def test_waiting_ranks_end_at_once(self):
        mark = new_mark()
        job = self.start_job("-n", "4", PROGRAM, "wait", mark)
        self.wait_for(mark, 4)
        time.sleep(0.2)  # they sleep in MPI_Recv now
        os.kill(processes_with(mark)[0], signal.SIGKILL)
        job.communicate(timeout=10)
        self.assertEqual(job.returncode, 137)

    def test_told_to_end_while_lines_of_source_are_looked_up(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "addr2line"), "w") as file:
                file.write("#!/bin/sh\necho >> %s/began\nexec sleep 60\n" % folder)
            os.chmod(file.name, 0o755)
            mark = new_mark()
            env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"], DUNLIN_DEADLOCK="ignore")
            job = self.start_job("-n", "2", PROGRAM, "wait", mark, env=env)
            self.wait_for(mark, 2)
            time.sleep(0.5)  # until the ranks' waits are noted
            job.send_signal(signal.SIGUSR1)
            self.assertTrue(eventually(lambda: os.path.exists(os.path.join(folder, "began"))))
            job.send_signal(signal.SIGTERM)
            start = time.monotonic()
            job.communicate(timeout=20)
            self.assertEqual(job.returncode, 143)
            self.assertLess(time.monotonic() - start, 2.5)  # below what a look-up may take

    @unittest.skipUnless(HYDRA, "mpiexec.hydra is not installed (Debian package mpich)")
    def test_hydra(self):
        for size in (1, 2, 5, 16):
            done = subprocess.run(
                [HYDRA, "-n", str(size), PROGRAM], capture_output=True, text=True, timeout=60
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, "sum %d of %d\n" % (size * (size - 1) // 2, size) * size)

    @unittest.skipUnless(HYDRA, "mpiexec.hydra is not installed (Debian package mpich)")
    def test_abort_under_hydra(self):
        done = subprocess.run(
            [HYDRA, "-n", "3", PROGRAM, "abort", "5"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 5)
        self.assertIn("MPI_Abort", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
