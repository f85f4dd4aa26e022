# SPDX-License-Identifier: GPL-2.0-only
"""The paper's figure 6: what faulting in costs, and how much is copied during the wait."""

from . import plan, stats, suites
from .columns import columns, rate

# What the paper measured, on its hardware.
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
        found[name] = {"median": stats.median(values), "min": min(values), "max": max(values)}
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


def copy_bars(cell, config):
    return milliseconds(cell, config)


def share_bars(cell, config):
    found = cell["configs"].get(config, {}).get("shares", {}).get("masked")
    return [found["median"], found["min"], found["max"]] if found else None


# view of a suite -> (table, unit of its chart, function from (cell, configuration) to the
# median, lowest and highest value of a bar)
VIEWS = {
    "copy": (copy_lines, "ms", copy_bars),
    "shares": (share_lines, "% of the bytes copied during I/O", share_bars),
}


def view_of(suite_name):
    suite = suites.SUITES.get(suite_name)
    return VIEWS.get(suite.view) if suite else None
