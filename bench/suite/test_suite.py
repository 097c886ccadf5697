"""Tests of the benchmark suite's Python side: `python3 -m unittest discover -s bench/suite -t bench`."""

import fnmatch
import re
import subprocess
import tempfile
import tomllib
import unittest
import xml.etree.ElementTree
from pathlib import Path

from suite import (
    analysis,
    figures,
    headline,
    markdown,
    parts,
    plan,
    plots,
    report,
    runner,
    samples,
    schedule,
    store,
    tables,
)

LINE = "sample bench=pingpong series=clean x=8 value=0.065 unit=us ranks=2 probe={},{} check=ok"
EXPERIMENTS = {experiment.name: experiment for experiment in plan.experiments()}
TITLES = {"dunlin": "Dunlin", "mpich": "MPICH"}
BUILD = Path(__file__).resolve().parent.parent.parent / "build"
RUN = {
    "machine": {"cpu": "x"},
    "versions": {"MPICH": "5"},
    "titles": TITLES,
    "date": "today",
    "command": "c",
    "times": {"latency": [12.0, 3]},
    "troubles": [],
}


PROBES = {"near": (40.0, 40.0), "far": (190.0, 190.0), "mixed": (40.0, 190.0)}


def sample(mpi, value, state="near", x=8.0, unit="us", series="clean", experiment="latency"):
    before, after = PROBES[state]
    return samples.Sample(
        "pingpong", series, x, value, unit, 2, before, after, True, mpi, 0, experiment, state=state
    )


class Samples(unittest.TestCase):
    def test_a_line_is_read(self):
        found = samples.parse(LINE.format(41.2, 39.8))
        self.assertEqual((found.bench, found.series, found.x, found.value), ("pingpong", "clean", 8, 0.065))
        self.assertEqual(found.probes_ns, [41.2, 39.8])

    def test_other_lines_and_cut_lines_are_not_samples(self):
        for text in ("", "hello", "sample bench=pingpong series=clean x=8", "sample bench=x x=eight value=1"):
            self.assertIsNone(samples.parse(text))

    def test_two_states_are_found_between_the_probes(self):
        states = samples.States([38, 40, 45, 52, 60, 180, 185, 190, 200, 210] * 10)
        self.assertEqual(states.of(), "unknown")
        self.assertEqual(states.of(0, 0), "unknown")
        self.assertEqual(states.of(40, 45), "near")
        self.assertEqual(states.of(100, 175), "mixed" if states.limits_ns[0] > 100 else "far")
        self.assertEqual(states.of(180, 9000), "far")
        self.assertEqual(states.of(40, 190), "mixed")

    def test_three_states_are_told_apart(self):
        states = samples.States([26, 27, 28, 29] * 20 + [49, 50, 51, 54] * 20 + [190, 230, 250] * 20)
        self.assertEqual([states.of(probe) for probe in (25, 30, 45, 60, 170)], ["nearest"] * 2 + ["near"] * 2 + ["far"])
        self.assertEqual((states.of(27, 50), states.of(27, 29)), ("mixed", "nearest"))
        self.assertEqual(samples.States([27] * 80 + [50] * 80).of(50), "far")  # two states have two names

    def test_one_state_is_one(self):
        between = [76, 81, 86, 91, 97, 103, 109, 116, 123, 130, 138, 146] * 5  # neither near nor far, and drifting
        for probes in ([], [100], between, between + [3000, 5000], [40] * 50 + [190] * 2):
            self.assertEqual(samples.States(probes).limits_ns, [])
        self.assertEqual(samples.States(between).of(76, 3000), "one")


