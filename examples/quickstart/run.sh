#!/usr/bin/env bash
# Builds pd, starts a small fleet of simulated engines with pd-host in front, and shows who served what and why.
#
#   examples/quickstart/run.sh [--keep | --stop] [--no-install]
#
#   --keep         leave the fleet running and print what to try with curl
#   --stop         stop a fleet that --keep left
#   --no-install   install no packages
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$top/build/quickstart
state=$build/run
keep=0 install=1 stop=0

while [ $# -gt 0 ]; do
  case $1 in
    --keep) keep=1 ;;
    --stop) stop=1 ;;
    --no-install) install=0 ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "unknown option: $1 (allowed: --keep, --stop, --no-install)" >&2; exit 2 ;;
  esac
  shift
done

step() { printf '== %s\n' "$*"; }

fail() {
  printf 'quickstart failed: %s\n' "$*" >&2
  exit 1
}

# ---- Processes: each one is known by its id, and only those are ever ended ----

alive() {  # alive PID: a child of this script, or one that an earlier run left and that is from our build folder
  if jobs -p | grep -qx "$1"; then
    kill -0 "$1" 2>/dev/null
  else
    case $(readlink "/proc/$1/exe" 2>/dev/null) in
      "$build"/bin/*) return 0 ;;
      *) return 1 ;;  # ids are reused
    esac
  fi
}

stop_processes() {
  local pid deadline
  for pid in "$@"; do
    alive "$pid" || continue
    kill "$pid" 2>/dev/null || true
    deadline=$((SECONDS + 10))
    while alive "$pid" && [ $SECONDS -lt $deadline ]; do sleep 0.05; done
    if alive "$pid"; then kill -KILL "$pid" 2>/dev/null || true; fi
  done
}

# What an earlier run left with --keep. pd-host stands first in the file: it ends while its engines still live.
stop_kept() {
  [ -f "$state/pids" ] || return 0
  local kept
  mapfile -t kept <"$state/pids"
  stop_processes "${kept[@]}"
  rm -f "$state/pids"
}

leave() {
  local status=$? children
  trap - EXIT
  trap '' INT TERM HUP  # it is leaving already
  mapfile -t children < <(jobs -p | sort -rn)
  stop_processes "${children[@]}"
  case $status in 130 | 143) echo "quickstart: interrupted, everything stopped" ;; esac
  exit "$status"
}

if [ $stop = 1 ]; then
  if [ ! -f "$state/pids" ]; then
    echo "No fleet was left running."
    exit 0
  fi
  stop_kept
  echo "The fleet is stopped."
  exit 0
fi

# ---- Build ----

trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ $install = 1 ]; then
  step "Packages"
  "$top/scripts/install_packages.sh" build || fail "packages are missing, see above"
fi

step "Build (the first one takes some minutes)"
mkdir -p "$build"
# A user's compiler may know warnings that ours does not: they must not stop a first look. -O1 without debug information
# takes half as long to compile; what operators run comes from the preset release.
if ! cmake -S "$top" -B "$build" -G Ninja -DPD_BUILD_TESTS=OFF -DPD_WARNINGS_AS_ERRORS=OFF \
  -DCMAKE_BUILD_TYPE=Quick -DCMAKE_CXX_FLAGS_QUICK=-O1 -DCMAKE_C_FLAGS_QUICK=-O1 >"$build/configure.log" 2>&1; then
  tail -n 30 "$build/configure.log" >&2
  fail "cmake found something missing, see above (all of it: $build/configure.log)"
fi
cmake --build "$build" --parallel "$(nproc)" || fail "the build stopped, see above"

# ---- Start ----

step "Start 2 rolesets of 2 prefill and 2 decode pods, and pd-host"
stop_kept
rm -rf "$state"
mkdir -p "$state"

# start NAME COMMAND...: in a session of its own, so that Ctrl-C reaches this script first and the order of leaving is ours.
start() {
  local name=$1
  shift
  setsid "$@" >"$state/$name.log" 2>&1 </dev/null &
  started=$!
}

wait_for() {  # wait_for FILE PID NAME
  local deadline=$((SECONDS + 30))
  until [ -s "$1" ]; do
    if ! kill -0 "$2" 2>/dev/null || [ $SECONDS -ge $deadline ]; then
      tail -n 20 "$state/$3.log" >&2
      fail "$3 did not start, see above"
    fi
    sleep 0.05
  done
}

pods=()
for roleset in a b; do
  for number in 0 1; do
    pods+=(--pod "name=prefill-$roleset$number,role=prefill,port=0")
    pods+=(--pod "name=decode-$roleset$number,role=decode,port=0")
  done
done
# Twenty times slower than the defaults at prefill, so that a prompt which is cached shows in the time to the first byte.
start pd-sim "$build/bin/pd-sim" "${pods[@]}" --prefill-per-token 400us --ports-file "$state/pods.json"
sim=$started
wait_for "$state/pods.json" "$sim" pd-sim

python3 "$here/fleet_config.py" "$state/pods.json" "$build/plugins" >"$state/pd.toml"
start pd-host "$build/bin/pd-host" serve --config "$state/pd.toml" --ports-file "$state/addresses.json"
host=$started
wait_for "$state/addresses.json" "$host" pd-host

# ---- Show ----

step "Requests"
# In the background, so that a signal is handled at once and not when the requests are through.
python3 "$here/show_requests.py" "$state/addresses.json" &
shown=0
wait $! || shown=$?
[ "$shown" = 0 ] || fail "not every request went as it should, see above; logs: $state/*.log"

if [ $keep = 1 ]; then
  printf '%s\n' "$host" "$sim" >"$state/pids"
  trap - EXIT INT TERM HUP
  python3 "$here/what_to_try.py" "$state/addresses.json" "$state"
  echo "quickstart: all requests served; the fleet runs on (pd-host $host, pd-sim $sim), stop it with examples/quickstart/run.sh --stop"
  exit 0
fi

step "Leave"
stop_processes "$host" "$sim"
for pid in "$host" "$sim"; do
  if alive "$pid"; then fail "process $pid did not end"; fi
done
echo "quickstart: all requests served, everything stopped"
