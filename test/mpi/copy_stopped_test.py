#!/usr/bin/env python3
"""A rank that is stopped or killed while it copies its part of a message (copy_stopped.c), seen from outside: what is
said, how soon a job ends, and what is left."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "launcher"))
from harness import LauncherTest, eventually, processes_with, shared_files  # noqa: E402

PROGRAM = os.environ["COPY_STOPPED_PROGRAM"]
STALLED = "; that rank began to copy and does not go on: was it stopped, or is it dead\\?"
# By the sender, which is rank 0, and by the receiver.
WAITS = (
    r"rank 0: MPI_Send has waited \d+ s for a send of \d+ bytes \(being copied\), rank 1 of the job, .*" + STALLED,
    r"rank 1: MPI_Recv has waited \d+ s for a message of up to \d+ bytes, rank 0 of the job, .*" + STALLED,
)


class CopyStopped(LauncherTest):
    def play(self, what, victim):
        settings = dict(os.environ, DUNLIN_SHARED_COPY_CHUNK_BYTES="1g", DUNLIN_WAIT_REPORT="1")
        start = time.monotonic()
        words = ("--timeout", "60", "-n", "2", PROGRAM, what, str(victim))
        code, out, err = self.run_job(*words, timeout=70, env=settings)
        self.assertTrue(eventually(lambda: not processes_with(PROGRAM)), err)
        self.assertEqual(shared_files() - self.shm_before, set())
        return code, out, err, time.monotonic() - start

    def test_who_waits_for_a_stopped_rank_says_so(self):
        for victim in (0, 1):
            code, out, err, _ = self.play("stop", victim)
            self.assertEqual(code, 0, err)
            self.assertIn("stopped while it copied", out)
            self.assertRegex(err, WAITS[1 - victim])

    def test_a_killed_rank_ends_the_job(self):
        for victim in (0, 1):
            code, out, err, took = self.play("kill", victim)
            self.assertEqual((code, out), (137, ""), err)
            self.assertRegex(err, r"mpirun: rank %d \(.*, process \d+\) was killed by signal 9 \(Killed\)" % victim)
            self.assertLess(took, 20)


if __name__ == "__main__":
    unittest.main()
