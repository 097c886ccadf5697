"""The results as a Markdown page with plots beside it, to be kept in a repository (`compare --publish`)."""

from suite import analysis, plots, tables


def row_text(row, names, x_label):
    words = [row.series, analysis.x_text(row, x_label)]
    words.append(analysis.value_text(row.limit) if row.limit else "")
    words += [analysis.cell_text(row.cells[name]) if name in row.cells else "-" for name in names]
    words.append(f"{row.ratio():.2f}" if row.ratio() else "")
    return words


def table_text(rows, titles, experiment):
    """A table of one experiment in one state; columns that are empty everywhere are left out."""
    names = tables.order_of({name for row in rows for name in row.cells})
    head = ["series", experiment.x_label, "limit", *(titles.get(name, name) for name in names), "ahead"]
    body = [row_text(row, names, experiment.x_label) for row in rows]
    kept = [index for index in range(len(head)) if any(words[index] for words in body)]
    if len({row.series for row in rows}) == 1:
        kept.remove(0)
    lines = ["| " + " | ".join(head[index] for index in kept) + " |"]
    lines.append("|" + "|".join("---" if index == 0 else "--:" for index in kept) + "|")
    lines += ["| " + " | ".join(words[index] for index in kept) + " |" for words in body]
    return lines


def summary_text(rows, plan, titles):
    lines = ["| figure | CPUs | ahead by | points ahead | worst point |", "|---|---|--:|--:|---|"]
    for (name, state), group in analysis.groups(rows).items():
        ratios = [(row.ratio(), row) for row in group if row.ratio()]
        if not ratios:
            continue
        mean = analysis.geometric_mean([ratio for ratio, _ in ratios])
        worst, row = min(ratios, key=lambda pair: pair[0])
        place = f"{row.series} {analysis.x_text(row, plan[name].x_label)}"
        ahead = sum(ratio > 1 for ratio, _ in ratios)
        lines.append(
            f"| [{name}](#{name}) | {state} | {mean:.2f}x | {ahead} of {len(ratios)} "
            f"| {worst:.2f}x at {place} ({titles.get(row.best_peer(), '')}) |"
        )
    return lines


def experiment_text(experiment, rows, titles, folder):
    lines = [f'\n### <a id="{experiment.name}"></a>{experiment.title}\n']
    for series in dict.fromkeys(row.series for row in rows) if experiment.is_curve else ():
        chosen = [row for row in rows if row.series == series]
        picture = plots.draw(chosen, titles, f"{experiment.title}: {series}", experiment.x_label)
        if picture:
            (folder / f"{experiment.name}-{series}.svg").write_text(picture)
            lines.append(f"![{experiment.name} {series}]({experiment.name}-{series}.svg)\n")
    for (_, state), group in analysis.groups(rows).items():
        units = "/".join(sorted({row.unit for row in group}))
        lines.append(f"{units}" + ("" if state == "any" else f", CPUs {state}") + "\n")
        lines += [*table_text(group, titles, experiment), ""]
    return lines


def write(folder, run, rows, plan, titles):
    """results.md and one SVG per curve in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    lines = [
        "# Results of the newest full run",
        "",
        "Written by `bench/compare --publish`, repeated by `bench/compare --install`; how to read it: "
        "[benchmarks.md](../benchmarks.md).",
        "",
        "| | |",
        "|---|---|",
    ]
    facts = [*run["machine"].items(), *run["versions"].items(), ("measured", run["date"])]
    lines += [f"| {name} | {value} |" for name, value in facts if value]
    lines += [
        "\n## Summary",
        "",
        "How many times better Dunlin is than the best other MPI; below 1 it is behind.",
        "",
    ]
    lines += [*summary_text(rows, plan, titles), "\n## Figures"]
    for name, experiment in plan.items():
        chosen = [row for row in rows if row.experiment == name]
        if chosen:
            lines += experiment_text(experiment, chosen, titles, folder)
    if run["troubles"]:
        lines += ["\n## What did not run", "", *(f"- {text}" for text in run["troubles"])]
    (folder / "results.md").write_text("\n".join(lines).rstrip() + "\n")