class Analysis(unittest.TestCase):
    def test_states_are_never_mixed(self):
        found = [
            sample("dunlin", 0.05),
            sample("mpich", 0.8),
            sample("dunlin", 0.3, "far"),
            sample("mpich", 9, "mixed"),
        ]
        rows = analysis.rows_of(found, EXPERIMENTS)
        self.assertEqual(
            [(row.state, sorted(row.cells)) for row in rows],
            [("near", ["dunlin", "mpich"]), ("far", ["dunlin"])],
        )
        self.assertAlmostEqual(rows[0].ratio(), 16)
        self.assertIsNone(rows[1].ratio())

    def test_ratio_knows_what_is_better(self):
        for unit in ("M/s", "MB/s", "GB/s", "steps/s"):
            rate = analysis.rows_of(
                [sample("dunlin", 30, unit=unit), sample("mpich", 20, unit=unit)], EXPERIMENTS
            )[0]
            self.assertAlmostEqual(rate.ratio(), 1.5)
        idle = analysis.rows_of(
            [
                sample("dunlin", 0.5, unit="%", series="idle_cpu"),
                sample("mpich", 100, unit="%", series="idle_cpu"),
            ],
            EXPERIMENTS,
        )[0]
        self.assertAlmostEqual(idle.ratio(), 200)

    def test_what_is_not_compared(self):
        for series, unit in (("ibcast", "%"), ("column1_loop", "us")):
            found = [
                sample("dunlin", 2, unit=unit, series=series),
                sample("mpich", 4, unit=unit, series=series),
            ]
            self.assertIsNone(analysis.rows_of(found, EXPERIMENTS)[0].ratio())

    def test_no_point_is_lost_where_the_mpis_were_not_all_met_in_one_state(self):
        found = [sample("dunlin", 1), sample("mpich", 2, "far"), sample("intel", 3)]
        rows = analysis.rows_of(found, EXPERIMENTS)
        self.assertEqual([(row.state, sorted(row.cells)) for row in rows], [("any", ["dunlin", "intel", "mpich"])])
        self.assertAlmostEqual(rows[0].ratio(), 2)
        rows = analysis.rows_of([*found, sample("mpich", 2), sample("dunlin", 1, "far")], EXPERIMENTS)
        self.assertEqual([(row.state, row.ratio()) for row in rows], [("near", 2), ("far", None)])  # Intel is missing

    def test_a_quantum_is_named_and_not_counted(self):
        name = "barrier8"
        found = [sample("dunlin", 10, series="barrier", experiment=name)]
        found.append(sample("mpich", 20000, series="barrier", experiment=name))
        row = analysis.rows_of(found, EXPERIMENTS, cpus=2)[0]
        self.assertEqual((analysis.ratio_text(row), analysis.cell_text(row.cells["mpich"])), ("quantum", "20000q"))
        self.assertIsNone(analysis.mean_ratio([row]))
        row = analysis.rows_of(found, EXPERIMENTS, cpus=8)[0]  # every rank has a CPU
        self.assertEqual((row.ratio(), row.is_quantum), (2000, False))
        found[1].is_disturbed = True  # which it shared with others
        self.assertTrue(analysis.rows_of(found, EXPERIMENTS, cpus=8)[0].is_quantum)

    def test_extrapolated_figures_are_marked(self):
        text = LINE.format(40, 40) + " extrapolated=yes"
        found = samples.parse(text)
        self.assertTrue(found.is_extrapolated)
        self.assertEqual(analysis.cell_text(analysis.cell_of([found])), "0.0650*")

    def test_disturbed_samples_count_only_where_there_is_no_other(self):
        noisy, quiet, only = sample("dunlin", 5), sample("dunlin", 1), sample("mpich", 3)
        noisy.is_disturbed = only.is_disturbed = True
        row = analysis.rows_of([noisy, quiet, only], EXPERIMENTS)[0]
        self.assertEqual((row.cells["dunlin"].median, row.cells["mpich"].median), (1, 3))

    def test_limit_of_a_small_message_is_the_cache_line(self):
        row = analysis.rows_of([sample("dunlin", 0.06)], EXPERIMENTS)[0]
        self.assertAlmostEqual(row.limit, 0.04)

    def test_the_best_way_of_plain_processes_is_the_limit(self):
        found = [sample("dunlin", 3, x=4096), sample("limit/halves", 2, x=4096), sample("limit/bulk", 4, x=4096)]
        row = analysis.rows_of(found, EXPERIMENTS)[0]
        self.assertEqual((list(row.cells), row.limit, row.limit_ratio()), (["dunlin"], 2, 1.5))
        self.assertEqual(row.limit_ratio(["bulk"]), 0.75)
        self.assertIsNone(row.ratio())

    def test_values_have_three_digits(self):
        self.assertEqual(
            [analysis.value_text(value) for value in (0, 0.0512, 1.234, 12.34, 1234.5)],
            ["0", "0.0512", "1.23", "12.3", "1234"],
        )


