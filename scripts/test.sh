#!/usr/bin/env bash
# All tests: the stateful suite, the unit tests and the proofs. Arguments go to pytest: scripts/test.sh tests/stateful
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

"$VENV/bin/python" -m pytest "$@"
