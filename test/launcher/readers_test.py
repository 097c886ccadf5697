# Whoever reads mpirun's output: slow, stuck, gone, or a full disk; docs/launcher.md.  Run by ctest.
import fcntl
import os
import pty
import resource
import select
import signal
import subprocess
import tempfile
import termios
import time
import tty
import unittest

from harness import LauncherTest, MPIRUN, SECOND, new_mark

PAUSE_S = 11.0  # longer than any limit that a launcher might have for a reader


def read_all(fd):
    data = b""
    while True:
        try:
            block = os.read(fd, 65536)
        except OSError:  # a terminal whose other end is closed
            break
        if not block:
            break
        data += block
    return data


class Readers(LauncherTest):
    def on_terminal(self, *words):
        """A job on a terminal of its own, raw so that bytes can be counted; (job, our end, its end)."""
        main, side = pty.openpty()
        tty.setraw(side)
        self.addCleanup(os.close, main)
        job = subprocess.Popen(
            [MPIRUN, *words],
            stdin=subprocess.DEVNULL,
            stdout=side,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),
        )
        self.addCleanup(self.end, job)
        return job, main, side

    def test_a_reader_that_pauses_gets_everything(self):
        # A pipe that nobody empties, and a terminal where somebody pressed Ctrl-S.
        words = ("-n", "2", "seq", "20000")
        piped = subprocess.Popen([MPIRUN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown, main, side = self.on_terminal("-n", "2", "sh", "-c", "sleep 0.3; seq 20000")
        termios.tcflow(side, termios.TCOOFF)
        time.sleep(PAUSE_S)
        out, err = piped.communicate(timeout=20)
        self.assertEqual((piped.returncode, len(out), err), (0, 217788, b""))
        termios.tcflow(side, termios.TCOON)
        os.close(side)
        self.assertEqual(len(read_all(main)), 217788)
        self.assertEqual((shown.wait(10), shown.stderr.read()), (0, b""))

    def test_told_to_end_while_nobody_reads(self):
        # Ranks that run, and ranks that have ended; a pipe and a stopped terminal.
        for program, signals in (
            ("yes", (signal.SIGTERM,)),
            ("seq 100000", (signal.SIGINT, signal.SIGINT)),
        ):
            shown, main, side = self.on_terminal("-n", "2", "sh", "-c", "sleep 0.1; " + program)
            termios.tcflow(side, termios.TCOOFF)
            piped = self.start_job("-n", "2", "sh", "-c", program)
            time.sleep(0.6)
            for job in (piped, shown):
                for number in signals:
                    job.send_signal(number)
                    time.sleep(0.1)
                start = time.monotonic()
                self.assertEqual(job.wait(10), 128 + signals[0])
                self.assertLess(time.monotonic() - start, SECOND)
            os.close(side)
            self.assertIn("bytes of output are lost: nobody read them", piped.stderr.read())

    def test_one_interrupt_loses_nothing(self):
        # To mpirun, and to its whole group, as timeout(1) and scripts send it.
        for interrupt in (os.kill, os.killpg):
            mark = new_mark()
            job = self.start_job(
                "-n",
                "2",
                "sh",
                "-c",
                "seq 80000; exec sleep $MARK",
                env={**os.environ, "MARK": mark},
                start_new_session=True,
            )
            self.wait_for(mark, 2)  # all is written, and mpirun holds it: less than 1 MiB
            interrupt(job.pid, signal.SIGINT)
            time.sleep(1.2)
            self.assertIsNone(job.poll())
            out, err = job.communicate(timeout=10)
            self.assertIn("ended by signal 2", err)
            self.assertEqual(out.count("\n"), 160000)

    def test_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MPIRUN, "-n", "2", "echo", "x"], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(
                done.stderr, b"mpirun: cannot write standard output: No space left on device; output is lost\n"
            )
            done = subprocess.run([MPIRUN, "-n", "2", "sh", "-c", "echo x >&2"], stderr=full)
            self.assertEqual(done.returncode, 1)

    def test_full_file_is_said(self):  # the programs keep the kernel's way to end those who write too much
        narrow = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "out"), "wb") as file:
            script = "head -c 200000 /dev/zero; head -c 200000 /dev/zero > $0.$$; echo $? >&2"
            words = [MPIRUN, "-n", "2", "sh", "-c", script, file.name]
            done = subprocess.run(words, stdout=file, stderr=subprocess.PIPE, preexec_fn=narrow, timeout=20)
            self.assertEqual(os.path.getsize(file.name), 100000)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"mpirun: cannot write standard output: File too large; output is lost\n", done.stderr)
        self.assertEqual(done.stderr.count(b"%d\n" % (128 + signal.SIGXFSZ)), 2, done.stderr)

    def test_closed_output_is_said(self):
        words = ["sh", "-c", '"$0" -n 2 "$@" >&-', MPIRUN]
        done = subprocess.run([*words, "echo", "x"], capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(
            done.stderr, "mpirun: cannot write standard output: Bad file descriptor; output is lost\n"
        )
        self.assertEqual(subprocess.run([*words, "true"], timeout=20).returncode, 0)

    def test_reader_that_has_gone_is_said(self):
        ends = os.pipe()
        os.close(ends[0])
        done = subprocess.run([MPIRUN, "-n", "2", "echo", "x"], stdout=ends[1], stderr=subprocess.PIPE)
        os.close(ends[1])
        self.assertEqual(done.returncode, 128 + signal.SIGPIPE)
        self.assertIn(b"cannot write standard output: Broken pipe", done.stderr)

    def test_dots_appear_at_once(self):
        program = "for i in 1 2 3 4 5 6; do printf .; sleep 0.1; done; sleep 30"
        job = self.start_job("-n", "2", "sh", "-c", '[ $PMI_RANK = 1 ] || exec sleep 30; ' + program)
        shown, main, side = self.on_terminal("-n", "2", "sh", "-c", program)
        os.close(side)
        for fd, dots in ((job.stdout.fileno(), 6), (main, 12)):
            seen = b""
            limit = time.monotonic() + 3 * SECOND
            while len(seen) < dots and select.select([fd], [], [], max(0, limit - time.monotonic()))[0]:
                seen += os.read(fd, 100)
            self.assertEqual(seen, b"." * dots)
        for each in (job, shown):
            each.send_signal(signal.SIGTERM)
        read_all(main)

    def test_bytes_of_several_ranks_are_unchanged(self):
        code, out, err = self.run_job("-n", "3", "printf", "abc")
        self.assertEqual((code, out, err), (0, "abcabcabc", ""))
        code, out, err = self.run_job("-n", "2", "-l", "printf", "abc")
        self.assertEqual((code, sorted(out.split("\n")), err), (0, ["[0] abc", "[1] abc"], ""))

    def test_output_and_errors_of_a_rank_keep_their_order(self):
        job = "-n 2 sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $PMI_RANK$i; echo $PMI_RANK$i >&2; done' 2>&1"
        done = subprocess.run([MPIRUN + " " + job], shell=True, capture_output=True, text=True, timeout=20)
        for rank in "01":
            mine = [line for line in done.stdout.splitlines() if line[0] == rank]
            self.assertEqual(mine, [rank + str(i) for i in range(1, 10) for _ in "oe"])

    def test_lines_in_slow_pieces_stay_whole(self):
        program = "printf '<%s' $PMI_RANK; sleep 0.$((PMI_RANK + 2)); printf '%s>\\n' $PMI_RANK"
        code, out, _ = self.run_job("-n", "3", "sh", "-c", program)
        self.assertEqual((code, sorted(out.splitlines())), (0, ["<00>", "<11>", "<22>"]))


if __name__ == "__main__":
    unittest.main(verbosity=1)
