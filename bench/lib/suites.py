# SPDX-License-Identifier: GPL-2.0-only
"""The suites: each one a declaration of a grid of cells and of configurations.

To add a suite, add a Suite to SUITES; nothing else needs to change as long as
rdbench (the guest's program) knows the operation that it wants.
"""

from dataclasses import dataclass, replace

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Config:
    """One way to serve a read: a read-ahead setting, a state of MARS, an operation.

    name   as in results.csv: linux-default, linux-ra-<KiB>, mars, mars-<variant>, odirect ...
    ra     "default" or KiB
    mars   absent (not loaded), off (loaded, nothing enabled), other (enabled for another
           mount), on (enabled here)
    op     pread, odirect, willneed, random (FADV_RANDOM), mmap; copy (bench/kmod)
    knobs  (name, value) pairs written to the mount's entry, or with copy to the parameters
           of bench/kmod, while this configuration runs
    """

    name: str
    ra: str = "default"
    mars: str = "off"
    op: str = "pread"
    knobs: tuple = ()


LINUX_DEFAULT = Config("linux-default")
MARS = Config("mars", mars="on")


def linux_ra(kib):
    return Config(f"linux-ra-{kib}", ra=str(kib))


def mars_variant(variant, **knobs):
    """mars-<variant>: MARS with these knobs instead of their defaults."""
    return Config(f"mars-{variant}", mars="on", knobs=tuple(sorted(knobs.items())))


@dataclass(frozen=True)
class Gate:
    """What a suite is to show of one configuration, in each grid on its own.

    config   of MARS
    against  a comparator: linux-default, linux-best, linux-best-single
    mean     the geometric mean of the ratios must reach this; besides, no cell may lie
             below 0.97 with its whole interval
    pick     (key, value) pairs that the cells concerned have; none: all cells
    profiles the devices it is about; none: all
    """

    config: str
    against: str
    mean: float
    pick: tuple = ()
    profiles: tuple = ()


@dataclass(frozen=True)
class Suite:
    """A grid (every combination of patterns, sizes, buffers, hits) times configs.

    hit_pcts    shares of each request that are cached beforehand
    hit_layouts where, for a share between 0 and 100: scattered (blocks of 64 KiB drawn at
                random), prefix, suffix (in one piece)
    gates       what the suite is to show
    also        more cells, each a dictionary of axes that differ from the suite's own:
                printed beside the others, but left out of verdicts and of the choice of the
                best single setting, with a thin sweep, in every third round, without A/A
    aa          configurations of the A/A rounds: some of Linux and of MARS, not the whole sweep
    steps       an ablation: configurations, each with something more than the one before it
    shown       which of them are compared with Linux, in a table each
    sectors     print how many sectors the device delivered for each one asked for
    sweep       also measure Linux at every read_ahead_kb of the sweep
    min_total   bytes that a sample reads at least, in requests of the cell's size
    view        how it is printed: reads, copy, shares, flight or harm (lib/figures.py)
    beside      size of another program's cold random requests meanwhile
    smp         CPUs of the guest, when nobody says otherwise
    icount      run the guest on a virtual clock of one nanosecond an instruction, and
                report instructions a read instead of MiB/s
    other       the guest gets a second file system (for mars=other)
    goals       configuration -> overhead in per cent that the suite is to stay within
    """

    name: str
    title: str
    sizes: tuple
    patterns: tuple = ("random",)
    buffers: tuple = ("reused", "fresh")
    hit_pcts: tuple = (0,)
    hit_layouts: tuple = ("scattered",)
    profiles: tuple = ("array", "ssd", "nvme")
    fs: tuple = ("xfs",)
    configs: tuple = (LINUX_DEFAULT, MARS)
    sweep: bool = False
    min_total: int = 64 * MIB
    min_requests: int = 1
    file_size: int = 0
    view: str = "reads"
    icount: bool = False
    other: bool = False
    goals: tuple = ()
    gates: tuple = ()
    also: tuple = ()
    aa: tuple = ("linux-default", "mars")
    steps: tuple = ()
    shown: tuple = ()
    sectors: bool = False
    smp: int = 0
    beside: int = 0


@dataclass(frozen=True)
class Cell:
    """One combination of a grid. The layout is "none" where nothing or all is cached."""

    suite: str
    pattern: str
    size: int
    hit_pct: int
    hit_layout: str
    buffer: str
    extra: bool = False


