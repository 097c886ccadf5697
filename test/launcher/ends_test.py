# How jobs end, what ranks of ours see, and what is left (nothing); docs/launcher.md.  Run by ctest; one
# class can be run alone: ends_test.py Ends
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from harness import (
    LauncherTest,
    MPIRUN,
    PROBE,
    SECOND,
    eventually,
    launchers_with,
    memory_group,
    new_mark,
    processes_with,
    remove_group,
    shared_files,
    states_of,
)


PROGRAM = os.environ["LAUNCHER_TEST_PROGRAM"]  # uses all of MPI; PROBE only how ranks meet


def probes_with(mark):
    """Processes with `mark` that use MPI, without the shells around them."""
    found = []
    for pid in processes_with(mark):
        try:
            if os.readlink("/proc/%d/exe" % pid) == PROBE:
                found.append(pid)
        except OSError:  # it has just ended
            pass
    return found


class Ends(LauncherTest):
    def assert_ended(self, job, mark, code, pattern, seconds=1.0):
        """The job ends in time with `code` and one line, and leaves nothing."""
        start = time.monotonic()
        out, err = job.communicate(timeout=10)
        took = time.monotonic() - start
        self.assertEqual(job.returncode, code, err)
        self.assertRegex(err, r"^mpirun: " + pattern + r"\n$")
        self.assertLess(took, seconds * SECOND)
        self.assertEqual(processes_with(mark), [])
        self.assertEqual(shared_files() - self.shm_before, set())

    def test_exit_code_of_the_first_failing_rank(self):
        mark = new_mark()
        job = self.start_job("-n", "4", "sh", "-c", "[ $PMI_RANK = 2 ] && exit 37; sleep " + mark)
        self.assert_ended(job, mark, 37, r"rank 2 \(sh, process \d+\) exited with code 37")

    def test_signal_of_a_rank(self):
        for name, number, text in (("SEGV", 11, "Segmentation fault"), ("KILL", 9, "Killed")):
            mark = new_mark()
            job = self.start_job(
                "-n", "3", "sh", "-c", "[ $PMI_RANK = 1 ] && kill -%s $$; sleep %s" % (name, mark)
            )
            self.assert_ended(
                job,
                mark,
                128 + number,
                r"rank 1 \(sh, process \d+\) was killed by signal %d \(%s(, core dumped)?\)"
                % (number, text),
            )

    def test_killed_from_outside(self):
        mark = new_mark()
        job = self.start_job("-n", "3", "sleep", mark)
        self.wait_for(mark, 3)
        os.kill(processes_with(mark)[1], signal.SIGKILL)
        self.assert_ended(
            job, mark, 137, r"rank \d \(sleep, process \d+\) was killed by signal 9 \(Killed\)"
        )

    def test_signals_to_mpirun(self):
        for number, text in (
            (signal.SIGINT, "Interrupt"),
            (signal.SIGTERM, "Terminated"),
            (signal.SIGHUP, "Hangup"),
        ):
            mark = new_mark()
            job = self.start_job("-n", "2", "sleep", mark)
            self.wait_for(mark, 2)
            job.send_signal(number)
            self.assert_ended(job, mark, 128 + number, r"ended by signal %d \(%s\)" % (number, text))

    def test_ranks_that_fail_while_others_are_started(self):
        # Outside MPI the others have a moment, also those that come later.
        code, out, _ = self.run_job("-n", "20", "sh", "-c", "echo up; exit 3")
        self.assertEqual((code, out), (3, "up\n" * 20))

    def test_signal_while_ranks_are_started(self):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 8192:
            self.skipTest("the hard limit of descriptors allows fewer ranks")
        mark = new_mark()
        job = self.start_job("-n", "2000", "sleep", mark)
        self.wait_for(mark, 20)
        job.send_signal(signal.SIGTERM)
        self.assert_ended(job, mark, 143, r"ended by signal 15 \(Terminated\)")
        job = self.start_job("-n", "2000", "--timeout", "0.1", "sleep", mark)
        self.assert_ended(job, mark, 124, r"the job did not end within 0.1 s \(--timeout\)", 1.5)

    def test_ctrl_c_reaches_the_whole_group(self):
        mark = new_mark()
        job = self.start_job("-n", "2", "sleep", mark, start_new_session=True)
        self.wait_for(mark, 2)
        os.killpg(job.pid, signal.SIGINT)
        self.assert_ended(job, mark, 130, r"ended by signal 2 \(Interrupt\)")

    def test_ranks_that_ignore_signals(self):
        mark = new_mark()
        program = "trap '' TERM INT HUP; sleep %s & while :; do sleep 0.05; done" % mark
        job = self.start_job("-n", "2", "sh", "-c", program)
        self.wait_for(mark, 2)
        job.send_signal(signal.SIGINT)
        self.assert_ended(job, mark, 130, r"ended by signal 2 \(Interrupt\)")

    def test_stopped_ranks_end_too(self):
        mark = new_mark()
        job = self.start_job("-n", "2", "sleep", mark)
        self.wait_for(mark, 2)
        for pid in processes_with(mark):
            os.kill(pid, signal.SIGSTOP)
            self.assertRegex(job.stderr.readline(), r"^mpirun: rank \d \(.*\) is stopped by signal 19 ")
        job.send_signal(signal.SIGTERM)
        self.assert_ended(job, mark, 143, r"ended by signal 15 \(Terminated\)")

    def test_a_stopped_mpirun_ends_too(self):  # its inner process, which somebody found in a list of all
        mark = new_mark()
        job = self.start_job("-n", "2", "sleep", mark)
        self.wait_for(mark, 2)
        os.kill(launchers_with(mark)[1], signal.SIGSTOP)
        job.send_signal(signal.SIGTERM)
        self.assert_ended(job, mark, 143, r"ended by signal 15 \(Terminated\)")

    def test_ignored_signals_stay_ignored(self):  # as nohup does
        mark = new_mark()
        job = self.start_job(
            "-n", "2", "sleep", mark, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        )
        self.wait_for(mark, 2)
        job.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        self.assertEqual(len(processes_with(mark)), 2)
        job.send_signal(signal.SIGTERM)
        self.assert_ended(job, mark, 143, r"ended by signal 15 \(Terminated\)")

    def test_parent_that_ignores_its_children(self):
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.assertEqual(self.run_job("-n", "2", "true", preexec_fn=ignore), (0, "", ""))
        self.assertEqual(self.run_job("-n", "2", "sh", "-c", "exit 3", preexec_fn=ignore)[0], 3)

    def test_stop_and_continue(self):
        mark = new_mark()
        # In a group of its own, as a shell with job control starts it.
        job = self.start_job("-n", "2", "sleep", mark, preexec_fn=lambda: os.setpgid(0, 0))
        self.wait_for(mark, 2)
        ranks = processes_with(mark)
        all_of_it = [*launchers_with(mark), *ranks]
        # As a terminal does to the whole group; as batch systems do to what they have started.
        for stop, go_on in ((os.killpg, os.killpg), (os.kill, os.kill)):
            stop(job.pid, signal.SIGTSTP)
            self.assertTrue(eventually(lambda: states_of(all_of_it) == "TTTT"))
            go_on(job.pid, signal.SIGCONT)
            self.assertTrue(eventually(lambda: "T" not in states_of(all_of_it)))
        job.send_signal(signal.SIGTERM)
        self.assert_ended(job, mark, 143, r"ended by signal 15 \(Terminated\)")

    def test_lack_of_memory_is_named(self):
        try:
            group = memory_group(64 << 20)
        except (OSError, IndexError) as reason:
            self.skipTest("no control group with little memory can be made here: %s" % reason)
        self.addCleanup(eventually, lambda: remove_group(group))
        program = "import os, time\nif os.environ['PMI_RANK'] == '1': x = b'x' * (400 << 20)\ntime.sleep(30)"

        def enter():
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write("0")

        code, _, err = self.run_job("-n", "2", sys.executable, "-c", program, preexec_fn=enter)
        self.assertEqual(code, 137)
        self.assertRegex(err, r"^mpirun: rank 1 .*was killed by signal 9 \(Killed\); meanwhile the kernel ended a process")

    def test_timeout(self):
        mark = new_mark()
        start = time.monotonic()
        job = self.start_job("-n", "2", "--timeout", "0.5", "sleep", mark)
        self.assert_ended(job, mark, 124, r"the job did not end within 0.5 s \(--timeout\)", 1.5)
        self.assertGreater(time.monotonic() - start, 0.45)

    def test_sigusr_goes_to_the_programs(self):
        job = self.start_job(
            "-n", "2", "sh", "-c", "trap 'echo got; exit 0' USR1; echo up; while :; do sleep 0.02; done"
        )
        self.assertEqual([job.stdout.readline(), job.stdout.readline()], ["up\n", "up\n"])
        job.send_signal(signal.SIGUSR1)
        out, _ = job.communicate(timeout=10)
        self.assertEqual((job.returncode, out), (0, "got\ngot\n"))

    def test_grandchildren(self):
        # In the background, in a session of its own, and ignoring signals.
        mark = new_mark()
        program = (
            "sleep %s & setsid sleep %s & setsid sh -c 'trap \"\" TERM HUP; sleep %s; true' & "
            % (mark, mark, mark)
            + "sleep 0.2; exit %d"
        )
        for code in (0, 5):
            start = time.monotonic()
            got, _, err = self.run_job("-n", "2", "sh", "-c", program % code)
            self.assertEqual(got, code, err)
            self.assertLess(time.monotonic() - start, 1.5 * SECOND)
            self.assertEqual(processes_with(mark), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount without help")
    def test_grandchildren_where_proc_is_not_mounted(self):  # as in a chroot
        mark = new_mark()
        inside = "mount --make-rprivate / && mount -t tmpfs tmpfs /proc || exit 99; exec \"$@\""
        words = ["unshare", "--mount", "sh", "-c", inside, "sh", MPIRUN, "-n", "2", "sh", "-c", "sleep %s & exit 5" % mark]
        code = subprocess.run(words, capture_output=True, timeout=20).returncode
        if code == 99:
            self.skipTest("nothing can be mounted here")
        left = processes_with(mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual((code, left), (5, []))

    def test_launcher_killed(self):
        # By SIGKILL: the guard (what the user started), the worker, or both at once.
        for victims in ((0,), (1,), (0, 1)):
            mark = new_mark()
            job = self.start_job("-n", "3", "sleep", mark)
            self.wait_for(mark, 3)
            pids = launchers_with(mark)
            self.assertEqual(len(pids), 2)
            self.assertEqual(pids[0], job.pid)
            for victim in victims:
                os.kill(pids[victim], signal.SIGKILL)
            self.assert_gone(mark)
            self.assertTrue(eventually(lambda: not launchers_with(mark)))
            job.communicate(timeout=10)
            self.assertEqual(job.returncode, -9 if 0 in victims else 137)

    def test_launcher_killed_grandchildren_too(self):
        for victim, is_other_stopped in ((0, False), (1, False), (0, True)):
            mark = new_mark()
            job = self.start_job("-n", "2", "sh", "-c", "setsid sleep %s & sleep %s; true" % (mark, mark))
            self.wait_for(mark, 6)
            pids = launchers_with(mark)
            if is_other_stopped:
                os.kill(pids[1 - victim], signal.SIGSTOP)
            os.kill(pids[victim], signal.SIGKILL)
            self.assert_gone(mark)
            job.communicate(timeout=10)

    def test_launcher_killed_whose_parent_ignores_signals(self):
        def ignore():
            for number in (signal.SIGTERM, signal.SIGCONT):
                signal.signal(number, signal.SIG_IGN)

        mark = new_mark()
        quiet = dict(os.environ, DUNLIN_DEADLOCK="ignore")  # mpirun then sleeps without limit
        job = self.start_job("-n", "2", "sleep", mark, preexec_fn=ignore, env=quiet)
        self.wait_for(mark, 2)
        job.kill()
        self.assert_gone(mark)

    def test_nothing_is_left_in_the_file_system(self):
        watched = ["/dev/shm", "/tmp", "/var/tmp", os.getcwd()]
        mark = new_mark()
        self.assertEqual(self.run_job("-n", "4", PROBE, "segment")[0], 0)
        self.assertEqual(self.run_job("-n", "4", PROBE, "crash")[0], 134)
        job = self.start_job("-n", "2", PROBE, "hang", mark)
        self.wait_for(mark, 2)
        os.kill(job.pid, signal.SIGKILL)
        self.assert_gone(mark)
        for place in watched:
            self.assertEqual(
                [name for name in os.listdir(place) if name.startswith("dunlin-node")], [], place
            )
        with open("/proc/net/unix") as file:  # only offers of live ranks have names there
            self.assertNotIn("@dunlin-node", file.read())


class Mpi(LauncherTest):
    def test_place(self):
        code, out, err = self.run_job("-n", "2", PROBE, "place", ":", "-n", "1", PROBE, "place")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            sorted(out.splitlines()),
            [
                "ok mpirun rank %d of 3, node rank %d of 3, node 0 of 1, app %d, universe 3"
                % (rank, rank, rank // 2)
                for rank in range(3)
            ],
        )

    def test_exchange(self):
        for size in (1, 2, 3, 7, 16):
            code, out, err = self.run_job("-n", str(size), PROBE, "exchange")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(out.count("ok"), size)

    def test_segment(self):
        for size in (1, 2, 5):
            code, out, err = self.run_job("-n", str(size), PROBE, "segment")
            self.assertEqual((code, err), (0, ""))
            self.assertIn("ok cpus %d\n" % len(os.sched_getaffinity(0)), out)

    def test_abort(self):
        start = time.monotonic()
        code, out, err = self.run_job("-n", "3", PROBE, "abort", "42")
        self.assertEqual(code, 42)
        self.assertRegex(
            err,
            r"^mpirun: rank 2 \(.*boot_probe, process \d+\) was told to end the job\n$",
        )
        self.assertLess(time.monotonic() - start, SECOND)
        self.assertEqual(self.run_job("-n", "3", PROBE, "abort", "0")[0], 1)
        self.assertEqual(self.run_job("-n", "3", PROBE, "abort", "256")[0], 1)

    def test_abort_behind_a_wrapper(self):
        start = time.monotonic()
        code, _, err = self.run_job("-n", "2", "sh", "-c", "%s abort 9; sleep 50" % PROBE)
        self.assertEqual(code, 9)
        self.assertIn("was told to end the job", err)
        self.assertLess(time.monotonic() - start, SECOND)

    def test_exit_without_finalize(self):
        for given, expected in (("0", 1), ("4", 4)):
            start = time.monotonic()
            code, _, err = self.run_job("-n", "3", PROBE, "exit", given)
            self.assertEqual(code, expected)
            self.assertRegex(
                err,
                r"^mpirun: rank 2 \(.*, process \d+\) exited with code %s without calling "
                r"MPI_Finalize\n$" % given,
            )
            self.assertLess(time.monotonic() - start, SECOND)

    def test_nonzero_exit_after_finalize(self):
        code, out, err = self.run_job("-n", "2", PROBE, "after", "3")
        self.assertEqual(code, 3)
        self.assertEqual(out.count("ok"), 2)
        self.assertIn("exited with code 3\n", err)

    def test_crash(self):
        code, _, err = self.run_job("-n", "2", PROBE, "crash")
        self.assertEqual(code, 134)
        self.assertRegex(err, r"rank 1 .* was killed by signal 6 \(Aborted")

    def test_a_rank_that_never_calls_init(self):
        start = time.monotonic()
        code, _, err = self.run_job("-n", "1", PROBE, "hang", ":", "-n", "1", "true")
        self.assertEqual(code, 1)
        self.assertIn("rank 1 (true, process", err)
        self.assertIn("without calling MPI_Init, and rank 0 has called it", err)
        self.assertLess(time.monotonic() - start, 2.0 * SECOND)

    def test_launcher_killed_and_ranks_behind_shells(self):
        # Guard and worker at once: nobody is left who could find the processes that a rank's shell has started.
        closing = "import subprocess, sys; subprocess.run(sys.argv[1:], close_fds=True)"
        for wrapper in (["sh", "-c", 'sh -c \'"$@"; true\' sh "$@"; true', "sh"], [sys.executable, "-c", closing]):
            mark = new_mark()
            job = self.start_job("-n", "2", *wrapper, PROBE, "hang", mark)
            self.assertEqual([job.stdout.readline(), job.stdout.readline()], ["waiting\n"] * 2)
            for pid in launchers_with(mark):
                os.kill(pid, signal.SIGKILL)
            is_gone = eventually(lambda: not probes_with(mark), SECOND)
            for pid in processes_with(mark):  # the shells, which know nothing of MPI
                os.kill(pid, signal.SIGKILL)
            self.assertTrue(is_gone)
            job.communicate(timeout=10)

    def test_a_signal_to_a_rank_that_is_being_started(self):
        # Between vfork and exec it is still a process of mpirun, with signals blocked.
        for _ in range(15):
            mark = new_mark()
            job = self.start_job("-n", "300", "sleep", mark)
            self.assertTrue(eventually(lambda: len(launchers_with(mark)) > 1))
            children = "/proc/%d/task/%d/children" % ((launchers_with(mark)[1],) * 2)
            ranks = []
            while len(ranks) < 60:
                with open(children) as file:
                    ranks = file.read().split()
            os.kill(int(ranks[-1]), signal.SIGTERM)
            self.assertNotEqual(job.wait(10), 0)

    def test_random_kills(self):
        # Processes of a job, at any moment of its life, also while it starts; LAUNCHER_TEST_KILLS=1000 for long.
        seed = int(os.environ.get("LAUNCHER_TEST_SEED", time.time_ns() % 10**9))
        choose = random.Random(seed)
        for round in range(int(os.environ.get("LAUNCHER_TEST_KILLS", 40))):
            with self.subTest(seed=seed, round=round), tempfile.TemporaryDirectory() as folder:
                self.kill_some_of_a_job(choose, folder)

    def kill_some_of_a_job(self, choose, folder):
        mark, shell = new_mark(), ["sh", "-c", '"$@"; true', "sh"]
        is_behind_shells = choose.random() < 0.3
        ranks, program, what = str(choose.choice((1, 2, 3, 4, 9))), choose.choice((PROBE, PROGRAM)), "hang"
        if program == PROGRAM and choose.random() < 0.6:
            what = "traffic"
        words = ["-n", ranks, *(shell if is_behind_shells else []), program, what, mark]
        if choose.random() < 0.3:
            words += [":", "-n", "1", program, what, mark]
        job = self.start_job(*words, cwd=folder, env=dict(os.environ, TMPDIR=folder))
        time.sleep(choose.random() * choose.choice((0.03, 0.03, 0.3)))
        victims = sorted(processes_with(mark)) + launchers_with(mark)
        for victim in choose.sample(victims, min(len(victims), choose.choice((1, 1, 1, 2, 3)))):
            try:
                os.kill(victim, choose.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)))
            except ProcessLookupError:
                pass
        if is_behind_shells:
            time.sleep(0.05)
            job.terminate()  # a killed rank behind a shell is no failure: its shell goes on
        _, said = job.communicate(timeout=20)
        gone = eventually(lambda: not processes_with(mark) and not launchers_with(mark), SECOND)
        self.assertTrue(gone, "%s left %s" % (words, processes_with(mark) + launchers_with(mark)))
        self.assertNotEqual(job.returncode, 0, said)
        left = [name for name in os.listdir(folder) if not name.startswith("core")]
        left += shared_files()
        self.assertEqual(left, [])

    def test_wrapper_that_closes_descriptors(self):
        program = (
            "import subprocess,sys; sys.exit(subprocess.run([%r, 'place'], close_fds=True).returncode)"
            % PROBE
        )
        code, out, err = self.run_job("-n", "2", sys.executable, "-c", program)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            sorted(line.split(",")[0] for line in out.splitlines()),
            ["ok mpirun rank 0 of 2", "ok mpirun rank 1 of 2"],
        )

    def test_a_rank_that_overwrites_what_it_shares_with_mpirun(self):
        program = """
import mmap, os, random, sys, time
fd = int(os.environ["DUNLIN_LAUNCH_NODE_FD"])
choose, size = random.Random(sys.argv[1]), os.fstat(fd).st_size
try:
    os.ftruncate(fd, 0)
except PermissionError:
    fill = {"zeros": b"\\0", "ones": b"\\xff"}.get(sys.argv[1])
    mmap.mmap(fd, size)[:] = fill * size if fill else choose.randbytes(size)
    time.sleep(30)
"""
        for fill in ("zeros", "ones", *(str(random.randrange(10**9)) for _ in range(4))):
            job = self.start_job("-n", "2", "--timeout", "1.5", sys.executable, "-c", program, fill)
            time.sleep(0.4)
            job.send_signal(signal.SIGQUIT)
            _, err = job.communicate(timeout=20)
            self.assertEqual(job.returncode, 124, (fill, err))
            self.assertNotIn("bug", err, fill)

    def test_second_program_of_a_rank_is_refused(self):
        code, out, err = self.run_job("-n", "2", "sh", "-c", "%s place && %s place" % (PROBE, PROBE))
        self.assertEqual(code, 70)
        self.assertIn("already run an MPI program", err)

    def test_program_started_by_a_rank_is_alone(self):
        # The outer probe keeps its rank while the inner one runs.
        mark = new_mark()
        with tempfile.NamedTemporaryFile() as log:
            script = (
                "%s hang %s >%s & until grep -q waiting %s; do sleep 0.01; done; %s place; kill -9 $!; exit 0"
                % (PROBE, mark, log.name, log.name, PROBE)
            )
            code, out, err = self.run_job("-n", "1", "sh", "-c", script)
        self.assertIn("ok singleton rank 0 of 1", out)

    def test_mpirun_within_mpirun(self):
        code, out, err = self.run_job("-n", "2", MPIRUN, "-n", "3", PROBE, "exchange")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("of 3, node rank"), 6)

    def test_64_ranks(self):
        start = time.monotonic()
        code, out, err = self.run_job("-n", "64", PROBE, "segment", timeout=60)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("of 64, node rank"), 64)
        self.assertLess(time.monotonic() - start, 10 * SECOND)

    def test_1000_ranks(self):
        code, out, err = self.run_job("-n", "1000", "echo", "x", timeout=60)
        self.assertEqual((code, err, out), (0, "", "x\n" * 1000))

    def test_400_ranks_need_more_descriptors_than_the_soft_limit(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 4096:
            self.skipTest("the hard limit of descriptors is %d" % hard)
        code, out, err = self.run_job(
            "-n",
            "400",
            "sh",
            "-c",
            "ulimit -n",
            timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)),
        )
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "256\n" * 400)


