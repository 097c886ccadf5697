"""Pictures by matplotlib: of an experiment a panel per series and state of the machine, and the chart of the conclusion.

Panels stand below each other, so that their letters can be read on a narrow screen.  A bar is the range of the quartiles.
What is noise (quartiles more than a factor of two apart) is an empty mark, and no line goes through it.

Used by compare.  matplotlib comes from the system or, by `compare --install`, from PyPI into build/peers/matplotlib;
without it there are tables only.
"""

import io
import math
import site
from dataclasses import dataclass, replace

from suite import analysis, headline, tables
from suite.samples import size_text

LIMIT = "machine's limit"
STYLES = {
    "dunlin": {"color": "#c0392b", "linewidth": 2.2, "marker": "o", "zorder": 4},
    "mpich": {"color": "#2471a3", "marker": "s"},
    "openmpi": {"color": "#1e8449", "marker": "^"},
    "intel": {"color": "#7d3c98", "marker": "D"},
    LIMIT: {"color": "#808b96", "linestyle": "--", "marker": ""},
}
SPARE = ("#b9770e", "#117a65", "#515a5a", "#cb4335", "#5b2c6f")
KIND_COLOURS = ("#c0392b", "#b9770e", "#1e8449", "#2471a3", "#7d3c98", "#17202a", "#808b96")
TICKS_MAX = 8
PANEL_INCHES, CHART_INCHES = (5.2, 2.7), (5.2, 4.2)
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "bench", "font.size": 9, "axes.grid": True, "grid.color": "#e5e7e9"}


def is_available(build):
    """Whether pictures can be drawn; finds what `compare --install` put under `build`."""
    for folder in (build / "peers/matplotlib").glob("lib/python3*/site-packages"):
        site.addsitedir(str(folder))
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


@dataclass
class Mark:
    x: float
    y: float
    low: float
    high: float
    is_noise: bool = False


def curves_of(rows):
    """Name -> marks, those with no or one mark left out."""
    curves = {}
    for row in rows:
        for name, cell in row.cells.items():
            is_noise = cell.is_noise or cell.is_disturbed
            curves.setdefault(name, []).append(Mark(row.x, cell.median, cell.low, cell.high, is_noise))
        if row.limit:
            curves.setdefault(LIMIT, []).append(Mark(row.x, row.limit, row.limit, row.limit))
    drawn = {name: [mark for mark in marks if mark.low > 0] for name, marks in curves.items()}
    return {name: sorted(marks, key=lambda mark: mark.x) for name, marks in drawn.items() if len(marks) > 1}


def draw_curve(axes, marks, place, style, label):
    xs, ys = [place[mark.x] for mark in marks], [mark.y for mark in marks]
    lines = [math.nan if mark.is_noise else mark.y for mark in marks]
    axes.plot(xs, lines, label=label, **style)
    bars = [[mark.y - mark.low for mark in marks], [mark.high - mark.y for mark in marks]]
    axes.errorbar(xs, ys, yerr=bars, fmt="none", ecolor=style["color"], elinewidth=0.8, alpha=0.5)
    noise = [mark for mark in marks if mark.is_noise]
    axes.plot(
        [place[mark.x] for mark in noise],
        [mark.y for mark in noise],
        linestyle="",
        markerfacecolor="none",
        color=style["color"],
        marker=style["marker"] or "o",
        markersize=style["markersize"],
    )


