"""The calls of a history as the functions of a test file: what is called, and what is asserted then."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent

from kvoffload.contract.calls import operations as ops
from kvoffload.contract.calls.evidence import Evidence, well_formed
from kvoffload.contract.calls.operations import call_of
from kvoffload.contract.calls.outcome import HangsError, MisbehaviourError, Outcome, Step, Stored
from kvoffload.contract.calls.program import Names, ProgramWriter, variable
from kvoffload.contract.calls.style import Style
from kvoffload.contract.clauses.clause_list import Subject
from kvoffload.contract.reports.standalone_answers import as_answered, blocks_after

SECONDS_FOR_A_HANG = 10
ANSWERS: dict[type[ops.Operation], str] = {
    ops.Evict: "victims({})",
    ops.PrepareStore: "answer({})",
    ops.PrepareLoad: "block_ids({})",
    ops.Lookup: "told({})",
}
"""What the answers of two subjects are compared by."""
RETURNS = (*ANSWERS, ops.Get, ops.TakeEvents)


@dataclass(frozen=True)
class Manners:
    """How hard on its subject the caller is; a scheduler is all of it, and a short test none unless it has to.

    Attributes:
        fresh: every call gets key objects of its own.
        empties: the lists that a call was given, or gave back, are emptied after it.
        announces: a policy's hooks are called in front of every insert.
        reads: what the last call returns is looked at, though nothing else is said of it.
    """

    fresh: bool = False
    empties: bool = False
    announces: bool = False
    reads: bool = False


@dataclass(frozen=True)
class Case:
    """What a test is written of.

    Attributes:
        subject: a policy or a manager.
        style: how its calls are written.
        target: ``module:name`` of what makes it.
        made_with: what stands between the brackets where it is made.
        history: the calls, each with what it returned.
        evidence: what shows that a clause is broken; ``None`` if none is: then the answers that came are asserted.
        name: the name of the test, behind ``test_``.
        says: what stands at its head: what the test is about, and where it comes from.
        why: what the assertions rest on.
    """

    subject: Subject
    style: Style
    target: str
    made_with: str
    history: tuple[Step, ...]
    evidence: Evidence | None
    name: str
    says: str
    why: str = ""

    @property
    def hangs(self) -> bool:
        """Whether a call did not return."""
        return any(step.outcome and isinstance(step.outcome.raised, HangsError) for step in self.history)


class _Writer(ProgramWriter):
    """Writes the calls as hard on their subject as these manners are."""

    def __init__(self, case: Case, manners: Manners, names: Names) -> None:
        keeps = case.evidence is not None and case.evidence.keeps_arguments
        keeps = keeps and isinstance(case.history[-1].op, ops.Insert)
        super().__init__(case.subject, case.style, names, "Block", manners.announces or keeps)
        self._fresh = manners.fresh
        self.given = ""

    def key(self, key: object) -> str:
        return f"fresh({super().key(key)})" if self._fresh else super().key(key)

    def listed(self, op: ops.Operation) -> str:
        return self.given or super().listed(op)

    def plainly_listed(self, op: ops.Operation) -> str:
        """The keys of the call, as they are given and have to be afterwards."""
        return super().listed(op)


class Body:
    """The functions of one test file."""

    def __init__(self, case: Case, manners: Manners) -> None:
        self._case = case
        self._manners = manners
        self._names = Names.of(step.op for step in case.history)
        self._evidence = case.evidence or Evidence()
        if manners.reads and self._evidence == Evidence():
            self._evidence = well_formed(call_of(case.history[-1].op))
        for step in case.history:
            for key in step.op.named:
                self._names.key(key)

    @property
    def _collects_events(self) -> bool:
        return any("events" in it for it in self._evidence.asserts)

    @property
    def keys(self) -> dict[object, str]:
        """The keys, each with its name."""
        return self._names.known

    def functions(self) -> Iterator[str]:
        """The test, and in front of it the calls if several subjects get them."""
        writer = _Writer(self._case, self._manners, self._names)
        writer.look_at(self._case.history)
        subject, made = self._case.subject, writer.made(self._case.made_with, self._case.target)
        if self._evidence.twin:
            last = _last_clear(self._case.history) if self._evidence.twin == "fresh" else -1
            first, since = self._case.history[: last + 1], self._case.history[last + 1 :]
            lines = [f"{subject} = {made}", *self._calls(writer, first)]
            handed = self._handed_over(first, since)
            requests = self._requests(writer)
            writer.requests.clear()
            told = [*self._calls(writer, since, yields=True, handed=handed)]
            arguments = "".join(f", {name}=None" for name in handed)
            yield f"def calls({subject}{arguments}):"
            yield _indented([*self._requests(writer), *told])
            yield "\n"
            lines = [*requests, *lines]
            given = "".join(f", {name}" for name in handed)
            if self._evidence.twin == "fresh":
                lines += [f"assert list(calls({subject}{given})) == list(calls({made}))"]
            else:
                lines = [f"answers = [list(calls({made})) for _ in range(20)]"]
                lines += ["assert all(others == answers[0] for others in answers)"]
        else:
            calls = self._calls(writer, self._case.history, is_last=True)
            lines = [*self._requests(writer), f"{subject} = {made}", *calls]
            if self._collects_events:
                lines.insert(0, "events = []")
        if self._case.hangs:
            yield "def the_calls():"
            yield _indented(lines)
            yield "\n"
            lines = [f"within({SECONDS_FOR_A_HANG}, the_calls)  # in seconds: one of them did not return"]
        yield f"def test_{self._case.name}():"
        yield _indented(lines)

    @staticmethod
    def _requests(writer: ProgramWriter) -> list[str]:
        return [f'{variable(request)} = Request("{request}")' for request in writer.requests]

    def _handed_over(self, first: Sequence[Step], since: Sequence[Step]) -> list[str]:
        """The transfers that were opened before the clear and complete after it."""
        opened = {_transfer(step.op) for step in first if not isinstance(call_of(step.op), ops.Completion)}
        late = {_transfer(step.op) for step in since if isinstance(call_of(step.op), ops.Completion)}
        return [self._names.transfer(transfer) for transfer in opened & late if transfer is not None]

    def _calls(
        self,
        writer: _Writer,
        steps: Sequence[Step],
        yields: bool = False,
        handed: Sequence[str] = (),
        is_last: bool = False,
    ) -> list[str]:
        lines: list[str] = []
        for i, step in enumerate(steps):
            last = is_last and i == len(steps) - 1
            lines += map(self._text, self._evidence.before) if last else []
            call = self._one_call(writer, step, i + 1, last, yields)
            named = [name for name in handed if any(f"{name}." in line for line in call)]
            if named:
                call = [f"if {' and '.join(named)}:", indent("\n".join(call), "    ")]
            lines += call
            if last:
                lines += self._asserted()
            if isinstance(step.op, ops.ResetCache) and self._evidence.drops_events:
                lines += ["manager.take_events()  # what was told before a reset does not count after it"]
                lines += ["events.clear()"]
        return lines

    def _one_call(self, writer: _Writer, step: Step, number: int, last: bool, yields: bool) -> list[str]:
        op = call_of(step.op)
        keeps = last and self._evidence.keeps_arguments
        lends = (keeps or self._manners.empties) and (isinstance(op, ops.Insert) or hasattr(op, "keys"))
        if lends and not getattr(op, "one_shot", False):
            writer.given, given = "given", f"given = {writer.plainly_listed(op)}"
        statements = writer.statements(step)
        before = [given] if writer.given and any(re.search(r"\bgiven\b", line) for line in statements) else []
        writer.given = ""
        answer = self._variable(number, last, yields, op, step.outcome)
        call = self._wrapped(step, [*statements[:-1], f"{answer}{statements[-1]}"], last)
        after = [f"yield {ANSWERS[type(op)].format('returned')}"] if yields and answer else []
        if self._case.evidence is None:
            after += as_answered(step, answer.split(" ")[0], self._names)
        if self._manners.empties:
            given_back = answer.startswith("returned") and not last
            emptied = [*(["given"] if before and not keeps else []), *(["returned"] if given_back else [])]
            after += [f"empty({', '.join(emptied)})"] if emptied else []
        return [*before, *call, *after]

    def _variable(self, number: int, last: bool, yields: bool, op: ops.Operation, outcome: Outcome | None) -> str:
        """What the answer of a call is kept in, with the sign of equality."""
        if isinstance(op, ops.TakeEvents) and self._collects_events:
            return "events += "
        texts = " ".join((*self._evidence.asserts, *self._evidence.after))
        stores = re.findall(r"told_slot\((.*?)\)", self._names.in_text(texts))
        told = any(self._store_of(name) == number for name in stores)
        names = [f"call_{number}"] if told or re.search(rf"\bcall_{number}\b", texts) else []
        if yields:
            returns = type(op) in ANSWERS
        elif self._case.evidence is None or (self._manners.empties and not last and not names):
            returns = isinstance(op, RETURNS) and not (outcome and outcome.raised)
        else:
            returns = last and "returned" in texts
        names += ["returned"] if returns else []
        return "".join(f"{name} = " for name in names)

    def _store_of(self, name: str) -> int:
        """The number of the call that has stored the key last."""
        for number, step in reversed(list(enumerate(self._case.history, 1))):
            value = step.outcome.value if step.outcome else None
            if isinstance(value, Stored) and name in map(self._names.key, value.keys_to_store):
                return number
        return 0

    def _wrapped(self, step: Step, call: list[str], last: bool) -> list[str]:
        """The call in what is to be around it: a fault in the policy, and the exception that it has to raise."""
        around, outcome, says = [], step.outcome, self._evidence
        raised = outcome is not None and outcome.raised is not None
        raised = raised and not isinstance(outcome and outcome.raised, MisbehaviourError)
        checks = self._case.evidence != Evidence()
        has_to = says.raises if last and (says.raises or not checks) else raised
        if isinstance(step.op, ops.PolicyFault):
            around.append("contextlib.suppress(InPolicy)" if not (last and says.raises) else "pytest.raises(Exception)")
            fault = f'"{step.op.method}", {step.op.nth + 1}, after={step.op.after}'
            around.append(f"fault(manager._policy, {fault})")
        elif has_to:
            caught = " as raised" if last and any("raised.value" in it for it in says.asserts) else ""
            around.append(f"pytest.raises(Exception){caught}")
        return [f"with {', '.join(around)}:", indent("\n".join(call), "    ")] if around else call

    def _asserted(self) -> list[str]:
        says = self._evidence
        lines = [self._text(line) for line in says.after]
        if self._case.why and self._case.evidence is not None:
            lines.append(f"# {self._text(self._case.why)}")
        lines += [f"assert {self._text(it)}" for it in says.asserts]
        if says.keeps_arguments:
            lines += self._kept()
        return lines

    def _kept(self) -> list[str]:
        """What the last call was given is as it was."""
        history = self._case.history
        op = call_of(history[-1].op)
        lines = []
        hooks = isinstance(op, ops.Insert) and {"on_store_miss", "on_request_access"} & self._case.style.has
        if hooks or (hasattr(op, "keys") and not getattr(op, "one_shot", False)):
            lines.append(f"assert given == {_Writer(self._case, Manners(), self._names).plainly_listed(op)}")
        for name, (block_id, ref_cnt) in blocks_after(history, self._names).items():
            lines.append(f"assert ({name}_block.block_id, {name}_block.ref_cnt) == ({block_id}, {ref_cnt})")
        return lines

    def _text(self, text: str) -> str:
        def told(found: re.Match[str]) -> str:
            return f"slots(call_{self._store_of(found[1])})[{found[1]}]"

        return re.sub(r"told_slot\((\w+)\)", told, self._names.in_text(text))


def _last_clear(history: Sequence[Step]) -> int:
    """Where the last clear or reset is; -1 if there is none."""
    clears = (ops.Clear, ops.ResetCache)
    return max((i for i, step in enumerate(history) if isinstance(step.op, clears)), default=-1)


def _transfer(op: ops.Operation) -> int | None:
    transfer: int | None = getattr(call_of(op), "transfer", None)
    return transfer


def _indented(lines: Iterable[str]) -> str:
    return indent("\n".join(lines), "    ")
