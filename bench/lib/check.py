# SPDX-License-Identifier: GPL-2.0-only
"""Did each sample measure what its label says? Otherwise the figures mean nothing."""

from .suites import format_size, parse_size


def place(row):
    return (f"{row['suite']} {row['profile']} {row['fs']} {row['pattern']} "
            f"{format_size(row['size_bytes'])} {row['buffer']} hit {row['hit_pct']} % "
            f"{row['config']} round {row['round']}")


def cache_faults(row):
    pages = row["bytes"] // 4096
    if row["hit_pct"] == 0 and row["resident_pages"]:
        yield f"not cold: {row['resident_pages']} of {pages} pages were cached"
    if row["hit_pct"] == 100 and row["resident_pages"] != pages:
        yield f"not cached: only {row['resident_pages']} of {pages} pages were"


def mars_faults(row, min_read):
    enabled = row["config"].startswith("mars") and row["config"] not in ("mars-loaded",
                                                                        "mars-other")
    if not enabled and row["mars_reads"] > 0:
        yield f"MARS was to stay out of it but served {row['mars_reads']} reads"
    if enabled and row["size_bytes"] >= min_read and row["mars_reads"] < row["reads"]:
        yield f"MARS served {row['mars_reads']} of {row['reads']} reads"


def device_faults(row, min_read):
    """A cold random read through MARS brings in what was asked for and nothing else.

    One part in a thousand is left for the file system's own blocks.
    """
    if (row["config"] != "mars" or row["pattern"] != "random" or row["hit_pct"] or
            row["size_bytes"] < min_read or row["sectors_read"] < 0):
        return
    want = row["bytes"] // 512
    if abs(row["sectors_read"] - want) > want // 1000:
        yield f"{row['sectors_read']} sectors were read from the device for {want} requested"


def faults(rows, env):
    """Texts, one for each sample that is not what it says."""
    min_read = parse_size(env.get("mars_default_min_read_bytes", "1M"))
    found = []
    for row in rows:
        for fault in (*cache_faults(row), *mars_faults(row, min_read),
                      *device_faults(row, min_read)):
            found.append(f"{place(row)}: {fault}")
    return found
