#!/usr/bin/env python3
"""chosen.py BUILD PROGRAM [TEST]...: `dunlin-info --collectives` says what a run does, and one sentence to odd arguments.

Rank 0 of PROGRAM (chosen.c) runs under callgrind, which writes down after each call the functions that were passed:
among them the algorithm's.  A hierarchical one uses others inside its domains, a direct one others where valgrind's
heap cannot be mapped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, PROGRAM = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
COLLECTIVES = "barrier bcast gather scatter allgather alltoall reduce allreduce scan reduce_scatter".split()
# callgrind slows one rank down, and has not address space enough for the usual heap.
SETTINGS = {"DUNLIN_SPIN_POLLS": "1000000000", "DUNLIN_SPIN_POLLS_SHARED": "1000000000", "DUNLIN_HEAP_ADDRESS_BYTES": "1g"}


def info(*words, **settings):
    return subprocess.run([BUILD / "bin/dunlin-info", *words], capture_output=True, text=True,
                          env={**os.environ, **settings})


def told(ranks, size, settings):
    done = info("--collectives", str(ranks), str(size), **settings)
    assert done.returncode == 0, done.stderr
    return dict(line.split()[:2] for line in done.stdout.splitlines() if line.startswith("  "))


def reasons(ranks, size, **settings):
    """By collective, why."""
    done = info("--collectives", str(ranks), str(size), **settings)
    return dict(re.findall(r"^  (\w+) +\w+ +(\S.*)$", done.stdout, re.MULTILINE))


def words_of():
    """By collective, the algorithms that its setting knows."""
    listed = re.findall(r"^DUNLIN_COLL_(\w+) = \S+ \(auto\|([\w|]+)\)", info("--settings").stdout, re.MULTILINE)
    return {name.lower(): words.split("|") for name, words in listed if name.lower() in COLLECTIVES}


def passed(profile, collective):
    """The algorithms of this collective that the profile names."""
    found = set(re.findall(rf"dunlin::coll::{collective}_(\w+)\(", profile))
    return found & set(WORDS[collective])


def done_by_a_run(ranks, size, settings):
    with tempfile.TemporaryDirectory(prefix="chosen-") as folder:
        command = [BUILD / "bin/mpirun", "--timeout", "100", "-n", "1", "valgrind", "--tool=callgrind",
                   "--collect-atstart=no", "--toggle-collect=asked_*", "--dump-after=end_of_call",
                   f"--callgrind-out-file={folder}/out", PROGRAM, str(size)]
        if ranks > 1:
            command += [":", "-n", str(ranks - 1), PROGRAM, str(size)]
        subprocess.run(command, env={**os.environ, **SETTINGS, **settings}, check=True, capture_output=True)
        algorithms = {}
        for path in Path(folder).iterdir():
            profile = path.read_text(errors="replace")
            asked = re.search(r"\) asked_(\w+)$", profile, re.MULTILINE)
            if asked:
                algorithms[asked.group(1)] = passed(profile, asked.group(1))
    return algorithms


WORDS = words_of()


class Chosen(unittest.TestCase):
    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind")
    def compare(self, ranks, size, **settings):
        expected, found = told(ranks, size, settings), done_by_a_run(ranks, size, settings)
        self.assertEqual(set(found), set(COLLECTIVES))
        for collective in COLLECTIVES:
            first = next(({word} for word in ("hierarchical", "direct") if word in found[collective]), found[collective])
            self.assertEqual(first, {expected[collective]}, f"{collective}, {ranks} ranks, {size} bytes, {settings}")
        return expected

    def test_short(self):
        self.assertEqual(set(self.compare(2, 8).values()), {"shared"})

    def test_where_ranks_share_cpus(self):
        ranks = 2 * len(os.sched_getaffinity(0))
        self.compare(min(ranks, 8), 1 << 16)

    def test_between_short_and_long(self):
        expected = self.compare(3, 20000)
        self.assertEqual(expected["scan"], "direct")
        self.assertEqual(expected["alltoall"], "shared")

    def test_by_messages(self):
        for ranks, size in (2, 8), (3, 8), (4, 1 << 16):
            self.compare(ranks, size, DUNLIN_COLL_SHARED_RANKS="0")

    def test_domains_of_different_sizes(self):
        expected = self.compare(5, 8, DUNLIN_COLL_SHARED_RANKS="3")
        self.assertEqual(expected["barrier"], "hierarchical")
        self.assertEqual((expected["alltoall"], expected["reduce_scatter"]), ("pairwise", "by_reduce"))

    def test_nodes(self):
        self.assertEqual(self.compare(4, 8, DUNLIN_NODES="2")["alltoall"], "hierarchical")
        self.assertEqual(self.compare(4, 8, DUNLIN_NODES="0,1")["scan"], "recursive_doubling")
        self.compare(2, 1 << 16, DUNLIN_NODES="2")

    def test_what_is_forced(self):
        self.assertEqual(self.compare(2, 8, DUNLIN_COLL_BCAST="direct")["bcast"], "direct")
        self.assertEqual(self.compare(2, 8, DUNLIN_COLL_BCAST="hierarchical")["bcast"], "shared")

    def test_why_short_or_long(self):
        self.assertEqual(set(reasons(2, 8)), set(COLLECTIVES))
        self.assertEqual(reasons(2, 8)["barrier"], "nothing to move")
        self.assertEqual(reasons(2, 8)["reduce"], "up to 2 x DUNLIN_COLL_SHARED_BYTES = 32768")
        self.assertEqual(reasons(2, 8, DUNLIN_COLL_SHARED_BYTES="4k")["scan"], "up to DUNLIN_COLL_SHARED_BYTES = 4096")
        self.assertEqual(reasons(2, 1 << 20)["scan"], "longer than DUNLIN_COLL_SHARED_BYTES = 16384")
        self.assertEqual(reasons(20, 16000)["scatter"], "too many blocks to put there")
        self.assertEqual(reasons(20, 16000)["gather"], "up to 2 x DUNLIN_COLL_SHARED_BYTES = 32768")

    def test_why_by_messages_or_domains(self):
        self.assertEqual(reasons(3, 1 << 20, DUNLIN_COLL_SHARED_RANKS="0")["bcast"],
                         "from DUNLIN_COLL_BCAST_LONG = 262144 on")
        self.assertEqual(reasons(3, 8, DUNLIN_COLL_SHARED_RANKS="0")["gather"], "few ranks")
        found = reasons(5, 1500, DUNLIN_COLL_SHARED_RANKS="3")
        self.assertEqual(found["reduce"], "several domains")
        self.assertEqual(found["gather"], "several domains, and shorter than 2 x DUNLIN_COLL_GATHER_LONG = 2048")
        self.assertTrue(found["alltoall"].startswith("domains of different sizes; longer than "), found["alltoall"])
        self.assertTrue(reasons(6, 8, DUNLIN_NODES="0,1")["scan"].startswith("ranks not in the order of domains; "))

    def test_why_forced(self):
        self.assertEqual(reasons(2, 8, DUNLIN_COLL_BCAST="direct")["bcast"], "forced by DUNLIN_COLL_BCAST")
        self.assertEqual(reasons(2, 8, DUNLIN_COLL_REDUCE="hierarchical")["reduce"],
                         "DUNLIN_COLL_REDUCE=hierarchical is not possible, it needs several domains; "
                         "up to 2 x DUNLIN_COLL_SHARED_BYTES = 32768")

    def test_one_rank(self):
        self.assertEqual(told(1, 8, {}), {})

    def test_odd_arguments(self):
        for ranks, size in ("0", "8"), ("-1", "8"), ("8", "-1"), ("8", "x"), ("8", "1e3"), ("2.5", "8"), ("", "8"), (
                "8", "99999999999999999999"), ("8", str(1 << 63)), ("99999999999", "8"), ("8", " 8"):
            done = info("--collectives", ranks, size)
            self.assertEqual((done.returncode, done.stdout), (2, ""), f"{ranks} {size}")
            self.assertRegex(done.stderr, r"^dunlin-info: --collectives: the number of (ranks|bytes) must be from [01] "
                             rf"to \d+, and is '({re.escape(ranks)}|{re.escape(size)})'\n$")
        odd = info("--collectives", "2", "8", DUNLIN_NODES="x")
        self.assertEqual(odd.stderr, "dunlin-info: --collectives: DUNLIN_NODES names no nodes\n")
        self.assertNotEqual(info("--collectives", "2").returncode, 0)
        self.assertEqual(info("--collectives", str(1 << 24), str(1 << 38)).returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
