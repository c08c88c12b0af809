"""A check's result for machines: JSON, and JUnit XML as CI systems read it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from kvoffload.contract.lockstep.violation import ContractViolation
from kvoffload.contract.reports.report import Report, Verdict, details, headline
from kvoffload.contract.reports.violation import facts_of

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML has no way to write: most control characters."""


def as_json(report: Report) -> str:
    """The report as one JSON object; every clause is in ``clauses``, by its id."""
    data = {
        "verdict": report.verdict.name.lower(),
        "exit_code": int(report.verdict),
        "target": report.name,
        "subject": report.subject,
        "contract": report.contract,
        "order": report.order,
        "seed": report.seed,
        "clauses": {clause.id: _clause(report, clause.id, report.status(clause)) for clause in report.clauses},
        "not_claimed": [capability.id for capability in report.not_claimed],
        "never_came_up": list(report.never),
        "histories": report.examples,
        "calls": dict(report.operations),
        "situations": dict(report.situations),
        "distinct_states": len(report.states),
        "seconds": round(report.seconds, 3),
    }
    return json.dumps(data, indent=2)


def _clause(report: Report, id: str, status: str) -> dict[str, Any]:
    violation = report.broken.get(id)
    reason = report.expected_failures.get(id)
    return {
        "status": status,
        **({"expected": reason} if reason is not None else {}),
        **({"violation": _violation(violation)} if violation is not None else {}),
    }


def _violation(violation: ContractViolation) -> dict[str, Any]:
    return {
        "text": str(violation),
        **facts_of(violation),
        "history": violation.history_text,
        "num_calls": violation.num_calls,
    }


def as_junit(report: Report) -> str:
    """The report as JUnit XML: a test case for each clause, and one that says whether the run looked hard enough."""
    suite = ElementTree.Element("testsuite", name=report.name or report.subject, time=f"{report.seconds:.3f}")
    num: dict[str, int] = {"failure": 0, "skipped": 0}
    cases = [(clause.id, *_outcome(report, clause.id, report.status(clause))) for clause in report.clauses]
    if report.verdict is Verdict.INCONCLUSIVE:
        missing = ", ".join((*report.never, *report.not_judged))
        cases.append(("conclusive", "failure", f"never came up, or not judged: {missing}", ""))
    for id, kind, message, text in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=report.name or report.subject, name=id)
        if kind:
            num[kind] += 1
            ElementTree.SubElement(case, kind, message=message).text = text
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(num["failure"]))
    suite.set("skipped", str(num["skipped"]))
    ElementTree.SubElement(suite, "system-out").text = "\n".join([headline(report), *details(report)])
    for element in suite.iter():
        element.text = element.text and NO_XML.sub("\ufffd", element.text)
        element.attrib = {name: NO_XML.sub("\ufffd", value) for name, value in element.attrib.items()}
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _outcome(report: Report, id: str, status: str) -> tuple[str, str, str]:
    match status:
        case "broken":
            violation = report.broken[id]
            return "failure", violation.clause.sentence, str(violation)
        case "kept, though expected to fail":
            return "failure", status, report.expected_failures[id]
        case "expected failure" | "new" | "not claimed" | "not judged":
            reason = report.expected_failures.get(id, report.not_judged.get(id, ""))
            return "skipped", f"{status}: {reason}" if reason else status, ""
    return "", "", ""


FORMATS: Mapping[str, Callable[[Report], str]] = {
    "json": as_json,
    "junit": as_junit,
    "text": str,
}
"""How a report can be written, by name; a format is one more row."""
