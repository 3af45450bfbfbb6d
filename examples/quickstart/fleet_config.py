#!/usr/bin/env python3
"""Writes the pd.toml of the quickstart: fleet_config.py PODS_JSON PLUGIN_FOLDER > pd.toml

PODS_JSON is what pd-sim --ports-file wrote: {"prefill-a0": PORT, ...}; the letter is the roleset.
"""
import json
import sys


def quoted(text):
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a TOML string too


def pod_table(name, port):
    role, place = name.split("-")
    return (
        "[[fleet.pod]]\n"
        f"name = {quoted(name)}\n"
        f'url = "http://127.0.0.1:{port}"\n'
        'model = "sim"\n'
        f"role = {quoted(role)}\n"
        f"roleset = {quoted(place[0])}\n"
    )


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        ports = json.load(file)
    # Port 0: the kernel picks a free one, and pd-host says which in its ports file.
    print('[server]\nlisten = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\nthreads = 2\n')
    print(f"[plugins]\ndirectories = [{quoted(sys.argv[2])}]\n")
    for name in sorted(ports):
        print(pod_table(name, ports[name]))


if __name__ == "__main__":
    main()
