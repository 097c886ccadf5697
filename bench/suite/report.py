"""The HTML report: the conclusion and its chart, then what was asked for, what is behind, and a table per figure."""

import base64
from html import escape

from suite import analysis, figures, headline, tables

STYLE = """body{font-family:sans-serif;line-height:1.45;max-width:60em;margin:1em auto;padding:0 .8em;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin:2.2em 0 .4em}.lead{font-size:1.1em}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:85%;margin:.6em 0 1em}
td,th{padding:.15em .6em;text-align:right;white-space:nowrap}th{border-bottom:1px solid #888}
td:first-child,th:first-child{text-align:left}table.text td,table.text th{text-align:left}
table.text td{white-space:normal}table.text td:last-child{min-width:17em}
tr:nth-child(even){background:#f6f6f6}.best{font-weight:bold}.behind{color:#b03a2e}.spread{color:#777;font-size:80%}
img{width:100%;max-width:38em;display:block}summary{cursor:pointer;color:#1f618d;padding:.3em 0}li{margin:.15em 0}
@media(max-width:600px){table{font-size:75%}td,th{padding:.15em .35em}table.text td:last-child{min-width:8em}
table.text td{overflow-wrap:anywhere}}"""
CHART = """Each line is a kind of transfer: how many times as fast Dunlin is as the best of the other MPIs at that size, the
geometric mean over its figures and over the states of the machine. Bars reach from quartile to quartile. An empty mark
is noise, and no line goes through it."""
NO_PICTURES = (
    "The charts are missing because matplotlib was not there; bench/compare --install fetches it, and "
    "bench/compare --report then writes this page again."
)
EXPLANATION = f"""Every figure is the median of samples taken alternately with each MPI in one run. Around each sample
the raw time of one cache line between the two CPUs is measured. Where these times fall into groups (near and far, and
nearest where there are three), only samples of one state are compared; a table without a state takes all samples. The
small number is the interquartile range in percent of the median. Bold is the best. <b>ahead</b> is how many times
better Dunlin is than the best other MPI; below 1 it is behind. <b>n</b> is the number of samples of the MPI that has
fewest. Marks: {escape(analysis.MARKS)}."""


def wide(lines):
    """What may be wider than the page scrolls by itself."""
    return "\n".join(["<div class=wide>", *lines, "</div>"])


def words_html(head, body, mark=lambda words: ""):
    lines = ["<table class=text><tr>" + "".join(f"<th>{escape(word)}</th>" for word in head) + "</tr>"]
    for words in body:
        lines.append(f"<tr{mark(words)}>" + "".join(f"<td>{escape(word)}</td>" for word in words) + "</tr>")
    return wide([*lines, "</table>"])


def facts_html(run):
    facts = [
        *run["machine"].items(),
        *((f"{title} version", version) for title, version in run["versions"].items()),
        ("measured", run["date"]),
        ("command", run["command"]),
    ]
    return words_html([], [[name, str(value)] for name, value in facts if value])


def cell_html(row, name):
    cell = row.cells.get(name)
    if cell is None:
        return "<td>-</td>"
    is_best = cell.median == row.cells[row.best({name: cell.median for name, cell in row.cells.items()})].median
    return (
        f"<td{' class=best' if is_best else ''}>{analysis.cell_text(cell)} "
        f"<span class=spread>{100 * cell.spread:.0f}</span></td>"
    )


def table_html(rows, titles, experiment):
    names = tables.order_of({name for row in rows for name in row.cells})
    has_limit, has_ratio = any(row.limit for row in rows), any(row.ratio() for row in rows)
    head = [
        "series",
        experiment.x_label,
        *(["limit"] if has_limit else []),
        *(titles.get(name, name) for name in names),
    ]
    head += (["ahead"] if has_ratio else []) + ["n"]
    lines = ["<table><tr>" + "".join(f"<th>{escape(text)}</th>" for text in head) + "</tr>"]
    for row in rows:
        words = [
            f"<td>{escape(row.series)} [{row.unit}]</td><td>{analysis.x_text(row, experiment.x_label)}</td>"
        ]
        if has_limit:
            words.append(f"<td>{analysis.value_text(row.limit) if row.limit else ''}</td>")
        words += [cell_html(row, name) for name in names]
        if has_ratio:
            words.append(f"<td{' class=behind' if (row.ratio() or 1) < 1 else ''}>{analysis.ratio_text(row)}</td>")
        words.append(f"<td>{row.count}</td>")
        lines.append("<tr>" + "".join(words) + "</tr>")
    return wide([*lines, "</table>"])


