#!/usr/bin/env python3
"""Builds library and launcher for another processor family with a cross compiler: nothing may depend on x86-64 alone.

    cross.py SOURCE BUILD [PROCESSOR]     PROCESSOR: aarch64

Exits with 77 (skipped) when this machine has no such compiler; Debian calls it g++-aarch64-linux-gnu.
"""

import shutil
import subprocess
import sys


TARGETS = ("mpi_abi", "src/heap/preload/all", "launcher/all", "tools/all")


def main():
    source, build = sys.argv[1:3]
    processor = sys.argv[3] if len(sys.argv) > 3 else "aarch64"
    compilers = [f"{processor}-linux-gnu-{name}" for name in ("gcc", "g++")]
    if not all(shutil.which(compiler) for compiler in compilers):
        print(f"SKIPPED: there is no {compilers[1]} (Debian: apt-get install g++-{processor}-linux-gnu)")
        return 77
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_C_COMPILER": compilers[0],
        "CMAKE_CXX_COMPILER": compilers[1],
        "CMAKE_BUILD_TYPE": "",  # it is never run
        "CMAKE_C_FLAGS": "-O0",
        "CMAKE_CXX_FLAGS": "-O0",
        "DUNLIN_TESTS": "OFF",
    }
    configure = ["cmake", "--fresh", "-S", source, "-B", build, "-G", "Ninja"]
    configure += [f"-D{name}={value}" for name, value in settings.items()]
    for command in (configure, ["cmake", "--build", build, "--target", *TARGETS]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(done.stdout[-8000:])
            return 1
    print(f"library and launcher build for {processor}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
