"""Prints a table of all seeded bugs: the clause that catches each, after how many histories, in how many seconds.

The seconds are those of a hunt with its minimising. With --alone it looks for clauses that a bug breaks besides its
own, in 30 walks for each seed. A bug whose calls hang is hunted with a few of the seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from kvoffload.contract import Verdict
from kvoffload.contract.clauses import Subject
from tests.stateful.parallel import SideBySide
from tests.stateful.seeded import BUGS, CORRECT, Hunt, SeededBug, hunt
from tests.stateful.seeded.bug import PROBED, breaks_besides

SEEDS_FOR_HANGING = 3
BUGS_BY_NAME = {bug.name: bug for bug in BUGS}
UNUSUAL_BY_NAME = {unusual.name: unusual for unusual in CORRECT}
SUBJECTS: tuple[Subject, ...] = ("policy", "manager")
WIDTH = max(map(len, (*BUGS_BY_NAME, *UNUSUAL_BY_NAME)))


class Job(NamedTuple):
    """What to look for, and how often."""

    name: str
    seeds: int
    alone: bool = False


class Row(NamedTuple):
    """What was found.

    Attributes:
        hunts: one for each seed.
        besides: other clauses that the bug breaks.
    """

    hunts: tuple[Hunt, ...]
    besides: tuple[str, ...] = ()


def main() -> int:
    """Hunt every bug with so many seeds, and no bug in what is correct; 1 if either goes wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.stateful.seeded",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=20, help="how often each is hunted, each time with another seed")
    parser.add_argument("--alone", action="store_true", help="look for other broken clauses as well: twice the time")
    parser.add_argument("names", nargs="*", help="only bugs of these names or clauses")
    options = parser.parse_args()
    unknown = set(options.names).difference(BUGS_BY_NAME, UNUSUAL_BY_NAME, (bug.clause for bug in BUGS))
    if unknown:
        parser.error(f"no bug and no clause is named {', '.join(sorted(unknown))}")
    wanted = [bug for bug in BUGS if not options.names or {bug.name, bug.clause} & set(options.names)]
    kept = [it for it in CORRECT if not options.names or it.name in options.names]
    jobs = [Job(bug.name, options.seeds, options.alone) for bug in wanted]
    checks = [Job(unusual.name, options.seeds) for unusual in kept]
    rows = SideBySide(look, jobs + checks)
    try:
        num_wrong = _print_bugs(wanted, jobs, rows) + _print_correct(checks, rows)
    finally:
        rows.close()
    return 1 if num_wrong else 0


def look(job: Job) -> Row:
    """Do what the job says."""
    bug = BUGS_BY_NAME.get(job.name)
    if bug is None:
        return Row(tuple(_look_at_correct(job.name, number) for number in range(job.seeds)))
    # A probe looks at the same history whatever the seed.
    most = 1 if bug.clause in PROBED else SEEDS_FOR_HANGING if bug.hangs else job.seeds
    seeds = range(min(job.seeds, most))
    hunts = tuple(hunt(bug, number=number) for number in seeds)
    besides = {breaks_besides(bug, number) for number in seeds} if job.alone else set()
    return Row(hunts, tuple(sorted(id for id in besides if id is not None)))


def _look_at_correct(name: str, seed: int) -> Hunt:
    report = UNUSUAL_BY_NAME[name].check(seed)
    if report.verdict is Verdict.KEPT:
        return Hunt(None, report.examples, report.seconds)
    return Hunt(", ".join((*report.broken, *(f"never {it}" for it in report.never))), report.examples, report.seconds)


def _print_bugs(bugs: Sequence[SeededBug], jobs: Sequence[Job], rows: SideBySide[Job, Row]) -> int:
    print(f"{'bug':{WIDTH}}  {'clause':21}  {'histories':>9}  {'worst':>5}  {'seconds':>7}  {'worst':>6}  source")
    wrong = dict.fromkeys(SUBJECTS, 0)
    for bug, job in zip(bugs, jobs, strict=True):
        wrong[bug.subject] += not _print_bug(bug, rows[job])
    for subject in SUBJECTS:
        some = [bug for bug in bugs if bug.subject == subject]
        num_clauses = len({bug.clause for bug in some})
        print(f"{subject}: {len(some)} bugs, {num_clauses} clauses, {wrong[subject]} not as they should be")
    return sum(wrong.values())


def _print_bug(bug: SeededBug, row: Row) -> bool:
    histories, seconds = [it.examples for it in row.hunts], [it.seconds for it in row.hunts]
    wrong = sorted({it.clause or "nothing" for it in row.hunts} - bug.clauses)
    wrong += [f"{id} besides" for id in row.besides]
    print(
        f"{bug.name:{WIDTH}}  {bug.clause:21}  {median(histories):9.0f}  {max(histories):5}  {median(seconds):7.2f}  "
        f"{max(seconds):6.2f}  {bug.source}"
        + (f"  (also {', '.join(bug.also)})" if bug.also else "")
        + (f"  BUT FOUND {', '.join(wrong)}" if wrong else ""),
        flush=True,
    )
    return not wrong


def _print_correct(jobs: Sequence[Job], rows: SideBySide[Job, Row]) -> int:
    num_broken = 0
    for job in jobs:
        broken = sorted({hunt.clause for hunt in rows[job].hunts if hunt.clause is not None})
        num_broken += bool(broken)
        verdict = f"BROKEN: {', '.join(broken)}" if broken else "kept, as it should be"
        print(f"{job.name:{WIDTH}}  {verdict}", flush=True)
    if jobs:
        print(f"correct but unusual: {len(jobs)}, {num_broken} not as they should be")
    return num_broken


if __name__ == "__main__":
    sys.exit(main())
