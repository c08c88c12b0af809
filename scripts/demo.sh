#!/usr/bin/env bash
# The main job: check our LRU policy and our manager against the contract, then replay a workload with every call verified.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

"$VENV/bin/kvoffload" check kvoffload:LRUCachePolicy --order lru --capability scales
"$VENV/bin/kvoffload" check kvoffload:CPUOffloadingManager --order lru
"$VENV/bin/kvoffload" replay --synthetic --policy lru --blocks 2000 --verify
