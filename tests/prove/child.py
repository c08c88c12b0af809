"""Has CrossHair judge one property, in a process of its own: ``python -m tests.prove.child TABLE NAME``.

It prints a line of JSON for each thing it has judged, so that nothing is lost but what is missing if it hangs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pkgutil import resolve_name
from unittest import mock

from crosshair.condition_parser import POSTCONDITION, condition_from_source_text
from crosshair.core import Checkable, ConditionCheckable
from crosshair.core_and_libs import analyze_function, run_checkables
from crosshair.options import AnalysisKind, AnalysisOptionSet

from tests.prove.proof import Proof

# CPU seconds a condition; the slowest of ours takes 5.
OPTIONS = AnalysisOptionSet(analysis_kind=(AnalysisKind.PEP316,), per_condition_timeout=60.0)


def never(proof: Proof) -> list[Checkable]:
    """The claim with one condition instead of its own: that the interesting case is never reached."""
    code, source = proof.claim.__code__, f"not ({proof.witness})"
    post = condition_from_source_text(
        POSTCONDITION, code.co_filename, code.co_firstlineno, source, proof.claim.__globals__
    )
    return [
        replace(checkable, conditions=replace(checkable.conditions, post=[post]))
        for checkable in analyze_function(proof.claim, OPTIONS)[:1]
        if isinstance(checkable, ConditionCheckable)
    ]


def report(kind: str, checkables: Iterable[Checkable]) -> None:
    """Judge and print."""
    messages = [run_checkables([checkable]) for checkable in checkables]
    verdicts = [message.state.name for found in messages for message in found]
    says = [message.message for found in messages for message in found]
    print(json.dumps({"kind": kind, "verdicts": verdicts, "says": says}), flush=True)


def main(arguments: Sequence[str]) -> None:
    """Judge the property as it is, its witness, and the property with the planted fault."""
    table, name = arguments
    proof: Proof = resolve_name(table)[name]
    report("proof", analyze_function(proof.claim, OPTIONS))
    report("witness", never(proof))
    with mock.patch(proof.fault.target, proof.fault.wrong):
        report("fault", analyze_function(proof.claim, OPTIONS))


if __name__ == "__main__":
    main(sys.argv[1:])
