"""The lines of a file that may be compressed, without ever holding the whole of it."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Small, for a few kilobytes of a compressed trace are hundreds of requests, and progress is told by bytes read.
READ_BYTES = 1 << 12


class CompressedDataError(Exception):
    """The compressed data is damaged; the text says how."""


class _Decompressor(Protocol):
    """What ``zlib`` and ``zstandard`` have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Compression(NamedTuple):
    name: str
    magic: bytes
    start: Callable[[], _Decompressor]


COMPRESSIONS = (
    _Compression("gzip", b"\x1f\x8b", lambda: zlib.decompressobj(16 + zlib.MAX_WBITS)),
    _Compression("zstd", b"\x28\xb5\x2f\xfd", lambda: zstandard.ZstdDecompressor().decompressobj()),
)


class _Decompressed(io.RawIOBase):
    """The content of a compressed file, which may consist of several streams one after another.

    Made by hand because ``zstandard.stream_reader`` takes the end of a file that was cut short for the end of the data.
    """

    def __init__(self, file: io.BufferedReader, compression: _Compression) -> None:
        self._file = file
        self._compression = compression
        self._stream = compression.start()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer)
        while not self._ready:
            data = self._file.read(READ_BYTES)
            if not data:
                if self._stream.eof:
                    return 0
                raise CompressedDataError(f"the {self._compression.name} data ends before its end mark")
            try:
                self._ready = memoryview(self._decompress(data))
            except (zlib.error, zstandard.ZstdError) as error:
                raise CompressedDataError(f"the {self._compression.name} data is damaged ({error})") from error
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _decompress(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        while True:
            if self._stream.eof:
                data = data.lstrip(b"\0")  # files copied from block devices are padded with zeros
                if not data:
                    return b"".join(pieces)
                self._stream = self._compression.start()
            pieces.append(self._stream.decompress(data))
            data = self._stream.unused_data if self._stream.eof else b""
            if not data:
                return b"".join(pieces)


class LineReader:
    """Reads a plain, gzip or zstd file line by line; which of them it is, its first bytes say.

    Args:
        path: the file.

    Raises:
        OSError: if it cannot be opened, or later read.
        CompressedDataError: while reading, if it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._num_bytes = os.fstat(self._file.fileno()).st_size
        head = self._file.peek(4)
        compression = next((known for known in COMPRESSIONS if head.startswith(known.magic)), None)
        self._lines: io.BufferedReader = self._file
        if compression is not None:
            self._lines = io.BufferedReader(_Decompressed(self._file, compression), READ_BYTES)

    @property
    def fraction_read(self) -> float:
        """How much of the file, as it lies on the disk, has been read: 0 to 1, and 0 for a pipe."""
        return self._file.tell() / self._num_bytes if self._num_bytes else 0.0

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._lines)

    def __enter__(self) -> LineReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lines.close()
        self._file.close()
