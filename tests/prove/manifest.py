"""Every property, what shows that it is about something, and what shows that it can fail."""

from __future__ import annotations

from kvoffload_spec.properties import order, policy, tier, transfer
from tests.prove import faults
from tests.prove.proof import Fault, Proof

PROOFS = {
    proof.claim.__name__: proof
    for proof in [
        Proof(
            tier.lookup_says_where_a_key_lies,
            witness="set(_.said) == {'MISS', 'HIT_PENDING', 'HIT'} and max(refs) > 1",
            fault=Fault("kvoffload_spec.tier.lookup", faults.lookup_that_misses_pinned_keys),
        ),
        Proof(
            tier.new_keys_come_once_in_the_order_named,
            witness="_.said == (2, 0, 1)",
            fault=Fault("kvoffload_spec.tier.new_keys", faults.new_keys_in_an_order_of_their_own),
        ),
        Proof(  # refused only because it names an idle key
            tier.store_is_refused_exactly_if_blocks_are_too_few,
            witness="_.said[0] and _.missing <= spare + _.idle",
            fault=Fault("kvoffload_spec.tier.candidates", faults.candidates_that_the_store_names),
        ),
        Proof(
            tier.hopeless_store_is_refused,
            witness="_.said[0] and _.idle > 0 and spare > 0",
            fault=Fault("kvoffload_spec.tier.is_hopeless", faults.hopeless_where_it_is_just_enough),
        ),
        Proof(  # two are evicted
            tier.store_moves_new_keys_and_victims_only,
            witness="len(_.before.idle) == len(_.after.idle) + 2",
            fault=Fault("kvoffload_spec.tier.prepare_store", faults.store_that_keeps_its_victims),
        ),
        Proof(
            tier.failure_undoes_its_store,
            witness="_.keys == (0, 1, 2) and 0 in _.after.pending and _.refs[1] == _.refs[2] == ABSENT",
            fault=Fault("kvoffload_spec.tier.complete_store", faults.failure_that_leaves_keys_pending),
        ),
        Proof(  # one completes, another is still pending
            tier.store_completion_moves_pending_keys_only,
            witness="len(_.after.pending) == 1 and len(_.before.pending) == 2 and success",
            fault=Fault("kvoffload_spec.tier.complete_store", faults.completion_of_keys_that_are_not_pending),
        ),
        Proof(  # one is pinned first, another once more
            tier.load_pins_each_key_once,
            witness="0 in _.after.pinned.keys() & _.before.idle and _.refs[1] > refs[1] > 0",
            fault=Fault("kvoffload_spec.tier.prepare_load", faults.load_that_pins_as_often_as_named),
        ),
        Proof(  # one becomes idle, another stays pinned
            tier.release_unpins_each_key_once,
            witness="0 in _.after.idle - _.before.idle and 0 < _.refs[1] < refs[1]",
            fault=Fault("kvoffload_spec.tier.complete_load", faults.release_of_all_pins),
        ),
        Proof(
            tier.release_undoes_its_load,
            witness="_.keys == (0, 1, 0) and tier.may_load(_.before, _.keys)",
            fault=Fault("kvoffload_spec.tier.complete_load", faults.release_that_loses_the_block),
        ),
        Proof(
            tier.reset_frees_every_block,
            witness="_.before.pending and _.before.idle and _.before.pinned",
            fault=Fault("kvoffload_spec.tier.reset", faults.reset_that_keeps_pending_keys),
        ),
        Proof(  # refused only because an idle key is protected
            policy.eviction_is_refused_exactly_if_candidates_are_too_few,
            witness="_.said and n <= len([ref for ref in refs if ref == 0])",
            fault=Fault("kvoffload_spec.policy.candidates", faults.candidates_that_are_protected),
        ),
        Proof(
            policy.policy_holds_a_key_as_it_was_told,
            witness="marks and idle and refs[0] > 1 and (False, True) in _.said",
            fault=Fault("kvoffload_spec.policy.insert", faults.insert_that_keeps_the_old_place),
        ),
        Proof(
            policy.policy_forgets_exactly_its_victims,
            witness="_.said[0] == (False, False) and refs[0] == 0 and (True, False) in _.said",
            fault=Fault("kvoffload_spec.policy.remove", faults.remove_that_keeps_busy_keys),
        ),
        Proof(
            order.touch_makes_the_first_named_last_of_all,
            witness="_.said == (2, 1, 0)",
            fault=Fault("kvoffload_spec.order.ListLru.touch", faults.touch_that_makes_the_last_named_last),
        ),
        Proof(
            order.idle_keys_wait_in_the_order_they_came,
            witness="_.said == (1, 2, 3, 0)",
            fault=Fault(
                "kvoffload_spec.order.ListLru.mark_evictable", faults.mark_that_leaves_idle_keys_where_they_are
            ),
        ),
        Proof(  # a protected one is passed over
            order.order_gives_the_oldest_that_the_policy_may_evict,
            witness="_.said == (False, (0, 2))",
            fault=Fault("kvoffload_spec.order.ListLru.victims", faults.victims_short_of_the_protected),
        ),
        Proof(  # one of two keys is written by another transfer
            transfer.store_completion_speaks_for_its_own_keys,
            witness="pick(CALLS, call) == (0, 1, 0) and pick(TRANSFERS, number) == 2 and _.said == {1}",
            fault=Fault("kvoffload_spec.transfer.stored", faults.stored_by_whichever_transfer),
        ),
        Proof(
            transfer.load_completion_lets_go_of_the_oldest_holds,
            witness="number == 0 and {(1, 0), (2, 0)} <= pick(SOME_HOLDS, holds) and _.said",
            fault=Fault("kvoffload_spec.transfer.released", faults.released_newest_first),
        ),
        Proof(
            transfer.stale_completion_changes_nothing,
            witness="_.said[0] and len(_.said[1].reads) > 1",
            fault=Fault("kvoffload_spec.transfer.released", faults.released_whichever_is_named),
        ),
        Proof(
            transfer.holds_are_pins,
            witness="not opens and {(1, 0), (2, 0)} <= pick(SOME_HOLDS, holds) and _.said.get(0) == 1",
            fault=Fault("kvoffload_spec.transfer.close_load", faults.close_of_every_hold_of_a_key),
        ),
    ]
}
