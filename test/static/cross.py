#!/usr/bin/env python3
"""Builds library and launcher for another processor family, by GCC or by clang: nothing may depend on x86-64 alone.

    cross.py SOURCE BUILD [gcc|clang [PROCESSOR]]     PROCESSOR: aarch64

Exits with 77 (skipped) when this machine has no such compiler.  clang takes the libraries that come with GCC's, which
Debian calls g++-aarch64-linux-gnu.
"""

import shutil
import subprocess
import sys


TARGETS = ("mpi_abi", "src/heap/preload/all", "launcher/all", "tools/all")


def main():
    source, build = sys.argv[1:3]
    family = sys.argv[3] if len(sys.argv) > 3 else "gcc"
    processor = sys.argv[4] if len(sys.argv) > 4 else "aarch64"
    target = f"{processor}-linux-gnu"
    c, cxx = ("clang", "clang++") if family == "clang" else (f"{target}-gcc", f"{target}-g++")
    if not all(shutil.which(compiler) for compiler in (c, cxx, f"{target}-g++")):
        print(f"SKIPPED: {cxx} or {target}-g++ is missing (Debian: apt-get install clang g++-{target})")
        return 77
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_C_COMPILER": c,
        "CMAKE_C_COMPILER_TARGET": target,
        "CMAKE_CXX_COMPILER": cxx,
        "CMAKE_CXX_COMPILER_TARGET": target,
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
    print(f"{cxx} builds library and launcher for {processor}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
