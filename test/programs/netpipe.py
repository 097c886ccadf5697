"""Builds NetPIPE 3.7.2 from Debian's source package with our mpicc and runs it on two ranks.

usage: netpipe.py BUILD_DIR

NetPIPE (Snell, Mikler, Gustafson) was written for any MPI-1; nobody here changed a line of it.  Skipped (77) where Debian's
source packages cannot be fetched.
"""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "3.7.2"
SKIPPED = 77


def fetch(home):
    """The source archive, by apt with lists of its own: the system's settings stay as they are."""
    archive = home / f"netpipe_{VERSION}.orig.tar.gz"
    if archive.exists():
        return archive
    lists = home / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources = home / "sources.list"
    sources.write_text("deb-src http://deb.debian.org/debian bookworm main\n")
    options = ["-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={lists}"]
    for words in (["update"], ["source", "--download-only", "netpipe"]):
        subprocess.run(["apt-get", "-qq", *options, *words], cwd=home, capture_output=True)
    return archive


def main():
    build = Path(sys.argv[1]).resolve()
    home = build / "programs" / "netpipe"
    home.mkdir(parents=True, exist_ok=True)
    archive = fetch(home)
    if not archive.exists():
        print("skipped: Debian's source package of netpipe cannot be fetched here")
        return SKIPPED
    with tarfile.open(archive) as packed:
        packed.extractall(home)
    source = home / f"NetPIPE-{VERSION}" / "src"
    program = home / "NPmpi"
    subprocess.run([build / "bin" / "mpicc", "-O2", "-w", "-DMPI", source / "netpipe.c", source / "mpi.c",
                    "-I", source, "-o", program], check=True)
    command = [build / "bin" / "mpirun", "--timeout", "120", "-n", "2", program, "-u", "16384", "-n", "200"]
    result = subprocess.run([str(word) for word in command], cwd=home, capture_output=True, text=True)
    rows = re.findall(r"(\d+) bytes .*?([\d.]+) Mbps in +([\d.]+) usec", result.stdout + result.stderr)
    print(f"{len(rows)} sizes, the largest {rows[-1] if rows else None}")
    return 0 if result.returncode == 0 and rows and int(rows[-1][0]) >= 16384 else 1


if __name__ == "__main__":
    sys.exit(main())
