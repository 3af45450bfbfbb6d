#!/usr/bin/env bash
# What a compiler does not check: formatting, layers, names and words of the tree.
#
#   tests/check_style.sh [--format | --layers | --tidy [FILE...]]
#
# Without an option: --format and --layers. --tidy runs clang-tidy 14 (slow) with build/release/compile_commands.json,
# over the files that are named or all of them. Exit status: 0 good, 1 not good, 77 the tool is not installed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

rooms=(sdk framework plugins host examples tests)
problems=0

problem() {
  echo "$1" >&2
  problems=$((problems + 1))
}

# Files of the tree: those that git knows or would add; in an export without git, all but build/.
files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do
      if [ -f "$file" ]; then echo "$file"; fi
    done
  else
    find "$@" -path ./build -prune -o -type f -print
  fi
}

sources() {
  files "${rooms[@]}" | grep -E '\.(h|hpp|c|cpp)$'
}

# ---- Formatting ----

check_format() {
  if ! command -v clang-format-14 >/dev/null; then
    echo "skipped: clang-format-14 is not installed (another version formats otherwise)"
    exit 77
  fi
  # The ABI's header is laid out by hand, as a table that is read beside its offsets.
  local file
  while IFS= read -r file; do
    problem "$file: not formatted; run clang-format-14 -i $file"
  done < <(sources | grep -vx 'sdk/include/pd/abi.h' | xargs -r clang-format-14 --dry-run -Werror 2>&1 |
    sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: error: .*/\1/p' | sort -u)
}

# ---- Layers: host -> framework -> sdk <- plugins, examples ----

# forbid ROOM PATTERN REASON: no file of ROOM includes what PATTERN matches.
forbid() {
  local found
  found=$(sources | grep "^$1/" | xargs -r grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" /dev/null)
  if [ -n "$found" ]; then
    problem "$found"$'\n'"  $3"
  fi
}

check_layers() {
  local sockets='boost/(asio|beast)|sys/(socket|un|epoll)\.h|netinet/|arpa/|netdb\.h|poll\.h|curl/|prometheus/'
  forbid sdk 'host/|framework/|plugins/|examples/|tests/' "sdk/ includes nothing of this tree but itself"
  forbid sdk 'boost/|fmt/|spdlog/|simdjson|openssl/|xxhash|toml|CLI/|prometheus/' "sdk/ needs the standard library alone"
  forbid framework 'host/|plugins/|examples/|tests/' "framework/ knows the SDK alone"
  forbid framework "$sockets" "framework/ knows no sockets and no HTTP"
  forbid plugins 'host/|framework/|examples/|tests/' "plugins/ are written against sdk/ alone"
  forbid examples 'host/|framework/|plugins/|tests/' "examples/ are written against sdk/ alone"
  forbid host 'plugins/|examples/|tests/' "host/ reaches policies through the ABI alone"
}

# ---- Names ----

check_names() {
  local twice vague
  twice=$(files . | sed 's|.*/||' | grep -vxE 'CMakeLists\.txt|README\.md|run\.sh|[A-Z]+|.*\.jsonl?' | sort | uniq -d)
  if [ -n "$twice" ]; then
    problem "file names that stand twice in the tree: $(echo $twice)"
  fi
  vague=$(files . | grep -E '(^|[/_])(utils?|common|helpers?|types|misc)\.[a-z]+$')
  if [ -n "$vague" ]; then
    problem "file names that say nothing: $(echo $vague)"
  fi
}

# ---- Words ----

check_words() {
  local found
  # Written apart, so that this file does not find itself.
  found=$(files . | grep -vE '\.(jsonl|prom|om)$' | xargs -r grep -nHIE "\b(TO""DO|FIX""ME)\b|/(wo""rk|ro""ot)/[a-z]|/tmp/bui""ld" /dev/null)
  if [ -n "$found" ]; then
    problem "$found"$'\n'"  no notes to do, no paths of one machine"
  fi
}

# ---- clang-tidy ----

check_tidy() {
  command -v clang-tidy-14 >/dev/null || { echo "skipped: clang-tidy-14 is not installed"; exit 77; }
  [ -f build/release/compile_commands.json ] || { echo "configure first: cmake --preset release" >&2; exit 1; }
  local list
  if [ $# -gt 0 ]; then list=("$@"); else mapfile -t list < <(sources | grep '\.cpp$' | grep -vE '^tests/(broken_plugins|fuzz)/'); fi
  printf '%s\0' "${list[@]}" | xargs -0 -P2 -n1 clang-tidy-14 -p build/release --quiet 2>/dev/null || problem "clang-tidy found something, see above"
}

what=${1:-}
case $what in
  --format) check_format ;;
  --layers) check_layers; check_names; check_words ;;
  --tidy) shift; check_tidy "$@" ;;
  "") check_layers; check_names; check_words; check_format ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

if [ $problems -gt 0 ]; then
  echo "style: $problems problems" >&2
  exit 1
fi
echo "style: good"
