#!/usr/bin/env python3
"""Writes everything that follows from the standard's interface: include/mpi.h, src/bindings/c/*.cpp and their Fortran kin.

Run it after editing anything in this folder, or after adding a function to a src/*/functions.hpp:

    python3 tools/generate/generate.py            # writes into the source tree
    python3 tools/generate/generate.py --to DIR   # writes elsewhere (the test compares)

Needs Python 3.11 and pympistandard 0.2.0 (pip install pympistandard==0.2.0).  The results are committed.
"""

import argparse
import sys
from pathlib import Path

import declarations
import files
import fortran
import fortran_modules
import fortran_tests
import header
import interface
import tables

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT, help="folder to write into (default: the source tree)")
    options = parser.parse_args()
    functions = interface.functions()
    constants = interface.constants()
    bindings = files.Bindings(functions, declarations.declarations(ROOT))
    texts = {"include/mpi.h": header.header(functions, interface.callbacks(), constants)}
    texts.update(bindings.texts())
    procedures = fortran.procedures()
    texts.update(tables.texts(functions, constants, bindings, fortran.names_in_c(procedures)))
    texts.update(fortran.texts(procedures))
    texts.update(fortran_modules.texts(procedures))
    texts.update(fortran_tests.texts(procedures))
    for path, text in texts.items():
        target = options.to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
            print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