# A stream is read for long enough that its beginning does not count, and a thin sweep of
# it reaches further than its request: it profits from that.
STREAM_TOTAL = 256 * MIB
STREAM_REQUESTS = 2
STREAM_SWEEP_TOP = 8 * MIB

# Block of a scattered hit, and what a share is rounded down to.
HIT_RUN = 64 * KIB
GRID_SIZES = (256 * KIB, 1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 128 * MIB)

# Masking from nothing to everything; "ordered" is what the knobs' defaults say.
MASKING = (
    mars_variant("base", fault_in=0, early_copy="off"),
    mars_variant("fault-in", fault_in=1, early_copy="off"),
    mars_variant("ordered", fault_in=1, early_copy="ordered"),
    mars_variant("any", fault_in=1, early_copy="any"),
)
# All of a request allocated, inserted and submitted before the first copy: the paper's
# order. Then what masks the wait, in batches; then idle CPUs.
FIG10 = (
    mars_variant("staged", window_bytes="128M", batch_bytes="128M", depth="fixed", fault_in=0,
                 early_copy="off", copy_executors="1"),
    mars_variant("masked", copy_executors="1"),
    mars_variant("final", copy_executors="auto"),
)
# The reader submits alone, with three others, with as many as MARS finds best.
SUBMIT = tuple(mars_variant(f"submit-{n}", submit_executors=n) for n in ("0", "4", "auto"))
DEPTHS = (mars_variant("fixed", depth="fixed"), MARS)
# Every read on its own, and with the next one under way when it returns.
STREAMS = (mars_variant("alone", lookahead_bytes="0"), MARS)
FRESH = (("buffer", "fresh"),)
EARLY_COPY = tuple(mars_variant(word, early_copy=word) for word in ("off", "ordered", "any"))


def copies(folio, order):
    return (
        Config(f"copy-{folio}", op="copy", knobs=(("fault_in", 1), ("order", order))),
        Config(f"copy-faulting-{folio}", op="copy", knobs=(("fault_in", 0), ("order", order))),
    )


COPIES = copies("2M", 9) + copies("4K", 0)

