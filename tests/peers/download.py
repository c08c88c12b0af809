"""A peer is another team's released package: it is downloaded where a test needs it and is no part of this repository.

What is needed of it lies in ``<cache>/<package>-<version>/`` afterwards; the cache is ``$KVOFFLOAD_PEERS``, or else
``~/.cache/kvoffload/peers``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_PIP = "-m pip download --quiet --no-deps --only-binary :all: --no-cache-dir --timeout 15 --retries 1 --no-input"
_LONGEST_DOWNLOAD_S = 600


class PeerUnavailableError(Exception):
    """The peer cannot be had here and now; the message is one sentence that says why."""


def cache_folder() -> Path:
    """The folder that holds the unpacked peers, outside the repository."""
    chosen = os.environ.get("KVOFFLOAD_PEERS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "kvoffload" / "peers"


def fetch(package: str, version: str, folders: tuple[str, ...]) -> Path:
    """Return the folder that holds ``folders`` of the package's wheel; only the first call downloads it.

    The wheel itself is not kept. A fetch that is interrupted, or that runs twice at a time, leaves either nothing or
    everything.

    Args:
        package: the name in the registry.
        version: the exact version.
        folders: the paths inside the wheel, such as ``"vllm/v1/kv_offload"``.

    Raises:
        PeerUnavailableError: if the registry cannot be reached, or has no such wheel for this Python and platform.
        FileNotFoundError: if the wheel lacks one of the folders.
    """
    cache = cache_folder()
    target = cache / f"{package}-{version}"

    def is_complete() -> bool:
        return all((target / folder).is_dir() for folder in folders)

    if is_complete():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache) as scratch:
        unpacked = Path(scratch, "unpacked")
        unpacked.mkdir()
        _unpack(_download(package, version, Path(scratch)), folders, unpacked)
        if target.is_dir() and not is_complete():  # unpacked when fewer folders were asked for
            target.rename(Path(scratch, "outdated"))
        try:
            unpacked.rename(target)
        except OSError:
            if not is_complete():  # otherwise another process was faster, with the same files
                raise
    return target


def _download(package: str, version: str, folder: Path) -> Path:
    command = [sys.executable, *_PIP.split(), "--dest", str(folder), f"{package}=={version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_DOWNLOAD_S, check=False)
    except subprocess.TimeoutExpired:
        raise PeerUnavailableError(
            f"{package} {version} could not be downloaded within {_LONGEST_DOWNLOAD_S} s."
        ) from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise PeerUnavailableError(f"{package} {version} could not be downloaded: {_reason(done.stderr)}.")
    return wheels[0]


def _reason(stderr: str) -> str:
    """A lost connection is told before what came of it; otherwise pip's last error is."""
    if lost := re.search(r"after connection broken by '(.*)': ", stderr):
        return f"the registry cannot be reached ({lost[1]})"
    errors = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.startswith("ERROR: ")]
    return (errors or stderr.splitlines() or ["pip gave no reason"])[-1].strip().rstrip(".")


def _unpack(wheel: Path, folders: tuple[str, ...], target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for folder in folders:
            members = [name for name in names if name.startswith(f"{folder}/")]
            if not members:
                raise FileNotFoundError(f"{wheel.name} has no folder {folder}.")
            archive.extractall(target, members)
