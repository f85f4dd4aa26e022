# SPDX-License-Identifier: GPL-2.0-only
"""Text tables."""

import math

from . import figures, steps, suites
from .check import SLACK
from .columns import columns, percent, rate, ratio
from .summary import COMPARATORS, LOWEST_CELL

# What a verdict should hang on at least; single samples differ by 20 to 30 % in a guest.
ENOUGH_ROUNDS = 12


def kib(setting):
    return suites.format_size(setting * suites.KIB) if setting else "default"


def linux_setting(config):
    return kib(int(config.rsplit("-", 1)[1])) if config.startswith("linux-ra-") else "default"


def sectors(about):
    if not about or not about["sectors_per_asked"]:
        return "-"
    low, high = (f"{value:.2f}" for value in about["sectors_per_asked"])
    return low if low == high else f"{low}-{high}"


def read_row(cell, ours, cached, with_sectors):
    configs = cell["configs"]
    best = cell.get("linux-best")
    found = cell["ratios"].get(ours, {})
    noise = max(cell["aa"].values(), default=None)
    line = [cell["buffer"], suites.format_size(cell["size_bytes"])]
    if cached:
        line.append(suites.format_hit(cell["hit_pct"], cell["hit_layout"]))
    line += [
        rate(configs.get("linux-default")),
        rate(configs[best]) if best else "-",
        linux_setting(best) if best else "-",
    ]
    if ours:
        line += [rate(configs.get(ours))]
        line += [ratio(found.get(name)) for name in COMPARATORS]
    line.append(percent(noise) if noise is not None else "-")
    if with_sectors:
        line.append(sectors(configs.get(best)))
        line += [sectors(configs.get(ours))] if ours else []
    return line


def read_table(cells, ours, with_sectors):
    cached = any(cell["hit_pct"] for cell in cells)
    heading = ["buffer", "request"] + (["hit"] if cached else []) + [
        "Linux default", "Linux best", "at"]
    if ours:
        heading += [ours, f"{ours}/default", f"{ours}/best", f"{ours}/best single"]
    heading.append("A/A")
    if with_sectors:
        heading += ["sectors: best"] + ([ours] if ours else [])
    return columns([heading] + [read_row(cell, ours, cached, with_sectors) for cell in cells])


def others_table(cells):
    """Medians of every configuration outside the sweep, when there are more than the usual."""
    names = []
    for cell in cells:
        names += [name for name in cell["configs"]
                  if name not in names and not name.startswith("linux-ra-")]
    if set(names) <= {"linux-default", "mars"}:
        return []
    names.sort(key=lambda name: (name != "linux-default", not name.startswith("mars"), name))
    lines = [["buffer", "request", "hit"] + names]
    for cell in cells:
        medians = [cell["configs"].get(name) for name in names]
        lines.append([cell["buffer"], suites.format_size(cell["size_bytes"]),
                      suites.format_hit(cell["hit_pct"], cell["hit_layout"])] +
                     [f"{about['median']:.0f}" if about else "-" for about in medians])
    return ["every configuration outside the sweep, median MiB/s", columns(lines), ""]


def few_rounds(verdict):
    if verdict["rounds"] >= ENOUGH_ROUNDS:
        return ""
    return f" ({verdict['rounds']} rounds only, a verdict needs {ENOUGH_ROUNDS})"


def cell_name(cell):
    hit = suites.format_hit(cell["hit_pct"], cell["hit_layout"])
    return (f"{cell['pattern']} {suites.format_size(cell['size_bytes'])} {cell['buffer']}"
            + (f" hit {hit}" if cell["hit_pct"] else ""))


