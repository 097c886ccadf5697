"""Pictures of an experiment by matplotlib: a row of panels per series, a panel per state of the machine.

Used by compare.  matplotlib comes from the system or, by `compare --install`, from PyPI into build/peers/matplotlib;
without it there are tables only.
"""

import io
import site

from suite import analysis, tables
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
TICKS_MAX = 10
PANEL_INCHES, ONLY_PANEL_INCHES = (4.6, 3.1), (6.4, 4.0)
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


def curves_of(rows):
    """Name -> points, those with no or one point left out."""
    curves = {}
    for row in rows:
        for name, cell in row.cells.items():
            curves.setdefault(name, []).append((row.x, cell.median))
        if row.limit:
            curves.setdefault(LIMIT, []).append((row.x, row.limit))
    kept = {name: sorted((x, y) for x, y in points if y > 0) for name, points in curves.items()}
    return {name: points for name, points in kept.items() if len(points) > 1}


def draw_panel(axes, curves: dict[str, list], x_label: str, labels: dict, styles: dict):
    """Log-log; 0 lies one step left of the smallest x and is marked so."""
    xs = sorted({x for points in curves.values() for x, _ in points})
    smallest = min((x for x in xs if x > 0), default=1)
    base = 2 if "bytes" in x_label else 10
    place = {x: x if x > 0 else smallest / base for x in xs}
    for name, points in curves.items():
        style = {"linewidth": 1.4, "markersize": 3.5, "marker": "o", **styles[name]}
        axes.plot([place[x] for x, _ in points], [y for _, y in points], label=labels.get(name, name), **style)
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


def svg_of(panels: list[list], x_label: str, labels: dict):
    """`panels`: rows of (title, unit, curves)."""
    import matplotlib
    from matplotlib.figure import Figure

    names = tables.order_of({name for row in panels for _, _, curves in row for name in curves})
    spare = iter(SPARE * (1 + len(names) // len(SPARE)))
    styles = {name: STYLES.get(name) or {"color": next(spare)} for name in names}
    has_states = max(map(len, panels)) > 1
    if not has_states:  # two series side by side
        panels = [[panel for row in panels[at : at + 2] for panel in row] for at in range(0, len(panels), 2)]
    with matplotlib.rc_context(SETTINGS):
        columns = max(map(len, panels))
        width, height = PANEL_INCHES if columns > 1 or len(panels) > 1 else ONLY_PANEL_INCHES
        figure = Figure(figsize=(width * columns, height * len(panels) + 0.4), layout="constrained")
        grid = figure.subplots(len(panels), columns, squeeze=False)
        for axes_row, row in zip(grid, panels):
            for axes, (title, unit, curves) in zip(axes_row, row):
                draw_panel(axes, {name: curves[name] for name in names if name in curves}, x_label, labels, styles)
                axes.set_title(title, fontsize=9)
                axes.set_ylabel(unit)
            drawn = axes_row[: len(row)]
            low, high = zip(*(axes.get_ylim() for axes in drawn))
            for axes in drawn:
                if has_states:
                    axes.set_ylim(min(low), max(high))
                label_values(axes)
            for axes in axes_row[len(row) :]:
                axes.set_axis_off()
        handles = {}
        for axes in grid.flat:
            handles.update({label: handle for handle, label in zip(*axes.get_legend_handles_labels())})
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=min(3 * columns, len(handles)))
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def draw(rows: list[analysis.Row], titles: dict, x_label: str):
    """One SVG of all series and states of an experiment, or "" when there is no curve in it."""
    panels = []
    for series in dict.fromkeys(row.series for row in rows):
        states = dict.fromkeys(row.state for row in rows if row.series == series)
        row_of_panels = []
        for state in sorted(states, key=analysis.STATE_ORDER.get):
            chosen = [row for row in rows if (row.series, row.state) == (series, state)]
            title = series if state == "any" else f"{series}, CPUs {state}"
            if curves := curves_of(chosen):
                row_of_panels.append((title, chosen[0].unit, curves))
        if row_of_panels:
            panels.append(row_of_panels)
    return svg_of(panels, x_label, titles) if panels else ""
