"""libmpifort_abi.so.1 shows the standard's procedures, each as pmpi_ (and mpi_, weak), and needs only the C library.

    exports_fortran.py LIBRARY       the procedures are those that the modules' interfaces and mpif.h's tests name
"""

import re
import subprocess
import sys
from pathlib import Path

FORTRAN = Path(__file__).resolve().parents[2] / "src/bindings/fortran/modules"
OTHERS = re.compile(r"mpi_fortran_special_|mpi_\w*_fn_|mpi_conversion_fn_null_(c_)?|__mpi_standard_types_MOD_\w+|.*_cptr_")


def wanted():
    """The specific procedures of all interfaces, by their symbols."""
    text = "\n".join(path.read_text() for path in FORTRAN.rglob("*.inc"))
    names = {f"{name.lower()}_" for name in re.findall(r"^    (?:subroutine|function) (\w+)\(", text, re.M)}
    return names | {f"p{name}" for name in names if not name.startswith("p")}


def main():
    listing = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    found = {name.split("@")[0]: kind for _, kind, name in (line.split() for line in listing.splitlines())}
    problems = [f"missing: {name}" for name in sorted(wanted() - found.keys())]
    for name, kind in found.items():
        if name.startswith("mpi_") and not OTHERS.fullmatch(name) and (kind != "W" or f"p{name}" not in found):
            problems.append(f"{name} is of kind {kind}, or has no name for profiling")
        if not name.startswith(("mpi_", "pmpi_")) and not OTHERS.fullmatch(name):
            problems.append(f"too much: {name}")
    dynamic = subprocess.run(["readelf", "-d", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    soname = f"{Path(sys.argv[1]).name.split('.so')[0]}.so.1"
    if not re.search(rf"SONAME.*\[{re.escape(soname)}\]", dynamic):
        problems.append(f"the soname is not {soname}")
    for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
        if not re.match(r"lib(mpi_abi|c|m|stdc\+\+|gcc_s|gfortran|asan|tsan|ubsan)\.so|ld-linux", name):
            problems.append(f"the library needs {name} to start")
    print("\n".join(problems) or f"{len(found)} symbols, {len(wanted())} of them procedures of the interfaces")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
