#!/usr/bin/env python3
"""CPU time per request and added latency of pd-host in front of simulated engines.

Starts pd-sim (no simulated latency) and pd-host (one worker thread) on different cores, sends chat
requests with pd-load through pd-host and directly to one engine, and checks that every answer was
right and every hand-off was read exactly once. docs/performance.md describes method and figures.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass

GATEWAY_CORE = 0
LOAD_CORE = 1
ROLESETS = 2
PODS_PER_ROLE = 2
WARM_UP_SHARE = 0.1
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
CPU_FIGURES = ("cpu_us", "user_us", "system_us")  # of a gateway; the direct way has none


@dataclass(frozen=True)
class Cell:
    """One kind of load."""

    name: str
    body_bytes: int
    concurrency: int
    requests: int
    variants: int
    tokens: int = 8
    stream: bool = False


CELLS = [
    Cell("2 KiB c1", 2 << 10, 1, 4000, 64),
    Cell("2 KiB c64", 2 << 10, 64, 20000, 64),
    Cell("128 KiB c1", 128 << 10, 1, 2500, 32),
    Cell("128 KiB c64", 128 << 10, 64, 6000, 32),
    Cell("1 MiB c1", 1 << 20, 1, 400, 16),
    Cell("1 MiB c8", 1 << 20, 8, 800, 16),
    Cell("stream 64 c1", 2 << 10, 1, 1500, 64, 64, True),
    Cell("stream 64 c64", 2 << 10, 64, 3000, 64, 64, True),
]


class BenchError(Exception):
    """The benchmark cannot go on, or a figure must not be trusted."""


def pinned(core, command):
    """The command on one core, where the machine has that core and taskset."""
    if shutil.which("taskset") is None or core not in os.sched_getaffinity(0):
        return command
    return ["taskset", "-c", str(core), *command]


def wait_for_file(path, process, seconds=60):
    deadline = time.monotonic() + seconds
    while not path.exists():
        if process.poll() is not None:
            raise BenchError(f"{process.args} ended with status {process.returncode}")
        if time.monotonic() > deadline:
            raise BenchError(f"{path.name} did not appear within {seconds} s")
        time.sleep(0.02)
    return json.loads(path.read_text())


@contextlib.contextmanager
def running(command, log):
    """A process that is terminated, by its own id, when the block ends."""
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def pod_names():
    """(name, role, roleset) of every pod that pd-host chooses from."""
    for roleset in range(ROLESETS):
        for role in ("prefill", "decode"):
            for number in range(PODS_PER_ROLE):
                yield f"{role}-{roleset}-{number}", role, f"rs{roleset}"


def sim_command(binary, folder):
    command = [binary, "--zero-latency", "--record", "0", "--block-size", "256"]
    for name, role, _ in pod_names():
        command += ["--pod", f"name={name},role={role},port=0"]
    command += ["--pod", "name=direct,role=combined,port=0"]
    return command + ["--ports-file", str(folder / "sim-ports.json")]


def gateway_config(ports, plugins, policies, log_level):
    lines = [
        "[server]",
        'listen = "127.0.0.1:0"',
        'admin = "127.0.0.1:0"',
        "threads = 1",
        "[plugins]",
        f"directories = [{json.dumps(str(plugins))}]",
        "[prefill]",
        f'policy = "{policies[0]}"',
        "[decode]",
        f'policy = "{policies[1]}"',
        "[log]",
        f'level = "{log_level}"',
    ]
    for name, role, roleset in pod_names():
        lines += [
            "[[fleet.pod]]",
            f'name = "{name}"',
            f'url = "http://127.0.0.1:{ports[name]}"',
            'model = "sim"',
            f'role = "{role}"',
            f'roleset = "{roleset}"',
        ]
    return "\n".join(lines) + "\n"


def nginx_config(folder, upstream):
    """One hop, kept alive on both sides, bodies and answers passed on as they come."""
    return f"""
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_max_body_size 64m; client_body_buffer_size 2m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  keepalive_requests 1000000;
  upstream engine {{ server 127.0.0.1:{upstream}; keepalive 128; keepalive_requests 1000000; }}
  server {{
    listen unix:{folder}/unused.sock;
    listen 127.0.0.1:{{port}};
    location / {{
      proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


def cpu_ticks(pid):
    """(user, system) CPU time of a process, all threads, in clock ticks."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]), int(fields[12])


class Bench:
    """The processes of one run and what to measure with them."""

    def __init__(self, arguments, sim_ports):
        self.arguments = arguments
        self.sim_ports = sim_ports

    def load(self, port, cell, requests):
        command = [
            str(self.arguments.bin / "pd-load"),
            "--port", str(port),
            "--concurrency", str(cell.concurrency),
            "--requests", str(requests),
            "--body-bytes", str(cell.body_bytes),
            "--variants", str(cell.variants),
            "--tokens", str(cell.tokens),
        ]
        if cell.stream:
            command.append("--stream")
        done = subprocess.run(pinned(LOAD_CORE, command), capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise BenchError(f"{cell.name}: pd-load failed: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def measure(self, cell, port, pid):
        """Latency through `port`, and CPU time of `pid` when there is one."""
        requests = max(int(cell.requests * self.arguments.scale), cell.concurrency)
        self.load(port, cell, max(int(requests * WARM_UP_SHARE), cell.concurrency))
        before = cpu_ticks(pid) if pid else (0, 0)
        result = self.load(port, cell, requests)
        after = cpu_ticks(pid) if pid else (0, 0)
        user, system = (
            (b - a) * 1e6 / TICKS_PER_SECOND / requests for a, b in zip(before, after)
        )
        return {
            "cpu_us": user + system,
            "user_us": user,
            "system_us": system,
            "p50_us": result["p50_us"],
            "p99_us": result["p99_us"],
            "per_second": result["requests"] / result["wall_s"],
        }

    def sim_pods(self):
        url = f"http://127.0.0.1:{self.sim_ports['direct']}/sim/state"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["pods"]

    def handoffs(self):
        """Hand-offs read so far; an error when pd-sim counted anything wrong."""
        wrong = ("wrong_role", "bad_requests", "bad_framing", "engine_killed", "pinned_blocks",
                 "leaked_blocks", "orphaned_blocks", "handoffs_refused", "handoffs_expired",
                 "aborted")
        pods = {name: pod for name, pod in self.sim_pods().items() if name != "direct"}
        faults = [f"{name}: {key} = {pod[key]}" for name, pod in pods.items() for key in wrong
                  if pod[key] != 0]
        faults += [f"{name}: recomputed = {pod['recomputed']}" for name, pod in pods.items()
                   if pod["role"] == "decode" and pod["recomputed"] != 0]
        issued = sum(pod["handoffs_issued"] for pod in pods.values())
        read = sum(pod["handoffs_read"] for pod in pods.values())
        if issued != read:
            faults.append(f"{issued} hand-offs issued, {read} read")
        if faults:
            raise BenchError("pd-sim counts faults of the gateway: " + "; ".join(faults))
        return read


def measure_round(bench, cells, gateways, figures):
    """Every cell once, each gateway and the direct way one after the other."""
    for cell in cells:
        before = bench.handoffs()
        direct = bench.measure(cell, bench.sim_ports["direct"], None)
        figures.setdefault(("direct", cell.name), []).append(direct)
        for name, (port, pid) in gateways.items():
            figure = bench.measure(cell, port, pid)
            figure["added_p50_us"] = figure["p50_us"] - direct["p50_us"]
            figure["added_p99_us"] = figure["p99_us"] - direct["p99_us"]
            figures.setdefault((name, cell.name), []).append(figure)
        requests = max(int(cell.requests * bench.arguments.scale), cell.concurrency)
        warm_up = max(int(requests * WARM_UP_SHARE), cell.concurrency)
        counted = bench.handoffs() - before
        if counted != requests + warm_up:
            raise BenchError(f"{cell.name}: {requests + warm_up} requests, {counted} hand-offs")


def summary(values):
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
    }


def summarise(figures):
    return [
        {"way": way, "cell": cell,
         **{key: summary([run[key] for run in runs]) for key in runs[0]}}
        for (way, cell), runs in figures.items()
    ]


def shown(row, key):
    if key not in row or (row["way"] == "direct" and key in CPU_FIGURES):
        return "-"
    figure = row[key]
    return f"{figure['median']:.0f} ({figure['min']:.0f}–{figure['max']:.0f})"


def print_table(rows):
    columns = [("cpu_us", "CPU µs"), ("user_us", "user"), ("system_us", "system"),
               ("p50_us", "p50 µs"), ("added_p50_us", "added p50"), ("added_p99_us", "added p99"),
               ("per_second", "requests/s")]
    print("| way | cell | " + " | ".join(title for _, title in columns) + " |")
    print("|---|---|" + "---:|" * len(columns))
    for row in rows:
        figures = " | ".join(shown(row, key) for key, _ in columns)
        print(f"| {row['way']} | {row['cell']} | {figures} |")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_nginx(stack, folder, sim_ports):
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if binary is None:
        raise BenchError("--nginx: nginx is not installed")
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(nginx_config(folder, sim_ports["direct"]).replace("{port}", str(port)))
    command = pinned(GATEWAY_CORE, [binary, "-p", str(folder), "-c", str(config)])
    process = stack.enter_context(running(command, folder / "nginx.log"))
    wait_until_connectable(port, process)
    return port, process.pid


def wait_until_connectable(port, process):
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise BenchError("nginx does not listen")


def wait_until_ready(port, seconds=60):
    """pd-host serves once it has heard of its pods; until then requests are refused."""
    deadline = time.monotonic() + seconds
    body = json.dumps({"model": "sim", "max_tokens": 1,
                       "messages": [{"role": "user", "content": "ready?"}]}).encode()
    while True:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", body,
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10):
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise BenchError(f"pd-host does not serve: {error}") from error
            time.sleep(0.05)


def start_gateway(stack, arguments, folder, sim_ports):
    config = folder / "pd.toml"
    config.write_text(gateway_config(sim_ports, arguments.plugins, arguments.policies.split("/"),
                                     arguments.log_level))
    ports_file = folder / "gateway-ports.json"
    command = [str(arguments.bin / "pd-host"), "serve", "--config", str(config),
               "--ports-file", str(ports_file)]
    process = stack.enter_context(running(pinned(GATEWAY_CORE, command), folder / "pd-host.log"))
    port = int(wait_for_file(ports_file, process)["gateway"].rpartition(":")[2])
    wait_until_ready(port)
    return port, process.pid


def run(arguments, folder):
    cells = [cell for cell in CELLS if not arguments.cell or cell.name in arguments.cell]
    with contextlib.ExitStack() as stack:
        sim = stack.enter_context(
            running(pinned(LOAD_CORE, sim_command(str(arguments.bin / "pd-sim"), folder)),
                    folder / "pd-sim.log"))
        sim_ports = wait_for_file(folder / "sim-ports.json", sim)
        gateways = {"pd-host": start_gateway(stack, arguments, folder, sim_ports)}
        if arguments.nginx:
            gateways["nginx, one hop"] = start_nginx(stack, folder, sim_ports)
        bench = Bench(arguments, sim_ports)
        figures = {}
        for _ in range(arguments.rounds):
            measure_round(bench, cells, gateways, figures)
        return summarise(figures)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved runs of every cell")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the requests of a cell")
    parser.add_argument("--cell", action="append", help="only this cell; may be given many times")
    parser.add_argument("--policies", default="prefix_cache/load_balancing", help="prefill/decode")
    parser.add_argument("--log-level", default="info", help="of pd-host; info: one line a request")
    parser.add_argument("--nginx", action="store_true", help="also nginx in front of one engine")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    arguments.bin = arguments.build.resolve() / "bin"
    arguments.plugins = arguments.build.resolve() / "plugins"
    unknown = set(arguments.cell or []) - {cell.name for cell in CELLS}
    if unknown:
        parser.error(f"unknown cells {sorted(unknown)}; known: {[cell.name for cell in CELLS]}")
    return arguments


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="pd-bench-") as folder:
        try:
            rows = run(arguments, pathlib.Path(folder))
        except BenchError as error:
            sys.exit(f"gateway_bench: {error}")
    if arguments.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
