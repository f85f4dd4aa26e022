# SPDX-License-Identifier: GPL-2.0-only
"""What each step of an ablation is worth: a configuration against the one before it."""

from . import plan, stats, suites
from .columns import columns, percent, rate


def noise_of(cell, *configs):
    return max((cell["aa"][config] for config in configs if config in cell["aa"]), default=None)


def step(cell, ours, theirs, grid_key):
    """Ratio of two configurations of a cell, and whether noise alone does not explain it.

    Both must say so: the interval, which knows how rounds differ, and the A/A rounds, which
    know how a configuration differs from itself.
    """
    seed = plan.seed_of(*grid_key, cell["size_bytes"], cell["buffer"], ours, theirs)
    found = stats.ratio(cell["rates"][ours], cell["rates"][theirs], seed)
    if not found:
        return None
    noise = noise_of(cell, ours, theirs)
    outside = found["low"] > 1 or found["high"] < 1
    size = max(found["ratio"], 1 / found["ratio"]) - 1
    return {"against": theirs, "beyond_noise": outside and noise is not None and size > noise,
            **found}


def steps_of(cell, names, grid_key):
    """{configuration: {"before": ..., "base": ...}} for all but the first that were measured."""
    names = [name for name in names if name in cell["rates"]]
    return {ours: {"before": step(cell, ours, before, grid_key),
                   "base": step(cell, ours, names[0], grid_key)}
            for before, ours in zip(names, names[1:])}


def text_of(found):
    if not found:
        return "-"
    mark = " *" if found["beyond_noise"] else "  "
    return f"{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}]{mark}"


def mean_row(cells, names, title):
    """Geometric means over cells of one buffer, under the steps that they belong to."""
    def mean(name, against):
        found = [cell["steps"].get(name, {}).get(against) for cell in cells]
        if not all(found):
            return "-"
        return f"{stats.geomean([one['ratio'] for one in found]):.2f}"
    return ([cells[0]["buffer"], title, ""] + [mean(name, "before") for name in names] +
            [mean(names[-1], "base"), ""])


def lines(grid):
    """The table of an ablation."""
    suite = suites.SUITES[grid["suite"]]
    names = [name for name in suite.steps if any(name in cell["rates"] for cell in grid["cells"])]
    if len(names) < 2:
        return []
    base, names = names[0], names[1:]
    rows = [["buffer", "request", base] + [f"+ {name}" for name in names] +
            [f"{names[-1]}/{base}", "A/A"]]
    for buffer in dict.fromkeys(cell["buffer"] for cell in grid["cells"]):
        cells = [cell for cell in grid["cells"] if cell["buffer"] == buffer]
        for cell in cells:
            noise = noise_of(cell, base, *names)
            found = cell["steps"]
            rows.append(
                [buffer, suites.format_size(cell["size_bytes"]), rate(cell["configs"].get(base))] +
                [text_of(found.get(name, {}).get("before")) for name in names] +
                [text_of(found.get(names[-1], {}).get("base")),
                 percent(noise) if noise is not None else "-"])
        rows.append(mean_row(cells, names, "mean"))
    return [f"what each step is worth: {base} in MiB/s, then each configuration's ratio to the "
            "one before it;", "* = more than noise: its 95 % interval excludes 1, and it is "
            "larger than A/A", columns(rows), ""]
