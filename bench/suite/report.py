"""The HTML report: what was measured where, a summary, a plot and a table per figure, what is behind."""

from html import escape

from suite import analysis, plots, tables

STYLE = """body{font-family:sans-serif;max-width:64em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:90%;margin:.6em 0 1.4em}td,th{padding:.15em .7em;text-align:right}
th{border-bottom:1px solid #888}td:first-child,th:first-child{text-align:left}h2{margin-top:2em}
tr:nth-child(even){background:#f6f6f6}.best{font-weight:bold}.behind{color:#b03a2e}
.spread{color:#999;font-size:80%}"""
EXPLANATION = """Every figure is the median of samples taken alternately with each MPI in one run. Around each
sample the raw time of one cache line between the two CPUs is measured; only samples of the same state (near:
under 80 ns, far: over 130 ns) are compared. The small number is the interquartile range in percent of the
median; a tilde marks what was measured while other processes used the CPUs. Bold is the best. <b>ahead</b> is
how many times better Dunlin is than the best other MPI; below 1 it is behind."""


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
    head += ["ahead"] if has_ratio else []
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
        lines.append("<tr>" + "".join(words) + "</tr>")
    return "\n".join([*lines, "</table>"])


def behind_html(rows, plan, titles):
    found = sorted(
        ((row.ratio(), row) for row in rows if row.ratio() and row.ratio() < 0.98), key=lambda pair: pair[0]
    )
    if not found:
        return "<p>No point measured here is behind the best other MPI by more than 2 %.</p>"
    lines = [
        f"<li>{escape(row.experiment)}, {escape(row.series)} at "
        f"{analysis.x_text(row, plan[row.experiment].x_label)}"
        f" ({row.state}): {ratio:.2f} of {escape(titles.get(row.best_peer(), ''))}</li>"
        for ratio, row in found
    ]
    return f"<p>{len(found)} points are behind the best other MPI:</p><ul>" + "".join(lines) + "</ul>"


def experiment_html(experiment, rows, titles):
    parts = [f"<h2 id='{experiment.name}'>{escape(experiment.title)}</h2>"]
    for series in dict.fromkeys(row.series for row in rows) if experiment.is_curve else ():
        chosen = [row for row in rows if row.series == series]
        parts.append(plots.draw(chosen, titles, f"{experiment.title}: {series}", experiment.x_label))
    for (_, state), group in analysis.groups(rows).items():
        parts.append(f"<p>{'CPUs ' + state if state != 'any' else 'Any state of the machine'}</p>")
        parts.append(table_html(group, titles, experiment))
    return parts


def write(path, run, rows, plan, titles):
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>MPI benchmarks</title>",
        f"<style>{STYLE}</style>",
        "<h1>MPI benchmarks</h1>",
        facts_html(run),
        f"<p>{EXPLANATION}</p>",
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
            parts += experiment_html(experiment, chosen, titles)
    if run["troubles"]:
        parts.append(
            "<h2>What did not run</h2><ul>"
            + "".join(f"<li>{escape(text)}</li>" for text in run["troubles"])
            + "</ul>"
        )
    path.write_text("\n".join(parts) + "\n")