def verdict_lines(grid, ours):
    for name, verdict in grid["verdicts"].get(ours, {}).items():
        if verdict is None:
            continue
        word = "not slower" if verdict["not_slower"] else "NOT shown to be not slower"
        word += few_rounds(verdict)
        yield (f"{ours} against {name}: geometric mean {verdict['geomean']:.2f} over "
               f"{verdict['cells']} cells, {len(verdict['slower'])} of them surely below "
               f"{LOWEST_CELL}: {word}")
        for cell in verdict["slower"]:
            yield f"    slower: {cell_name(cell)}: {ratio(cell)} against {cell['against']}"


def pick_name(pick):
    hit = pick.get("hit_pct")
    words = [] if hit is None else ["cold" if hit == 0 else f"{hit} % cached"]
    return " ".join(words + [str(value) for key, value in pick.items() if key != "hit_pct"])


def gate_lines(grid):
    """What the suite is to show, and whether it did."""
    for gate in grid["gates"]:
        which = pick_name(gate["pick"])
        word = ("met" if gate["met"] else "MISSED") + few_rounds(gate)
        yield (f"goal: {gate['config']} at least {gate['goal']:.2f} x {gate['against']} on "
               f"geometric mean{' of ' + which if which else ''}, no cell surely below "
               f"{LOWEST_CELL}: {gate['geomean']:.2f} over {gate['cells']} cells, "
               f"{len(gate['slower'])} surely below: {word}")
        for cell in gate["below_one"]:
            yield f"    below 1: {cell_name(cell)}: {ratio(cell)} against {cell['against']}"


def overall(grids):
    """The geometric mean of each goal over all the grids that it was asked of."""
    found = {}
    for grid in grids:
        for gate in grid["gates"]:
            which = pick_name(gate["pick"])
            key = (grid["suite"], gate["config"], gate["against"], which)
            found.setdefault(key, []).append((gate["geomean"], gate["cells"]))
    lines = []
    for (suite, config, against, which), means in found.items():
        cells = sum(count for _, count in means)
        mean = math.exp(sum(math.log(mean) * count for mean, count in means) / cells)
        lines.append(f"{suite}, all of {len(means)} grids: {config} {mean:.2f} x {against} on "
                     f"geometric mean{' of ' + which if which else ''} over {cells} cells")
    return "\n".join(lines) + "\n" if lines else ""

def sector_lines(grid, ours):
    about = grid["sectors"].get(ours)
    if about:
        yield (f"{ours}: for each sector asked for, and not cached, the device delivered "
               f"{about['lowest']:.4f} to {about['highest']:.4f} in {about['samples']} samples "
               f"of random reads ({100 * SLACK:.1f} % of the bytes read is allowed for the file "
               f"system's own blocks)")


def groups_of(grid):
    """Cells that make a table each: a pattern, those that are judged before the others."""
    keys = sorted({(cell["extra"], cell["pattern"]) for cell in grid["cells"]})
    for extra, pattern in keys:
        cells = [cell for cell in grid["cells"]
                 if (cell["extra"], cell["pattern"]) == (extra, pattern)]
        yield pattern + " reads" + (", not judged" if extra else ""), cells


def reads(grid):
    """Tables of a grid measured in MiB/s."""
    text = []
    suite = suites.SUITES.get(grid["suite"])
    with_sectors = bool(suite and suite.sectors)
    ours_all = list(grid["verdicts"]) or [None]
    if suite and suite.steps:
        text += steps.lines(grid)
        ours_all = [name for name in ours_all if name in suite.shown] or [None]
    for title, cells in groups_of(grid):
        for ours in ours_all:
            text += [f"{title}, MiB/s, median (lowest-highest) of "
                     f"{rounds_of(cells)} rounds; ratios with 95 % interval",
                     read_table(cells, ours, with_sectors), ""]
        text += others_table(cells)
    single = grid["linux-best-single"]
    if single:
        setting = single["read_ahead_kb"]
        name = setting if setting == "default" else kib(setting)
        extra = any(cell["extra"] for cell in grid["cells"])
        over = "all cells that are judged" if extra else "the whole grid"
        text.append(f"Linux best single: read-ahead {name} for {over}")
    for ours in ours_all:
        text += list(verdict_lines(grid, ours))
        text += list(sector_lines(grid, ours)) if with_sectors else []
    return text + list(gate_lines(grid))


