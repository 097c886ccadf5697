"""mpi4py's own tests over two hosts (cluster.py) of two ranks each, started by Hydra, with each engine.

usage: mpi4py_hosts.py BUILD_DIR [--engine matching] [--only REGEX]

Needs the package registry as test/programs/mpi4py_suite.py does, whose build of mpi4py it shares.
"""

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

import cluster

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))
import mpi4py_suite  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--engine", default="matching,offload")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not shutil.which("mpiexec.hydra"):
        print("skipped: mpiexec.hydra is not installed (Debian package mpich)")
        sys.exit(cluster.SKIPPED)
    build = options.build.resolve()
    python, tests = mpi4py_suite.prepare(build)
    cluster.enter()  # no registry from here on
    os.chdir(build)
    hosts = cluster.Cluster(2)
    os.environ["HYDRA_LAUNCHER_EXEC"] = hosts.remote_shell
    os.environ["DUNLIN_REMOTE_LAUNCHER"] = "mpiexec.hydra"
    os.environ["TMPDIR"] = hosts.folder  # for files that all ranks open
    # Those that run at one rank only have no peers.
    modules = [module for sizes, names in mpi4py_suite.MODULES.items() if sizes != "1" for module in names.split()
               if re.search(options.only, module)]
    failed = []
    for engine in options.engine.split(","):
        os.environ["DUNLIN_P2P"] = engine
        launch = [build / "bin" / "mpirun", "--timeout", "900", "--hosts", ",".join(hosts.names), "-ppn", "2",
                  "-x", "TMPDIR"]
        passed, counts = mpi4py_suite.run_modules(f"{engine}, 2 x 2 ranks", launch, python, tests, modules,
                                                   mpi4py_suite.TESTS_LEFT_OUT)
        idle = [module for module in modules if not counts[module]]
        if not passed or idle:
            failed.append(f"{engine} {idle or ''}")
    if failed:
        sys.exit("failed: " + ", ".join(failed))
    print("OK")


if __name__ == "__main__":
    main()
