# mpirun on a terminal, under a shell with job control; docs/launcher.md.  Run by ctest.
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from harness import LauncherTest, MPIRUN, SECOND, eventually, launchers_with, new_mark, processes_with


class Terminal(LauncherTest):
    def start_session(self, *words):
        """A program that leads a session on a terminal of its own."""
        self.main, side = pty.openpty()
        self.seen = ""
        leader = subprocess.Popen(
            words,
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(side)
        self.addCleanup(leader.wait)
        self.addCleanup(leader.kill)
        return leader

    def start_shell(self):
        self.start_session("bash", "--norc", "--noprofile", "-i")
        self.type("PS1='$ '; M=%s" % MPIRUN)

    def type(self, line):
        os.write(self.main, line.encode() + b"\n")

    def expect(self, pattern, seconds=5 * SECOND):
        """Waits until the terminal shows `pattern` behind what was expected before."""
        limit = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.seen)
            if match:
                self.seen = self.seen[match.end() :]
                return
            if not select.select([self.main], [], [], max(0, limit - time.monotonic()))[0]:
                self.fail("no %r within %g s, but %r" % (pattern, seconds, self.seen))
            self.seen += os.read(self.main, 65536).decode()

    def test_hang_up_ends_the_job(self):
        mark = new_mark()
        leader = self.start_session(MPIRUN, "-n", "2", "sleep", mark)
        self.wait_for(mark, 2)
        os.close(self.main)
        self.assert_gone(mark, SECOND)
        self.assertEqual(leader.wait(10), 128 + signal.SIGHUP)

    def test_input_follows_the_foreground(self):
        self.start_shell()
        program = 'while read x; do echo "got<$x>"; [ $x = end ] && break; done'
        self.type("$M -n 2 bash -c '%s' &" % program)
        self.expect(r"\[1\] \d+")
        time.sleep(0.3)
        self.type("fg")
        time.sleep(0.6)
        self.type("one")
        self.expect("got<one>")
        os.write(self.main, b"\x1a")  # Ctrl-Z
        self.expect("Stopped")
        self.type("bg; echo shell reads")
        self.expect("\nshell reads")
        self.type("fg")
        time.sleep(0.6)
        self.type("end")
        self.expect(r"got<end>(.|\n)*\$ ")
        self.type("echo code $?")
        self.expect("code 0")

    def test_ctrl_z_where_no_shell_could_continue(self):
        # mpirun leads the session, as in "docker run -it" and "xterm -e".
        leader = self.start_session(MPIRUN, "-n", "2", "sh", "-c", "echo up; sleep 1; echo on")
        self.expect(r"up\r\nup\r\n")
        os.write(self.main, b"\x1a")
        self.expect(r"on\r\non\r\n")
        self.assertEqual(leader.wait(10), 0)

    def test_asked_who_waits_while_ranks_are_started(self):
        # A rank that is not yet in its own group gets the terminal's signals, too, and must not die of SIGQUIT.
        mark = new_mark()
        leader = self.start_session(MPIRUN, "-n", "300", "sleep", mark)
        self.wait_for(mark, 1)
        for _ in range(100):
            os.write(self.main, b"\x1c")
            time.sleep(0.002)
        self.wait_for(mark, 300)
        os.write(self.main, b"\x03")
        self.expect(r"ended by signal 2", 20)
        os.close(self.main)
        self.assertEqual(leader.wait(10), 130)

    def test_input_from_a_terminal_of_no_session(self):
        # As under setsid and "su -c": then nobody is in the background.
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        program = '[ $PMI_RANK = 1 ] || read x; echo "<$x>"'
        job = self.start_job("-n", "2", "sh", "-c", program, stdin=side, start_new_session=True)
        os.close(side)
        os.write(main, b"word\n")
        out, _ = job.communicate(timeout=10)
        self.assertEqual(sorted(out.splitlines()), ["<>", "<word>"])

    def test_output_where_background_jobs_must_not_write(self):
        self.start_shell()
        self.type("stty tostop")
        for ranks in ("1", "2"):
            self.type("$M -n %s sh -c 'echo o''ut; echo e''rr >&2'; echo code $?" % ranks)
            for text in (r"\bout\r\n", r"\berr\r\n", "code 0"):
                self.expect(text)
        self.type("$M -n 2 echo from back''ground & sleep 0.5")
        self.expect("Stopped")
        self.type("fg")
        self.expect("from background\r\nfrom background")

    def test_size_follows(self):
        show = "stty size < /dev/stdout"
        program = "trap '%s; exit' WINCH; %s; while :; do sleep 0.05; done" % (show, show)
        leader = self.start_session(MPIRUN, "-n", "2", "sh", "-c", program)
        self.expect(r"0 0\r\n0 0\r\n")
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 99, 0, 0))
        self.expect(r"50 99\r\n50 99\r\n")
        self.assertEqual(leader.wait(10), 0)

    def test_stopped_ranks_are_reported(self):
        self.start_shell()
        self.type("$M -n 2 sh -c '[ $PMI_RANK = 0 ] || read x < /dev/tty'")
        self.expect(r"mpirun: rank 1 \(sh, process \d+\) is stopped: it read from the terminal")
        os.write(self.main, b"\x03")  # Ctrl-C
        self.expect(r"ended by signal 2")
        mark = new_mark()
        job = self.start_job("-n", "2", "sleep", mark)
        self.wait_for(mark, 2)
        os.kill(processes_with(mark)[1], signal.SIGSTOP)
        self.assertRegex(job.stderr.readline(), r"mpirun: rank \d \(sleep, .*\) is stopped by signal 19 \(Stopped")


if __name__ == "__main__":
    unittest.main(verbosity=1)