def draw_panel(axes, curves: dict[str, list], x_label: str, labels: dict, styles: dict):
    """Log-log; 0 lies one step left of the smallest x and is marked so."""
    xs = sorted({mark.x for marks in curves.values() for mark in marks})
    smallest = min((x for x in xs if x > 0), default=1)
    base = 2 if "bytes" in x_label else 10
    place = {x: x if x > 0 else smallest / base for x in xs}
    for name, marks in curves.items():
        style = {"linewidth": 1.4, "markersize": 3.5, "marker": "o", **styles[name]}
        draw_curve(axes, marks, place, style, labels.get(name, name))
    axes.set_xscale("log", base=base)
    axes.set_yscale("log")
    shown = xs[:: -(-len(xs) // TICKS_MAX)]
    axes.set_xticks([place[x] for x in shown], [size_text(x) if "bytes" in x_label else f"{x:g}" for x in shown])
    axes.set_xlabel(x_label)


def label_values(axes):
    """Plain numbers up the side, also where the curves span less than a power of ten."""
    from matplotlib import ticker

    low, high = axes.get_ylim()
    if high / low < 4:
        axes.yaxis.set_major_locator(ticker.MaxNLocator(6))
    elif high / low < 100:
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def styles_of(names):
    spare = iter(SPARE * (1 + len(names) // len(SPARE)))
    return {name: STYLES.get(name) or {"color": next(spare)} for name in names}


def svg_of(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def draw_panels(panels: list, x_label: str, labels: dict):
    """`panels`: (title, unit, curves); those of one series have the same values up the side."""
    import matplotlib
    from matplotlib.figure import Figure

    names = tables.order_of({name for *_, curves in panels for name in curves})
    styles = styles_of(names)
    with matplotlib.rc_context(SETTINGS):
        width, height = PANEL_INCHES
        figure = Figure(figsize=(width, height * len(panels) + 0.5), layout="constrained")
        handles = {}
        for axes, (title, unit, curves) in zip(figure.subplots(len(panels), squeeze=False).flat, panels):
            draw_panel(axes, {name: curves[name] for name in names if name in curves}, x_label, labels, styles)
            axes.set_title(title, fontsize=9)
            axes.set_ylabel(unit)
            label_values(axes)
            handles.update({label: handle for handle, label in zip(*axes.get_legend_handles_labels())})
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=min(4, len(handles)))
        return svg_of(figure)


def draw(rows: list[analysis.Row], titles: dict, x_label: str):
    """One SVG of all series and states of an experiment, or "" when there is no curve in it."""
    panels = []
    for series in dict.fromkeys(row.series for row in rows):
        states = dict.fromkeys(row.state for row in rows if row.series == series)
        for state in sorted(states, key=analysis.STATE_ORDER.get):
            chosen = [row for row in rows if (row.series, row.state) == (series, state)]
            title = f"{series}, CPUs {state}" if state not in ("one", "any") else series
            if curves := curves_of(chosen):
                panels.append((title, chosen[0].unit, curves))
    return draw_panels(panels, x_label, titles) if panels else ""


def draw_over_ranks(rows: list[analysis.Row], plan, titles: dict):
    """One SVG of experiments that differ by their ranks: a panel per series and x, over the ranks; "" without a curve."""
    panels = {}
    for row in sorted(rows, key=lambda row: analysis.STATE_ORDER[row.state]):
        ranks = plan[row.experiment].ranks
        is_count_of_ranks = row.x in (ranks - 1, ranks)
        title = row.series if is_count_of_ranks else f"{row.series}, {size_text(row.x)}"
        panels.setdefault(title, {}).setdefault(ranks, replace(row, x=ranks))
    drawn = [(title, next(iter(found.values())).unit, curves_of(found.values())) for title, found in panels.items()]
    drawn = [panel for panel in drawn if panel[2]]
    return draw_panels(drawn, "ranks", titles) if drawn else ""


def draw_headline(curves: dict):
    """The chart of the conclusion: how many times as fast as the best other MPI, over bytes; "" without points."""
    import matplotlib
    from matplotlib.figure import Figure

    marks = {
        kind: [Mark(point.bytes, point.ratio, point.low, point.high, point.is_noise) for point in points]
        for kind, points in curves.items()
    }
    if not marks:
        return ""
    colours = dict(zip(headline.KINDS, KIND_COLOURS))
    styles = {kind: {"color": colours[kind], "linewidth": 1.8} for kind in marks}
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=CHART_INCHES, layout="constrained")
        axes = figure.subplots()
        draw_panel(axes, marks, "bytes", {}, styles)
        axes.axhline(1, color="#17202a", linewidth=1)
        ratios = [mark.y for points in marks.values() for mark in points if not mark.is_noise]
        low, high = min([*ratios, 0.8]) / 1.2, max([*ratios, 1.25]) * 1.2  # bars and noise may end at the frame
        axes.axhspan(low, 1, color="#f2d7d5", alpha=0.6, linewidth=0)
        axes.set_ylim(low, high)
        for y, side, word, colour in ((1, "top", "ahead", "#1e8449"), (0, "bottom", "behind", "#922b21")):
            axes.text(1.01, y, word, transform=axes.transAxes, rotation=270, va=side, color=colour)
        axes.set_ylabel("times as fast as the best other MPI")
        label_values(axes)
        figure.legend(loc="outside upper center", ncols=3)
        return svg_of(figure)
