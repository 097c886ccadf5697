"""The compiler wrappers, the .pc file and find_package(MPI), in the build tree and in an installation that was moved.

    wrappers.py BUILD_DIR

Everything is found through PATH alone, as a user's shell has it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build").resolve()


def run(command, bin_folder=None, cwd=None, **more):
    """stdout and stderr of a command that must succeed, with our programs first in PATH and nothing of MPI else."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MPI", "OMPI_", "DUNLIN_", "LD_"))}
    environment["PATH"] = f"{bin_folder or BUILD / 'bin'}:{environment['PATH']}"
    environment.update(more)
    done = subprocess.run(command, env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120)
    if done.returncode:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class Wrappers(unittest.TestCase):
    """What both places must do; `place` is the prefix."""

    place = BUILD

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_here(self, *command, **more):
        return run(list(command), self.place / "bin", self.folder, **more)

    def test_c_program_builds_and_runs(self):
        self.run_here("mpicc", "-Wall", "-Werror", HERE / "hello.c", "-o", "hello")
        self.assertEqual(self.run_here("./hello"), "rank 0 of 1\n")

    def test_cxx_program_builds_and_runs(self):
        for name in ("mpicxx", "mpic++", "mpiCC"):
            self.run_here(name, "-x", "c++", HERE / "hello.c", "-o", "hello")
            self.assertEqual(self.run_here("./hello"), "rank 0 of 1\n")

    def test_objects_are_linked_later(self):
        self.run_here("mpicc", "-c", HERE / "hello.c")
        self.run_here("mpicc", "hello.o", "-o", "hello")
        self.assertEqual(self.run_here("./hello"), "rank 0 of 1\n")

    def test_shared_library_of_a_program(self):
        self.run_here("mpicc", "-shared", "-fPIC", HERE / "hello.c", "-o", "libhello.so")
        self.assertIn("libmpi_abi.so.1", self.run_here("readelf", "-d", "libhello.so"))

    def test_answers(self):
        include, library = f"{self.place}/include", f"{self.place}/lib"
        self.assertEqual(self.run_here("mpicc", "-show-incdir").strip(), include)
        self.assertEqual(self.run_here("mpicc", "-show-libdir").strip(), library)
        self.assertEqual(self.run_here("mpicc", "-show-libs").strip(), "mpi_abi")
        self.assertEqual(self.run_here("mpicc", "-showme:compile").split(), [f"-I{include}"])
        self.assertEqual(self.run_here("mpicc", "-showme:incdirs").strip(), include)
        self.assertEqual(self.run_here("mpicc", "-showme:libdirs").strip(), library)
        self.assertEqual(self.run_here("mpicc", "-showme:libs").strip(), "mpi_abi")
        link = self.run_here("mpicc", "-showme:link").split()
        self.assertEqual((link[0], link[1], link[-1]), (f"-L{library}", f"-Wl,-rpath,{library}", "-lmpi_abi"))
        self.assertEqual(self.run_here("mpicc", "-compile-info").split()[1:], [f"-I{include}"])
        self.assertEqual(self.run_here("mpicc", "-link-info").split()[1:], link)
        self.assertEqual(self.run_here("mpicc", "-show").split()[1:], [f"-I{include}", *link])
        self.assertIn("Dunlin", self.run_here("mpicc", "-showme:version"))

    @unittest.skipUnless((BUILD / "lib/libmpifort_abi.so").exists(), "built without Fortran")
    def test_fortran_program_builds_and_runs(self):
        for name in ("mpifort", "mpif90", "mpif77", "mpifc"):
            self.run_here(name, HERE / "hello.f90", "-o", "hello")
            self.assertEqual(self.run_here("./hello").split(), ["rank", "0", "of", "1"])
        self.assertEqual(self.run_here("mpifort", "-show").split()[-2:], ["-lmpifort_abi", "-lmpi_abi"])
        self.assertRegex(self.run_here("mpifort", "-show", "-I", "own", "x.f90"), f"own.*-I{self.place}/include")
        self.assertEqual(self.run_here("mpifort", "-show", "x.f90", MPIFORT_FC="flang").split()[0], "flang")
        flags = self.run_here("pkg-config", "--cflags", "--libs", "dunlin-fortran",
                              PKG_CONFIG_PATH=str(self.place / "lib" / "pkgconfig")).split()
        self.run_here("gfortran", HERE / "hello.f90", *flags, "-o", "hello")
        self.assertEqual(self.run_here("./hello").split(), ["rank", "0", "of", "1"])
        self.run_here("mpifort", "-fdefault-integer-8", HERE / "hello.f90", "-o", "hello")
        self.assertEqual(self.run_here("./hello").split(), ["rank", "0", "of", "1"])
        self.assertIn("-lmpifort_abi_integer8", self.run_here("mpifort", "-show", "-fdefault-integer-8", "x.f90"))

    @unittest.skipIf((BUILD / "lib/libmpifort_abi.so").exists(), "built with Fortran")
    def test_fortran_says_that_it_is_not_there(self):
        with self.assertRaisesRegex(AssertionError, "mpifort: this Dunlin was built without a Fortran compiler"):
            self.run_here("mpifort", "x.f90")

    def test_library_by_its_common_name(self):
        flags = [f"-I{self.place}/include", f"-L{self.place}/lib", f"-Wl,-rpath,{self.place}/lib", "-lmpi"]
        self.run_here("cc", HERE / "hello.c", *flags, "-o", "hello")
        self.assertIn("libmpi_abi.so.1", self.run_here("readelf", "-d", "hello"))
        self.assertEqual(self.run_here("./hello"), "rank 0 of 1\n")

    def test_nothing_is_linked_where_nothing_is_built(self):
        self.assertNotIn("-l", self.run_here("mpicc", "-show", "-c", "x.c"))
        self.assertNotIn("-l", self.run_here("mpicc", "-show", "--version"))
        self.assertNotIn("-lmpi_abi", self.run_here("mpicc", "-show", "-E", "x.c"))
        self.assertNotIn("-lmpi_abi", self.run_here("mpicc", "-show", "-v"))
        self.assertIn("-lmpi_abi", self.run_here("mpicc", "-show", "x.c"))
        self.assertIn("-lmpi_abi", self.run_here("mpicc", "-show", "-x", "c", "-"))

    def test_answers_that_cannot_be_written(self):
        for words in (("mpicc", "-show"), ("dunlin-info",), ("dunlin-info", "--settings")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([self.place / "bin" / words[0], *words[1:]], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b": cannot write standard output: No space left on device", done.stderr)

    def test_ranks_that_cannot_be(self):
        for ranks in ("0", "-1"):
            with self.assertRaisesRegex(AssertionError, "the number of ranks must be from 1 to"):
                self.run_here("dunlin-info", "--collectives", ranks, "8")

    def test_other_compiler(self):
        self.assertEqual(self.run_here("mpicc", "-show", "x.c", MPICC_CC="gcc-99").split()[0], "gcc-99")
        self.assertEqual(self.run_here("mpicxx", "-show", "x.c", MPICXX_CXX="clang++").split()[0], "clang++")
        self.assertEqual(self.run_here("mpicc", "-cc=tcc", "-show", "x.c").split()[0], "tcc")
        words = self.run_here("mpicc", "-show", "x.c", MPICC_CC="env A=1 cc").split()  # as "ccache gcc"
        self.assertEqual(words[:3], ["env", "A=1", "cc"])
        self.run_here("mpicc", "-c", HERE / "hello.c", MPICC_CC="env A=1 cc")
        with self.assertRaisesRegex(AssertionError, "cannot run the compiler 'gcc-99'"):
            self.run_here("mpicc", "-c", HERE / "hello.c", MPICC_CC="gcc-99")

    @unittest.skipUnless(shutil.which("pkg-config"), "needs pkg-config")
    def test_pkg_config(self):
        flags = self.run_here("pkg-config", "--cflags", "--libs", "dunlin",
                              PKG_CONFIG_PATH=str(self.place / "lib" / "pkgconfig")).split()
        self.run_here("cc", HERE / "hello.c", *flags, "-o", "hello")
        self.assertEqual(self.run_here("./hello"), "rank 0 of 1\n")

    def test_find_package(self):
        for language in ["C", "CXX"] + ["Fortran"] * (BUILD / "lib/libmpifort_abi.so").exists():
            self.run_here("cmake", "-S", HERE / "project", "-B", language, f"-DLANGUAGE={language}")
            self.run_here("cmake", "--build", language)
            self.assertEqual(self.run_here(f"{language}/hello").split(), ["rank", "0", "of", "1"])

    @unittest.skipUnless((BUILD / "lib/libmpifort_abi.so").exists(), "built without Fortran")
    def test_find_package_of_fortran(self):
        integer8 = [f"-D{name}=-fdefault-integer-8" for name in ("CMAKE_Fortran_FLAGS", "MPI_Fortran_COMPILER_FLAGS")]
        for name, options in (("plain", []), ("wrapper", ["-DCMAKE_Fortran_COMPILER=mpifort"]), ("integer8", integer8)):
            self.run_here("cmake", "-S", HERE / "project", "-B", name, "-DLANGUAGE=Fortran", *options)
            self.run_here("cmake", "--build", name)
            for program in ("hello", "hello_old"):
                self.assertEqual(self.run_here(f"{name}/{program}").split(), ["rank", "0", "of", "1"])
                libraries = self.run_here("readelf", "-d", f"{name}/{program}")
                self.assertIn("libmpifort_abi_integer8" if name == "integer8" else "libmpifort_abi.so", libraries)

    def test_info(self):
        self.assertIn("MPI 5.0", self.run_here("dunlin-info", "--version"))
        self.assertIn("real MPI_Get_version\n", self.run_here("dunlin-info", "--list"))
        self.assertRegex(self.run_here("dunlin-info", "--coverage"), r"Together \d+ of 70\d calls work")
        self.assertRegex(self.run_here("dunlin-info", "--coverage"), r"\nFortran.*(has \d+ of them|not there)")
        sizes = self.run_here("dunlin-info", "--transport", DUNLIN_SHARED_COPY_BYTES="5k", DUNLIN_EAGER_BYTES="32k")
        self.assertRegex(sizes, r"up to 32 KiB +through the channel")
        self.assertRegex(sizes, r"from 5 KiB +in place where a buffer maps")
        settings = self.run_here("dunlin-info", "--settings", DUNLIN_INITIAL_ERRHANDLER="mpi_errors_return")
        self.assertIn("DUNLIN_INITIAL_ERRHANDLER = mpi_errors_return", settings)
        self.assertIn("now from the environment", settings)


class Dependencies(unittest.TestCase):
    def test_a_system_without_dpkg_is_left_to_its_user(self):
        script = HERE.parent.parent / "scripts" / "install-dependencies"
        with tempfile.TemporaryDirectory() as empty:
            said = subprocess.run(["/bin/sh", script, "build"], env={"PATH": empty}, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("This is no Debian system, so nothing is installed", said.stderr)


class Installed(Wrappers):
    """The same from an installation in another place than the one it was made for."""

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.TemporaryDirectory()
        first, cls.place = Path(cls.root.name).resolve() / "first", Path(cls.root.name).resolve() / "moved"
        run(["cmake", "--install", str(BUILD), "--prefix", str(first)])
        first.rename(cls.place)

    @classmethod
    def tearDownClass(cls):
        cls.root.cleanup()

    def test_what_lies_beside_the_programs(self):
        for name in ("LICENSE", "README.md", "docs/launcher.md"):
            self.assertTrue((self.place / "share/doc/dunlin" / name).is_file(), name)
        pages_are_built = (BUILD / "man/written").is_file()
        self.assertEqual((self.place / "share/man/man3/MPI_Send_c.3").is_file(), pages_are_built)

    @unittest.skipUnless(shutil.which("tclsh"), "needs tclsh, in which module files are written")
    def test_module_file(self):
        (module,) = (self.place / "share/modulefiles/dunlin").iterdir()
        script = self.folder / "module.tcl"
        script.write_text("proc module-whatis args {}\nproc conflict args {}\n"
                          "proc prepend-path {name value} {puts $name=$value}\n"
                          f"set ModulesCurrentModulefile {module}\nsource {module}\n")
        lines = run(["tclsh", str(script)]).splitlines()
        self.assertIn(f"PATH={self.place}/bin", lines)
        self.assertIn(f"PKG_CONFIG_PATH={self.place}/lib/pkgconfig", lines)


if __name__ == "__main__":
    unittest.main(verbosity=1)
