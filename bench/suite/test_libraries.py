"""bench/file_libraries builds libraries once for each MPI, goes on after one that cannot be built, and resumes."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
# As the sources of PnetCDF build it; the library itself is ours.
CONFIGURE = """#!/bin/sh
echo configured >> ../../builds
for word; do case $word in CC=*) compiler=${word#CC=};; esac; done
test -x "$compiler"
"""
MAKEFILE = "all:\n\tmkdir -p libs/.libs include && $(AR) cr libs/.libs/libpnetcdf.a\n"
MPICC = """#!/bin/sh
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done
echo '#!/bin/sh' > $out
echo 'echo sample bench=pnetcdf series=block_write x=8 value=7 unit=MB/s ranks=2 probe=1,1 check={check}' >> $out
chmod +x $out
"""
MPIRUN = '#!/bin/sh\necho run >> "${0%/*}/runs"\nshift 2\nexec "$@"\n'


class Libraries(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.home = Path(self.folder.name)
        self.write("source/configure", CONFIGURE)
        self.write("source/src/Makefile", MAKEFILE)
        self.write("build/bin/mpicc", MPICC.format(check="ok"))
        self.write("build/bin/mpirun", MPIRUN)
        self.write("build/bench/limits/machine", "#!/bin/sh\n")
        self.write("page.md", "before\n<!-- libraries -->\nold\n<!-- end of libraries -->\nafter\n")

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def bench(self, *more):
        return subprocess.run(
            [sys.executable, BENCH / "file_libraries", "--pnetcdf", self.home / "source", "--build", self.home / "build",
             "--mpis", "dunlin", "--ranks", "2", "--page", self.home / "page.md", *more],
            capture_output=True, text=True, timeout=50,
        )

    def test_a_library_is_built_once_and_its_figures_stand_in_the_page(self):
        done = self.bench()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        runs = self.home / "build/bin/runs"
        of_one_round = runs.read_text()
        self.assertEqual(self.bench("--resume", "--rounds", "2").returncode, 0)
        self.assertTrue(runs.read_text().startswith(of_one_round + "run"))  # another round, of a few samples
        self.assertEqual((self.home / "build/libraries/builds").read_text(), "configured\n")
        text = (self.home / "page.md").read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n") and "old" not in text)
        # On a busy machine they are marked, or one of them is left out.
        self.assertRegex(text, r"\| 8 \| 7\.00~? \| [12] \|")

    def test_wrong_data_and_a_library_that_is_not_built_are_told(self):
        self.write("build/bin/mpicc", MPICC.format(check="wrong"))
        done = self.bench()
        self.assertEqual((done.returncode, "wrong data" in done.stdout), (1, True), done.stdout)
        self.write("source/src/Makefile", "all:\n\tfalse\n")
        (self.home / "build/libraries/pnetcdf/dunlin/src/libs/.libs/libpnetcdf.a").unlink()
        done = self.bench()
        self.assertIn("make failed", done.stdout)
        self.assertIn("make failed", (self.home / "page.md").read_text())


if __name__ == "__main__":
    unittest.main()
