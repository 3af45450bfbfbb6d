#!/usr/bin/env bash
# Installs what is missing, builds, runs the tests, and ends with one line: "N passed, N failed".
#
#   tests/run.sh [--preset release|debug|asan|tsan] [--sanitizers] [--filter REGEX] [--engine vllm] [--no-install]
#
#   --preset NAME    build with this preset instead of release
#   --sanitizers     afterwards the tests that are worth it once more with asan, and those with threads with tsan
#   --filter REGEX   only tests whose name matches, as in ctest -R
#   --engine vllm    also the gateway against real vLLM engines on the CPU (6 GB are installed into build/vllm, once)
#   --no-install     install no packages
set -uo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
preset=release sanitizers=0 filter="" engine="" install=1

usage() {
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit "$1"
}

while [ $# -gt 0 ]; do
  case $1 in
    --preset | --filter | --engine)
      [ $# -ge 2 ] || { echo "$1 needs a value" >&2; usage 2; }
      case $1 in
        --preset) preset=$2 ;;
        --filter) filter=$2 ;;
        --engine) engine=$2 ;;
      esac
      shift
      ;;
    --sanitizers) sanitizers=1 ;;
    --no-install) install=0 ;;
    -h | --help) usage 0 ;;
    *) echo "unknown option: $1" >&2; usage 2 ;;
  esac
  shift
done
case $preset in release | debug | asan | tsan) ;; *) echo "unknown preset: $preset" >&2; usage 2 ;; esac
case $engine in "" | vllm) ;; *) echo "unknown engine: $engine (allowed: vllm)" >&2; usage 2 ;; esac

# ---- The sum ----

passed=0 failed=0 skipped=0 worst=()
finish() {
  local status=$?
  trap - EXIT
  if [ ${#worst[@]} -gt 0 ]; then
    printf '\nFailed:\n'
    printf '  %s\n' "${worst[@]}"
  fi
  if [ $failed -eq 0 ] && [ $passed -eq 0 ]; then
    failed=1  # no test ran: that is no success
  fi
  local more=""
  if [ $skipped -gt 0 ]; then more=", $skipped skipped"; fi
  echo "$passed passed, $failed failed$more"
  if [ $failed -gt 0 ]; then exit 1; fi
  exit "$status"
}
trap finish EXIT
trap 'worst+=("interrupted"); failed=$((failed + 1)); exit 130' INT TERM HUP

fault() {  # something that is no test of ctest failed
  worst+=("$1")
  failed=$((failed + 1))
}

step() { printf '== %s\n' "$*"; }

# ---- Build and run ----

# What a person sees: on a terminal passed tests share one line, in a log each has its own.
show_tests() {
  local terminal=0
  if [ -t 1 ]; then terminal=1; fi
  awk -v terminal=$terminal '
    terminal && / Test +#[0-9]+: .* Passed / { printf "\r\033[K%.110s", $0; fflush(); open = 1; next }
    / Start +[0-9]+: / || /^Test project / { next }
    { if (open) printf "\r\033[K"; open = 0; print; fflush() }
    END { if (open) printf "\r\033[K" }'
}

outcomes() {  # outcomes LOG WORDS: how many tests ended so
  grep -cE "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*($2)" "$1"
}

add_outcomes() {  # add_outcomes PRESET LOG
  local all good left name
  all=$(outcomes "$2" '')
  good=$(outcomes "$2" ' Passed ')
  left=$(outcomes "$2" '\*\*\*Skipped|\*\*\*Not Run \(Disabled\)')
  passed=$((passed + good))
  skipped=$((skipped + left))
  failed=$((failed + all - good - left))
  while IFS= read -r name; do
    worst+=("$name ($1)")
  done < <(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$2" | grep -vE ' Passed |\*\*\*Skipped|\(Disabled\)' |
    sed -E 's/^.* Test +#[0-9]+: ([^ ]+).*/\1/')
}

# run_preset PRESET [TARGET_REGEX [CTEST_OPTION...]]: without TARGET_REGEX, everything.
run_preset() {
  local name=$1 wanted=${2:-} build=build/$1 log targets=()
  shift $(($# < 2 ? $# : 2))
  mkdir -p "$build"
  log=$build/tests.log
  step "Build ($name)"
  if ! cmake --preset "$name" "$(test_options "$name")" "${warnings[@]}" >"$build/configure.log" 2>&1; then
    tail -n 30 "$build/configure.log"
    fault "configuring with preset $name"
    return
  fi
  if [ -n "$wanted" ]; then
    mapfile -t targets < <(ninja -C "$build" -t targets all | sed -nE "s/^($wanted): phony$/\1/p" | sort -u)
    [ ${#targets[@]} -gt 0 ] || { fault "no target of preset $name matches $wanted"; return; }
  fi
  if ! ninja -j "$(nproc)" -C "$build" "${targets[@]}"; then
    fault "building with preset $name"
    return
  fi
  step "Tests ($name)"
  local options=(--test-dir "$build" --output-on-failure -j2 "$@")
  if [ -n "$filter" ]; then options+=(-R "$filter"); fi
  # A filter need not match something in each part.
  if [ -z "$filter" ] || [ -z "$wanted" ]; then options+=(--no-tests=error); fi
  "${run_with[@]}" ctest "${options[@]}" 2>&1 | tee "$log" | show_tests
  local status=${PIPESTATUS[0]} before=$failed
  add_outcomes "$name" "$log"
  if [ "$status" -ne 0 ] && [ $failed -eq $before ]; then
    fault "ctest ($name), status $status"
  fi
}

# Each preset's own options: an optimised test takes twice as long to compile, and is not faster by as much.
test_options() {
  case $1 in release) echo "-DPD_TEST_OPTIONS=-O1;-g1" ;; *) echo "-DPD_TEST_OPTIONS=" ;; esac
}

warnings=()
case $(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}") in
  "debian 12" | "debian 13") ;;
  # An unknown compiler may know new warnings: they are shown, but stop nobody.
  *) warnings=(-DPD_WARNINGS_AS_ERRORS=OFF) ;;
esac
# ThreadSanitizer of g++ 12 stops at the address layouts of newer kernels.
run_with=()
if setarch "$(uname -m)" -R true 2>/dev/null; then run_with=(setarch "$(uname -m)" -R); fi
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

if [ $install = 1 ]; then
  step "Packages"
  if ! scripts/install_packages.sh tests; then
    fault "packages are missing, see above"
    exit 1
  fi
fi

run_preset "$preset"

if [ $sanitizers = 1 ]; then
  run_preset asan 'pd_unit_tests|pd_host_unit_tests|pd_sdk_tests|pd_policy_tests|(gateway|host)_[a-z_]*_test' \
    -E '_NOT_BUILT|^abi\.|^style\.'
  run_preset tsan 'pd_concurrency_tests|(gateway|host)_[a-z_]*_test' -E '_NOT_BUILT|^abi\.|^style\.'
fi

if [ "$engine" = vllm ]; then
  step "Real vLLM engines"
  if tests/engines/vllm/run.sh "build/$preset/bin/pd-host" "$top/build/$preset/plugins" build/vllm; then
    passed=$((passed + 1))
  else
    fault "tests/engines/vllm/run.sh"
  fi
fi