class Headline(unittest.TestCase):
    def conclusion(self, found, **run):
        rows = analysis.rows_of(found, EXPERIMENTS)
        return headline.conclusion({**RUN, **run}, rows, EXPERIMENTS)

    def test_every_kind_has_experiments(self):
        for names in headline.KINDS.values():
            self.assertTrue(all(fnmatch.filter(EXPERIMENTS, name) for name in names))

    def test_a_sentence_and_the_worst_point(self):
        found = [sample("dunlin", 1), sample("mpich", 4), sample("dunlin", 2, x=64), sample("mpich", 1, x=64)]
        first, worst = self.conclusion(found)
        self.assertIn("1.4 times as fast as the best other MPI in the mean, and is ahead at 1 of 2 points", first)
        self.assertIn("latency, clean at 64 (CPUs near): 0.50 of the speed of MPICH", worst)
        for sentence in (first, worst):  # whole, although numbers have points
            self.assertRegex(sentence, r"^[A-Z].*[^.][.]$")

    def test_a_busy_machine_is_named(self):
        found = [sample("dunlin", 1), sample("mpich", 4)]
        self.assertEqual(len(self.conclusion(found)), 1)
        found[1].is_disturbed = True
        self.assertIn("At 1 of 1 points the figures are noise, or other processes used the CPUs", self.conclusion(found)[-1])

    def test_alone_or_missing(self):
        self.assertIn("8 bytes take 1.5 times as long as one raw cache line", self.conclusion([sample("dunlin", 0.06)])[0])
        self.assertIn("not measured", self.conclusion([sample("mpich", 1)])[0])
        found = [sample("dunlin", 1), sample("mpich", 2)]
        self.assertIn("did not run in rate", self.conclusion(found, troubles=["rate: Dunlin: exit code 1"])[-1])

    def test_nothing_published_says_where_it_lay(self):
        words = ["bench/compare", "--against", "/home/me/old/build", "--out", "/tmp/x", "--only", "nas*", "--out=/y/z"]
        self.assertEqual(headline.command_text(words), "bench/compare --against build --only nas*")
        said = "rate: MPICH: exit code 1: /home/me/x/build/rate: not 1.5 GB/s in ../rate of /proc/cpuinfo"
        self.assertEqual(
            headline.without_folders(said), "rate: MPICH: exit code 1: rate: not 1.5 GB/s in ../rate of cpuinfo"
        )

    def test_noise_is_a_point_without_a_line(self):
        found = [sample("dunlin", value) for value in (1, 1, 3, 3)] + [sample("mpich", 2)] * 4
        (points,) = headline.curves(analysis.rows_of(found, EXPERIMENTS)).values()
        self.assertTrue(points[0].is_noise)


