"""A made-up workload of multi-turn conversations, for when no trace is at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from kvoffload.replay.workload import DEFAULT_NUM_REQUESTS


@dataclass
class SyntheticConversations:
    """Users come back to their conversations, each time with the whole prompt so far and some blocks more.

    A request continues one of the latest conversations or opens a new one. A new one begins with one of a few system
    prompts, whose blocks it shares with every conversation that begins so; its other blocks are its own. The same
    arguments give the same requests, on every Python. The defaults are the mix on which the speed of managers is
    measured; at 10,000 blocks about half of it fits.

    Attributes:
        num_requests: how many requests there are.
        seed: which of the workloads with these parameters.
        continue_share: the share of the requests that continue a conversation, 0 to 1.
        num_recent: how many conversations may be continued; a new one takes the place of the oldest.
        num_system_prompts: how many system prompts there are.
        system_blocks: how long a system prompt is, least and most, in blocks.
        first_blocks: what the first message of a conversation adds, least and most, in blocks.
        turn_blocks: what an answer and the next message add, least and most, in blocks.
    """

    num_requests: int = DEFAULT_NUM_REQUESTS
    seed: int = 0
    continue_share: float = 0.7
    num_recent: int = 256
    num_system_prompts: int = 4
    system_blocks: tuple[int, int] = (4, 16)
    first_blocks: tuple[int, int] = (16, 96)
    turn_blocks: tuple[int, int] = (4, 24)
    _num_made: int = field(default=0, init=False, repr=False)

    @property
    def progress(self) -> float:
        """How much of the latest iteration is done, 0 to 1."""
        return self._num_made / self.num_requests if self.num_requests else 1.0

    def __str__(self) -> str:
        return f"synthetic conversations, seed {self.seed}"

    def __iter__(self) -> Iterator[list[int]]:
        random = Random(self.seed)
        next_id = 0

        def below(n: int) -> int:
            # Of the methods of Random, only random() is promised to give the same numbers in every release of Python.
            return int(random.random() * n)

        def new_blocks(least_and_most: tuple[int, int]) -> range:
            nonlocal next_id
            least, most = least_and_most
            first, next_id = next_id, next_id + least + below(most - least + 1)
            return range(first, next_id)

        system_prompts = [new_blocks(self.system_blocks) for _ in range(self.num_system_prompts)]
        recent: list[list[int]] = []
        for num_made in range(1, self.num_requests + 1):
            if recent and random.random() < self.continue_share:
                conversation = recent[below(len(recent))]
                conversation.extend(new_blocks(self.turn_blocks))
            else:
                conversation = [*system_prompts[below(len(system_prompts))], *new_blocks(self.first_blocks)]
                recent.append(conversation)
                if len(recent) > self.num_recent:
                    del recent[0]
            self._num_made = num_made
            yield list(conversation)