def behind_html(rows, plan, titles):
    found = analysis.behind(rows)
    if not found:
        return "<p>No point measured here is behind the best other MPI.</p>"
    lines = [
        f"<li>{escape(headline.place_of(row, plan))}: {ratio:.2f} of {escape(titles.get(row.best_peer(), ''))}</li>"
        for ratio, row in found
    ]
    return f"<details><summary>{len(found)} points, worst first</summary><ul>" + "".join(lines) + "</ul></details>"


def asked_html(found):
    head, body = figures.table(found)
    table = words_html(head, body, lambda words: " class=behind" if words[-1].startswith(("NO", "only")) else "")
    return f"<p>{figures.count_text(found)}.</p><details><summary>All figures</summary>{table}</details>"


def picture_html(picture, title):
    data = base64.b64encode(picture.encode()).decode()
    return f"<img alt='{escape(title)}' src='data:image/svg+xml;base64,{data}'>"


def experiment_html(experiment, rows, titles, picture):
    parts = [f"<h2 id='{experiment.name}'>{escape(experiment.title)}</h2>"]
    if picture:
        parts.append(picture_html(picture, experiment.title))
    for (_, state), group in analysis.groups(rows).items():
        where = "" if state == "any" else f", CPUs {state}" if state != "one" else ", one state of the machine"
        mean = analysis.mean_ratio(group)
        text = f"Table{where}" + (f": {mean:.2f} times in the mean" if mean else "")
        parts.append(f"<details{'' if picture else ' open'}><summary>{text}</summary>")
        parts.append(table_html(group, titles, experiment) + "</details>")
    return parts


def write(path, run, rows, plan, pictures):
    """`pictures`: experiment name -> SVG; that of the conclusion is called "headline".  None: they cannot be drawn."""
    titles, are_missing, pictures = run["titles"], pictures is None, pictures or {}
    first, *more = headline.conclusion(run, rows, plan)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>MPI benchmarks</title><style>{STYLE}</style>",
        f"<h1>Dunlin beside other MPIs</h1><p class=lead><b>{escape(first)}</b> {escape(' '.join(more))}</p>",
    ]
    if are_missing:
        parts.append(f"<p>{escape(NO_PICTURES)}</p>")
    if chart := pictures.get("headline"):
        parts += [picture_html(chart, "ratio to the best other MPI over bytes"), f"<p>{CHART}</p>"]
    parts += [
        f"<details><summary>Machine, versions, command</summary>{facts_html(run)}</details>",
        "<h2>Asked and measured</h2>",
        asked_html(figures.results(rows, plan, titles)),
    ]
    if summary := tables.summary(rows, plan, titles):
        parts += [
            "<h2>Summary</h2>",
            words_html(tables.SUMMARY_HEAD, summary),
            "<h2>Where Dunlin is behind</h2>",
            behind_html(rows, plan, titles),
        ]
    parts.append(f"<h2>How to read the tables</h2><p>{EXPLANATION}</p>")
    for name, experiment in plan.items():
        chosen = [row for row in rows if row.experiment == name]
        if chosen:
            parts += experiment_html(experiment, chosen, titles, pictures.get(name))
    if run["troubles"]:
        troubles = "".join(f"<li>{escape(text)}</li>" for text in run["troubles"])
        parts.append(f"<h2>What did not run</h2><ul>{troubles}</ul>")
    times = "\n".join(tables.time_lines(run["times"]))
    parts.append(f"<details><summary>Time per program</summary><pre>{escape(times)}</pre></details>")
    path.write_text("\n".join(parts) + "\n")
