"""Tables, curves and the page of bench/network, from its samples: a row for each way."""

from suite import analysis, markdown, plots
from suite.network import LIMITS, MATCHING, MATCHING_FILES, OFFLOAD, OFFLOAD_FILES, OTHERS, PLAIN, PROGRAM
from suite.samples import is_less_better, size_text

LATENCIES, LONGEST = (8, 1024, 4096), (1 << 20, 4 << 20)
BANDWIDTHS = (64 << 10, 256 << 10, *LONGEST)
LADDER = ("basic", "piggyback", "pipeline", "zerocopy_read")
DEFAULT = "zerocopy_read"  # of matching
OF_FILES = "with a libfabric of files"
STARTED = {MATCHING: MATCHING, MATCHING_FILES: f"{MATCHING} {OF_FILES}",
           OFFLOAD: OFFLOAD, OFFLOAD_FILES: f"{OFFLOAD} {OF_FILES}"}  # fmt: skip


class Results:
    """Medians: (part, way, series, x) -> Cell."""

    def __init__(self, found):
        groups = {}
        for sample in found:
            groups.setdefault((sample.experiment, sample.mpi, sample.series, sample.x), []).append(sample)
        self.cells = {}
        for key, group in groups.items():
            quiet = [sample for sample in group if not sample.is_disturbed]
            self.cells[key] = analysis.cell_of(quiet or group, not quiet)

    def keys(self, part):
        return [key[1:] for key in self.cells if key[0] == part]

    def value(self, part, way, x, series=""):
        found = [cell.median for key, cell in self.cells.items() if (key[0], key[1], key[3]) == (part, way, x)
                 and (not series or key[2] == series)]  # fmt: skip
        return found[0] if found else None


def tables_of(results, part, ways):
    """(heading, column names, rows) of a part: a table for each series, or one with a column for each."""
    keys = results.keys(part.name)
    series = list(dict.fromkeys(key[1] for key in keys))
    names = list(dict.fromkeys(key[0] for key in keys))
    names.sort(key=lambda name: list(ways).index(name) if name in ways else -1)
    xs = {each: sorted({key[2] for key in keys if key[1] == each}) for each in series}
    if all(len(found) == 1 for found in xs.values()):
        yield "", series, [(name, [results.cells.get((part.name, name, each, xs[each][0])) for each in series])
                           for name in names]  # fmt: skip
        return
    for each in series:
        rows = [(name, [results.cells.get((part.name, name, each, x)) for x in xs[each]]) for name in names]
        rows = [row for row in rows if any(row[1])]
        yield each if len(series) > 1 else "", [size_text(x) for x in xs[each]], rows


def lines_of(results, part, ways):
    lines = []
    for heading, columns, rows in tables_of(results, part, ways):
        lines += [f"\n{heading}\n"] if heading else [""]
        lines.append(f"| way | {' | '.join(columns)} |")
        lines.append("|---|" + "--:|" * len(columns))
        for name, cells in rows:
            title = ways[name].title if name in ways else name
            words = (analysis.cell_text(cell) if cell else "-" for cell in cells)
            lines.append(f"| {title} | {' | '.join(words)} |")
    return lines


def pictures_of(results, part, ways):
    """One SVG: times, and the bandwidth that they are, in panels of limits, of steps, and beside others."""
    groups = {
        "libfabric alone and the two engines": (*(f"limit_{name}" for name in LIMITS), DEFAULT, OFFLOAD),
        "the ladder": (*LADDER, "zerocopy_write"),
        "beside others": (DEFAULT, OFFLOAD, *OTHERS),
    }
    panels = []
    for unit in ("us", "GB/s"):
        for title, names in groups.items():
            curves = {}
            for _, way, series, x in [key for key in results.cells if key[0] == part.name and key[1] in names]:
                cell = results.cells[part.name, way, series, x]
                turn = (lambda us, x=x: us) if unit == "us" else (lambda us, x=x: x / us * 1e-3)
                low, high = sorted((turn(cell.low), turn(cell.high)))
                curves.setdefault(way, []).append(plots.Mark(x, turn(cell.median), low, high, cell.is_noise))
            curves = {way: sorted(marks, key=lambda mark: mark.x) for way, marks in curves.items() if len(marks) > 1}
            if curves:
                panels.append((f"{title}, {unit}", unit, curves))
    return plots.draw_panels(panels, "bytes", {name: way.title for name, way in ways.items()}) if panels else ""


