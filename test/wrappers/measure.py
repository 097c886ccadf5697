"""`dunlin-info --measure` keeps thresholds in a file; later runs take them below the environment, above the presets.

usage: measure.py BUILD_FOLDER
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("COPY_SHARE_BYTES_MIN", "COPY_SHARE_CHUNK_BYTES", "COPY_STREAM_BYTES_MIN", "COPY_NEAR_LINES_NS",
         "COPY_SLOW_LINES_NS")
SKIPPED = 77


def main():
    info = Path(sys.argv[1]) / "bin/dunlin-info"
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DUNLIN_")}
        environment = {**kept, "XDG_CACHE_HOME": folder}

        def say(option, **more):
            done = subprocess.run([info, option], capture_output=True, text=True, env={**environment, **more})
            return done.returncode, done.stdout

        code, said = say("--measure")
        if "Nothing to measure" in said:
            print(said)
            return SKIPPED
        assert code == 0, said
        (path,) = Path(folder).glob("dunlin/*.conf")
        found = dict(line.split("=") for line in path.read_text().splitlines() if not line.startswith("#"))
        assert tuple(found) == NAMES, found
        assert 8 << 10 <= int(found[NAMES[0]]) <= 256 << 10, found
        assert 0 < int(found[NAMES[3]]) < int(found[NAMES[4]]), found

        path.write_text(f"{NAMES[0]}=49152\n")
        _, said = say("--transport")
        assert f"DUNLIN_{NAMES[0]} = 49152 bytes, from the measurement of this machine" in said, said
        assert f"DUNLIN_{NAMES[4]} = 150 ns, from the built-in default" in said, said
        assert str(path) in said, said
        _, said = say("--transport", **{f"DUNLIN_{NAMES[0]}": "40000"})
        assert f"DUNLIN_{NAMES[0]} = 40000 bytes, from the environment" in said, said
        _, said = say("--transport", DUNLIN_MACHINE_FILE="none")
        assert f"DUNLIN_{NAMES[0]} = 65536 bytes, from the built-in default" in said, said
    return 0


if __name__ == "__main__":
    sys.exit(main())
