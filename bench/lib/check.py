# SPDX-License-Identifier: GPL-2.0-only
"""Did each sample measure what its label says? Otherwise the figures mean nothing."""

from .suites import HIT_RUN, format_hit, format_size, parse_size


# Of the bytes read, what the file system's own blocks on the same device may add.
SLACK = 0.001


def asked(row):
    """Bytes that the device has to deliver for this sample."""
    return row["bytes"] - row["resident_pages"] * 4096


def place(row):
    return (f"{row['suite']} {row['profile']} {row['fs']} {row['pattern']} "
            f"{format_size(row['size_bytes'])} {row['buffer']} "
            f"hit {format_hit(row['hit_pct'], row['hit_layout'])} "
            f"{row['config']} round {row['round']}")


def cache_faults(row):
    pages = row["bytes"] // 4096
    cached = row["resident_pages"]
    if row["hit_pct"] == 0 and cached:
        yield f"not cold: {cached} of {pages} pages were cached"
    if row["hit_pct"] == 100 and cached != pages:
        yield f"not cached: only {cached} of {pages} pages were"
    if 0 < row["hit_pct"] < 100:
        blocks = row["size_bytes"] // HIT_RUN * row["hit_pct"] // 100
        want = row["reads"] * blocks * HIT_RUN // 4096
        if cached != want:
            yield f"{cached} of {pages} pages were cached, not {want}"


def enabled_here(config):
    return config.startswith("mars") and config not in ("mars-loaded", "mars-other")


def mars_faults(row, min_read):
    enabled = enabled_here(row["config"])
    if not enabled and row["mars_reads"] > 0:
        yield f"MARS was to stay out of it but served {row['mars_reads']} reads"
    if enabled and row["size_bytes"] >= min_read and row["mars_reads"] < row["reads"]:
        yield f"MARS served {row['mars_reads']} of {row['reads']} reads"
    if enabled and row["beside_bytes"] > 0 and row["mars_reads"] <= 0:
        yield "MARS served no read of the program beside it"


def device_faults(row, min_read):
    """A random read through MARS brings in what was asked for and not cached, no more."""
    if (not enabled_here(row["config"]) or row["pattern"] != "random" or
            row["size_bytes"] < min_read or row["sectors_read"] < 0):
        return
    want = asked(row) // 512
    if abs(row["sectors_read"] - want) > row["bytes"] // 512 * SLACK:
        yield f"{row['sectors_read']} sectors were read from the device for {want} asked for"


def faults(rows, env):
    """Texts, one for each sample that is not what it says."""
    min_read = parse_size(env.get("mars_default_min_read_bytes", "1M"))
    found = []
    for row in rows:
        for fault in (*cache_faults(row), *mars_faults(row, min_read),
                      *device_faults(row, min_read)):
            found.append(f"{place(row)}: {fault}")
    return found
