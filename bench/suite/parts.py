"""Programs of single parts of the library (bench/memory, bench/datatype), run without MPI: from their tables to
samples.

Used by runner.py.  What is compared there are mechanisms or kernels, not MPIs: each is a column of its own whose
name starts with PREFIX, so that it never counts as a peer.
"""

import csv

from suite.samples import Sample

PREFIX = "part/"


def title_of(name):
    return name.removeprefix(PREFIX)


def sample(part, series, x, value, unit, column):
    return Sample(part, series, float(x), float(value), unit, 1, 0.0, 0.0, True, PREFIX + column)


def parse_one_to_all(text):
    """processes, mechanism, us to connect, of the first read, until all have read, GB/s in all"""
    for words in map(str.split, text.splitlines()):
        if len(words) == 6 and words[0].isdigit() and words[2][0].isdigit():
            for series, value in zip(("connect", "first_read", "all_read"), words[2:5]):
                yield sample("one_to_all", series, words[0], value, "us", words[1])


def parse_registration(text):
    """bytes, cache off or on, us of each step and of all; then KiB, pages, us to attach, to write, of two passes"""
    for words in map(str.split, text.splitlines()):
        if len(words) == 10 and words[1] in ("off", "on"):
            column = "with cache" if words[1] == "on" else "without cache"
            for series, value in zip(("make", "get", "attach", "copy", "release", "transfer"), words[2:8]):
                if float(value) > 0:
                    yield sample("registration", f"step_{series}" if series != "transfer" else series, words[0], value,
                                 "us", column)
        if len(words) == 8 and words[1] == "KiB":
            for series, value in zip(("attach", "allocate_and_write", "first_pass", "second_pass"), words[3:7]):
                yield sample("registration", series, 1024 * int(words[0]), value, "us", f"{words[2]} pages")


def parse_heap_cost(text):
    """load, with the C library, with the shared heap, ratio, from, to, pairs; the load's name ends with its unit"""
    for words in map(str.split, text.splitlines()):
        name, _, unit = words[0].rpartition("_") if len(words) == 7 else ("", "", "")
        if unit in ("us", "ns", "ms"):
            yield sample("heap_cost", name, 0, words[1], unit, "C library")
            yield sample("heap_cost", name, 0, words[2], unit, "shared heap")
            for column, value in zip(("ratio", "from", "to"), words[3:6]):
                yield sample("heap_cost", f"{name}_ratio", 0, value, "times", column)


def parse_kernels(text):
    """Google Benchmark's CSV: layout/work, or reduce/operator_type/bytes"""
    lines = text[text.find("name,") :].splitlines() if "name," in text else []
    for row in csv.DictReader(lines):
        if not row.get("bytes_per_second"):
            continue
        words, rate = row["name"].split("/"), float(row["bytes_per_second"]) * 1e-9
        if words[0].startswith("reduce"):
            yield sample("kernels", "_".join(words[:-1]), words[-1], rate, "GB/s", "kernel")
        elif words[1].endswith("_loop"):
            yield sample("kernels", f"{words[0]}_{words[1][:-5]}", 0, rate, "GB/s", "plain loop")
        else:
            yield sample("kernels", f"{words[0]}_{words[1]}", 0, rate, "GB/s", "kernel")


PARSERS = {
    "one_to_all": parse_one_to_all,
    "registration": parse_registration,
    "heap_cost": parse_heap_cost,
    "kernels": parse_kernels,
}


def parse(part, text):
    return list(PARSERS[part](text))
