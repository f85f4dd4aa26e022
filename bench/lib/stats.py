# SPDX-License-Identifier: GPL-2.0-only
"""Median, spread, ratio with a bootstrap interval. Nothing beyond the standard library."""

import math
import random
from statistics import median

RESAMPLES = 2000


def quantile(values, share):
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def describe(values):
    return {
        "n": len(values),
        "median": median(values),
        "min": min(values),
        "max": max(values),
        "q1": quantile(values, 0.25),
        "q3": quantile(values, 0.75),
    }


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio(ours, theirs, seed):
    """Ratio of medians of two {round: value}, with its 95 % interval.

    Whole rounds are drawn, not single samples: what disturbs a round disturbs both sides.
    """
    rounds = sorted(set(ours) & set(theirs))
    if not rounds:
        return None
    value = median(ours[r] for r in rounds) / median(theirs[r] for r in rounds)
    draw = random.Random(seed)
    seen = []
    for _ in range(RESAMPLES):
        picked = draw.choices(rounds, k=len(rounds))
        seen.append(median(ours[r] for r in picked) / median(theirs[r] for r in picked))
    return {"ratio": value, "low": quantile(seen, 0.025), "high": quantile(seen, 0.975),
            "rounds": len(rounds)}
