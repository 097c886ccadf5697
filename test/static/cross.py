#!/usr/bin/env python3
"""Builds library and launcher with clang for another processor: nothing may depend on x86-64 or on GCC.

    cross.py SOURCE BUILD [PROCESSOR]     PROCESSOR: aarch64

Exits with 77 (skipped) when this machine has no clang, or no libraries for that processor: Debian's
g++-aarch64-linux-gnu brings them.
"""

import shutil
import subprocess
import sys


TARGETS = ("mpi_abi", "src/heap/preload/all", "launcher/all", "tools/all")


def main():
    source, build = sys.argv[1:3]
    processor = sys.argv[3] if len(sys.argv) > 3 else "aarch64"
    target = f"{processor}-linux-gnu"
    if not shutil.which("clang++") or not shutil.which(f"{target}-g++"):
        print(f"SKIPPED: clang or {target}-g++ is missing (Debian: apt-get install clang g++-{target})")
        return 77
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": processor,
        "CMAKE_C_COMPILER": "clang",
        "CMAKE_C_COMPILER_TARGET": target,
        "CMAKE_CXX_COMPILER": "clang++",
        "CMAKE_CXX_COMPILER_TARGET": target,
        "CMAKE_COMPILE_WARNING_AS_ERROR": "ON",
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
    print(f"clang builds library and launcher for {processor}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
