#!/usr/bin/env bash
# The gateway against real vLLM engines with a real hand-off (NIXL).   usage: run.sh PD_HOST PLUGIN_DIR ENGINE_DIR
# Installs the engines into ENGINE_DIR first (6 GB, once), starts a prefill, a decode and a plain one,
# runs check.py, and stops everything.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
pd_host=$1 plugins=$2
mkdir -p "$3"
dir=$(cd "$3" && pwd)
"$here/install.sh" "$dir"

work=$(mktemp -d)
pids=()
stop() {
  trap - EXIT INT TERM
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
trap 'stop; exit 130' INT TERM

# Three ports whose +1000 neighbours are free too.
read -r prefill decode combined < <(python3 - <<'PY'
import socket
def free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False
base, found = 21000, []
while len(found) < 3:
    if free(base) and free(base + 1000):
        found.append(base)
    base += 7
print(*found)
PY
)
for engine in "prefill $prefill" "decode $decode" "combined $combined"; do
  set -- $engine
  "$here/engine.sh" "$dir" "$1" "$2" >"$work/$1.log" 2>&1 &
  pids+=($!)
done
cat >"$work/pd.toml" <<TOML
[server]
listen = "127.0.0.1:0"
admin = "127.0.0.1:0"
threads = 1
[plugins]
directories = ["$plugins"]
[[fleet.pod]]
name = "prefill"
url = "http://127.0.0.1:$prefill"
model = "tiny"
role = "prefill"
roleset = "rs0"
[[fleet.pod]]
name = "decode"
url = "http://127.0.0.1:$decode"
model = "tiny"
role = "decode"
roleset = "rs0"
TOML
"$pd_host" serve --config "$work/pd.toml" --ports-file "$work/host.json" >"$work/host.log" 2>&1 &
pids+=($!)
echo "starting two vLLM engines with NIXL and a plain one (one to three minutes)"
if python3 "$here/check.py" --host-file "$work/host.json" --prefill "$prefill" --decode "$decode" \
    --combined "$combined"; then
  exit 0
fi
for log in prefill decode combined host; do
  echo "---- last lines of $log.log"
  tail -n 15 "$work/$log.log"
done
exit 1