COLD_RANDOM = (("pattern", "random"), ("buffer", "reused"), ("hit_pct", 0))

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="random",
            title="cold reads at random offsets",
            sizes=GRID_SIZES,
            sweep=True,
        ),
        Suite(
            name="sequential",
            title="cold reads from the beginning of a file on, in order",
            patterns=("sequential",),
            sizes=GRID_SIZES,
            configs=(LINUX_DEFAULT,) + STREAMS,
            sweep=True,
            sectors=True,
            aa=("linux-default",) + tuple(config.name for config in STREAMS),
            steps=tuple(config.name for config in STREAMS),
            shown=("mars",),
        ),
        Suite(
            name="fig9",
            title="reads of 128 MiB that are cached in part: prefix, suffix, scattered",
            sizes=(128 * MIB,),
            buffers=("reused",),
            hit_pcts=(0, 25, 50, 75),
            hit_layouts=("prefix", "suffix", "scattered"),
            sweep=True,
            sectors=True,
            gates=(Gate("mars", "linux-best", 1.15),),
        ),
        Suite(
            name="fig6a",
            title="what faulting a buffer in costs beside copying, without a device",
            sizes=(8 * MIB, 32 * MIB, 128 * MIB),
            patterns=("memory",),
            buffers=("fresh", "fresh-4k"),
            hit_pcts=(100,),
            profiles=("memory",),
            fs=("none",),
            configs=COPIES,
            aa=tuple(config.name for config in COPIES),
            min_total=0,
            view="copy",
        ),
        Suite(
            name="fig6b",
            title="how much of a cold read is copied while its I/O is outstanding",
            sizes=(16 * MIB, 64 * MIB, 128 * MIB),
            profiles=("ssd", "array"),
            configs=EARLY_COPY,
            aa=tuple(config.name for config in EARLY_COPY),
            view="shares",
        ),
        Suite(
            name="ablation",
            title="what fault-in and early copy during the wait are worth",
            sizes=(16 * MIB, 64 * MIB, 128 * MIB),
            configs=(LINUX_DEFAULT,) + MASKING,
            sweep=True,
            aa=("linux-default",) + tuple(config.name for config in MASKING),
            steps=tuple(config.name for config in MASKING),
            shown=("mars-ordered",),
            gates=(
                Gate("mars-ordered", "linux-best", 1.15, pick=FRESH, profiles=("array",)),
                Gate("mars-ordered", "linux-best", 1.0, pick=FRESH, profiles=("ssd", "nvme")),
            ),
        ),
        Suite(
            name="grid",
            title="cold random reads, judged; fresh buffers, streams, cached reads beside them",
            sizes=GRID_SIZES,
            buffers=("reused",),
            profiles=("array", "ssd", "nvme", "nvme-limited"),
            fs=("xfs", "ext4"),
            sweep=True,
            sectors=True,
            gates=(
                Gate("mars", "linux-best", 1.0, pick=COLD_RANDOM),
                Gate("mars", "linux-best-single", 1.15, pick=COLD_RANDOM),
            ),
            also=(
                {"buffers": ("fresh",)},
                {"patterns": ("sequential",)},
                {"hit_pcts": (50, 100)},
            ),
        ),
        Suite(
            name="warm",
            title="fully cached reads, with one executor, two, and as many as MARS likes",
            sizes=(1 * MIB, 2 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 128 * MIB),
            hit_pcts=(100,),
            profiles=("mem",),
            fs=("xfs", "ext4"),
            configs=(
                LINUX_DEFAULT,
                mars_variant("executors1", copy_executors="1"),
                mars_variant("executors2", copy_executors="2"),
                mars_variant("auto", copy_executors="auto"),
            ),
            min_total=128 * MIB,
        ),
        Suite(
            name="fig10",
            title="the paper's figure 10: staged alone, with masking, with workers",
            sizes=(16 * MIB, 32 * MIB, 128 * MIB),
            configs=(LINUX_DEFAULT,) + FIG10,
            sweep=True,
            aa=("linux-default",) + tuple(config.name for config in FIG10),
            steps=tuple(config.name for config in FIG10),
            shown=("mars-final",),
        ),
        Suite(
            name="depth",
            title="the whole window in flight, and as much as MARS finds enough",
            sizes=(4 * MIB, 16 * MIB, 64 * MIB, 128 * MIB),
            buffers=("reused",),
            profiles=("array", "ssd", "nvme", "nvme-limited"),
            configs=(LINUX_DEFAULT,) + DEPTHS,
            aa=("linux-default",) + tuple(config.name for config in DEPTHS),
            steps=tuple(config.name for config in DEPTHS),
            shown=("mars",),
            min_total=128 * MIB,
        ),
        Suite(
            name="harm",
            title="small cold reads beside a program that reads 64 MiB at a time, under the same "
                  "setting",
            sizes=(256 * KIB,),
            buffers=("reused",),
            configs=(LINUX_DEFAULT,) + DEPTHS,
            aa=("linux-default",) + tuple(config.name for config in DEPTHS),
            shown=("mars",),
            sweep=True,
            gates=(Gate("mars", "linux-default", 1.0),),
            min_total=8 * MIB,
            file_size=GIB,
            beside=64 * MIB,
            view="harm",
        ),
        Suite(
            name="fig7",
            title="the paper's figure 7: I/O submitted by the reader alone, with three others, "
                  "with as many as MARS finds best",
            sizes=(8 * MIB, 32 * MIB, 128 * MIB),
            buffers=("reused",),
            profiles=("ssd", "nvme", "raid0-nvme", "raid0-null"),
            configs=(LINUX_DEFAULT,) + SUBMIT,
            aa=("linux-default",) + tuple(config.name for config in SUBMIT),
            min_total=128 * MIB,
            view="flight",
            smp=4,
        ),
        Suite(
            name="small",
            title="what small cached reads pay for MARS",
            sizes=(4 * KIB, 64 * KIB),
            buffers=("reused",),
            hit_pcts=(100,),
            profiles=("mem",),
            fs=("xfs", "ext4"),
            configs=(
                Config("linux-default", mars="absent"),
                Config("mars-loaded", mars="off"),
                Config("mars-other", mars="other"),
                MARS,
            ),
            min_total=2 * MIB,
            min_requests=64,
            file_size=64 * MIB,
            icount=True,
            other=True,
            goals=(("mars-loaded", 0.0), ("mars-other", 2.0), ("mars", 4.0)),
        ),
    )
}

