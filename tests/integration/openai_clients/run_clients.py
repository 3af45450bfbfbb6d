#!/usr/bin/env python3
"""Starts pd-sim and pd-host, runs the official OpenAI clients against them, and looks at what they leave behind."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PROMPT = "Gr\u00fc\u00df dich! \U0001f600 What does a \"router\" do?"


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    sys.exit(f"{what}: not within {seconds} s")


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def start_sim(binary, folder):
    ports_file = folder / "sim.json"
    pods = ["p0,role=prefill", "p1,role=prefill", "d0,role=decode", "d1,role=decode", "reference,role=combined"]
    command = [binary, "--ports-file", str(ports_file), "--decode-base", "1ms"]
    for pod in pods:
        command += ["--pod", f"name={pod},port=0"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    return process, wait_for(lambda: read_json(ports_file), "pd-sim's ports")


def start_host(binary, plugins, folder, ports):
    lines = ["[server]", 'listen = "127.0.0.1:0"', 'admin = "127.0.0.1:0"', "[plugins]", f'directories = ["{plugins}"]']
    for name, role in (("p0", "prefill"), ("p1", "prefill"), ("d0", "decode"), ("d1", "decode")):
        lines += ["[[fleet.pod]]", f'name = "{name}"', f'url = "http://127.0.0.1:{ports[name]}"', 'model = "sim"']
        lines += [f'role = "{role}"']
    (folder / "pd.toml").write_text("\n".join(lines) + "\n")
    ports_file = folder / "host.json"
    process = subprocess.Popen(
        [binary, "serve", "--config", str(folder / "pd.toml"), "--ports-file", str(ports_file)]
    )
    return process, wait_for(lambda: read_json(ports_file), "pd-host's ports")


def engine_texts(reference):
    chat = {"model": "sim", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 24}
    completion = {"model": "sim", "prompt": PROMPT, "max_tokens": 24}
    return {
        "prompt": PROMPT,
        "chat": ask(f"{reference}/v1/chat/completions", chat)["choices"][0]["message"]["content"],
        "completion": ask(f"{reference}/v1/completions", completion)["choices"][0]["text"],
    }


def blocks_held(reference):
    held = {}
    for name, pod in ask(f"{reference}/sim/state")["pods"].items():
        for key in ("running", "pinned_blocks", "leaked_blocks", "orphaned_blocks"):
            if pod[key]:
                held[f"{name} {key}"] = pod[key]
    return held


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True, help="pd-host")
    parser.add_argument("--sim", required=True, help="pd-sim")
    parser.add_argument("--plugins", required=True, help="folder of the policies")
    parser.add_argument("--clients", required=True, help="folder that keeps the installed clients")
    args = parser.parse_args()

    clients = pathlib.Path(args.clients).resolve()
    subprocess.run([HERE / "install_clients.sh", clients], check=True)
    processes = []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            sim, ports = start_sim(args.sim, folder)
            processes.append(sim)
            host, addresses = start_host(args.host, args.plugins, folder, ports)
            processes.append(host)
            reference = f"http://127.0.0.1:{ports['reference']}"
            environment = {
                **os.environ,
                "BASE_URL": f"http://{addresses['gateway']}/v1",
                "EXPECTED": json.dumps(engine_texts(reference)),
                "CLIENTS": str(clients / "node"),
            }
            subprocess.run([clients / "venv/bin/python", HERE / "openai_python_check.py"], env=environment, check=True)
            subprocess.run([clients / "venv/bin/node", HERE / "openai_node_check.mjs"], env=environment, check=True)
            wait_for(lambda: not blocks_held(reference), "engines without held blocks")
            host.send_signal(signal.SIGTERM)
            if host.wait(timeout=30) != 0:
                sys.exit(f"pd-host ended with {host.returncode}")
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=30)


if __name__ == "__main__":
    main()
