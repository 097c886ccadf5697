# What mpirun promises to its user (docs/launcher.md): command line, input, output, binding; with programs
# that know nothing of MPI.  Run by ctest; one class can be run alone: use_test.py Output
import errno
import fcntl
import os
import pty
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from harness import LauncherTest, MPIRUN, SECOND, new_mark, refuse


class Output(LauncherTest):
    def test_lines_of_many_ranks_stay_whole(self):
        # Each rank writes its lines in small pieces.
        program = (
            "import os,sys\nr=os.environ['PMI_RANK']\n"
            "for i in range(200):\n"
            "  for piece in ('<', r*30, '-', str(i), '>\\n'): os.write(1, piece.encode())\n"
        )
        code, out, err = self.run_job("-n", "8", sys.executable, "-c", program)
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(len(lines), 8 * 200)
        for line in lines:
            self.assertRegex(line, r"^<(\d)\1{29}-\d+>$")
        for rank in "01234567":  # and in order within a rank
            mine = [int(line.split("-")[1][:-1]) for line in lines if line[1] == rank]
            self.assertEqual(mine, list(range(200)))

    def test_very_long_lines_stay_whole(self):
        program = "import os,sys\nsys.stdout.write(os.environ['PMI_RANK']*3000000+'\\n')"
        code, out, _ = self.run_job("-n", "4", sys.executable, "-c", program)
        self.assertEqual(code, 0)
        self.assertEqual(sorted(out.split("\n")), ["", *(r * 3000000 for r in "0123")])

    def test_no_line_ends_of_many_ranks_take_little_memory(self):
        little = lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        words = ("-n", "100", "head", "-c", "6000000", "/dev/zero")
        done = subprocess.run([MPIRUN, *words], capture_output=True, timeout=60, preexec_fn=little)
        self.assertEqual((done.returncode, len(done.stdout), done.stderr), (0, 600000000, b""))

    def test_no_line_end_at_the_end(self):
        code, out, _ = self.run_job("-n", "1", "printf", "abc")
        self.assertEqual((code, out), (0, "abc"))

    def test_binary_is_unchanged(self):
        data = bytes(range(256)) * 1000
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            for words in (["-n", "1"], ["-n", "1", "true", ":", "-n", "1"]):
                done = subprocess.run([MPIRUN, *words, "cat", file.name], capture_output=True, timeout=20)
                self.assertEqual(done.stdout, data)

    def test_standard_error_apart(self):
        code, out, err = self.run_job("-n", "2", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((code, out, err), (0, "out\nout\n", "err\nerr\n"))

    def test_tags(self):
        for option in ("--tag-output", "-l", "-prepend-rank"):
            code, out, err = self.run_job("-n", "2", option, "sh", "-c", "printf 'a\\nb\\n'; echo c >&2")
            self.assertEqual(code, 0)
            self.assertEqual(sorted(out.splitlines()), ["[0] a", "[0] b", "[1] a", "[1] b"])
            self.assertEqual(sorted(err.splitlines()), ["[0] c", "[1] c"])
        code, out, _ = self.run_job("--tag-output", "-n", "1", "echo", "x")
        self.assertEqual((code, out), (0, "[0] x\n"))

    def test_slow_reader_loses_nothing_and_blocks_only_writers(self):
        job = self.start_job("-n", "2", "sh", "-c", "seq 1 300000; echo done-$PMI_RANK >&2")
        time.sleep(0.3)  # everything is full now
        start = time.monotonic()
        out, err = job.communicate(timeout=30)
        self.assertEqual(job.returncode, 0)
        self.assertEqual(len(out.splitlines()), 600000)
        self.assertEqual(sorted(err.splitlines()), ["done-0", "done-1"])
        self.assertLess(time.monotonic() - start, 10 * SECOND)

    def test_signals_work_while_the_reader_does_not_read(self):
        mark = new_mark()
        job = self.start_job("-n", "2", "sh", "-c", "yes; sleep " + mark)
        time.sleep(0.2)
        job.send_signal(signal.SIGTERM)
        start = time.monotonic()
        self.assert_gone(mark)
        self.assertLess(time.monotonic() - start, SECOND)
        job.stdout.close()
        job.stderr.close()
        job.stdout = job.stderr = None
        self.assertEqual(job.wait(10), 128 + signal.SIGTERM)

    def test_reader_that_leaves_ends_the_job(self):
        done = subprocess.run(
            [f"{MPIRUN} -n 2 yes | head -1"], shell=True, capture_output=True, text=True, timeout=20
        )
        self.assertEqual(done.stdout, "y\n")

    def test_output_of_a_crashed_rank_arrives_first(self):
        code, out, err = self.run_job("-n", "2", "sh", "-c", "echo last words $PMI_RANK; kill -KILL $$")
        self.assertEqual(code, 128 + 9)
        self.assertIn("last words", out)

    def test_terminal_for_ranks_and_prompt(self):
        main, side = pty.openpty()
        program = "[ -t 1 ] && echo terminal; "
        program += "[ $PMI_RANK = 0 ] && printf 'name? ' && read x && echo hello $x; true"
        job = subprocess.Popen(
            [MPIRUN, "-n", "2", "sh", "-c", program],
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(side)
        seen = b""
        limit = time.monotonic() + 10
        answered = False
        while time.monotonic() < limit:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    seen += os.read(main, 4096)
                except OSError:
                    break
            if b"name? " in seen and not answered:
                os.write(main, b"Ada\n")
                answered = True
        self.assertEqual(job.wait(10), 0)
        os.close(main)
        self.assertEqual(seen.count(b"terminal"), 2)
        self.assertIn(b"hello Ada", seen)


class Input(LauncherTest):
    def test_only_rank_0_reads(self):
        code, out, _ = self.run_job("-n", "3", "--tag-output", "cat", input="line 1\nline 2\n")
        self.assertEqual((code, out), (0, "[0] line 1\n[0] line 2\n"))

    def test_much_input(self):
        text = "x" * 99 + "\n"
        code, out, _ = self.run_job("-n", "2", "wc", "-c", input=text * 50000)
        self.assertEqual((code, sorted(out.split())), (0, ["0", "5000000"]))

    def test_what_is_not_read_stays_for_others(self):
        done = subprocess.run(
            ["sh", "-c", "%s -n 2 true; cat" % MPIRUN],
            input="rest\n",
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertEqual(done.stdout, "rest\n")

    def test_closed_descriptors(self):
        done = subprocess.run(
            ["sh", "-c", "%s -n 2 sh -c 'echo x' <&- 2>&-" % MPIRUN],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertEqual((done.returncode, done.stdout), (0, "x\nx\n"))


class CommandLine(LauncherTest):
    def test_several_programs(self):
        code, out, _ = self.run_job(
            "-n",
            "2",
            "sh",
            "-c",
            "echo a $PMI_RANK $PMI_SIZE",
            ":",
            "-n",
            "1",
            "sh",
            "-c",
            "echo b $PMI_RANK $PMI_SIZE",
        )
        self.assertEqual((code, sorted(out.splitlines())), (0, ["a 0 3", "a 1 3", "b 2 3"]))

    def test_program_arguments_are_untouched(self):
        words = ["-np", "3", "--tag-output", "-env", "", "a b", "--", "*", "-n"]
        code, out, _ = self.run_job("-n", "1", "printf", "%s|", *words)
        self.assertEqual((code, out), (0, "".join(word + "|" for word in words)))

    def test_environment(self):
        show = ("sh", "-c", "echo $A,$B,$C,$D")
        env = dict(os.environ, D="d", A="outer")
        code, out, _ = self.run_job(
            "-genv",
            "B",
            "all",
            "-n",
            "1",
            "-env",
            "A",
            "one two",
            "-x",
            "C=c=c",
            *show,
            ":",
            "-n",
            "1",
            "-x",
            "D",
            *show,
            env=env,
        )
        self.assertEqual((code, sorted(out.splitlines())), (0, ["one two,all,c=c,d", "outer,all,,d"]))

    def test_working_directory(self):
        code, out, _ = self.run_job("-n", "1", "-wdir", "/tmp", "pwd", ":", "-n", "1", "--wdir", "/", "pwd")
        self.assertEqual((code, sorted(out.split())), (0, ["/", "/tmp"]))
        code, _, err = self.run_job("-n", "2", "-wdir", "/no/such/place", "pwd")
        self.assertEqual(code, 127)
        self.assertRegex(err, r"^mpirun: rank 0 \(pwd\): cannot enter folder /no/such/place: No such file")

    def test_program_in_the_directory(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "a.out-test")
            with open(path, "w") as file:
                file.write("#!/bin/sh\necho found\n")
            os.chmod(path, 0o755)
            self.assertEqual(self.run_job("-n", "1", "a.out-test", cwd=place)[:2], (0, "found\n"))
            self.assertEqual(self.run_job("-n", "1", "-wdir", place, "./a.out-test")[:2], (0, "found\n"))

    def test_a_folder_in_path_is_no_program(self):
        with tempfile.TemporaryDirectory() as place:
            os.makedirs(os.path.join(place, "first", "tool"))
            os.mkdir(os.path.join(place, "second"))
            with open(os.path.join(place, "second", "tool"), "w") as file:
                file.write("#!/bin/sh\necho found\n")
            os.chmod(file.name, 0o755)
            env = dict(os.environ, PATH="%s/first:%s/second:%s" % (place, place, os.environ["PATH"]))
            self.assertEqual(self.run_job("-n", "1", "tool", env=env), (0, "found\n", ""))

    def test_answers_that_cannot_be_written(self):
        for option in ("--help", "--version"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([MPIRUN, option], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, b"mpirun: cannot write standard output: No space left on device\n")

    def test_initial_error_handler(self):
        show = ("sh", "-c", "echo $DUNLIN_INITIAL_ERRHANDLER")
        job = ("-n", "1", *show, ":", "-initial-errhandler", "mpi_errors_return", "-n", "1", *show)
        self.assertEqual(self.run_job(*job), (0, "mpi_errors_return\n" * 2, ""))

    def test_wrong_usage_says_so(self):
        for words, text in (
            ([], "no program given"),
            (["-n", "0", "true"], "at least 1"),
            (["-n", "x", "true"], 'option -n: "x" is not a number of ranks'),
            (["-n", "3000000000", "true"], "ranks are too many"),
            (["-n", "99999999999999999999", "true"], "99999999999999999999 ranks are too many: the limits of this system"),
            (["-n", "-99999999999999999999", "true"], "is not a number of ranks"),
            (["-ppn", "99999999999999999999", "true"], "99999999999999999999 ranks are too many"),
            (["-n", "2147483647", "true"], "ranks are too many"),
            (["-n", "2147483647", "true", ":", "-n", "2147483647", "true"], "ranks are too many"),
            (["--nonsense", "true"], "option --nonsense: unknown"),
            (["-nonsense", "-n", "2", "true"], "option -nonsense: unknown"),
            (["-n"], "RANKS must follow"),
            (["-env", "A"], "NAME VALUE must follow"),
            (["-l=3", "true"], "takes no value"),
            (["--bind", "moon", "true"], "moon"),
            (["--timeout", "1e30", "true"], '"1e30" is not a number of seconds'),
            (["--timeout", "-1", "true"], '"-1" is not a number of seconds'),
            (["--timeout", "nan", "true"], '"nan" is not a number of seconds'),
            (["-f", "/no/such/file", "true"], "cannot read /no/such/file: No such file"),
            (["-n", "2", ""], "no program given"),
            (["-H", "localhost:abc", "true"], '"localhost:abc" is no list of machines'),
            (["--hosts", "localhost:2,:3", "true"], "is no list of machines"),
            (["-H", "localhost:0", "true"], "is no list of machines"),
            (["-H", "localhost:-99999999999999999999", "true"], "is no list of machines"),
            (["-H", "localhost:99999999999999999999", "true"], "ranks are too many: the limits of this system"),
            (["-H", "localhost:3000000000", "true"], "ranks are too many: the limits of this system"),
            (["-H", ",", "true"], "is no list of machines"),
            (["-f", "/dev/zero", "true"], "cannot read /dev/zero: File too large"),
            (["-ppn", "2", "-n", "4", "true"], "4 ranks, 2 on each machine"),
            (["--stdin", "all", "true"], '"all" cannot read standard input'),
            (["--output", "file=x", "true"], '"file=x" is not supported'),
            (["-x", "=5", "true"], 'option -x: "=5" names no variable'),
            (["-env", "", "5", "true"], 'option -env: "" names no variable'),
            (["-genv", "A=B", "5", "true"], 'option -genv: "A=B" names no variable'),
            (["-n", "1", "true", ":"], "no program given"),
            (["--initial-errhandler", "mine", "true"], '"mine" is none of mpi_errors_are_fatal'),
        ):
            code, out, err = self.run_job(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(text, err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertLess(len(err), 300)
        code, _, err = self.run_job("true", env=dict(os.environ, MPIEXEC_TIMEOUT="soon"))
        self.assertEqual((code, err.count("\n")), (2, 1))
        self.assertIn("MPIEXEC_TIMEOUT", err)

    def test_hosts_are_handed_over(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("srun", "prterun", "mpiexec.hydra"):
                with open(os.path.join(folder, name), "w") as file:
                    file.write("#!/bin/sh\necho ${0##*/} \"$@\"\nexit 5\n")
                os.chmod(file.name, 0o755)
            bare = {"PATH": folder, "DUNLIN_HEAP": "private"}
            hosts = ["-H", "a:1,b", "-f", "/dev/null", "-n", "4"]
            for more, words, command, parts in (
                ({}, hosts, "prterun --host a:2,b:2 --map-by slot:OVERSUBSCRIBE", ["-n 4 p x"]),
                ({}, ["-l", "--bind", "none", "--hosts", "a,b", "-n", "1"],
                 "prterun --host a:1 --map-by slot:OVERSUBSCRIBE --bind-to none --output tag", ["-n 1 p x"]),
                ({"SLURM_JOB_ID": "1"}, ["-ppn", "3", "--hosts", "a,b"],
                 "srun --nodelist=a,b --nodes=2 --overcommit --kill-on-bad-exit=1 --input=0 --mpi=pmi2", ["-n 6 p x"]),
                ({"DUNLIN_REMOTE_LAUNCHER": "mpiexec.hydra -iface ib0"}, ["-H", "a:3,b", "-x", "A=1", "-wdir", "/d"],
                 "mpiexec.hydra -hosts a:3,b:1 -iface ib0", ["-n 4 --chdir=/d A=1 p x"]),
                ({"DUNLIN_REMOTE_LAUNCHER": "mpiexec.hydra"},
                 ["-H", "a,b", "-n", "3", "q", ":", "-H", "b,c", "-n", "2"],
                 "mpiexec.hydra -hosts a:2,b:2,c:1", ["-n 3 q", "-n 2 p x"]),
            ):
                code, out, err = self.run_job(*words, "p", "x", env={**bare, **more})
                said = out.strip().replace("env ", "")
                for setting in ("DUNLIN_HEAP=private ", "DUNLIN_REMOTE_LAUNCHER=mpiexec.hydra -iface ib0 ",
                                "DUNLIN_REMOTE_LAUNCHER=mpiexec.hydra "):
                    said = said.replace(setting, "")
                self.assertEqual((code, said), (5, command + " " + " : ".join(parts)), err)
                self.assertRegex(err, "^mpirun: [0-9]+ ranks? on a:.*, started by %s\n$" % command.split()[0])
            for more, words, text in (
                ({"PATH": "/nowhere"}, hosts, "a:2,b:2 needs a launcher for several machines, and there is none"),
                ({"DUNLIN_REMOTE_LAUNCHER": "ssh"}, hosts, "DUNLIN_REMOTE_LAUNCHER=ssh is not known; it must be srun"),
                ({}, ["-x", "DUNLIN_REMOTE_LAUNCHER=rsh", *hosts], "DUNLIN_REMOTE_LAUNCHER=rsh is not known"),
                ({"SLURM_JOB_ID": "1"}, ["-H", "a:1,b:3"], "srun starts one program"),
            ):
                code, out, err = self.run_job(*words, "p", env={**bare, **more})
                self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)
                self.assertIn(text, err)

    def test_words_of_scripts_for_other_launchers(self):
        for words in (
            ["-v", "-n", "2"],
            ["-q", "--verbose", "-np", "2"],
            ["-oversubscribe", "--allow-run-as-root", "-c", "2"],
            ["-ppn", "2", "-n", "2"],
            ["-N", "2"],
            ["--map-by", "ppr:2:node:PE=1", "--rank-by", "core"],
            ["--map-by", "core", "--bind-to", "none:overload-allowed", "-n", "2"],
            ["--bind-to", "socket", "-n=2"],
            ["-mca", "btl", "self,vader", "--mca", "pml", "^ucx", "--n", "2"],
            ["-H", "localhost:1,%s:1" % socket.gethostname()],
            ["--hosts", "localhost:1,%s" % socket.gethostname()],
            ["--host=localhost,localhost", "--display", "map", "-rr", "-print-all-exitcodes"],
            ["--hosts", "localhost:4,%s" % socket.gethostname(), "-launcher", "ssh", "-np", "2"],
            ["--rank-by", "slot", "--bind-to", "package", "--map-by", "socket", "-host", "localhost:2"],
            ["--bind-to", "numa", "--display-map", "-hosts", "localhost:2", "-usize", "4"],
            ["-genvall", "-genvlist", "PATH,HOME", "-n", "2", "--stdin", "none"],
            ["-n", "2", "--"],
        ):
            code, out, err = self.run_job(*words, "sh", "-c", "echo $PMI_SIZE")
            if "--display-map" in words:
                self.assertEqual(err.count("may use CPUs"), 2 * (len(os.sched_getaffinity(0)) > 1), err)
                err = ""
            self.assertEqual((code, out, err), (0, "2\n2\n", ""), words)
        self.assertEqual(self.run_job("--output", "tag", "-n", "1", "echo", "x")[1], "[0] x\n")
        self.assertEqual(self.run_job("-stdin=none", "cat", input="x")[1], "")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# two lines\nlocalhost max-slots=9 slots=2\n127.0.0.1 # one more\n")
            file.flush()
            for option in ("-f", "--hostfile", "-machinefile"):
                self.assertEqual(self.run_job(option, file.name, "echo", "x")[1], "x\n" * 3)
        code, _, err = self.run_job("sleep", "9", env=dict(os.environ, MPIEXEC_TIMEOUT="0.1"))
        self.assertEqual(code, 124)

    def test_local_rank_and_size(self):
        names = "MPI_LOCALRANKID MPI_LOCALNRANKS OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE "
        names += "DUNLIN_LAUNCH_LOCAL_RANK DUNLIN_LAUNCH_LOCAL_SIZE"
        show = "echo $" + " $".join(names.split())
        outer = dict(os.environ, **dict.fromkeys(names.split(), "7"))
        code, out, _ = self.run_job("-n", "2", "sh", "-c", show, env=outer)
        self.assertEqual((code, sorted(out.splitlines())), (0, ["0 2 0 2 0 2", "1 2 1 2 1 2"]))

    def test_a_pipe_as_program(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "pipe")
            os.mkfifo(path)
            code, _, err = self.run_job("-n", "2", path)
            self.assertEqual(code, 126)
            self.assertIn("it is no regular file", err)
            job = self.start_job("-f", path, "true")  # a list of machines may come from a pipe
            time.sleep(0.2)
            job.terminate()
            self.assertEqual(job.wait(10), -signal.SIGTERM)

    @unittest.skipUnless(os.uname().machine == "x86_64", "knows numbers of system calls of x86-64")
    def test_what_the_system_refuses_is_named(self):
        for call, text in (
            ("memfd_create", "cannot make shared memory for the job (memfd_create): Operation not permitted"),
            ("socketpair", "(true): cannot open its descriptors (a socket, pipes, /dev/null): Operation not permitted"),
            ("epoll_create1", "(epoll_create1): Operation not permitted"),
            ("signalfd4", "(signalfd): Operation not permitted"),
        ):
            code, _, err = self.run_job("-n", "2", "true", preexec_fn=lambda: refuse(call))
            self.assertNotEqual(code, 0)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(text, err)
        code, _, err = self.run_job("-n", "2", "true", preexec_fn=lambda: refuse("vfork", errno.EAGAIN))
        self.assertEqual(code, 127)
        self.assertIn("rank 0 (true): cannot make a process: Resource temporarily unavailable (ulimit -u, or", err)
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        code, _, err = self.run_job("-n", "1", "true", preexec_fn=few)
        self.assertNotEqual(code, 0)
        self.assertIn("Too many open files", err)

    def test_help_and_version(self):
        self.assertRegex(self.run_job("-V")[1], r"Dunlin \d")
        for option in ("--help", "-h", "-help"):
            code, out, _ = self.run_job(option)
            self.assertEqual(code, 0)
            self.assertIn("--tag-output", out)
            self.assertEqual([line for line in out.splitlines() if line.startswith("    ") and len(line) > 80], [])
        self.assertRegex(self.run_job("--version")[1], r"Dunlin \d+\.\d+")

    def test_why_a_program_does_not_start(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text, said in (
                ("windows", "#!/bin/sh\r\ntrue\r\n", "Windows, so that its interpreter /bin/sh is not found"),
                ("absent", "#!/no/such/sh -e\n", "its interpreter /no/such/sh is not there"),
                ("plain", "#!/bin/sh\n", "it is not executable"),
            ):
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(text)
                os.chmod(path, 0o600 if name == "plain" else 0o700)
                self.assertIn(said, self.run_job("-n", "2", path)[2])
            with open(path, "wb") as file:  # begins as a program does
                file.write(b"\x7fELF" + bytes(60))
            os.chmod(path, 0o700)
            code, _, err = self.run_job("-n", "2", path)
            self.assertEqual(code, 126)
            self.assertIn("it is a program for another kind of CPU, or damaged", err)
            self.assertIn("it is a folder", self.run_job("-n", "2", folder)[2])

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount without help")
    def test_a_file_system_without_programs_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            inside = "mount --make-rprivate / && mount -t tmpfs -o noexec tmpfs %s && cp /bin/true %s/tool"
            inside %= (folder, folder)
            words = ["unshare", "--mount", "sh", "-c", inside + ' || exit 99; exec "$@"', "sh"]
            done = subprocess.run([*words, MPIRUN, "-n", "1", folder + "/tool"], capture_output=True, text=True, timeout=20)
        if done.returncode == 99:
            self.skipTest("nothing can be mounted here: " + done.stderr)
        self.assertEqual(done.returncode, 126)
        self.assertIn('no program may run from its file system (it is mounted "noexec")', done.stderr)

    def test_a_small_stack_is_enough(self):
        code, out, err = self.run_job(
            "-n", "2", "echo", "x", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536))
        )
        self.assertEqual((code, out, err), (0, "x\nx\n", ""))

    def test_missing_program(self):
        code, _, err = self.run_job("-n", "2", "./no-such-program")
        self.assertEqual(code, 127)
        self.assertEqual(
            err, "mpirun: rank 0 (./no-such-program): cannot start it: No such file or directory\n"
        )
        self.assertEqual(self.run_job("-n", "2", "/tmp")[0], 126)

    def test_words_of_other_launchers_do_not_leak(self):
        env = dict(
            os.environ, PMI_PORT="host:1", PMI_ID="7", PMI_FD="99", DUNLIN_LAUNCH_RANK="5", PMIX_RANK="3"
        )
        code, out, _ = self.run_job(
            "-n", "1", "sh", "-c", "echo $PMI_PORT$PMI_ID$PMIX_RANK$DUNLIN_LAUNCH_RANK", env=env
        )
        self.assertEqual((code, out), (0, "0\n"))


class Heap(LauncherTest):
    LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MPIRUN)), "lib", "libdunlin_heap.so")

    def preloaded(self, *words, **more):
        code, out, err = self.run_job(*words, "sh", "-c", "echo $LD_PRELOAD", **more)
        self.assertEqual((code, err), (0, ""))
        return out.strip()

    def setUp(self):
        super().setUp()
        if not os.path.exists(self.LIBRARY):
            self.skipTest("this build has no shared heap")

    def test_preloaded_unless_private(self):
        self.assertEqual(self.preloaded("-n", "1"), self.LIBRARY)
        self.assertEqual(self.preloaded("-n", "1", "-x", "DUNLIN_HEAP=private"), "")
        self.assertEqual(self.preloaded("-n", "1", env=dict(os.environ, DUNLIN_HEAP="private")), "")

    def test_comes_after_what_the_user_preloads(self):
        self.assertEqual(
            self.preloaded("-n", "1", "-x", "LD_PRELOAD=libm.so.6"), "libm.so.6:" + self.LIBRARY
        )

    def test_not_into_sanitized_programs(self):
        compiler = shutil.which("cc")
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "p.c"), "w") as file:
                file.write("int main(void) { return 0; }\n")
            command = [compiler or "cc", "-fsanitize=address", "-o", "p", "p.c"]
            if not compiler or subprocess.run(command, cwd=place, capture_output=True).returncode != 0:
                self.skipTest("no compiler with a sanitizer")
            for words, where in ((["./p"], place), (["-wdir", place, "./p"], "/"), ([place + "/p"], "/")):
                self.assertEqual(self.run_job("-n", "1", *words, cwd=where), (0, "", ""))


class Binding(LauncherTest):
    SHOW = ("grep", "Cpus_allowed_list", "/proc/self/status")

    def cpus(self, *words):
        code, out, err = self.run_job(*words, *self.SHOW)
        self.assertEqual(code, 0, err)
        return [line.split()[1] for line in out.splitlines()]

    def setUp(self):
        super().setUp()
        self.allowed = sorted(os.sched_getaffinity(0))
        if len(self.allowed) < 2:
            self.skipTest("needs two processors")

    def test_equal_shares_by_default(self):
        size = len(self.allowed)
        self.assertEqual(sorted(self.cpus("-n", str(size))), sorted(str(cpu) for cpu in self.allowed))

    def test_one_rank_keeps_all(self):
        self.assertEqual(self.cpus("-n", "1"), self.cpus("-n", "1", "--bind", "none"))

    def test_as_many_ranks_on_each(self):
        size = 3 * len(self.allowed)
        cpus = self.cpus("-n", str(size))
        self.assertEqual(sorted(cpus), sorted(3 * [str(cpu) for cpu in self.allowed]))

    def test_none_when_ranks_do_not_divide_equally(self):
        everything = self.cpus("-n", "1", "--bind", "none")[0]
        self.assertEqual(set(self.cpus("-n", str(len(self.allowed) + 1))), {everything})

    def test_masks_of_the_caller_are_obeyed(self):
        last = self.allowed[-1]
        old = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {last})
        try:
            self.assertEqual(set(self.cpus("-n", "2")), {str(last)})
        finally:
            os.sched_setaffinity(0, old)

    def test_asked_for_and_impossible_is_said(self):
        code, _, err = self.run_job("-n", str(len(self.allowed) + 1), "--bind", "core", "true")
        self.assertEqual(code, 0)
        self.assertIn("not bound", err)
        code, _, err = self.run_job("-n", str(len(self.allowed) + 1), "--show-binding", "true")
        self.assertEqual((code, "not bound" in err), (0, True))

    def test_shown(self):
        code, _, err = self.run_job("-n", "2", "--show-binding", "--bind", "hwthread", "true")
        self.assertEqual(code, 0)
        self.assertRegex(
            err, r"mpirun: rank 0 may use CPUs \d+\nmpirun: rank 1 may use CPUs \d+\n"
        )


if __name__ == "__main__":
    unittest.main(verbosity=1)
