"""Tests of the benchmark suite's Python side: `python3 -m unittest discover -s bench/suite -t bench`."""

import subprocess
import tempfile
import tomllib
import unittest
import xml.etree.ElementTree
from pathlib import Path

from suite import analysis, plan, plots, report, runner, samples, store, tables

LINE = "sample bench=pingpong series=clean x=8 value=0.065 unit=us ranks=2 probe={},{} check=ok"
EXPERIMENTS = {experiment.name: experiment for experiment in plan.experiments()}
TITLES = {"dunlin": "Dunlin", "mpich": "MPICH"}


def sample(mpi, value, state="near", x=8.0, unit="us", series="clean", experiment="latency"):
    return samples.Sample("pingpong", series, x, value, unit, 2, state, 40.0, True, mpi, 0, experiment)


class Samples(unittest.TestCase):
    def test_a_line_is_read(self):
        found = samples.parse(LINE.format(41.2, 39.8))
        self.assertEqual((found.bench, found.series, found.x, found.value), ("pingpong", "clean", 8, 0.065))
        self.assertEqual(found.state, "near")
        self.assertAlmostEqual(found.probe_ns, 40.5)

    def test_other_lines_and_cut_lines_are_not_samples(self):
        for text in ("", "hello", "sample bench=pingpong series=clean x=8", "sample bench=x x=eight value=1"):
            self.assertIsNone(samples.parse(text))

    def test_states(self):
        self.assertEqual(samples.state_of(), "unknown")
        self.assertEqual(samples.state_of(0, 0), "unknown")
        self.assertEqual(samples.state_of(40, 45), "near")
        self.assertEqual(samples.state_of(180, 190), "far")
        self.assertEqual(samples.state_of(40, 190), "mixed")
        self.assertEqual(samples.state_of(100, 100), "mixed")
        self.assertEqual(samples.state_of(9000, 9000), "mixed")  # both ranks on one CPU


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
        rate = analysis.rows_of(
            [sample("dunlin", 30, unit="M/s"), sample("mpich", 20, unit="M/s")], EXPERIMENTS
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

    def test_disturbed_samples_count_only_where_there_is_no_other(self):
        noisy, quiet, only = sample("dunlin", 5), sample("dunlin", 1), sample("mpich", 3)
        noisy.is_disturbed = only.is_disturbed = True
        row = analysis.rows_of([noisy, quiet, only], EXPERIMENTS)[0]
        self.assertEqual((row.cells["dunlin"].median, row.cells["mpich"].median), (1, 3))

    def test_limit_of_a_small_message_is_the_cache_line(self):
        row = analysis.rows_of([sample("dunlin", 0.06)], EXPERIMENTS)[0]
        self.assertAlmostEqual(row.limit, 0.04)

    def test_values_have_three_digits(self):
        self.assertEqual(
            [analysis.value_text(value) for value in (0, 0.0512, 1.234, 12.34, 1234.5)],
            ["0", "0.0512", "1.23", "12.3", "1234"],
        )


class Plan(unittest.TestCase):
    def test_every_program_is_there_and_every_name_unique(self):
        names = [experiment.name for experiment in plan.experiments()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(
            {experiment.program for experiment in plan.experiments()} - runner.available_programs(), set()
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
        before = analysis.as_json(analysis.rows_of([sample("dunlin", 2.0)], EXPERIMENTS))
        after = analysis.rows_of([sample("dunlin", 1.0)], EXPERIMENTS)
        lines = tables.against_lines(after, before, "before")
        self.assertIn("2.000x", lines[0])
        self.assertIn("better", lines[1])
        self.assertIn("no point in common", tables.against_lines(after, [], "before")[0])

    def test_plots_are_well_formed_and_show_zero(self):
        found = [sample("dunlin", value, x=x) for x, value in ((0, 0.05), (8, 0.06), (1 << 20, 20))]
        picture = plots.draw(analysis.rows_of(found, EXPERIMENTS), TITLES, "a < b", "bytes")
        root = xml.etree.ElementTree.fromstring(picture)
        self.assertIn("0", [element.text for element in root.iter() if element.tag.endswith("text")])

    def test_report_says_what_is_behind(self):
        rows = analysis.rows_of([sample("dunlin", 2), sample("mpich", 1)], EXPERIMENTS)
        run = {
            "machine": {"cpu": "x"},
            "versions": {"MPICH": "5"},
            "date": "today",
            "command": "c",
            "troubles": ["t: u"],
        }
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "report.html"
            report.write(path, run, rows, EXPERIMENTS, TITLES)
            text = path.read_text()
        self.assertIn("0.50 of MPICH", text)
        self.assertIn("What did not run", text)


class Commands(unittest.TestCase):
    """The programs a person starts, on a small stored run: nothing is measured."""

    def run_command(self, *words):
        here = Path(__file__).parent.parent
        result = subprocess.run([here / words[0], *words[1:]], capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def stored_run(self, folder):
        store.append_samples(folder, [sample("dunlin", 0.05, x=0), sample("mpich", 0.7, x=0)])
        run = {
            "machine": {"cpu": "x"},
            "versions": {"MPICH": "5"},
            "titles": TITLES,
            "date": "today",
            "command": "c",
        }
        store.save_json(folder / "run.json", {**run, "troubles": []})

    def test_list(self):
        self.assertIn("latency ", self.run_command("compare", "--list"))

    def test_report_publish_and_against(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.stored_run(folder)
            out = self.run_command("compare", "--report", "--out", name, "--publish", folder / "pages")
            self.assertIn("14.00x", out)
            self.assertTrue((folder / "report.html").exists())
            self.assertIn("14.00x", (folder / "pages/results.md").read_text())
            again = self.run_command(
                "compare", "--report", "--out", name, "--against", folder / "results.json"
            )
            self.assertIn("1.000x in the geometric mean", again)

    def test_reproduce(self):
        with tempfile.TemporaryDirectory() as name:
            self.stored_run(Path(name))
            out = self.run_command("reproduce", "003", "--from", name, "--mpis", "", "--build", name)
        self.assertIn("341 ns", out)
        self.assertIn("Dunlin 0.0500", out)


if __name__ == "__main__":
    unittest.main()
