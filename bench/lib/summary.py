# SPDX-License-Identifier: GPL-2.0-only
"""From raw samples (rows of results.csv) to cells, comparisons and verdicts.

Works on rows alone, so that results of another day can be looked at again.
"""

import math

from . import check, figures, plan, stats, steps, suites

GRID = ("suite", "kernel", "fs", "profile")
CELL = ("pattern", "size_bytes", "hit_pct", "hit_layout", "buffer")
RA_PREFIX = "linux-ra-"
COMPARATORS = ("linux-default", "linux-best", "linux-best-single")
LOWEST_CELL = 0.97


def group(rows, keys):
    """{values of the keys: rows}, in order of appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def rate(row):
    """MiB/s; on the virtual clock of --icount, reads per million instructions."""
    if row["icount"]:
        return row["reads"] / (row["seconds"] * 1e9) * 1e6
    return row["bytes"] / row["seconds"] / suites.MIB


def is_linux(config):
    """A setting that 'Linux best' may choose: the default, or a step of the sweep."""
    return config == "linux-default" or config.startswith(RA_PREFIX)


def setting_of(config):
    return int(config[len(RA_PREFIX):]) if config.startswith(RA_PREFIX) else 0


def aa_noise(rows):
    """{config: |aa0 / aa1 - 1|} of one cell."""
    pairs = {}
    for row in rows:
        if row["round"] in plan.AA_ROUNDS:
            pairs.setdefault(row["config"], {}).setdefault(row["round"], []).append(rate(row))
    return {
        config: math.exp(abs(math.log(stats.geomean(pair["aa0"]) / stats.geomean(pair["aa1"])))) - 1
        for config, pair in pairs.items() if len(pair) == 2
    }


def make_cell(key, rows):
    """One cell: what each configuration did, and the best of Linux."""
    cell = dict(zip(CELL, key))
    cell["aa"] = aa_noise(rows)
    timed = [row for row in rows if row["round"] not in plan.AA_ROUNDS]
    cell["rates"] = {}
    cell["configs"] = {}
    for (config,), mine in group(timed, ("config",)).items():
        cell["rates"][config] = {row["round"]: rate(row) for row in mine}
        about = stats.describe(list(cell["rates"][config].values()))
        about["sectors_per_asked"] = over_read(mine)
        about["shares"] = figures.shares_of(mine)
        about["flight"] = figures.flight_of(mine)
        about["beside"] = figures.beside_of(mine)
        about["served"] = sum(row["mars_reads"] > 0 for row in mine)
        cell["configs"][config] = about
    linux = [config for config in cell["configs"] if is_linux(config)]
    if linux:
        cell["linux-best"] = max(linux, key=lambda c: cell["configs"][c]["median"])
    return cell


def over_read(rows):
    """Sectors that the device delivered for each one asked for: (lowest, highest), or None."""
    if any(row["sectors_read"] < 0 or not check.asked(row) for row in rows):
        return None
    ratios = [row["sectors_read"] * 512 / check.asked(row) for row in rows]
    return min(ratios), max(ratios)


def stand_in(cell, setting):
    """The configuration that tells what this read_ahead_kb does in this cell.

    A thin sweep ends at the request's size: a larger window is taken to do the same.
    None: not measured here.
    """
    name = f"{RA_PREFIX}{setting}" if setting else "linux-default"
    if name in cell["configs"]:
        return name
    steps = [c for c in cell["configs"] if c.startswith(RA_PREFIX)]
    if not steps:
        return None
    top = max(steps, key=setting_of)
    if setting > setting_of(top) and setting_of(top) * suites.KIB >= cell["size_bytes"]:
        return top
    return None


def best_single(cells):
    """The one setting with the best geometric mean over the grid: (setting, geomean)."""
    settings = {setting_of(c) for cell in cells for c in cell["configs"] if is_linux(c)}
    best = None
    for setting in sorted(settings):
        names = [stand_in(cell, setting) for cell in cells]
        if None in names:
            continue
        mean = stats.geomean([cell["configs"][name]["median"]
                              for cell, name in zip(cells, names)])
        if best is None or mean > best[1]:
            best = (setting, mean)
    return best


def comparator(cell, name, single):
    """The configuration that a comparator's name stands for in this cell."""
    if name == "linux-default":
        return name if name in cell["configs"] else None
    if name == "linux-best":
        return cell.get("linux-best")
    return stand_in(cell, single[0]) if single else None


