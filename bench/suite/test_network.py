"""Tests of network.py and network_page.py, without running anything."""

import tempfile
import unittest
from pathlib import Path

from suite import network, network_page
from suite.samples import Sample

WAYS = network.ways_of("tcp")
PARTS = {part.name: part for part in network.parts()}


def sample(part, way, x, value, series="clean", unit="us"):
    return Sample(part, series, float(x), value, unit, 2, 0.0, 0.0, True, way, 0, part)


def results(*found):
    return network_page.Results([sample(*each) for each in found])


class Parts(unittest.TestCase):
    def test_every_way_is_known(self):
        for part in PARTS.values():
            self.assertEqual([name for name in part.ways if name not in WAYS], [])
            self.assertTrue(hasattr(network.Hosts, part.way_of_measuring))

    def test_every_program_is_there(self):
        for part in PARTS.values():
            for program, _ in part.programs:
                self.assertTrue((network.BENCH / f"programs/{program}.c").exists(), program)

    def test_counters_as_the_library_prints_them(self):
        source = (network.BENCH.parent / "src/transport/ofi/transport.cpp").read_text()
        told = "network: " + ", ".join(f"%llu {name}" for name in network.COUNTED)
        self.assertIn(told, source.replace('"\n            "', ""))
        match = network.COUNTS.search("dunlin: rank 0: " + told.replace("%llu", "7"))
        self.assertEqual(match.groups(), ("7",) * len(network.COUNTED))


class Tables(unittest.TestCase):
    def test_a_row_for_each_way_in_their_order(self):
        found = results(("ladder", "mpich", 8, 9.0), ("ladder", "basic", 8, 4.0), ("ladder", "basic", 8, 6.0),
                        ("ladder", "basic", 1024, 7.0))  # fmt: skip
        lines = network_page.lines_of(found, PARTS["ladder"], WAYS)
        self.assertEqual(lines[1:], ["| way | 8 | 1K |", "|---|--:|--:|", "| basic | 5.00 | 7.00 |",
                                     "| MPICH, TCP | 9.00 | - |"])  # fmt: skip

    def test_series_of_one_point_are_columns(self):
        found = results(("nas4", "pipeline", 64, 1.0, "cycles"), ("nas4", "pipeline", 7000, 2.0, "solve"))
        self.assertEqual(network_page.lines_of(found, PARTS["nas4"], WAYS)[1], "| way | cycles | solve |")

    def test_one_series_of_one_point_is_a_column(self):
        found = results(("waiting", "intel", 2, 3.0, "idle_cpu"))
        self.assertEqual(network_page.lines_of(found, PARTS["waiting"], WAYS)[1], "| way | idle_cpu |")

    def test_series_of_several_points_are_tables(self):
        found = results(("availability", OFFLOAD, 8, 1.0, "send"), ("availability", OFFLOAD, 9, 1.0, "send"),
                        ("availability", OFFLOAD, 8, 1.0, "receive"))  # fmt: skip
        lines = network_page.lines_of(found, PARTS["availability"], WAYS)
        self.assertEqual([line.strip() for line in lines if not line.startswith("|")], ["send", "receive"])


class Asked(unittest.TestCase):
    def reached(self, *found):
        return {words: (ratios, [holds(each) for each in ratios])
                for words, _, ratios, holds in network_page.asked_of(results(*found)) if ratios}  # fmt: skip

    def test_time_over_raw(self):
        raw = [("ladder", "limit_write", x, 10.0) for x in (8, 1024, 4096)]
        ours = [("ladder", network_page.DEFAULT, x, value) for x, value in ((8, 10.0), (1024, 12.0), (4096, 11.0))]
        found = self.reached(*raw, *ours)
        self.assertEqual(found, {"matching: time of 8 B to 4 KiB over raw libfabric's": ([1.0, 1.2, 1.1],
                                                                                        [True, False, True])})  # fmt: skip

    def test_bandwidth_and_rate_are_better_when_larger(self):
        found = self.reached(("ladder", "limit_tagged", 1 << 20, 98.0), ("ladder", OFFLOAD, 1 << 20, 100.0),
                             ("rate", OFFLOAD, 8, 2.0), ("rate", "intel", 8, 1.0))  # fmt: skip
        self.assertEqual(found["offload: bandwidth of 1 and 4 MiB over raw"], ([0.98], [True]))
        self.assertEqual(found["offload before intel: rate of 8 B"], ([2.0], [True]))

    def test_steps_of_the_ladder(self):
        found = self.reached(("ladder", "basic", 8, 20.0), ("ladder", "piggyback", 8, 10.0),
                             ("ladder", "piggyback", 1 << 20, 10.0), ("ladder", "pipeline", 1 << 20, 20.0))  # fmt: skip
        self.assertEqual(found["piggyback before basic, 8 B to 4 KiB"], ([2.0], [True]))
        self.assertEqual(found["pipeline before piggyback, 1 and 4 MiB"], ([0.5], [False]))

    def test_a_rank_that_waits_and_start(self):
        found = self.reached(("waiting", network.MATCHING, 2, 0.3, "idle_cpu"), ("waiting", OFFLOAD, 2, 1.5, "idle_cpu"),
                             ("start", OFFLOAD, 0, 100.0, network.PROGRAM), ("start", OFFLOAD, 0, 60.0, network.PLAIN),
                             ("start", network.MATCHING_FILES, 0, 90.0, network.PROGRAM),
                             ("start", network.MATCHING_FILES, 0, 30.0, network.PLAIN),
                             ("start", network.MATCHING, 0, 100.0, network.PROGRAM))  # fmt: skip
        self.assertEqual(found, {"matching: % of a CPU for a rank that waits": ([0.3], [True]),
                                 "offload: % of a CPU for a rank that waits": ([1.5], [False]),
                                 "matching with a libfabric of files: start of 2 x 4 ranks over a plain program's, ms":
                                     ([60.0], [False]),
                                 "offload: start of 2 x 4 ranks over a plain program's, ms": ([40.0], [True])})  # fmt: skip

    def test_what_was_not_measured_is_left_out(self):
        self.assertEqual(self.reached(("ladder", "basic", 8, 20.0)), {})
        self.assertEqual(network_page.asked_lines(results(("ladder", "basic", 8, 20.0))), [])

    def test_a_line_has_the_mean_and_the_range(self):
        lines = network_page.asked_lines(results(("ladder", "basic", 8, 20.0), ("ladder", "piggyback", 8, 10.0)))
        self.assertEqual(lines[2], "| piggyback before basic, 8 B to 4 KiB | above 1 | 2.00 | 2.00 | 2.00 |")


class Page(unittest.TestCase):
    def test_is_filled(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "network.md"
            page.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
            run = {"machine": {"cpu": "2 x some"}, "versions": {}, "date": "today", "command": "bench/network"}
            found = results(("ladder", "basic", 8, 4.0))
            network_page.write(page, run, found, [PARTS["ladder"]], WAYS, {"ladder": "<svg/>"})
            text = page.read_text()
            self.assertIn("![Half round trip, us](network/ladder.svg)", text)
            self.assertIn("| basic | 4.00 |", text)
            self.assertNotIn("old", text)
            self.assertEqual((Path(folder) / "network/ladder.svg").read_text(), "<svg/>")


OFFLOAD = network.OFFLOAD
