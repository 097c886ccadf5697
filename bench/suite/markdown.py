"""The results as a Markdown page with plots beside it, to be kept in a repository (`compare --publish`, `--page`)."""

import re

from suite import analysis, figures, headline, tables

BEHIND_SHOWN = 4  # points of one experiment in the list of what is behind; the tables have all


def row_text(row, names, x_label):
    words = [row.series, analysis.x_text(row, x_label)]
    words.append(analysis.value_text(row.limit) if row.limit else "")
    words += [analysis.cell_text(row.cells[name]).replace("*", "\\*") if name in row.cells else "-" for name in names]
    words += [analysis.ratio_text(row), str(row.count)]
    return words


def table_text(rows, titles, experiment):
    """A table of one experiment in one state; columns that are empty everywhere are left out."""
    names = tables.order_of({name for row in rows for name in row.cells})
    head = ["series", experiment.x_label, "limit", *(titles.get(name, name) for name in names), "ahead", "n"]
    body = [row_text(row, names, experiment.x_label) for row in rows]
    kept = [index for index in range(len(head)) if any(words[index] for words in body)]
    if len({row.series for row in rows}) == 1:
        kept.remove(0)
    lines = ["| " + " | ".join(head[index] for index in kept) + " |"]
    lines.append("|" + "|".join("---" if index == 0 else "--:" for index in kept) + "|")
    lines += ["| " + " | ".join(words[index] for index in kept) + " |" for words in body]
    return lines


def summary_text(rows, plan, titles):
    lines = ["| " + " | ".join(tables.SUMMARY_HEAD) + " |", "|---|---|--:|--:|---|"]
    for name, *words in tables.summary(rows, plan, titles):
        lines.append(f"| [{name}](#{name}) | " + " | ".join(words) + " |")
    return lines


def conclusion_text(run, rows, plan, has_chart, folder):
    first, *more = headline.conclusion(run, rows, plan)
    lines = [" ".join([f"**{first}**", *more]), ""]
    if has_chart:
        alt = "How many times as fast as the best other MPI, over bytes"
        lines += [f"![{alt}]({folder}headline.svg)", ""]
    return lines


def write_pictures(page, pictures):
    """Into the folder named as the page, in place of those of before."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text(picture)


def experiment_text(experiment, rows, titles, picture):
    """`picture`: its address from the page, or nothing."""
    lines = [f'\n### <a id="{experiment.name}"></a>{experiment.title}\n']
    if picture:
        lines.append(f"![{experiment.title}]({picture})\n")
    for (_, state), group in analysis.groups(rows).items():
        units = "/".join(sorted({row.unit for row in group}))
        lines.append(f"{units}" + ("" if state == "any" else f", CPUs {state}") + "\n")
        lines += [*table_text(group, titles, experiment), ""]
    return lines


def machine_text(run):
    facts = [*run["machine"].items(), *run["versions"].items(), ("measured", run["date"]), ("command", run["command"])]
    minutes = sum(seconds for seconds, _ in run["times"].values()) / 60
    facts.append(("took", f"{minutes:.0f} minutes"))
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts if value)]


def asked_text(found):
    head, body = figures.table(found)
    kept = [index for index in range(len(head)) if any(words[index] for words in body)]
    lines = [f"{figures.count_text(found)}.", ""]
    for words in [head, ["---"] * len(head), *body]:
        shown = [f"**{words[index]}**" if words[index].startswith(("NO", "only")) else words[index] for index in kept]
        lines.append("| " + " | ".join(shown) + " |")
    return lines


def behind_text(rows, plan, titles):
    """A line per experiment and state with its points behind, worst first."""
    found = {}
    for ratio, row in analysis.behind(rows):
        place = f"{row.series} {analysis.x_text(row, plan[row.experiment].x_label)}"
        words = f"{place} {ratio:.2f} ({titles.get(row.best_peer(), '')})"
        found.setdefault((row.experiment, row.state), []).append(words)
    compared = sum(row.ratio() is not None for row in rows)
    count = sum(map(len, found.values()))
    head = f"{count} of {compared} points compared are behind the best other MPI; worst first, as parts of its speed:"
    lines = [head, ""]
    for (name, state), points in found.items():
        more = f" and {len(points) - BEHIND_SHOWN} more" if len(points) > BEHIND_SHOWN else ""
        lines.append(f"- {name}, {state}: {', '.join(points[:BEHIND_SHOWN])}{more}")
    return lines


def times_text(times):
    order = sorted(times.items(), key=lambda item: -item[1][0])
    lines = ["| program | seconds | rounds |", "|---|--:|--:|"]
    return lines + [f"| {name} | {seconds:.0f} | {rounds} |" for name, (seconds, rounds) in order]


def fill(path, parts):
    """Replaces what stands between `<!-- NAME -->` and `<!-- end of NAME -->` in a page."""
    text = path.read_text()
    for name, lines in parts.items():
        text, count = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
            lambda found: found[1] + "\n".join(lines) + "\n" + found[2],
            text,
            flags=re.DOTALL,
        )
        if count != 1:
            raise ValueError(f"{path} has {count} places for {name!r}")
    path.write_text(text)


def measured_text(rows, plan, titles, pictures=(), folder=""):
    """Tables and plots, which lie in this folder beside the page, of the experiments that were measured."""
    lines = []
    for name, experiment in plan.items():
        chosen = [row for row in rows if row.experiment == name]
        if chosen:
            lines += experiment_text(experiment, chosen, titles, f"{folder}/{name}.svg" if name in pictures else "")
    return lines


def marks_text():
    return f"Marks in the tables: {analysis.MARKS}.".replace("*", "\\*")


def write_page(page, run, rows, plan, pictures):
    """The experiments of `plan` into the place of `results` in a page, their plots into a folder of its name."""
    write_pictures(page, {name: pictures[name] for name in plan if name in pictures})
    troubles = [text for text in run["troubles"] if text.split(":")[0] in plan]
    lines = [*machine_text(run), "", marks_text(), *measured_text(rows, plan, run["titles"], pictures, page.stem)]
    lines += ["What did not run:", "", *(f"- {text}" for text in troubles), ""] if troubles else []
    fill(page, {"results": lines})


def write(folder, run, rows, plan, pictures):
    """results.md in `folder`, one SVG per experiment with curves beside it; fills benchmarks.md above."""
    results = folder / "results.md"
    write_pictures(results, pictures)
    titles, has_chart = run["titles"], "headline" in pictures
    asked, behind = asked_text(figures.results(rows, plan, titles)), behind_text(rows, plan, titles)
    lines = [
        "# Results of the newest full run",
        "",
        "Written by `bench/compare --publish`; how to read it: [benchmarks.md](../benchmarks.md).",
        "",
        *conclusion_text(run, rows, plan, has_chart, f"{results.stem}/"),
        *machine_text(run),
        "\n## Summary",
        "",
        "How many times better Dunlin is than the best other MPI; below 1 it is behind.",
        marks_text(),
        "",
        *summary_text(rows, plan, titles),
        "\n## Figures",
        *measured_text(rows, plan, titles, pictures, results.stem),
    ]
    if run["troubles"]:
        lines += ["\n## What did not run", "", *(f"- {text}" for text in run["troubles"])]
    lines += ["\n## Time per program", "", *times_text(run["times"])]
    results.write_text("\n".join(lines).rstrip() + "\n")
    page = folder.parent / "benchmarks.md"
    if page.exists():
        conclusion = conclusion_text(run, rows, plan, has_chart, f"{folder.name}/{results.stem}/")
        fill(page, {"conclusion": conclusion, "machine": machine_text(run), "asked": asked, "behind": behind})