def rounds_of(cells):
    counts = {about["n"] for cell in cells for about in cell["configs"].values()}
    return str(counts.pop()) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def instructions(grid):
    """The table of a grid measured on the virtual clock: instructions a read."""
    suite = suites.SUITES.get(grid["suite"])
    goals = dict(suite.goals) if suite else {}
    order = [config.name for config in suite.configs] if suite else []
    lines = [["request", "state", "instructions a read", "more", "goal", "result"]]
    for cell in grid["cells"]:
        base = cell["configs"].get("linux-default")
        for config in sorted(cell["configs"], key=lambda c: order.index(c) if c in order else 99):
            about = cell["configs"][config]
            cost = 1e6 / about["median"]
            line = [suites.format_size(cell["size_bytes"]), config,
                    f"{cost:.0f} ({1e6 / about['max']:.0f}-{1e6 / about['min']:.0f})"]
            more = 100 * (base["median"] / about["median"] - 1) if base else None
            line.append(f"{more:+.2f} %" if base and config != "linux-default" else "-")
            goal = goals.get(config)
            line.append(f"<= {goal:.0f} %" if goal is not None else "-")
            # A tenth of a per cent is what a timer interrupt more or less makes.
            met = "" if goal is None or more is None else "met" if more <= goal + 0.1 else "MISSED"
            lines.append(line + [met])
    return [columns(lines)]


def environment(env):
    """The lines that every result is printed with."""
    where = "no file system"
    if "fstype" in env:
        where = f"{env['fstype']}, read-ahead default {env.get('ra_default', 'unknown')} KiB"
    lines = [
        f"kernel {env.get('kernel_release')}, {where}, "
        f"{env.get('cpus')} CPUs ({env.get('cpu_model')}), "
        f"{int(env.get('mem_kb', 0)) >> 10} MiB of memory, THP {env.get('thp')}",
        f"CPU copies with {copy_flags(env)}; MARS {env.get('mars_version', 'not loaded')}"
        + knobs(env),
    ]
    if env.get("machine_kind") == "emulated":
        lines.append("This is an EMULATED machine with simulated devices: compare the columns "
                     "with one another, not with figures of real hardware.")
        if int(env.get("cpus", 0)) > int(env.get("host_cpus", 0)) > 0:
            lines.append(f"It is OVERSUBSCRIBED: {env['cpus']} CPUs on {env['host_cpus']} of the "
                         "host, so what several of them do at once takes longer than it would.")
    elif env.get("machine_kind") == "virtual":
        lines.append("This is a virtual machine: others may share its CPUs and its devices.")
    return lines


def copy_flags(env):
    flags = [flag for flag in ("erms", "fsrm") if flag in env.get("cpu_flags", "").split()]
    return "+".join(flags) or "neither ERMS nor FSRM"


def knobs(env):
    prefix = "mars_default_"
    known = [f"{key[len(prefix):]}={value}" for key, value in env.items()
             if key.startswith(prefix)]
    return ": " + " ".join(known) if known else ""


def grid_text(grid, env):
    """Everything about one grid, as printed."""
    text = [f"== {grid['suite']}: {grid['profile']}, {grid['fs']}, {grid['kernel']} =="]
    text += environment(env) + [""]
    view = figures.view_of(grid["suite"])
    if not view or view.reads:
        text += instructions(grid) if grid["icount"] else reads(grid)
    if view:
        text += view.lines(grid)
    if grid["aa"]:
        text.append(f"A/A noise (a configuration against itself): median "
                    f"{percent(grid['aa']['median'])}, highest {percent(grid['aa']['max'])} "
                    f"over {grid['aa']['n']} pairs")
    return "\n".join(text) + "\n"
