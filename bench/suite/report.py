"""The HTML report: what was measured where, a summary, a plot and a table per figure, what is behind."""

import base64
from html import escape

from suite import analysis, figures, tables

STYLE = """body{font-family:sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:90%;margin:.6em 0 1.4em}td,th{padding:.15em .7em;text-align:right}
th{border-bottom:1px solid #888}td:first-child,th:first-child{text-align:left}h2{margin-top:2em}
tr:nth-child(even){background:#f6f6f6}.best{font-weight:bold}.behind{color:#b03a2e}
.spread{color:#999;font-size:80%}img{max-width:100%}table.text td{text-align:left}"""
EXPLANATION = """Every figure is the median of samples taken alternately with each MPI in one run. Around each
sample the raw time of one cache line between the two CPUs is measured; where these times fall apart into two groups,
near and far, only samples of one state are compared. The small number is the interquartile range in percent of the
median; a tilde marks what was measured while other processes used the CPUs. Bold is the best. <b>ahead</b> is
how many times better Dunlin is than the best other MPI; below 1 it is behind. <b>n</b> is the number of samples of
the MPI that has fewest."""


def facts_html(run):
    facts = [
        *run["machine"].items(),
        *((f"{title} version", version) for title, version in run["versions"].items()),
        ("measured", run["date"]),
        ("command", run["command"]),
    ]
    return (
        "<table>"
        + "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:left'>{escape(str(value))}</td></tr>"
            for name, value in facts
            if value
        )
        + "</table>"
    )


def cell_html(row, name):
    cell = row.cells.get(name)
    if cell is None:
        return "<td>-</td>"
    medians = [other.median for other in row.cells.values()]
    is_best = cell.median == (min(medians) if row.is_less_better else max(medians))
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
        ratio = row.ratio()
        if has_ratio:
            words.append(
                f"<td{' class=behind' if ratio and ratio < 1 else ''}>{f'{ratio:.2f}' if ratio else ''}</td>"
            )
        words.append(f"<td>{row.count}</td>")
        lines.append("<tr>" + "".join(words) + "</tr>")
    return "\n".join([*lines, "</table>"])


def behind_html(rows, plan, titles):
    found = analysis.behind(rows)
    if not found:
        return "<p>No point measured here is behind the best other MPI.</p>"
    lines = [
        f"<li>{escape(row.experiment)}, {escape(row.series)} at "
        f"{analysis.x_text(row, plan[row.experiment].x_label)}"
        f" ({row.state}): {ratio:.2f} of {escape(titles.get(row.best_peer(), ''))}</li>"
        for ratio, row in found
    ]
    return f"<p>{len(found)} points are behind the best other MPI:</p><ul>" + "".join(lines) + "</ul>"


def asked_html(found):
    head, body = figures.table(found)
    lines = ["<table class=text><tr>" + "".join(f"<th>{escape(word)}</th>" for word in head) + "</tr>"]
    for words in body:
        mark = " class=behind" if words[-1] == "NO" or words[-1].startswith("only") else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{escape(word)}</td>" for word in words) + "</tr>")
    return "\n".join([f"<p>{figures.count_text(found)}.</p>", *lines, "</table>"])


def experiment_html(experiment, rows, titles, picture):
    parts = [f"<h2 id='{experiment.name}'>{escape(experiment.title)}</h2>"]
    if picture:
        data = base64.b64encode(picture.encode()).decode()
        parts.append(f"<img alt='{escape(experiment.title)}' src='data:image/svg+xml;base64,{data}'>")
    for (_, state), group in analysis.groups(rows).items():
        parts.append(f"<p>{'CPUs ' + state if state != 'any' else 'Any state of the machine'}</p>")
        parts.append(table_html(group, titles, experiment))
    return parts


def write(path, run, rows, plan, pictures):
    """`pictures`: experiment name -> SVG."""
    titles = run["titles"]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>MPI benchmarks</title>",
        f"<style>{STYLE}</style>",
        "<h1>MPI benchmarks</h1>",
        facts_html(run),
        f"<p>{EXPLANATION}</p>",
        "<h2>Asked and measured</h2>",
        asked_html(figures.results(rows, plan, titles)),
    ]
    summary = tables.summary_lines(rows, plan, titles)
    if summary:
        parts += [
            "<h2>Summary</h2><pre>" + escape("\n".join(summary)) + "</pre>",
            "<h2>Where Dunlin is behind</h2>",
            behind_html(rows, plan, titles),
        ]
    for name, experiment in plan.items():
        chosen = [row for row in rows if row.experiment == name]
        if chosen:
            parts += experiment_html(experiment, chosen, titles, pictures.get(name))
    if run["troubles"]:
        troubles = "".join(f"<li>{escape(text)}</li>" for text in run["troubles"])
        parts.append(f"<h2>What did not run</h2><ul>{troubles}</ul>")
    times = "\n".join(tables.time_lines(run["times"]))
    parts.append("<h2>Time per program</h2><pre>" + escape(times) + "</pre>")
    path.write_text("\n".join(parts) + "\n")
