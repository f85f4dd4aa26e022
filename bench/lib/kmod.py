# SPDX-License-Identifier: GPL-2.0-only
"""Building bench/kmod for the kernel that is measured."""

import os
import shlex
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
FETCH = BENCH.parent / "test" / "vm" / "fetch-kernel"


class BuildError(Exception):
    """The module cannot be had. The message says why."""


def build_directory(options, kernel):
    """What modules for this kernel are built against."""
    if options.dir:
        return f"/lib/modules/{os.uname().release}/build"
    if options.kdir:
        return options.kdir
    done = subprocess.run([str(FETCH), kernel], capture_output=True, text=True, check=False)
    for word in shlex.split(done.stdout):
        if word.startswith("KDIR="):
            return word[len("KDIR="):]
    raise BuildError(f"kernel {kernel} is not available:\n{done.stderr}")


def build(options, kernel):
    """mars_bench.ko for this kernel, below options.out."""
    stage = options.out / "kmod" / kernel.replace("/", "_")
    done = subprocess.run([str(BENCH / "kmod" / "build"), build_directory(options, kernel),
                           str(stage)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"bench/kmod does not build:\n{done.stderr}")
    return Path(done.stdout.strip())
