"""What is proved about any eviction policy: what it holds, and that refusal is exactly "too few"."""

from __future__ import annotations

from kvoffload_spec import policy
from kvoffload_spec.policy import Residents
from kvoffload_spec.properties.states import ABSENT, CALLS, IDLE, KEYS, PINNED, SOME_KEYS, Answer, Three, pick


def hold(refs: Three) -> Residents[int]:
    """A policy that holds a key as busy above 0, as idle at 0, and not at all below."""
    a, b, c = (PINNED if ref > 0 else IDLE if ref == 0 else ABSENT for ref in refs)
    return Residents(*(SOME_KEYS[a == at, b == at, c == at] for at in (IDLE, PINNED)))


def shown(residents: Residents[int]) -> list[tuple[bool, bool]]:
    """Of each key, whether the policy holds it as idle and as busy."""
    return [(key in residents.idle, key in residents.busy) for key in KEYS]


def eviction_is_refused_exactly_if_candidates_are_too_few(refs: Three, n: int, call: int) -> Answer[bool]:
    """A policy refuses if and only if it is asked for more than it holds idle and unprotected.

    post: _.said == _.counted
    """
    residents, protected = hold(refs), pick(CALLS, call)
    candidates = [key for key in KEYS if refs[key] == 0 and key not in protected]
    return Answer(policy.refuses(residents, n, protected), n > len(candidates))


def policy_holds_a_key_as_it_was_told(refs: Three, idle: bool, marks: bool) -> Answer[list[tuple[bool, bool]]]:
    """Once inserted or marked, a key is idle or busy and never both; other keys stay what they are.

    post: _.said == _.counted
    """
    before = hold(refs)
    mark = policy.mark_evictable if idle else policy.mark_non_evictable
    after = mark(before, 0) if marks else policy.insert(before, 0, idle)
    return Answer(shown(after), [(bool(idle), not idle), *shown(before)[1:]])


def policy_forgets_exactly_its_victims(refs: Three, call: int) -> Answer[list[tuple[bool, bool]]]:
    """Of the keys removed nothing is left; other keys stay what they are.

    post: _.said == _.counted
    """
    before, victims = hold(refs), pick(CALLS, call)
    left = [(False, False) if key in victims else here for key, here in enumerate(shown(before))]
    return Answer(shown(policy.remove(before, *victims)), left)