# Names that stand for several.
GROUPS = {"fig6": ("fig6a", "fig6b")}

# What bench/run does without --suite; the others take an hour and more each.
DEFAULT = ("random", "sequential", "small")

# Bytes of the file that is read: large enough that the requests of a sample lie far apart,
# small enough to be written quickly. A profile that is not named here gets "default".
FILE_SIZES = {"mem": 512 * MIB, "dir": 8 * GIB, "default": 2 * GIB}


def expanded(names):
    return [name for one in names for name in GROUPS.get(one, (one,))]


def file_size(suite, profile):
    return suite.file_size or FILE_SIZES.get(profile, FILE_SIZES["default"])


# These keep no data, so that reading them costs no CPU: a file system's own blocks have to
# live elsewhere, which only XFS can do.
WITHOUT_DATA = ("array", "ssd", "raid0-null")


def can_live(profile, fs):
    return fs == "xfs" or profile not in WITHOUT_DATA


def product_of(suite, extra):
    return [
        Cell(suite.name, pattern, size, hit_pct, layout, buffer, extra)
        for pattern in suite.patterns
        for buffer in suite.buffers
        for hit_pct in suite.hit_pcts
        for layout in (suite.hit_layouts if 0 < hit_pct < 100 else ("none",))
        for size in suite.sizes
    ]


def cells_of(suite):
    """The suite's own grid, then its other cells, none twice."""
    cells = product_of(suite, False)
    for axes in suite.also:
        for cell in product_of(replace(suite, **axes), True):
            if cell not in cells and replace(cell, extra=False) not in cells:
                cells.append(cell)
    return cells


def is_extra(name, cell):
    """Of a cell made from samples alone: is it one that its suite prints but does not judge?"""
    suite = SUITES.get(name)
    return bool(suite and suite.also) and not (
        cell["pattern"] in suite.patterns and cell["buffer"] in suite.buffers and
        cell["hit_pct"] in suite.hit_pcts)


def total_of(suite, cell):
    """Bytes that one sample of the cell reads: whole requests, enough to be timed."""
    least, requests = suite.min_total, suite.min_requests
    if cell.pattern == "sequential":
        least, requests = max(least, STREAM_TOTAL), max(requests, STREAM_REQUESTS)
    return max(-(-least // cell.size), requests) * cell.size


def sweep_of(size, largest, thin, thin_top=0):
    """read_ahead_kb values for one request size.

    Whole: powers of two from 128 KiB to the largest request of the grid (so that the
    best single setting is measured in every cell, not guessed). Thin: every other power,
    to the request's own size, without 128 KiB, for which the default stands.
    """
    top = max(size, thin_top) if thin else largest
    step = 4 if thin else 2
    kib = 512 if thin else 128
    values = []
    while kib * KIB <= top:
        values.append(kib)
        kib *= step
    if thin and size // KIB > 128:
        values.append(size // KIB)
    return sorted(set(values))


def configs_of(suite, cell, thin):
    configs = list(suite.configs)
    # Read-ahead makes no difference to what is cached already.
    if suite.sweep and cell.hit_pct < 100:
        top = STREAM_SWEEP_TOP if cell.pattern == "sequential" else 0
        sweep = sweep_of(cell.size, max(suite.sizes), thin or cell.extra, top)
        configs[1:1] = [linux_ra(kib) for kib in sweep]
    return configs


def narrowed(suite, **changes):
    """The suite with some of its axes replaced from the command line.

    Its other cells stay where they are among what is wanted.
    """
    changes = {key: value for key, value in changes.items() if value}
    also = []
    for axes in suite.also:
        kept = {key: tuple(value for value in values if value in changes.get(key, values))
                for key, values in axes.items()}
        if all(kept.values()):
            also.append(kept)
    return replace(suite, also=tuple(also), **changes)


def format_hit(hit_pct, layout):
    return f"{hit_pct} %" + (f" {layout}" if 0 < hit_pct < 100 else "")


def parse_size(text):
    unit = {"K": KIB, "M": MIB, "G": GIB}.get(text[-1:].upper(), 1)
    digits = text[:-1] if unit != 1 else text
    if not digits.isdigit():
        raise ValueError(f'"{text}" is not a size: digits and at most one of K, M, G')
    return int(digits) * unit


def format_size(size):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
