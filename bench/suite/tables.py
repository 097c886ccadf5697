"""Tables and progress on the terminal."""

import shutil
import sys
import time

from suite import analysis, peers

CHANGE_MIN = 0.03  # smaller changes are not listed


def order_of(names):
    """Ours first, then the peers by name."""
    return sorted(names, key=lambda name: (not name.startswith(analysis.OURS), name))


class Progress:
    """One line that is written over, with the time left; plain lines when the output is no terminal."""

    def __init__(self):
        self.schedule = None  # until the clock of the measurements runs
        self.is_terminal = sys.stderr.isatty()
        self.head = ""

    def begin(self, experiment):
        spent = self.schedule.spent_s
        number, of = len(spent), len(self.schedule.chosen)
        if experiment.name not in spent:
            self.head = f"[{number + 1}/{of}]"
        else:
            self.head = f"[round {len(spent[experiment.name]) + 1}]"
        if not self.is_terminal:
            print(f"{self.head} {experiment.title}{self.left()}", file=sys.stderr, flush=True)

    def end(self):
        if self.is_terminal:
            sys.stderr.write("\r\033[K")

    def left(self):
        if not self.schedule:
            return ""
        seconds = self.schedule.estimate_s()
        return f"  ({seconds / 60:.0f} min left)" if seconds >= 90 else f"  ({seconds:.0f} s left)"

    def say(self, text):
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\033[K" + f"{self.head} {text}{self.left()}".lstrip()[:width])
            sys.stderr.flush()


def table_lines(rows, titles, experiment):
    """Lines of one experiment in one state of the machine."""
    names = order_of({name for row in rows for name in row.cells})
    has_limit, has_series = any(row.limit for row in rows), len({row.series for row in rows}) > 1
    is_mixed = len({row.unit for row in rows}) > 1
    has_ratio = any(row.ratio() for row in rows)
    head = ([("series", -22)] if has_series or is_mixed else []) + [(experiment.x_label[:8], 8)]
    head += [("limit", 9)] if has_limit else []
    head += [(titles.get(name, name)[:12], 12) for name in names] + ([("ahead", 8)] if has_ratio else [])
    head.append(("n", 3))
    lines = [
        "  " + " ".join(f"{text:<{-width}}" if width < 0 else f"{text:>{width}}" for text, width in head)
    ]
    for row in rows:
        words = (
            [f"{row.series + (f' [{row.unit}]' if is_mixed else ''):<22}"] if has_series or is_mixed else []
        )
        words.append(f"{analysis.x_text(row, experiment.x_label):>8}")
        if has_limit:
            words.append(f"{analysis.value_text(row.limit) if row.limit else '':>9}")
        words += [
            f"{analysis.cell_text(row.cells[name]) if name in row.cells else '-':>12}" for name in names
        ]
        if has_ratio:
            words.append(f"{analysis.ratio_text(row):>8}")
        words.append(f"{row.count:>3}")
        lines.append("  " + " ".join(words))
    return lines


def time_lines(times):
    """What each program took, most first."""
    order = sorted(times.items(), key=lambda item: -item[1][0])
    lines = [f"    {seconds:>6.0f} s  {rounds} rounds  {name}" for name, (seconds, rounds) in order]
    return [f"  {sum(seconds for seconds, _ in times.values()) / 60:.1f} minutes in all", *lines]


def print_experiment(rows, titles, experiment):
    for (_, state), group in analysis.groups(rows).items():
        units = "/".join(sorted({row.unit for row in group}))
        where = "" if state == "any" else f", CPUs {state}"
        print(f"\n{experiment.title}  ({units}{where})")
        print("\n".join(table_lines(group, titles, experiment)))


SUMMARY_HEAD = ("experiment", "CPUs", "ahead by", "points ahead", "worst point")


def summary(rows, plan, titles):
    """Words per experiment and state, under SUMMARY_HEAD: geometric mean of the ratios, points ahead, worst point."""
    result = []
    for (name, state), group in analysis.groups(rows).items():
        compared = [row for row in group if row.ratio()]
        if not compared:
            continue
        mean = analysis.mean_ratio(compared)
        worst = min(compared, key=lambda row: row.ratio())
        place = f"{worst.series} {analysis.x_text(worst, plan[name].x_label)}".strip()
        ahead = f"{sum(row.ratio() > 1 for row in compared)} of {len(compared)}"
        peer = titles.get(worst.best_peer(), worst.best_peer())
        by = f"{analysis.factor_text(mean)}x" if mean else "quantum"
        result.append([name, state, by, ahead, f"{analysis.ratio_text(worst)} at {place} ({peer})"])
    return result


def summary_lines(rows, plan, titles):
    found = summary(rows, plan, titles)
    if not found:
        return []
    lines = [SUMMARY_HEAD, *found]
    return [f"  {name:<24} {state:<5} {mean:>9} {ahead:>13}   {worst}" for name, state, mean, ahead, worst in lines]


def change_lines(rows):
    """Before and after of our own figures, both measured in this run (`--against`)."""
    changes = [(change, row) for row in rows if (change := row.change())]
    if not changes:
        return []
    mean = analysis.geometric_mean([change for change, _ in changes])
    lines = [f"Before and after: {len(changes)} points, {mean:.3f}x the time in the geometric mean; beyond the spread:"]
    for change, row in sorted(changes, key=lambda pair: -pair[0]):
        old, new = row.cells[peers.BEFORE], row.cells[analysis.OURS]
        if abs(change - 1) > max(CHANGE_MIN, old.spread, new.spread):
            lines.append(
                f"  {row.experiment:<22} {row.series:<18} {row.x:>10g} {row.state:<5} "
                f"{analysis.value_text(old.median):>10} -> {analysis.value_text(new.median):>10} {row.unit:<5}"
                f" {change:.2f}x the time{'  WORSE' if change > 1 else ''}"
            )
    return lines
