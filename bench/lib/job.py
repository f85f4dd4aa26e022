# SPDX-License-Identifier: GPL-2.0-only
"""Running one job: a suite on one kernel, profile and file system, in one boot."""

import csv
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from . import kmod, plan, suites

BENCH = Path(__file__).resolve().parent.parent
# Share of the guest's memory that is used once before anything is timed: the emulator has to
# find it when it is touched first.
TOUCH = 75
GUEST_KMOD = "/mars/bench/mars_bench.ko"
RUNNER = BENCH.parent / "test" / "vm" / "run"

HEADER = ("suite,kernel,fs,profile,pattern,size_bytes,hit_pct,buffer,config,round,bytes,seconds,"
          "reads,sectors_read,resident_pages,mars_reads,mars_bytes_missed,icount,hit_layout,"
          "mars_bytes,mars_bytes_masked,mars_bytes_out_of_order,mars_bytes_faulted_in,"
          "device_requests,device_ms,beside_bytes,beside_seconds").split(",")
GUEST_FIELDS = ("reads", "sectors_read", "resident_pages", "mars_reads", "mars_bytes_missed",
                "mars_bytes", "mars_bytes_masked", "mars_bytes_out_of_order",
                "mars_bytes_faulted_in", "device_requests", "device_ms", "beside_bytes")


class Failure(Exception):
    """A job that gave no result. The message says what to look at."""


@dataclass
class Job:
    suite: suites.Suite
    kernel: str
    profile: str
    fs: str
    samples: list
    directory: Path
    rows: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    kmod: Path = None

    @property
    def name(self):
        return f"{self.suite.name}-{self.kernel}-{self.profile}-{self.fs}".replace("/", "_")


def compile_rdbench(out):
    target = out / "rdbench"
    sources = sorted(str(path) for path in (BENCH / "rdbench").glob("*.c"))
    command = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-static", "-o", str(target)]
    done = subprocess.run(command + sources, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"bench/rdbench does not compile (a static libc is needed):\n{done.stderr}")
    return target


def read_env(path):
    env = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.rstrip("\n").partition("=")
            env[key] = value
    return env


def rows_of(job, sample, raw):
    """Rows of results.csv: what the guest measured joined with what was planned.

    A sample of bench/kmod that faults in before it copies is two.
    """
    copy = row_of(job, sample, raw)
    fault_in = float(raw["fault_in_seconds"])
    if fault_in <= 0:
        return [copy]
    name = copy["config"].replace("copy", "fault-in", 1)
    return [{**copy, "config": name, "seconds": fault_in}, copy]


def row_of(job, sample, raw):
    row = {
        "suite": sample.suite, "kernel": job.kernel, "fs": job.fs, "profile": job.profile,
        "pattern": sample.cell.pattern, "size_bytes": sample.cell.size,
        "hit_pct": sample.cell.hit_pct, "hit_layout": sample.cell.hit_layout,
        "buffer": sample.cell.buffer, "config": sample.config.name, "round": sample.round,
        "bytes": int(raw["bytes"]), "seconds": float(raw["seconds"]),
        "icount": int(job.suite.icount),
    }
    row.update((key, int(raw[key])) for key in GUEST_FIELDS)
    row["beside_seconds"] = float(raw["beside_seconds"])
    return row


def read_raw(job, path):
    """Fills job.rows from what rdbench printed."""
    complete = False
    by_id = {str(sample.id): sample for sample in job.samples}
    with open(path, encoding="ascii", errors="replace", newline="") as lines:
        for raw in csv.DictReader(lines):
            if raw["id"] == "end":
                complete = True
                break
            job.rows += rows_of(job, by_id[raw["id"]], raw)
    if not complete:
        raise Failure(f"{job.name}: {path} stops before the end of the plan")


def follow(process, log, echo):
    """Copies the guest's output to a file; shows the rounds as they begin."""
    for line in process.stdout:
        log.write(line)
        log.flush()
        text = line.decode("utf-8", "replace").strip()
        if echo and "rdbench: round" in text:
            print("  " + text[text.index("rdbench: round") + 9:], file=sys.stderr, flush=True)


