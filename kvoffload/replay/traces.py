"""Block traces: one request per line as a JSON object, with the block ids of its prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from kvoffload.replay.lines import CompressedDataError, LineReader

EXAMPLE = '{"hash_ids": [0, 1, 7]} or {"hash_runs": [[0, 2], [7, 1]]}'
# No prompt comes near it: at 16 tokens a block these are 268 million tokens. A run that is longer by a slip of the pen
# is reported instead of filling the memory.
MAX_BLOCKS = 1 << 24
SHOWN_CHARACTERS = 60


class TraceError(Exception):
    """A trace cannot be read: where, what is there, what was expected, and what to do.

    Attributes:
        path: the trace.
        line: the number of the line, from 1; ``None`` if the file could not be opened.
    """

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if line is None else f"{path}, line {line}: {problem}")
        self.path = path
        self.line = line


class TraceFile:
    """A trace on disk, plain or compressed with gzip or zstd; read line by line, anew with every iteration.

    Every line is an object with the prompt's block ids, head first: either ``hash_ids``, a list of ids (the form in
    which Mooncake publishes its traces), or ``hash_runs``, the same ids as a list of runs ``[first_id, count]``. Other
    fields may be there and are not read. Empty lines are skipped.

    Args:
        path: the file.
        num_requests: stop after so many requests; ``None`` reads all.

    Raises:
        TraceError: while reading, at the first thing that is not as it should be.
    """

    def __init__(self, path: Path, num_requests: int | None = None) -> None:
        self.path = path
        self.num_requests = num_requests
        self._progress = 0.0

    @property
    def progress(self) -> float:
        """How much of the latest iteration is done, 0 to 1."""
        return self._progress

    def __str__(self) -> str:
        return self.path.name

    def __iter__(self) -> Iterator[list[int]]:
        line_number = num_read = 0
        self._progress = 0.0
        try:
            with LineReader(self.path) as lines:
                for line_number, line in enumerate(lines, start=1):
                    if line.isspace():
                        continue
                    yield self._request(line_number, line)
                    num_read += 1
                    self._progress = lines.fraction_read
                    if self.num_requests is not None:
                        self._progress = max(self._progress, num_read / self.num_requests)
                        if num_read >= self.num_requests:
                            return
        except FileNotFoundError as error:
            raise TraceError(self.path, None, "there is no such file; check the path of the trace.") from error
        except OSError as error:
            problem = f"the file cannot be read ({error.strerror or error}); check its path and its permissions."
            raise TraceError(self.path, None, problem) from error
        except CompressedDataError as error:
            problem = f"{error}; only the lines before this one are whole. Copy or download the file again."
            raise TraceError(self.path, line_number + 1, problem) from error
        if not num_read:
            problem = f"the file holds no request; every line is one, such as {EXAMPLE}. Check the path of the trace."
            raise TraceError(self.path, 1, problem)

    def _request(self, line_number: int, line: bytes) -> list[int]:
        try:
            return parse_request(line)
        except ValueError as error:
            raise TraceError(self.path, line_number, f"{error} Mend the line or remove it.") from error


def parse_request(line: bytes) -> list[int]:
    """The block ids that one line of a trace holds, head first.

    Raises:
        ValueError: if the line is no request; the text says what it is and what was expected.
    """
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        text = _shown(line.decode(errors="replace").strip())
        raise ValueError(f"{text} is not JSON ({_reason(error)}); a request is an object such as {EXAMPLE}.") from error
    if not isinstance(request, dict):
        raise ValueError(f"{_shown(request)} is not an object; a request is one, such as {EXAMPLE}.")
    forms = [name for name in ("hash_ids", "hash_runs") if name in request]
    if len(forms) != 1:
        found = "both hash_ids and hash_runs" if forms else f"neither, only {_shown(list(request))}"
        raise ValueError(f"the object has {found}; a request has one of hash_ids and hash_runs, such as {EXAMPLE}.")
    return _from_ids(request["hash_ids"]) if forms == ["hash_ids"] else _from_runs(request["hash_runs"])


def _from_ids(ids: object) -> list[int]:
    if not isinstance(ids, list):
        raise ValueError(f"hash_ids is {_shown(ids)}; it is a list of block ids.")
    for i, block_id in enumerate(ids):
        if not _is_count(block_id):
            raise ValueError(f"hash_ids[{i}] is {_shown(block_id)}; a block id is an integer, 0 or more.")
    return ids


def _from_runs(runs: object) -> list[int]:
    if not isinstance(runs, list):
        raise ValueError(f"hash_runs is {_shown(runs)}; it is a list of runs [first_id, count].")
    for i, run in enumerate(runs):
        if not (isinstance(run, list) and len(run) == 2 and all(map(_is_count, run))):
            raise ValueError(f"hash_runs[{i}] is {_shown(run)}; a run is [first_id, count], integers of 0 or more.")
    num_blocks = sum(count for _, count in runs)
    if num_blocks > MAX_BLOCKS:
        raise ValueError(f"hash_runs holds {num_blocks:,} blocks; a request has at most {MAX_BLOCKS:,}.")
    return list(chain.from_iterable(range(first, first + count) for first, count in runs))


def _is_count(value: object) -> bool:
    # JSON's true and false are integers in Python.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _reason(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return f"{error.msg.lower()} at character {error.pos + 1}"
        case UnicodeDecodeError():
            return f"byte {error.start + 1} is not {error.encoding}"
        case RecursionError():
            return "nested too deep"
        case _:
            return "a number has too many digits"  # Python refuses to convert those


def _shown(value: object) -> str:
    """The value as it stands in a line of JSON, cut where it becomes long."""
    try:
        text = json.dumps(value)
    except RecursionError:  # it could just be read
        return "something nested too deep"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
