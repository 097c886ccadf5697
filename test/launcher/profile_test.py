# DUNLIN_PROFILE: what is counted, the table, the files, and a tool that wraps functions itself.  Run by ctest.
import ctypes.util
import json
import os
import re
import tempfile
import unittest

from harness import LauncherTest

PROFILED = os.environ["LAUNCHER_TEST_PROFILED"]
TOOL = os.environ["LAUNCHER_TEST_PROFILE_TOOL"]
SHORT, LONG = 1000, 100000  # bytes


class Profile(LauncherTest):
    def check(self, err, ranks):
        """The table of profiled.c on so many ranks."""
        found = re.search(
            r"profile of (\d+) ranks, [\d.]+ s:\n"
            r"  share of run time in MPI +([\d.]+) % to ([\d.]+) %\n"
            r"  messages +(\d+) short \(up to 16384 bytes\), (\d+) long, (\S+) bytes\n"
            r"  came before their receive +50\.0 % of long ones\n"
            r"  most time +(MPI_\w+) ([\d.]+) % (MPI_\w+) ([\d.]+) % (MPI_\w+) ([\d.]+) %\n",
            err,
        )
        self.assertIsNotNone(found, err)
        least, most = float(found[2]), float(found[3])
        self.assertTrue(0 <= least <= most <= 100, err)
        short = ranks + 2 * (ranks - 1)
        self.assertEqual((int(found[1]), int(found[4]), int(found[5])), (ranks, short, 2 * ranks))
        sent = short * SHORT + 2 * ranks * LONG
        self.assertAlmostEqual(float(found[6]) / sent, 1, places=2)
        tops = [float(found[8]), float(found[10]), float(found[12])]
        self.assertEqual(tops, sorted(tops, reverse=True))
        self.assertLessEqual(sum(tops), most + 1)

    def test_table(self):
        for ranks in (1, 2, 5):
            code, out, err = self.run_job("-n", str(ranks), PROFILED, env=dict(os.environ, DUNLIN_PROFILE="1"))
            self.assertEqual((code, out), (0, ""), err)
            self.check(err, ranks)

    def test_setting_of_one_part_counts_for_the_job(self):
        for words in (["-x", "DUNLIN_PROFILE=1"], ["-genv", "DUNLIN_PROFILE", "1"], ["-env", "DUNLIN_PROFILE", "1"]):
            code, out, err = self.run_job(*words, "-n", "1", PROFILED, ":", "-n", "1", PROFILED)
            self.assertEqual((code, out), (0, ""), err)
            self.check(err, 2)

    @unittest.skipUnless(ctypes.util.find_library("fabric"), "no libfabric")
    def test_the_same_where_the_network_matches(self):
        for ranks in (2, 3):
            environment = dict(os.environ, DUNLIN_PROFILE="1", DUNLIN_P2P="offload", DUNLIN_OFI_PROVIDER="tcp")
            code, out, err = self.run_job("-n", str(ranks), PROFILED, env=environment)
            self.assertEqual((code, out), (0, ""), err)
            self.check(err, ranks)

    def test_nothing_without_the_setting(self):
        for setting in ({}, {"DUNLIN_PROFILE": "0"}):
            code, out, err = self.run_job("-n", "2", PROFILED, env={**os.environ, **setting})
            self.assertEqual((code, out, err), (0, "", ""))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            code, _, err = self.run_job("-n", "3", PROFILED, env=dict(os.environ, DUNLIN_PROFILE=folder + "/"))
            self.assertEqual(code, 0, err)
            self.check(err, 3)
            for rank in range(3):
                with open(os.path.join(folder, "profile.%d.json" % rank)) as file:
                    told = json.load(file)
                self.assertEqual((told["rank"], told["long_messages"], told["fetched_messages"]), (rank, 2, 1))
                self.assertEqual(told["short_messages"], 1 if rank == 0 else 3)
                self.assertEqual(told["calls"]["MPI_Isend"]["calls"], 2)
                self.assertEqual(told["calls"]["MPI_Send"]["calls"], 2)
                self.assertNotIn("MPI_Gather", told["calls"])
                self.assertLessEqual(told["mpi_s"], told["run_s"])

    def test_a_full_disk_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/dev/full", os.path.join(folder, "profile.1.json"))
            code, _, err = self.run_job("-n", "2", PROFILED, env=dict(os.environ, DUNLIN_PROFILE=folder + "/"))
            self.assertEqual(code, 0, err)
            self.assertRegex(err, r"rank 1: DUNLIN_PROFILE: cannot write .*profile\.1\.json: No space left on device\n")
            self.assertNotIn("rank 0: DUNLIN_PROFILE", err)
            self.check(err, 2)

    def test_wrong_calls_are_errors_of_their_own(self):
        for setting in ("0", "1"):
            code, out, err = self.run_job("-n", "2", PROFILED, "wrong", env=dict(os.environ, DUNLIN_PROFILE=setting))
            self.assertEqual((code, out), (0, "4 errors\n" * 2), err)

    def test_a_tool_sees_the_same_and_is_seen(self):
        environment = dict(os.environ, DUNLIN_PROFILE="1", LD_PRELOAD=TOOL)
        code, out, err = self.run_job("-n", "2", PROFILED, env=environment)
        self.assertEqual((code, out), (0, "tool: 2\n" * 2), err)
        self.check(err, 2)

    def test_programs_without_mpi(self):
        code, out, err = self.run_job("-n", "2", "echo", "x", env=dict(os.environ, DUNLIN_PROFILE="1"))
        self.assertEqual((code, out, err), (0, "x\nx\n", ""))


if __name__ == "__main__":
    unittest.main(verbosity=1)
