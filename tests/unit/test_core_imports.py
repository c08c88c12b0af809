"""The core and the specification need nothing but the standard library."""

import subprocess
import sys
from pathlib import Path

import pytest

import kvoffload
import kvoffload_spec

CORE = """
import importlib, pkgutil, sys
roots = {roots!r}
sys.path[:0] = roots

class OnlyStandardLibrary:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("kvoffload", "kvoffload_spec"):
            raise ImportError(f"{{name}} is not in the standard library")

sys.meta_path.insert(0, OnlyStandardLibrary())
imported = []
packages = list(map(importlib.import_module, {packages!r}))
for package in packages:
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if not module.name.startswith({outside!r}):
            found = importlib.import_module(module.name)
            imported.append(module.name)
            if module.ispkg:
                packages.append(found)
assert {banned!r} not in sys.modules
print(len(imported))
"""

OUTSIDE = ("kvoffload.__main__", "kvoffload.contract", "kvoffload.cli", "kvoffload.replay", "kvoffload.prometheus")


@pytest.mark.parametrize(
    ("package", "banned"),
    [("kvoffload", "kvoffload_spec"), ("kvoffload_spec", "kvoffload")],
    ids=["core", "specification"],
)
def test_it_imports_where_nothing_else_is_importable(package: str, banned: str) -> None:
    roots = [str(Path(module.__path__[0]).parent) for module in (kvoffload, kvoffload_spec)]
    program = CORE.format(roots=roots, packages=[package], outside=OUTSIDE, banned=banned)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4