class Plan(unittest.TestCase):
    def test_every_program_is_there_and_every_name_unique(self):
        names = [experiment.name for experiment in plan.experiments()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(
            {entry.program for entry in plan.experiments() if not entry.part} - runner.available_programs(), set()
        )

    def test_choice_by_name(self):
        chosen = plan.choose(["latency", "nas*"], False, runner.available_programs())
        self.assertEqual(
            [experiment.name for experiment in chosen], ["latency", "nas_is", "nas_cg", "nas_mg", "nas_ft"]
        )

    def test_documents_name_experiments_that_exist(self):
        documents = tomllib.loads((Path(__file__).parent.parent / "documents.toml").read_text())
        self.assertEqual(len(documents), 5)
        for document in documents.values():
            for figure in document["figures"]:
                self.assertTrue(("points" in figure) != ("without" in figure), figure["what"])
                for name, _, _ in figure.get("points", []):
                    self.assertIn(name, EXPERIMENTS)


class Results(unittest.TestCase):
    def test_samples_survive_the_file(self):
        with tempfile.TemporaryDirectory() as name:
            store.append_samples(Path(name), [sample("dunlin", 1), sample("mpich", 2, experiment="rate")])
            store.append_samples(Path(name), [sample("mpich", 3)])
            self.assertEqual([found.value for found in store.load_samples(Path(name))], [1, 2, 3])
            store.drop_experiment(Path(name), "latency")
            self.assertEqual([found.value for found in store.load_samples(Path(name))], [2])

    def test_before_and_after(self):
        rows = analysis.rows_of([sample("dunlin", 1.0), sample("dunlin/before", 2.0)], EXPERIMENTS)
        lines = tables.change_lines(rows)
        self.assertIn("0.500x", lines[0])
        self.assertIn("0.50x the time", lines[1])
        self.assertEqual(tables.change_lines(analysis.rows_of([sample("dunlin", 1.0)], EXPERIMENTS)), [])

    def test_report_says_what_is_behind(self):
        rows = analysis.rows_of([sample("dunlin", 2), sample("mpich", 1)], EXPERIMENTS)
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "report.html"
            report.write(path, {**RUN, "troubles": ["t: u"]}, rows, EXPERIMENTS, {"latency": "<svg/>"})
            text = path.read_text()
        self.assertIn("0.50 of MPICH", text)
        self.assertLess(text.index("0.50 of the speed of MPICH"), text.index("<img"))  # the conclusion comes first
        self.assertIn("What did not run", text)
        self.assertIn("data:image/svg+xml;base64,", text)
        self.assertIn("3 rounds  latency", text)

    def test_report_says_why_it_has_no_charts(self):
        rows = analysis.rows_of([sample("dunlin", 2), sample("mpich", 1)], EXPERIMENTS)
        with tempfile.TemporaryDirectory() as name:
            texts = []
            for pictures in (None, {}):
                report.write(Path(name) / "report.html", {**RUN, "troubles": []}, rows, EXPERIMENTS, pictures)
                texts.append((Path(name) / "report.html").read_text())
        self.assertLess(texts[0].index("matplotlib was not there"), texts[0].index("Asked and measured"))
        self.assertNotIn("matplotlib", texts[1])

    def test_page_is_filled_between_its_marks(self):
        with tempfile.TemporaryDirectory() as name:
            page = Path(name) / "page.md"
            page.write_text("a\n<!-- t -->\nold\n<!-- end of t -->\nb\n")
            markdown.fill(page, {"t": ["new", "lines"]})
            self.assertEqual(page.read_text(), "a\n<!-- t -->\nnew\nlines\n<!-- end of t -->\nb\n")
            with self.assertRaises(ValueError):
                markdown.fill(page, {"u": []})


class Asked(unittest.TestCase):
    def result(self, found, **entry):
        asked = figures.Asked("t", "w", **entry)
        return figures.evaluate(asked, analysis.rows_of(found, EXPERIMENTS), EXPERIMENTS, TITLES)

    def test_every_entry_can_be_measured(self):
        for asked in figures.load():
            points = [*asked.points, *([asked.over] if asked.over and not isinstance(asked.over, str) else [])]
            for name, *_ in points:
                self.assertTrue(fnmatch.filter(EXPERIMENTS, name), name)
            self.assertEqual((asked.at_least is None) + (asked.at_most is None), 1, asked.what)
            self.assertIn(asked.kind, ("ahead", "value", "limit", "quotient", "change"))

    def test_worst_point_decides_and_states_are_apart(self):
        found = [sample("dunlin", 1, x=x) for x in (8, 64)] + [sample("mpich", 3), sample("mpich", 2, x=64)]
        found += [sample("dunlin", 1, "far"), sample("mpich", 1.1, "far")]
        result = self.result(found, points=[["latency", "clean", [8, 64]]], at_least=1.5)
        self.assertEqual(result.texts, {"near": "2.00x at 64 (MPICH)", "far": "1.10x (MPICH)"})
        self.assertEqual(result.verdict, "only near")

    def test_far_may_have_a_bound_of_its_own(self):
        found = [sample("dunlin", x, state, x=x) for x in (1, 2, 3, 4, 5) for state in ("near", "far")]
        found += [sample("mpich", 0.95 * x, state, x=x) for x in (1, 2, 3, 4, 5) for state in ("near", "far")]
        result = self.result(found, points=[["lat*", "clean", "1-5"]], at_least=1, far=0.9)
        self.assertEqual((result.verdict, result.asked.text), ("only far", "ahead, far 0.9x"))
        self.assertIn("reached at 0 of 5 points", result.texts["near"])

    def test_kinds(self):
        found = [sample("dunlin", 0.06), sample("dunlin", 0.09, x=64), sample("part/a", 5)]
        limit = self.result(found, points=[["latency", "clean", 8]], kind="limit", at_most=1.4)
        self.assertEqual(limit.verdict, "NO")  # the line takes 40 ns
        value = self.result(found, points=[["latency", "*", 8]], kind="value", scale=1000, unit=" ns", at_most=60)
        self.assertEqual((value.verdict, value.texts["near"]), ("yes", "60.0 ns"))
        over = ["latency", "clean", 8]
        quotient = self.result(found, points=[["latency", "clean", 64]], kind="quotient", over=over, at_most=1.2)
        self.assertEqual(quotient.texts["near"], "1.50x")
        column = self.result(found, points=[over], kind="quotient", column="part/a", over="dunlin", at_most=99)
        self.assertEqual(column.texts["near"], "83.33x")
        missing = self.result(found, points=[["rate", "rate", 8]], at_least=1)
        self.assertEqual(missing.verdict, "not measured")


class Timetable(unittest.TestCase):
    def test_a_quick_run_keeps_its_promise(self):
        quick = [schedule.budget_s(2.5, spent, True) for spent in (0, 40, 500)]
        self.assertEqual(quick, [150, 110, schedule.LEAST_S])
        self.assertEqual(schedule.budget_s(2.5, 40, False), 150)

    def setUp(self):
        self.now = 0.0
        self.chosen = [EXPERIMENTS[name] for name in ("latency", "rate", "instructions")]
        self.table = schedule.Schedule(self.chosen, 2, 1, 100, clock=lambda: self.now)

    def measure(self, seconds, found=(), state="near"):
        experiment = self.table.next(state)
        self.now += seconds
        self.table.note(experiment, list(found), seconds)
        return experiment.name

    def test_first_everything_then_what_was_seen_least(self):
        both = [sample("dunlin", 1), sample("mpich", 1)]
        first = [self.measure(10, both), self.measure(10, [sample("dunlin", 1), sample("mpich", 1, "far")])]
        self.assertEqual([*first, self.measure(10)], ["latency", "rate", "instructions"])
        self.assertEqual(self.measure(10, both), "rate")
        self.assertEqual(self.measure(10, both), "latency")
        self.assertIsNone(self.table.next("near"))  # instructions are counted once
        self.assertEqual(self.table.times()["rate"], [20, 2])

    def test_nothing_begins_that_does_not_fit(self):
        self.measure(60)
        self.measure(30)
        self.measure(1)
        self.assertIsNone(self.table.next("near"))

    def test_time_over_in_the_first_round(self):
        self.measure(101)
        self.assertIsNone(self.table.next("near"))
        self.assertEqual(self.table.missed(), ["rate", "instructions"])


class Running(unittest.TestCase):
    def test_what_hangs_is_broken_off_and_its_output_kept(self):
        output, trouble = runner.output_of(["sh", "-c", "echo first; sleep 60 & wait"], None, 0.3)
        self.assertEqual((output, trouble), ("first\n", "broken off after 0 s"))

    def test_what_crashes_is_named(self):
        output, trouble = runner.output_of(["sh", "-c", "echo first; echo why >&2; kill -SEGV $$"], None, 10)
        self.assertEqual((output, trouble), ("first\n", "exit code -11: why"))

    def test_trouble_of_one_is_not_the_end_of_all(self):
        class Broken:
            name = title = kind = "mpich"

            def launch_command(self, *_):
                return ["/nowhere/mpiexec"]

            def environment(self):
                return None

        with tempfile.TemporaryDirectory() as folder:
            run = runner.Runner([Broken()], Path(folder), False, lambda _: None)
            run.executable, run.probe = lambda *_: "program", lambda: 0.0
            self.assertEqual(run.measure(EXPERIMENTS["rate"], 0, self.fail), [])
        self.assertIn("/nowhere/mpiexec", run.troubles["rate", "mpich"])

    def test_what_was_measured_is_kept_at_once_and_not_measured_again(self):
        class BrokenOff(Exception):
            pass

        class Fake:
            kind = "mpich"

            def __init__(self, name):
                self.name = self.title = name

            def launch_command(self, *_):
                if self.name == "second" and not kept[1:]:
                    kept.append("second was started")
                    raise BrokenOff
                return ["echo", "sample bench=rate series=rate x=8 value=1 unit=us ranks=2 probe=1,1 check=ok"]

            def environment(self):
                return None

        kept = []
        with tempfile.TemporaryDirectory() as folder:
            run = runner.Runner([Fake("first"), Fake("second")], Path(folder), False, lambda _: None)
            run.executable, run.probe = lambda *_: "program", lambda: 0.0
            with self.assertRaises(BrokenOff):
                run.measure(EXPERIMENTS["rate"], 0, kept.append)
            (stored,) = kept[0]
            self.assertEqual((stored.mpi, stored.experiment, stored.round), ("first", "rate", 0))
            found = run.measure(EXPERIMENTS["rate"], 0, kept.append, [stored])
        self.assertEqual([one.mpi for one in found], ["first", "second"])
        self.assertEqual([[one.mpi for one in latest] for latest in kept[2:]], [["second"]])


class Parts(unittest.TestCase):
    def test_tables_are_read(self):
        texts = {
            "one_to_all": "   2  shared_heap  67.4  63.4  15.3  68.45\n   2  xpmem   does not work here\n",
            "registration": "16384 off 2.5 0.9 1.1 3.0 1.9 9.4 68 %\n16384 on 0 0 0.02 0.3 0 0.3 6 %\n"
            "256 KiB  huge 64.2 2.0 4.7 5.5 0.86\n",
            "heap_cost": "load C ratio\nsmall_pair_ns 5.0 5.5 1.1 1.09 1.11 30\nperl_cpu_ms 493.6 436.9 0.9 0.88 0.89 12\n",
            "kernels": 'name,iterations,bytes_per_second\n"column1/pack",1,3e9\n"column1/pack_loop",1,2e9\n',
        }
        counts = {part: len(parts.parse(part, text)) for part, text in texts.items()}
        self.assertEqual(counts, {"one_to_all": 3, "registration": 13, "heap_cost": 10, "kernels": 2})
        found = parts.parse("kernels", texts["kernels"])
        self.assertEqual([(one.series, one.mpi) for one in found][0], ("column1_pack", "part/kernel"))


class Plots(unittest.TestCase):
    @unittest.skipUnless(plots.is_available(BUILD), "matplotlib is not there; `bench/compare --install` fetches it")
    def test_a_panel_for_each_series_and_state(self):
        found = [sample("dunlin", value, x=x) for x, value in ((0, 0.05), (8, 0.06), (1 << 20, 20))]
        found += [sample("dunlin", 1, "far", x=x, series="a<b") for x in (8, 64)]
        picture = plots.draw(analysis.rows_of(found, EXPERIMENTS), TITLES, "bytes")
        root = xml.etree.ElementTree.fromstring(picture)
        words = [element.text for element in root.iter() if element.tag.endswith("text")]
        for word in ("0", "1M", "Dunlin", "clean, CPUs near", "a<b, CPUs far"):
            self.assertIn(word, words)

    @unittest.skipUnless(plots.is_available(BUILD), "matplotlib is not there; `bench/compare --install` fetches it")
    def test_a_family_stands_over_its_ranks(self):
        found = []
        for ranks in (2, 4, 16):
            name = f"window_programs{ranks}"
            found.append(sample("dunlin", ranks, x=ranks - 1, series="counter", experiment=name))
            found.append(sample("dunlin", ranks, x=2048, series="halo", experiment=name))
        picture = plots.draw_over_ranks(analysis.rows_of(found, EXPERIMENTS), EXPERIMENTS, TITLES)
        root = xml.etree.ElementTree.fromstring(picture)
        words = [element.text for element in root.iter() if element.tag.endswith("text")]
        for word in ("2", "4", "16", "ranks", "counter", "halo, 2K"):
            self.assertIn(word, words)

    def test_nothing_to_draw(self):
        self.assertEqual(plots.draw_over_ranks([], EXPERIMENTS, TITLES), "")
        self.assertEqual(plots.draw(analysis.rows_of([sample("dunlin", 1)], EXPERIMENTS), TITLES, "bytes"), "")


class Commands(unittest.TestCase):
    """The programs a person starts, on a small stored run: nothing is measured."""

    def run_command(self, *words):
        here = Path(__file__).parent.parent
        result = subprocess.run([here / words[0], *words[1:]], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def stored_run(self, folder):
        store.append_samples(folder, [sample("dunlin", 0.05, x=0), sample("mpich", 0.7, x=0)])
        store.save_json(folder / "run.json", RUN)

    def test_list(self):
        self.assertIn("latency ", self.run_command("compare", "--list"))

    def test_report_and_publish(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.stored_run(folder)
            out = self.run_command("compare", "--report", "--out", name, "--publish", folder / "pages")
            self.assertIn("14.00x", out)
            self.assertTrue((folder / "report.html").exists())
            text = (folder / "pages/results.md").read_text()
            self.assertIn("14.00x", text)
            for picture in re.findall(r"\]\((.*\.svg)\)", text):
                self.assertTrue((folder / "pages" / picture).exists(), picture)

    def test_page(self):
        """The experiments chosen, and only those, stand between the marks of a page; the rest of it stays."""
        with tempfile.TemporaryDirectory() as name:
            page = Path(name) / "page.md"
            for only, is_there in (("latency", True), ("files2", False)):
                self.stored_run(Path(name))
                (page.parent / "other.svg").write_text("of another page")
                page.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
                self.run_command("compare", "--report", "--out", name, "--only", only, "--page", page)
                text = page.read_text()
                self.assertEqual("| 0.0500 | 0.700 |" in text, is_there, text)
                self.assertNotIn("old", text)
                self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
                for picture in re.findall(r"\]\((.*\.svg)\)", text):
                    self.assertTrue((page.parent / picture).exists(), picture)
                self.assertTrue((page.parent / "other.svg").exists())

    def test_reproduce(self):
        with tempfile.TemporaryDirectory() as name:
            self.stored_run(Path(name))
            out = self.run_command("reproduce", "N", "--from", name, "--mpis", "", "--build", name)
        self.assertIn("341 ns", out)
        self.assertIn("Dunlin 0.0500", out)


if __name__ == "__main__":
    unittest.main()
