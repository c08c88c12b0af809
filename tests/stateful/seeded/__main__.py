"""Prints a table of all seeded bugs: the clause that catches each, after how many histories, in how many seconds."""

from __future__ import annotations

import argparse
import sys
from statistics import median

from kvoffload.contract.search import search
from tests.stateful.seeded import BUGS, CORRECT, SeededBug, hunt
from tests.stateful.seeded.bug import PROBED


def main() -> int:
    """Hunt every bug with so many seeds, and no bug in what is correct; 1 if either goes wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.stateful.seeded", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="how often each is hunted, each time with another seed")
    parser.add_argument(
        "--alone", action="store_true", help="look as well for clauses that a bug breaks besides its own"
    )
    parser.add_argument("names", nargs="*", help="only bugs of these names or clauses")
    options = parser.parse_args()
    wanted = [bug for bug in BUGS if not options.names or {bug.name, bug.clause} & set(options.names)]
    width = max((len(bug.name) for bug in BUGS), default=0)
    print(f"{'bug':{width}}  {'clause':21}  {'histories':>9}  {'worst':>5}  {'seconds':>7}  source")
    num_wrong = sum(not _print_bug(bug, range(options.seeds), options.alone, width) for bug in wanted)
    print(f"{len(wanted)} bugs, {len({bug.clause for bug in wanted})} clauses, {num_wrong} not as they should be")
    if not options.names:
        num_wrong += _print_correct(options.seeds, width).count(False)
    return 1 if num_wrong else 0


def _print_bug(bug: SeededBug, seeds: range, alone: bool, width: int) -> bool:
    hunts = [hunt(bug, number=number) for number in seeds]
    histories = [found.examples for found in hunts]
    row = (
        f"{bug.name:{width}}  {bug.clause:21}  {median(histories):9.0f}  {max(histories):5}  "
        f"{median(found.seconds for found in hunts):7.2f}  {bug.source}"
    )
    wrong = sorted({found.clause or "nothing" for found in hunts} - {bug.clause})
    if alone and bug.clause not in PROBED:
        other = search(bug.target, frozenset({bug.clause})).violation
        wrong += [] if other is None else [f"{other.clause.id} besides"]
    print(row + (f"  BUT FOUND {', '.join(wrong)}" if wrong else ""), flush=True)
    return not wrong


def _print_correct(num_seeds: int, width: int) -> list[bool]:
    kept = []
    for unusual in CORRECT:
        found = [search(unusual.target, number=number).violation for number in range(num_seeds)]
        broken = sorted({violation.clause.id for violation in found if violation is not None})
        kept.append(not broken)
        print(
            f"{unusual.name:{width}}  {'BROKEN: ' + ', '.join(broken) if broken else 'kept, as it should be'}",
            flush=True,
        )
    return kept


if __name__ == "__main__":
    sys.exit(main())
