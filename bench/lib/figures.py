# SPDX-License-Identifier: GPL-2.0-only
"""The paper's figures 6 and 7, and what a large reader does to small ones.

6: what faulting in costs, and how much is copied during the wait. 7: what parallel submission
does to bandwidth, to the bytes in flight, and to the wait for each request.
"""

from typing import Callable, NamedTuple

from . import plan, stats, suites
from .columns import columns, rate

# What the paper measured, on its hardware.
PAPER_SUBMIT = {"ssd": "-8 %", "nvme": "-8 %", "raid0-nvme": "+38 %", "raid0-null": "+38 %"}
# auto must come so close to the better of the settings that it chooses from.
AUTO_GOAL = 0.97
PAPER_FAULT_IN = "35-56 %"
PAPER_EARLY = "71-78 %"

PAGES = {"fresh": "as the system gives", "fresh-4k": "4 KiB", "reused": "present"}


def milliseconds(cell, config):
    about = cell["configs"].get(config)
    if not about:
        return None
    mib = cell["size_bytes"] / suites.MIB
    return [1000 * mib / about[key] for key in ("median", "max", "min")]


def ms_text(cell, config):
    found = milliseconds(cell, config)
    return "{:.1f} ({:.1f}-{:.1f})".format(*found) if found else "-"


def share_of_copy(cell, folio, grid_key):
    """Time of fault-in over time of the copy after it."""
    fault_in, copy = f"fault-in-{folio}", f"copy-{folio}"
    if fault_in not in cell["rates"] or copy not in cell["rates"]:
        return "-"
    seed = plan.seed_of(*grid_key, cell["size_bytes"], cell["buffer"], folio)
    found = stats.ratio(cell["rates"][copy], cell["rates"][fault_in], seed)
    return "{:.0f} % [{:.0f}, {:.0f}]".format(
        *(100 * found[key] for key in ("ratio", "low", "high"))) if found else "-"


def copy_lines(grid):
    """Figure 6 (a)."""
    rows = [["buffer's pages", "size", "folios", "fault-in, ms", "copy after it, ms",
             "fault-in/copy", "paper", "copy that faults, ms"]]
    for cell in grid["cells"]:
        folios = sorted(name[len("copy-"):] for name in cell["configs"]
                        if name.startswith("copy-") and not name.startswith("copy-faulting-"))
        for folio in folios:
            rows.append([PAGES.get(cell["buffer"], cell["buffer"]),
                         suites.format_size(cell["size_bytes"]), folio,
                         ms_text(cell, f"fault-in-{folio}"), ms_text(cell, f"copy-{folio}"),
                         share_of_copy(cell, folio, (grid["kernel"],)), PAPER_FAULT_IN,
                         ms_text(cell, f"copy-faulting-{folio}")])
    return ["explicit fault-in and copy of folios made for it, through MARS's own code; no device, "
            "no page cache;", "median (lowest-highest), ratio with 95 % interval", columns(rows)]


def shares_of(rows):
    """Shares of the bytes returned, in per cent: median, lowest, highest over the samples."""
    rows = [row for row in rows if row["mars_bytes"] > 0]
    found = {}
    for name in ("masked", "out_of_order") if rows else ():
        values = [100 * row[f"mars_bytes_{name}"] / row["mars_bytes"] for row in rows]
        found[name] = stats.describe(values)
    return found


def share_text(about, name):
    found = (about or {}).get("shares", {}).get(name)
    return "{median:.0f} % ({min:.0f}-{max:.0f})".format(**found) if found else "-"


def share_lines(grid):
    """Figure 6 (b)."""
    rows = [["buffer", "request", "early_copy", "copied during I/O", "out of order", "paper (any)",
             "MiB/s"]]
    order = [config.name for config in suites.SUITES[grid["suite"]].configs]
    for cell in grid["cells"]:
        for name in order:
            about = cell["configs"].get(name, {})
            if about.get("shares"):
                rows.append([cell["buffer"], suites.format_size(cell["size_bytes"]),
                             name.replace("mars-", "", 1), share_text(about, "masked"),
                             share_text(about, "out_of_order"),
                             PAPER_EARLY if name == "mars-any" else "", rate(about)])
    return ["shares of the bytes of an all-miss read: copied while I/O of the same read was "
            "outstanding,", "and copied while a lower byte was not yet; median (lowest-highest)",
            columns(rows)]


def flight_of(rows):
    """Mean bytes in flight, and ms that a request takes: median, lowest, highest.

    By Little's law: the time that all requests took together, of the device's own counters,
    over the time of the reads, is the mean number of requests under way.
    """
    rows = [row for row in rows if row["device_requests"] > 0 and row["device_ms"] >= 0]
    found = {}
    if not rows:
        return found
    each = [row["sectors_read"] * 512 / row["device_requests"] for row in rows]
    for name, values in (
            ("bytes", [row["device_ms"] / 1000 / row["seconds"] * size
                       for row, size in zip(rows, each)]),
            ("wait", [row["device_ms"] / row["device_requests"] for row in rows])):
        found[name] = stats.describe(values)
    return found