def asked_of(results):
    """What was asked for: words, the limit as text, the ratios of its sizes (or one figure), and whether one holds."""

    def times(way, other, xs, part="ladder"):
        pairs = [(results.value(part, way, x), results.value(part, other, x)) for x in xs]
        return [mine / theirs for mine, theirs in pairs if mine and theirs]

    for title, way, raw in (("matching", DEFAULT, "limit_write"), ("offload", OFFLOAD, "limit_tagged")):
        yield f"{title}: time of 8 B to 4 KiB over raw libfabric's", "at most 1.15", times(way, raw, LATENCIES), at_most
        yield f"{title}: bandwidth of 1 and 4 MiB over raw", "at least 0.95", times(raw, way, LONGEST), at_least
    for before, after in zip(LADDER, LADDER[1:]):
        sizes, what = (LATENCIES, "8 B to 4 KiB") if after == "piggyback" else (LONGEST, "1 and 4 MiB")
        yield f"{after} before {before}, {what}", "above 1", times(before, after, sizes), is_ahead
    for title, way, sums in (("matching", DEFAULT, MATCHING), ("offload", OFFLOAD, OFFLOAD)):
        for other in OTHERS:
            name = f"{title} before {other}"
            yield f"{name}: latency of 8 B to 4 KiB", "above 1", times(other, way, LATENCIES), is_ahead
            yield f"{name}: bandwidth of 64 KiB to 4 MiB", "above 1", times(other, way, BANDWIDTHS), is_ahead
            yield f"{name}: rate of 8 B", "above 1", times(way, other, (8,), "rate"), is_ahead
            yield f"{name}: allreduce 2 x 2", "above 1", times(other, sums, (8, 64 << 10, 1 << 20), "allreduce"), is_ahead
    for way in (MATCHING, OFFLOAD):
        percent = results.value("waiting", way, 2)
        yield f"{way}: % of a CPU for a rank that waits", "at most 1", listed(percent), lambda percent: percent <= 1
    for way, title in STARTED.items():
        job, plain = (results.value("start", way, 0, name) for name in (PROGRAM, PLAIN))
        more_ms = job and plain and job - plain
        yield f"{title}: start of 2 x 4 ranks over a plain program's, ms", "at most 50", listed(more_ms), lambda ms: ms <= 50
    kept = results.value("availability", OFFLOAD, 1 << 20, "receive")
    yield (f"{OFFLOAD}: % of its CPU that a receiver keeps, 1 MiB", "at least 90, where the provider progresses by itself",
           listed(kept), lambda percent: percent >= 90)  # fmt: skip


def listed(value):
    return [] if value is None else [value]


def at_most(ratio):
    return ratio <= 1.15


def at_least(ratio):
    return ratio >= 0.95


def is_ahead(ratio):
    return ratio > 1


def asked_lines(results):
    lines = ["| figure | asked | mean of its sizes | from | to |", "|---|---|--:|--:|--:|"]
    for words, asked, ratios, holds in asked_of(results):
        if ratios:
            mean = analysis.geometric_mean(ratios) if len(ratios) > 1 else ratios[0]
            text = analysis.factor_text(mean)
            lines.append(f"| {words} | {asked} | {text if holds(mean) else f'**{text}**'} | {min(ratios):.2f} | "
                         f"{max(ratios):.2f} |")  # fmt: skip
    return lines if len(lines) > 2 else []


def text_of(results, chosen, ways, pictures=(), folder=""):
    lines = []
    if asked := asked_lines(results):
        lines += ["## Asked and reached", "", *asked, ""]
    for part in chosen:
        if not results.keys(part.name):
            continue
        lines += [f"## {part.title}", ""]
        lines += [f"![{part.title}]({folder}/{part.name}.svg)", ""] if part.name in pictures else []
        lines += [part.note] if part.note else []
        lines += [*lines_of(results, part, ways), ""]
    return lines


def write(page, run, results, chosen, ways, pictures):
    markdown.write_pictures(page, pictures)
    facts = markdown.machine_text({**run, "times": {}})[:-1]
    markdown.fill(page, {"results": [*facts, "", *text_of(results, chosen, ways, pictures, page.stem)]})