class OtherLaunchers(LauncherTest):
    def probe(self, what="place", **variables):
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PMI", "DUNLIN_LAUNCH"))
        }
        done = subprocess.run(
            [PROBE, what], capture_output=True, text=True, timeout=20, env=dict(env, **variables)
        )
        return done.returncode, done.stdout, done.stderr

    def test_singleton(self):
        for what in ("place", "exchange", "segment"):
            code, out, err = self.probe(what)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("ok singleton rank 0 of 1, node rank 0 of 1, node 0 of 1", out)

    def test_singleton_abort(self):
        code, _, err = self.probe("abort")
        self.assertEqual(code, 1)
        self.assertIn("was told to end the job", err)

    def test_unknown_launchers_are_loud(self):
        for variables, name in (
            ({"PMIX_RANK": "0", "PMIX_NAMESPACE": "x"}, "PMIx"),
            ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, "Open MPI"),
            ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"}, "srun"),
            ({"PALS_RANKID": "1"}, "PALS"),
            ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "PMI_FD"),
        ):
            code, out, err = self.probe(**variables)
            self.assertEqual((code, out), (70, ""), variables)
            self.assertIn(name, err)
            self.assertEqual(err.count("\n"), 1)

    def test_one_rank_of_an_unknown_launcher_is_a_singleton(self):
        for variables in (
            {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
            {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},  # a batch script, no rank
            {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},
        ):
            self.assertEqual(self.probe(**variables)[0], 0, variables)

    def test_stale_pmi_descriptor_is_loud(self):
        code, _, err = self.probe(PMI_FD="77", PMI_RANK="0", PMI_SIZE="2")
        self.assertEqual(code, 70)
        self.assertIn("PMI_FD=77 is not open", err)

    def test_a_file_in_the_place_of_the_pmi_socket_is_not_touched(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"data of the program")
            file.flush()
            env = dict(os.environ, PMI_FD=str(file.fileno()), PMI_RANK="0", PMI_SIZE="2")
            done = subprocess.run(
                [PROBE, "place"], capture_output=True, text=True, timeout=20, env=env, pass_fds=[file.fileno()]
            )
            file.seek(0)
            self.assertEqual((done.returncode, file.read()), (70, b"data of the program"))
        self.assertIn("PMI_FD=%s is no socket" % env["PMI_FD"], done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