def execute(command, job, timeout):
    """Runs the command with its output in guest.log; raises Failure when it fails."""
    path = job.directory / "guest.log"
    with open(path, "wb") as log:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL) as process:
            reader = threading.Thread(target=follow, args=(process, log, True))
            reader.start()
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.terminate()
                status = f"no end within {timeout} s"
            except BaseException:
                process.terminate()
                raise
            finally:
                reader.join(30)
    if status:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = "\n".join("  | " + line for line in lines[-12:])
        raise Failure(f"{job.name}: the run failed ({status}). {path} ends:\n{tail}")


def estimate(samples, suite):
    """Seconds that are surely enough, a stuck guest aside."""
    if suite.icount:
        return 600 + 4 * len(samples)
    megabytes = sum(suites.total_of(suite, s.cell) for s in samples) / suites.MIB
    return int(600 + len(samples) * 1.5 + megabytes / 40)


def guest_arguments(options, job, with_mars, need):
    suite = job.suite
    arguments = [f"file={suites.file_size(suite, job.profile)}", f"need={need}",
                 f"budget={options.budget}", f"cold={options.cold}"]
    if suite.view == "copy":
        arguments.append(f"kmod={job.kmod if options.dir else GUEST_KMOD}")
        if not options.dir:
            return arguments + ["plan=/mars/bench/plan", f"touch={TOUCH}"]
    if options.dir:
        return arguments + [f"dir={options.dir}", f"out={job.directory}",
                            f"plan={job.directory / 'plan'}", f"bin={options.rdbench.parent}",
                            f"module={'loaded' if with_mars else 'none'}"]
    arguments += ["dir=/mnt/bench", f"fs={job.fs}", "plan=/mars/bench/plan",
                  f"touch={0 if suite.icount else TOUCH}", "data=/dev/mars-disk0",
                  f"module={'/mars/mars.ko' if with_mars else 'none'}"]
    if suite.other:
        arguments.append(f"other={job.fs}")
    return arguments


def runner_command(options, job, timeout, with_mars):
    command = [str(RUNNER)]
    if options.bzimage:
        command += ["--bzimage", options.bzimage, "--modules", options.modules,
                    "--kdir", options.kdir]
    else:
        command += ["--kernel", job.kernel]
    command += ["--timeout", str(timeout), "--out", str(job.directory),
                "--add", str(options.rdbench),
                "--add", f"{job.directory / 'plan'}:/mars/bench/plan"]
    if job.suite.view == "copy":
        command += ["--add", f"{job.kmod}:{GUEST_KMOD}"]
    else:
        disks = [job.profile] * (2 if job.suite.other else 1)
        command += ["--disk", ",".join(disks)]
    if options.smp or job.suite.smp:
        command += ["--smp", str(options.smp or job.suite.smp)]
    if options.mem:
        command += ["--mem", options.mem]
    if job.suite.icount:
        command.append("--icount")
    if not with_mars:
        command += ["--module", "none"]
    return command + ["--", str(BENCH / "guest.sh")]


def plan_seconds(job):
    """How long rdbench was at it, as it said itself."""
    log = (job.directory / "guest.log").read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"rdbench: done in (\d+) s", log)
    return int(found[-1]) if found else 0


def machine_kind(options, env):
    if not options.dir or "QEMU TCG" in env.get("cpu_model", ""):
        return "emulated"
    return "virtual" if env.get("hypervisor") == "yes" else "real"


def run(options, job):
    """Boots (or not, with --dir), measures, and fills job.rows and job.env."""
    job.directory.mkdir(parents=True, exist_ok=True)
    for stale in ("raw.csv", "env.txt"):
        (job.directory / stale).unlink(missing_ok=True)
    with_mars = plan.write(job.directory / "plan", job.suite, job.samples)
    if job.suite.view == "copy":
        try:
            job.kmod = kmod.build(options, job.kernel)
        except kmod.BuildError as error:
            raise Failure(f"{job.name}: {error}") from error
    need = len(plan.AA_ROUNDS) + min(options.rounds, 3)
    arguments = guest_arguments(options, job, with_mars, need)
    timeout = estimate(job.samples, job.suite)
    if options.dir:
        command = ["sh", str(BENCH / "guest.sh")]
    else:
        command = runner_command(options, job, timeout, with_mars)
    execute(command + arguments, job, timeout + 900)
    job.env = read_env(job.directory / "env.txt")
    read_raw(job, job.directory / "raw.csv")
    job.env["machine_kind"] = machine_kind(options, job.env)
    job.env["host_cpus"] = str(len(os.sched_getaffinity(0)))
