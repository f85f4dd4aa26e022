# SPDX-License-Identifier: GPL-2.0-only
"""Bar charts by gnuplot: one a grid, whiskers from the lowest to the highest sample."""

import shutil
import subprocess

from . import figures, suites
from .table import linux_setting

COLOURS = ("#b0b0b0", "#5b7fa6", "#d1603d", "#e0a458", "#7a9e7e", "#8d6a9f")


def series_of(grid):
    """(title, function from a cell to the configuration shown)."""
    series = [("Linux default", lambda cell: "linux-default")]
    if any("linux-best" in cell for cell in grid["cells"]) and not grid["icount"]:
        series.append(("Linux best of a sweep", lambda cell: cell.get("linux-best")))
    names = []
    for cell in grid["cells"]:
        names += [name for name in cell["configs"] if name not in names]
    for name in names:
        if not name.startswith("linux-"):
            series.append((name.replace("mars", "MARS", 1), lambda cell, name=name: name))
    return series


def label(cell):
    parts = [suites.format_size(cell["size_bytes"]), cell["buffer"]]
    if cell["hit_pct"] not in (0, 100):
        parts.append(suites.format_hit(cell["hit_pct"], cell["hit_layout"]))
    if "linux-best" in cell and len(cell["configs"]) > 2:
        parts.append(f"best: {linux_setting(cell['linux-best'])}")
    return "\\n".join(parts)


def bars_of_reads(grid):
    """(unit, [(title, function from a cell to median, lowest and highest, or None)])."""
    def bar(cell, config):
        about = cell["configs"].get(config) if config else None
        if not about:
            return None
        if grid["icount"]:
            return [1e6 / about[key] for key in ("median", "max", "min")]
        return [about[key] for key in ("median", "min", "max")]
    unit = "instructions a read" if grid["icount"] else "MiB/s"
    return unit, [(title, lambda cell, pick=pick: bar(cell, pick(cell)))
                  for title, pick in series_of(grid)]


def bars_of_view(grid, view):
    names = list(dict.fromkeys(name for cell in grid["cells"] for name in cell["configs"]))
    return view.unit, [(name, lambda cell, name=name: view.bars(cell, name))
                       for name in sorted(names)]


def data_line(cell, bars):
    values = [bar(cell) for _, bar in bars]
    return f'"{label(cell)}" ' + " ".join(
        " ".join(f"{value:.1f}" for value in three) if three else "NaN NaN NaN"
        for three in values)


def script(grid, pattern, env, target):
    cells = [cell for cell in grid["cells"] if cell["pattern"] == pattern]
    view = figures.view_of(grid["suite"])
    unit, bars = bars_of_view(grid, view) if view else bars_of_reads(grid)
    # gnuplot fails on a series without a point.
    bars = [(title, bar) for title, bar in bars if any(map(bar, cells))]
    width = max(640, 160 + 28 * len(cells) * (len(bars) + 1))
    emulated = ", emulated machine" if env.get("machine_kind") == "emulated" else ""
    lines = [
        f'set terminal pngcairo size {width},480 noenhanced font "sans,10"',
        "set encoding utf8",
        f'set output "{target}"',
        f'set title "{grid["suite"]}: {pattern} reads, {grid["profile"]}, {grid["fs"]}, '
        f'{grid["kernel"]}{emulated}"',
        f'set ylabel "{unit}"',
        "set style data histogram",
        "set style histogram errorbars gap 1 linewidth 1",
        "set style fill solid 0.9 border -1",
        "set yrange [0:*]",
        "set grid ytics",
        "set key outside top center horizontal",
        "set bmargin 5",
        "$data << EOD",
    ]
    lines += [data_line(cell, bars) for cell in cells]
    lines.append("EOD")
    plots = [
        f'$data using {2 + 3 * i}:{3 + 3 * i}:{4 + 3 * i}:xtic(1) title "{title}" '
        f'linecolor rgb "{COLOURS[i % len(COLOURS)]}"'
        for i, (title, _) in enumerate(bars)
    ]
    return "\n".join(lines) + "\nplot " + ", \\\n  ".join(plots) + "\n"


def draw(grid, env, directory):
    """Writes the charts of a grid; returns their paths."""
    if not shutil.which("gnuplot"):
        raise FileNotFoundError("gnuplot is not installed: no charts (test/setup installs it)")
    paths = []
    for pattern in sorted({cell["pattern"] for cell in grid["cells"]}):
        name = "-".join((grid["suite"], pattern, grid["kernel"], grid["profile"], grid["fs"]))
        target = directory / (name.replace("/", "_") + ".png")
        text = script(grid, pattern, env, target)
        target.with_suffix(".gnuplot").write_text(text, encoding="utf-8")
        done = subprocess.run(["gnuplot", str(target.with_suffix(".gnuplot"))],
                              capture_output=True, text=True, check=False)
        if done.returncode or not target.exists():
            raise RuntimeError(f"gnuplot could not draw {target}: {done.stderr.strip()}")
        paths.append(target)
    return paths
