"""``python -m tests.peers.subject`` checks one class of one release, in a process of its own, and prints the report.

``python -m tests.peers.subject vllm 0.33.0 manager arc`` prints it as JSON; with ``--text``, as a reader wants it. What
is in the table of ``subjects.py`` is held to what the table says of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from kvoffload.contract import check_manager, check_policy
from kvoffload.contract.reports.exports import as_json
from kvoffload.contract.reports.report import Report
from tests.peers.download import PeerUnavailableError
from tests.peers.loader import load_lmcache, load_vllm
from tests.peers.subjects import OLDER, SUBJECTS, UNPROMISED, Subject

UNAVAILABLE = 4
"""The exit code that says: the release cannot be had here; the reason is on stderr."""

Made = tuple[Callable[[int], Any], str, str]
"""What makes the subject, and how a program names that: ``module:name``, and the arguments after the capacity."""


def check(subject: Subject, seed: int = 0) -> Report:
    """Run the contract on one class of a release.

    Raises:
        PeerUnavailableError: if the release cannot be downloaded.
    """
    make, target, arguments = _vllm(subject) if subject.package == "vllm" else _lmcache(subject)
    checked = check_manager if subject.kind == "manager" else check_policy
    return checked(
        make,
        order=subject.order,
        capabilities=subject.capabilities,
        expected_failures=subject.known,
        seed=seed,
        name=target,
        arguments=arguments,
    )


def _vllm(subject: Subject) -> Made:
    peer = load_vllm(subject.version)
    if subject.kind == "policy":
        return peer.policies[subject.policy], _path(peer.policies[subject.policy]), ""

    def make(num_blocks: int) -> Any:
        return peer.manager(num_blocks, cache_policy=subject.policy, enable_events=True)

    return make, _path(peer.manager), f', cache_policy="{subject.policy}", enable_events=True'


def _lmcache(subject: Subject) -> Made:
    peer = load_lmcache(subject.version)
    policies = peer.cache_policies if subject.kind == "in-process" else peer.eviction_policies
    policy = policies[subject.policy]
    return lambda _capacity: policy(), _path(policy), ""


def _path(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _text(report: Report) -> str:
    """The report, with the violations that were expected in front of it."""
    expected = [str(violation) for id, violation in report.broken.items() if id not in report.failures]
    return "\n\n".join([*expected, str(report)])


def _main() -> int:
    parser = argparse.ArgumentParser()
    for argument in ("package", "version", "kind", "policy"):
        parser.add_argument(argument)
    parser.add_argument("--order")
    parser.add_argument("--capability", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", action="store_true")
    given = parser.parse_args()
    called = (given.package, given.version, given.kind, given.policy)
    asked = Subject(*called, order=given.order, capabilities=tuple(given.capability))
    subject = next((it for it in (*SUBJECTS, *OLDER, *UNPROMISED) if str(it) == str(asked)), asked)
    if given.order not in (None, subject.order):
        subject = asked
    try:
        report = check(subject, given.seed)
    except PeerUnavailableError as unavailable:
        print(unavailable, file=sys.stderr)
        return UNAVAILABLE
    print(_text(report) if given.text else as_json(report))
    return int(report.verdict)


if __name__ == "__main__":
    sys.exit(_main())
