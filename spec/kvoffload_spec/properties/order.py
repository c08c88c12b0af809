"""What is proved about ``order-lru``: each idle key once, victims oldest first."""

from __future__ import annotations

from itertools import product

from kvoffload_spec import policy
from kvoffload_spec.order import ListLru
from kvoffload_spec.policy import Residents
from kvoffload_spec.properties.states import KEYS, Answer, Keys, pick

QUEUES = tuple(KEYS[:length] for length in range(4))
NAMED = tuple(keys for length in range(3) for keys in product(range(4), repeat=length))  # 3 is in no queue


def touch_makes_the_first_named_last_of_all(queue: int, call: int) -> Answer[Keys]:
    """A touch keeps each idle key once: first the untouched in their order, then the touched, the first named last.

    post: _.said == _.counted
    """
    keys, named = pick(QUEUES, queue), pick(NAMED, call)
    ranks = {key: len(keys) + len(named) - named.index(key) if key in named else keys.index(key) for key in keys}
    return Answer(ListLru(keys).touch(named).queue, tuple(sorted(keys, key=ranks.__getitem__)))


def idle_keys_wait_in_the_order_they_came(queue: int, call: int, idle: bool) -> Answer[Keys]:
    """Keys that become idle go to the end as named, keys that cease to be idle leave; others keep their order.

    pre: len(set(pick(NAMED, call))) == len(pick(NAMED, call))
    post: _.said == _.counted
    """
    keys, named = pick(QUEUES, queue), pick(NAMED, call)
    ranks = {key: len(keys) + named.index(key) if key in named else keys.index(key) for key in {*keys, *named}}
    left = tuple(sorted((key for key in ranks if idle or key not in named), key=ranks.__getitem__))
    order = ListLru(keys)
    return Answer((order.mark_evictable(*named) if idle else order.mark_non_evictable(*named)).queue, left)


def order_gives_the_oldest_that_the_policy_may_evict(queue: int, call: int, n: int) -> Answer[tuple[bool, Keys]]:
    """The victims are the oldest n that are idle and unprotected, and too few exactly if the policy has to refuse.

    post: _.said == _.counted
    """
    keys, protected, wanted = pick(QUEUES, queue), pick(NAMED, call), pick(range(5), n)
    victims = ListLru(keys).victims(wanted, protected)
    refused = policy.refuses(Residents(frozenset(keys)), wanted, protected)
    oldest: Keys = ()
    for key in keys:
        oldest += (key,) if key not in protected and len(oldest) < wanted else ()
    return Answer((refused, victims), (len(victims) < wanted, oldest))
