# PMI both ways: ranks that are not ours under mpirun, and our ranks under Debian's mpiexec.hydra (package
# mpich). Run by ctest; a class whose launcher is not installed is skipped with its reason.
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from harness import LauncherTest, MPIRUN, PROBE, SECOND

HYDRA = shutil.which("mpiexec.hydra")
MPICH_CC = os.environ.get("LAUNCHER_TEST_MPICH_CC") or shutil.which("mpicc.mpich")
HERE = os.path.dirname(os.path.abspath(__file__))
RANK = os.path.join(HERE, "pmi_rank.py")
REFUSE_PMI1 = os.path.join(HERE, "refuse_pmi1.py")

MPICH_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (argc > 1 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 21);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("sum %d of %d\n", sum, size);
  MPI_Finalize();
  return 0;
}
"""


class Server(LauncherTest):
    def test_exchange(self):
        for size in (1, 2, 5):
            code, out, err = self.run_job("-n", str(size), sys.executable, RANK, "exchange")
            self.assertEqual((code, err, out), (0, "", "ok\n" * size))

    def test_abort(self):
        start = time.monotonic()
        code, _, err = self.run_job("-n", "3", sys.executable, RANK, "abort")
        self.assertEqual(code, 19)
        self.assertRegex(err, r"^mpirun: rank 0 \(.*\) called MPI_Abort with error code 19\n$")
        self.assertLess(time.monotonic() - start, 1.5 * SECOND)

    def test_exit_without_finalize(self):
        code, _, err = self.run_job("-n", "2", sys.executable, RANK, "exit")
        self.assertEqual(code, 1)
        self.assertIn("exited with code 0 without calling MPI_Finalize", err)

    def test_mixed_with_ours(self):
        # The store is the same for ranks that speak from the start and ranks that speak when they must.
        code, out, err = self.run_job("-n", "2", PROBE, "place", ":", "-n", "1", PROBE, "late")
        self.assertEqual((code, err), (0, ""))

    @unittest.skipUnless(MPICH_CC, "mpicc.mpich is not installed (Debian package libmpich-dev)")
    def test_mpich_program(self):
        with tempfile.TemporaryDirectory() as place:
            source, program = os.path.join(place, "p.c"), os.path.join(place, "p")
            with open(source, "w") as file:
                file.write(MPICH_PROGRAM)
            done = subprocess.run(
                [MPICH_CC, "-o", program, source], capture_output=True, text=True, timeout=60
            )
            if done.returncode != 0:
                self.skipTest("MPICH's compiler wrapper does not work here (Debian package libmpich-dev)")
            for size in (1, 2, 4):
                code, out, err = self.run_job("-n", str(size), program, timeout=60)
                self.assertEqual((code, err), (0, ""))
                self.assertEqual(out, "sum %d of %d\n" % (size * (size - 1) // 2, size) * size)
            code, out, err = self.run_job("-n", "2", program, "abort", timeout=60)
            self.assertEqual(code, 21, err)


@unittest.skipUnless(HYDRA, "mpiexec.hydra is not installed (Debian package mpich)")
class Hydra(LauncherTest):
    def run_hydra(self, *words):
        done = subprocess.run(
            [HYDRA, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    def test_place(self):
        code, out, err = self.run_hydra("-n", "2", PROBE, "place", ":", "-n", "1", PROBE, "place")
        self.assertEqual((code, err), (0, ""))
        for rank in range(3):
            self.assertIn(
                "ok PMI-1 rank %d of 3, node rank %d of 3, node 0 of 1, app %d" % (rank, rank, rank // 2),
                out,
            )

    def test_exchange(self):
        for size in (1, 2, 5):
            code, out, err = self.run_hydra("-n", str(size), PROBE, "exchange")
            self.assertEqual((code, err, out.count("ok")), (0, "", size))

    def test_over_a_port(self):
        code, out, err = self.run_hydra("-pmi-port", "-n", "3", PROBE, "exchange")
        self.assertEqual((code, err, out.count("of 3, node rank")), (0, "", 3))

    def test_segment(self):
        usable = len(os.sched_getaffinity(0))
        for words in ((), ("-bind-to", "core")):
            for size in (1, 2):
                code, out, err = self.run_hydra(*words, "-n", str(size), PROBE, "segment")
                self.assertEqual((code, err), (0, ""))
                expected = min(usable, size) if words else usable
                self.assertEqual(out.count("ok cpus %d\n" % expected), size, out)
        code, out, err = self.run_hydra("-n", "32", PROBE, "segment")
        self.assertEqual((code, err, out.count("of 32, node rank")), (0, "", 32))

    def test_pmi2(self):
        rank = [sys.executable, REFUSE_PMI1, PROBE]
        for what in ("place", "exchange", "segment"):
            for size in (1, 2, 5):
                code, out, err = self.run_hydra("-n", str(size), *rank, what)
                self.assertEqual((code, err, out.count("ok PMI-2 rank")), (0, "", size), out)
        code, _, err = self.run_hydra("-n", "3", *rank, "abort", "5")
        self.assertNotEqual(code, 0)  # which code, this protocol does not say
        self.assertIn("dunlin: rank 2: was told to end the job", err)

    def test_abort(self):
        code, _, err = self.run_hydra("-n", "3", PROBE, "abort", "5")
        self.assertEqual(code, 5)
        self.assertIn("dunlin: rank 2: was told to end the job", err)

    def test_hydra_within_mpirun(self):
        code, out, err = self.run_job("-n", "2", HYDRA, "-n", "2", PROBE, "exchange")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            sorted(line.split(",")[0] for line in out.splitlines()),
            ["ok PMI-1 rank %d of 2" % rank for rank in (0, 0, 1, 1)],
        )

    def test_mpirun_within_hydra(self):
        code, out, err = self.run_hydra("-n", "2", MPIRUN, "-n", "2", PROBE, "exchange")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("ok mpirun rank"), 4)


if __name__ == "__main__":
    result = unittest.main(verbosity=1, exit=False).result
    if result.testsRun > 0 and len(result.skipped) == result.testsRun:
        print("\n".join(sorted({reason for _, reason in result.skipped})))
        sys.exit(77)  # ctest: skipped
    sys.exit(not result.wasSuccessful())
