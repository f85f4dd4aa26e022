# SPDX-License-Identifier: GPL-2.0-only
"""Results on disk: results.csv, results.json, results.txt and the charts."""

import csv
import json

from . import chart, summary, table
from .job import HEADER

INTEGERS = {"size_bytes", "hit_pct", "bytes", "reads", "sectors_read", "resident_pages",
            "mars_reads", "mars_bytes_missed", "icount", "mars_bytes", "mars_bytes_masked",
            "mars_bytes_out_of_order", "mars_bytes_faulted_in", "device_requests", "device_ms",
            "beside_bytes"}


def write_csv(path, rows):
    with open(path, "w", encoding="ascii", newline="") as out:
        writer = csv.DictWriter(out, HEADER, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "seconds": f"{row['seconds']:.9f}",
                             "beside_seconds": f"{row['beside_seconds']:.9f}"})


def read_csv(path):
    """The samples. Columns that an older file does not have are "not known"."""
    with open(path, encoding="ascii", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        row["seconds"] = float(row["seconds"])
        row["beside_seconds"] = float(row.get("beside_seconds", 0))
        for key in INTEGERS & set(row):
            row[key] = int(row[key])
        for key in INTEGERS - set(row):
            row[key] = -1
        row.setdefault("hit_layout", "scattered" if 0 < row["hit_pct"] < 100 else "none")
    return rows


def env_key(grid):
    return "/".join(grid[key] for key in summary.GRID)


def without_rates(grid):
    """The samples are in results.csv; results.json summarizes."""
    cells = [{k: v for k, v in cell.items() if k != "rates"} for cell in grid["cells"]]
    return {**grid, "cells": cells}


def write_all(directory, rows, envs, faults, command):
    """Writes everything; returns (text, its last lines over all grids, paths of charts)."""
    grids = summary.summarize(rows)
    write_csv(directory / "results.csv", rows)
    document = {
        "command": command,
        "unit": "MiB/s; reads per million instructions where icount is true",
        "environments": envs,
        "faults": faults,
        "grids": [without_rates(grid) for grid in grids],
    }
    with open(directory / "results.json", "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
        out.write("\n")
    text = "\n".join(table.grid_text(grid, envs.get(env_key(grid), {})) for grid in grids)
    overall = table.overall(grids)
    text += "\n" + overall
    (directory / "results.txt").write_text(text, encoding="utf-8")
    charts = []
    for grid in grids:
        charts += chart.draw(grid, envs.get(env_key(grid), {}), directory)
    return text, overall, charts
