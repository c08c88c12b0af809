"""The exceptions of the manager: each message says what came, what was expected and what to do."""

from __future__ import annotations

from kvoffload.types import OffloadKey


class OffloadingError(Exception):
    """Any misuse that a manager reports; the call that raised it changed nothing."""


class BlockNotFoundError(OffloadingError):
    """A load names a key that is not resident."""

    def __init__(self, key: OffloadKey) -> None:
        super().__init__(
            f"prepare_load was given key {key.hex()}, which is not resident; it loads only keys for which lookup "
            "returns HIT. Look the key up again before loading it: it may have been evicted since."
        )
        self.key = key


class BlockNotReadyError(OffloadingError):
    """A load names a key whose store has not completed."""

    def __init__(self, key: OffloadKey) -> None:
        super().__init__(
            f"prepare_load was given key {key.hex()}, whose store has not completed; it loads only keys for which "
            "lookup returns HIT. Wait for complete_store of that key, then load it."
        )
        self.key = key


class UnbalancedReleaseError(OffloadingError):
    """A completion of a load names a key that this load does not hold."""

    def __init__(self, key: OffloadKey, transfer_id: int | None) -> None:
        load = "no load" if transfer_id is None else f"transfer {transfer_id} does not hold it, or no load"
        super().__init__(
            f"complete_load was given key {key.hex()}, but {load} of it is in progress; every prepare_load is "
            "completed once per key. Complete each transfer once, with the keys it was prepared with."
        )
        self.key = key
        self.transfer_id = transfer_id


class OutOfBlocksError(OffloadingError):
    """More block ids are asked for than are free."""

    def __init__(self, asked: int, num_free: int) -> None:
        super().__init__(
            f"{asked} block ids are asked for and {num_free} are free; prepare_store evicts as many blocks as it "
            "lacks. The policy's evict(n) returned fewer than n victims: run the policy contract on it."
        )