def compare(cell, single, grid_key):
    """Every configuration of MARS against every comparator."""
    cell["ratios"] = {}
    for ours in cell["configs"]:
        if not ours.startswith("mars"):
            continue
        for name in COMPARATORS:
            theirs = comparator(cell, name, single)
            if theirs is None:
                continue
            seed = plan.seed_of(*grid_key, *(cell[key] for key in CELL), ours, name)
            found = stats.ratio(cell["rates"][ours], cell["rates"][theirs], seed)
            if found:
                cell["ratios"].setdefault(ours, {})[name] = {"against": theirs, **found}


def verdict(cells, ours, name):
    """'Not slower': geometric mean at least 1, no cell whose whole interval is below 0.97."""
    found = [cell["ratios"].get(ours, {}).get(name) for cell in cells]
    if not found or None in found:
        return None
    found = [{**{key: cell[key] for key in CELL}, **ratio} for cell, ratio in zip(cells, found)]
    slower = [one for one in found if one["high"] < LOWEST_CELL]
    mean = stats.geomean([one["ratio"] for one in found])
    return {"geomean": mean, "cells": len(found), "slower": slower,
            "below_one": [one for one in found if one["ratio"] < 1],
            "rounds": min(one["rounds"] for one in found),
            "not_slower": mean >= 1.0 and not slower}


def gates_of(grid):
    """Verdicts on what the suite is to show, each with the mean that it asks for."""
    suite = suites.SUITES.get(grid["suite"])
    found = []
    for gate in suite.gates if suite else ():
        if gate.profiles and grid["profile"] not in gate.profiles:
            continue
        cells = [cell for cell in grid["cells"]
                 if all(cell[key] == value for key, value in gate.pick)]
        about = verdict(cells, gate.config, gate.against)
        if about:
            met = about["geomean"] >= gate.mean and not about["slower"]
            found.append({"config": gate.config, "against": gate.against, "goal": gate.mean,
                          "pick": dict(gate.pick), "met": met, **about})
    return found


def sectors_of(cells, config):
    """What the device delivered for random reads that MARS served, or None."""
    found = [cell["configs"][config] for cell in cells
             if cell["pattern"] == "random" and config in cell["configs"]]
    found = [about for about in found if about["served"] and about["sectors_per_asked"]]
    if not found:
        return None
    return {"samples": sum(about["served"] for about in found),
            "lowest": min(about["sectors_per_asked"][0] for about in found),
            "highest": max(about["sectors_per_asked"][1] for about in found)}


def make_grid(key, rows):
    grid = dict(zip(GRID, key))
    cells = [make_cell(cell, mine) for cell, mine in group(rows, CELL).items()]
    cells.sort(key=lambda c: (c["pattern"], c["buffer"] != "reused", c["buffer"],
                              c["hit_layout"], c["hit_pct"], c["size_bytes"]))
    grid["icount"] = bool(rows[0]["icount"])
    for cell in cells:
        cell["extra"] = suites.is_extra(grid["suite"], cell)
    judged = [cell for cell in cells if not cell["extra"]]
    single = best_single(judged)
    grid["linux-best-single"] = {"read_ahead_kb": single[0] or "default",
                                 "geomean": single[1]} if single else None
    for cell in cells:
        compare(cell, single, key)
    suite = suites.SUITES.get(grid["suite"])
    for cell in cells:
        cell["steps"] = steps.steps_of(cell, suite.steps if suite else (), key)
    noise = [value for cell in cells for value in cell["aa"].values()]
    grid["aa"] = stats.describe(noise) if noise else None
    grid["cells"] = cells
    ours = sorted({config for cell in cells for config in cell["ratios"]})
    grid["verdicts"] = {config: {name: verdict(judged, config, name) for name in COMPARATORS}
                        for config in ours}
    grid["sectors"] = {config: sectors_of(cells, config) for config in ours}
    grid["gates"] = gates_of(grid)
    return grid


def summarize(rows):
    """One grid for each suite, kernel, file system and profile."""
    return [make_grid(key, mine) for key, mine in group(rows, GRID).items()]
