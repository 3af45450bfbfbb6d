#!/usr/bin/env bash
# Installs the Debian packages that are missing, or names what is missing on another system.
#
#   scripts/install_packages.sh build|tests
#
#   build   compiler and libraries of pd-host, pd-sim and the policies; python3 for the quickstart
#   tests   the above and what the tests need
set -euo pipefail

what=${1:-}
case $what in
  build | tests) ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

build_packages=(g++ cmake ninja-build ccache pkg-config python3
  libspdlog-dev libfmt-dev libtomlplusplus-dev libsimdjson-dev libxxhash-dev
  prometheus-cpp-dev libcli11-dev libssl-dev)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev binutils python3-venv)

release=""
if [ -r /etc/os-release ]; then
  release=$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
fi
case $release in
  "debian 12")
    build_packages+=(libboost1.81-dev libboost-json1.81-dev)
    test_packages+=(clang-format-14)
    ;;
  "debian 13")
    # Debian 13 has no clang-format 14: the formatting check is skipped there.
    build_packages+=(libboost1.83-dev libboost-json1.83-dev)
    ;;
esac

# ---- Debian 12 and 13 ----

missing_packages() {
  local package
  for package in "$@"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      echo "$package"
    fi
  done
}

# One line of progress out of what apt-get says, on a terminal and in a log.
show_progress() {
  local line count=0 last=0
  while IFS= read -r line; do
    case $line in
      "Need to get"*) echo "  ${line,}" ;;
      "Setting up "*)
        count=$((count + 1))
        if [ -t 1 ]; then printf '\r  %d packages set up' "$count"
        elif [ $((count - last)) -ge 25 ]; then echo "  $count packages set up"; last=$count; fi
        ;;
    esac
  done
  if [ -t 1 ] && [ "$count" -gt 0 ]; then echo; fi
}

apt() {
  # No question is ever asked: not by debconf, not about changed files of /etc, and not by sudo in a script.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -y \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 \
    -o APT::Install-Recommends=false "$@" </dev/null
}

fail_with_log() {
  echo "$1; the last lines of apt-get:" >&2
  tail -n 15 "$log" | sed 's/^/  /' >&2
  echo "Repair it, or install by hand: apt-get install ${missing[*]}" >&2
  exit 1
}

install_debian() {
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -eq 0 ]; then
    return
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "Packages are missing and neither root nor sudo is at hand. As root, run:" >&2
      echo "  apt-get update && apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)
    # Here a person may still type a password; inside apt() nobody could.
    if ! "${as_root[@]}" -v; then
      echo "sudo is refused. As root, run: apt-get update && apt-get install ${missing[*]}" >&2
      exit 1
    fi
  fi
  echo "Installing ${#missing[@]} missing packages: ${missing[*]}"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  apt -q update >"$log" 2>&1 || fail_with_log "apt-get update failed"
  apt install "${missing[@]}" 2>&1 | tee "$log" | show_progress || fail_with_log "apt-get install failed"
}

# ---- Other systems: name what is missing ----

lacking=()
need_tool() {  # need_tool TOOL NAME
  command -v "$1" >/dev/null || lacking+=("$2: no command \"$1\"")
}
# need_header HEADER NAME [CONDITION]: the condition is one of the preprocessor. Without a compiler, a look must do.
need_header() {
  if ! command -v "${CXX:-g++}" >/dev/null; then
    compgen -G "/usr/include/$1" >/dev/null || compgen -G "/usr/local/include/$1" >/dev/null || lacking+=("$2: no <$1>")
    return
  fi
  local source="#include <$1>"
  if [ $# -gt 2 ]; then
    source+=$'\n#if !('"$3"$')\n#error too old\n#endif'
  fi
  if ! "${CXX:-g++}" -std=c++20 -E -x c++ - <<<"$source" >/dev/null 2>&1; then
    lacking+=("$2: no <$1>${3:+ with $3}")
  fi
}

check_other_system() {
  need_tool "${CXX:-g++}" "g++ 12 or newer"
  need_tool cmake "CMake 3.25 or newer"
  need_tool ninja "Ninja"
  need_tool pkg-config "pkg-config"
  need_tool python3 "Python 3"
  if command -v "${CXX:-g++}" >/dev/null; then
    need_header concepts "g++ 12 or newer" "defined(__clang__) || __GNUC__ >= 12"
  fi
  need_header boost/version.hpp "Boost 1.81 or newer, headers" "BOOST_VERSION >= 108100"
  need_header boost/json.hpp "Boost.JSON 1.81 or newer"
  need_header spdlog/spdlog.h "spdlog"
  need_header fmt/format.h "fmt"
  need_header toml++/toml.h "toml++"
  need_header simdjson.h "simdjson"
  need_header xxhash.h "xxHash"
  need_header prometheus/registry.h "prometheus-cpp"
  need_header CLI/CLI.hpp "CLI11"
  need_header openssl/evp.h "OpenSSL 3"
  if [ "$what" = tests ]; then
    need_header gmock/gmock.h "GoogleTest and GoogleMock"
    need_header benchmark/benchmark.h "Google Benchmark"
  fi
  if [ ${#lacking[@]} -eq 0 ]; then
    return
  fi
  {
    echo "This is not Debian 12 or 13 (found: ${release:-no /etc/os-release}), so nothing was installed. Missing here:"
    printf '  %s\n' "${lacking[@]}"
    echo "Install them with their development files and run the command again. Debian 13 calls them:"
    echo "  ${packages[*]} libboost1.83-dev libboost-json1.83-dev"
  } >&2
  exit 1
}

packages=("${build_packages[@]}")
if [ "$what" = tests ]; then
  packages+=("${test_packages[@]}")
fi
case $release in
  "debian 12" | "debian 13") install_debian "${packages[@]}" ;;
  *) check_other_system ;;
esac
