#!/usr/bin/env bash
# Runs one real vLLM on this machine's CPU.   usage: engine.sh DIR prefill|decode|combined PORT
# DIR was made by install.sh. Everything on loopback; the hand-off's side channel is PORT + 1000.
set -euo pipefail
dir=$1 role=$2 port=$3
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_HOST_IP=127.0.0.1 GLOO_SOCKET_IFNAME=lo
export VLLM_NIXL_SIDE_CHANNEL_HOST=127.0.0.1 VLLM_NIXL_SIDE_CHANNEL_PORT=$((port + 1000))
export UCX_TLS=tcp,self UCX_NET_DEVICES=lo OMP_NUM_THREADS=1 VLLM_CPU_OMP_THREADS_BIND=nobind PYTHONHASHSEED=0
args=(--model "$dir/model" --served-model-name tiny --host 127.0.0.1 --port "$port" --dtype float32
      --max-model-len 4096 --max-num-seqs 32 --enforce-eager --block-size 32 --enable-prompt-tokens-details
      --num-gpu-blocks-override 256)
case $role in
  prefill) kv_role=kv_producer ;;
  decode) kv_role=kv_consumer ;;
  combined) kv_role="" ;;
esac
if [ -n "$kv_role" ]; then
  args+=(--kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"'"$kv_role"'","kv_buffer_device":"cpu","kv_connector_extra_config":{"kv_lease_duration":30}}')
fi
exec "$dir/venv/bin/python" -m vllm.entrypoints.openai.api_server "${args[@]}"
