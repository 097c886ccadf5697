"""Files of a run: samples.csv (every sample), run.json (machine, versions, troubles), results.json (medians).

A run's folder may be added to by several calls of compare, a few experiments at a time; the report is made
from all that lies there.
"""

import csv
import json
from dataclasses import asdict, fields

from suite.samples import Sample, mark

COLUMNS = [field.name for field in fields(Sample) if field.name != "state"]


def append_samples(folder, found):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "samples.csv"
    is_new = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        if is_new:
            writer.writeheader()
        for sample in found:
            writer.writerow(asdict(sample))


def load_samples(folder):
    """All samples of a run, marked with the states of the machine in it."""
    path = folder / "samples.csv"
    if not path.exists():
        return []
    with open(path, newline="") as file:
        found = [
            Sample(
                bench=row["bench"],
                series=row["series"],
                x=float(row["x"]),
                value=float(row["value"]),
                unit=row["unit"],
                ranks=int(row["ranks"]),
                before_ns=float(row["before_ns"]),
                after_ns=float(row["after_ns"]),
                is_right=row["is_right"] == "True",
                mpi=row["mpi"],
                round=int(row["round"]),
                experiment=row["experiment"],
                is_disturbed=row["is_disturbed"] == "True",
                is_extrapolated=row["is_extrapolated"] == "True",
            )
            for row in csv.DictReader(file)
        ]
    mark(found)
    return found


def drop_experiment(folder, name):
    """A later measurement of the same experiment replaces the earlier one."""
    kept = [sample for sample in load_samples(folder) if sample.experiment != name]
    (folder / "samples.csv").unlink(missing_ok=True)
    append_samples(folder, kept)


def load_json(path, default=None):
    return json.loads(path.read_text()) if path.exists() else default


def save_json(path, data):
    """`rows`, where there are any, come last and one a line: small, and readable when versions differ."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if "rows" not in data:
        path.write_text(json.dumps(data, indent=1) + "\n")
        return
    head = json.dumps({key: value for key, value in data.items() if key != "rows"}, indent=1)
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in data["rows"])
    path.write_text(f'{head[:-2]},\n "rows": [\n{rows}\n]\n}}\n')