def flight_text(about, name, unit):
    found = about.get("flight", {}).get(name)
    return ("{:.2f} ({:.2f}-{:.2f})".format(*(found[key] / unit for key in ("median", "min", "max")))
            if found else "-")


def against_better(cell, name, grid_key):
    """A configuration over the better of the fixed ones: (ratio, which)."""
    fixed = [one for one in cell["configs"] if one.startswith("mars-submit-") and one != name]
    if not fixed or name not in cell["rates"]:
        return None, None
    better = max(fixed, key=lambda one: cell["configs"][one]["median"])
    seed = plan.seed_of(*grid_key, cell["size_bytes"], cell["buffer"], name)
    return stats.ratio(cell["rates"][name], cell["rates"][better], seed), better


def flight_goal(cell, grid_key):
    found, better = against_better(cell, "mars-submit-auto", grid_key)
    if not found:
        return []
    word = "met" if found["ratio"] >= AUTO_GOAL else "MISSED"
    return [f"{cell['buffer']} {suites.format_size(cell['size_bytes'])}: auto "
            f"{found['ratio']:.2f} [{found['low']:.2f}, {found['high']:.2f}] x {better}, the better "
            f"of the fixed ones; goal {AUTO_GOAL}: {word}"]


def four_text(cell, name, grid_key):
    """What four submitters are worth, and in the paper."""
    base = "mars-submit-0"
    if name != "mars-submit-4" or base not in cell["rates"]:
        return "-"
    seed = plan.seed_of(*grid_key, cell["size_bytes"], cell["buffer"], name)
    found = stats.ratio(cell["rates"][name], cell["rates"][base], seed)
    return "{:+.0f} % [{:+.0f}, {:+.0f}]".format(
        *(100 * (found[key] - 1) for key in ("ratio", "low", "high"))) if found else "-"


def flight_lines(grid):
    """Figure 7."""
    key = (grid["kernel"], grid["profile"], grid["fs"])
    rows = [["buffer", "request", "configuration", "MiB/s", "MiB in flight", "ms a request",
             "against submit-0", "paper"]]
    goals = []
    order = [config.name for config in suites.SUITES[grid["suite"]].configs]
    for cell in grid["cells"]:
        for name in order:
            about = cell["configs"].get(name)
            if not about:
                continue
            four = four_text(cell, name, key)
            rows.append([cell["buffer"], suites.format_size(cell["size_bytes"]), name, rate(about),
                         flight_text(about, "bytes", suites.MIB), flight_text(about, "wait", 1),
                         four, PAPER_SUBMIT.get(grid["profile"], "-") if four != "-" else "-"])
        goals += flight_goal(cell, key)
    return ["bandwidth; mean bytes in flight and mean time of a request, by the device's own "
            "counters;", "median (lowest-highest), ratio with 95 % interval", columns(rows)] + goals


def beside_of(rows):
    """ms that a read took, and MiB/s of the program beside it: median, lowest, highest."""
    rows = [row for row in rows if row["beside_seconds"] > 0]
    found = {}
    for name, values in (
            ("read", [1000 * row["seconds"] / row["reads"] for row in rows]),
            ("other", [row["beside_bytes"] / suites.MIB / row["beside_seconds"] for row in rows])):
        if values:
            found[name] = stats.describe(values)
    return found


def beside_text(about, name):
    found = about["beside"][name]
    return "{median:.1f} ({min:.1f}-{max:.1f})".format(**found)


def harm_lines(grid):
    """What a large reader does to small ones, and what it gets itself."""
    rows = [["request", "configuration", "ms a read", "MiB/s of the large reader"]]
    for cell in grid["cells"]:
        for name, about in sorted(cell["configs"].items()):
            if about["beside"]:
                rows.append([suites.format_size(cell["size_bytes"]), name,
                             beside_text(about, "read"), beside_text(about, "other")])
    return ["small reads beside a large reader; median (lowest-highest)", columns(rows)]


def rate_bars(cell, config):
    about = cell["configs"].get(config)
    return [about[key] for key in ("median", "min", "max")] if about else None


def copy_bars(cell, config):
    return milliseconds(cell, config)


def share_bars(cell, config):
    found = cell["configs"].get(config, {}).get("shares", {}).get("masked")
    return [found["median"], found["min"], found["max"]] if found else None


class View(NamedTuple):
    """How a suite is printed.

    lines  the table of a grid
    unit   of its chart
    bars   (cell, configuration) -> median, lowest and highest value of a bar
    reads  the table of reads stands above
    """

    lines: Callable
    unit: str
    bars: Callable
    reads: bool = False


VIEWS = {
    "copy": View(copy_lines, "ms", copy_bars),
    "flight": View(flight_lines, "MiB/s", rate_bars),
    "harm": View(harm_lines, "MiB/s", rate_bars, reads=True),
    "shares": View(share_lines, "% of the bytes copied during I/O", share_bars),
}


def view_of(suite_name):
    suite = suites.SUITES.get(suite_name)
    return VIEWS.get(suite.view) if suite else None
