# SPDX-License-Identifier: GPL-2.0-only
"""From a suite to the list of timed samples, in the order in which they run."""

import random
import zlib
from dataclasses import dataclass
from fnmatch import fnmatch

from . import suites

SEED = 20240611
AA_ROUNDS = ("aa0", "aa1")
# Cells that are printed beside the others are measured in every third round.
EXTRA_EVERY = 3


@dataclass(frozen=True)
class Sample:
    """One timed sample, as planned."""

    id: int
    suite: str
    cell: suites.Cell
    config: suites.Config
    round: str


def seed_of(*parts):
    """A seed from a name: the same offsets for every configuration of a cell and round."""
    return zlib.crc32("/".join(map(str, parts)).encode()) ^ SEED


def wanted(config, patterns):
    return not patterns or any(fnmatch(config.name, pattern) for pattern in patterns)


def cells_in(cells, round_name):
    if round_name in AA_ROUNDS or int(round_name) % EXTRA_EVERY:
        return [cell for cell in cells if not cell.extra]
    return cells


def build(suite, rounds, thin, patterns):
    """All samples: the A/A rounds, then the others, cells and configurations shuffled."""
    all_cells = suites.cells_of(suite)
    samples = []
    for name in list(AA_ROUNDS) + [str(number) for number in range(rounds)]:
        shuffle = random.Random(seed_of(suite.name, name))
        cells = cells_in(all_cells, name)
        for cell in shuffle.sample(cells, len(cells)):
            configs = [c for c in suites.configs_of(suite, cell, thin) if wanted(c, patterns)]
            if name in AA_ROUNDS:
                configs = [c for c in configs if c.name in suite.aa] or configs[:1]
            for config in shuffle.sample(configs, len(configs)):
                samples.append(Sample(len(samples), suite.name, cell, config, name))
    return samples


def line_of(suite, sample, with_mars):
    cell, config = sample.cell, sample.config
    words = {
        "id": sample.id,
        "ra": config.ra,
        "mars": config.mars if with_mars else "absent",
        "op": config.op,
        "pattern": cell.pattern,
        "size": cell.size,
        "total": suites.total_of(suite, cell),
        "hit_pct": cell.hit_pct,
        "hit_run": suites.HIT_RUN,
        "buffer": cell.buffer,
        # Cached data stays cached from one round to the next only at the same offsets.
        "seed": seed_of(cell, "" if cell.hit_pct == 100 else sample.round),
    }
    if suite.beside:
        words["beside"] = suite.beside
    if cell.hit_layout != "none":
        words["hit_layout"] = cell.hit_layout
    words.update((f"knob.{name}", value) for name, value in config.knobs)
    return "sample " + " ".join(f"{key}={value}" for key, value in words.items())


def needs_mars(samples):
    return any(sample.config.mars in ("on", "other") for sample in samples)


def write(path, suite, samples):
    """The plan as rdbench reads it. Returns the number of A/A rounds and whether MARS runs."""
    with_mars = needs_mars(samples)
    current = None
    with open(path, "w", encoding="ascii") as out:
        for sample in samples:
            if sample.round != current:
                current = sample.round
                out.write(f"round {current}\n")
            out.write(line_of(suite, sample, with_mars) + "\n")
    return with_mars
