#!/usr/bin/env python3
"""Checks a gateway in front of real vLLM engines: texts, pinned blocks, clients that leave.

Prints a line per check and, last, "N passed, N failed". Standard library only.
"""
import argparse
import concurrent.futures
import http.client
import json
import socket
import sys
import time

WORDS = ("the router sends the prompt to prefill and then to decode because the cache of the engine is the "
         "first block of the story that we tell people when they look for more time to make the request").split()


def prompt(seed, words=60):
    return " ".join(WORDS[(seed * 7 + i * (1 + seed % 5)) % len(WORDS)] for i in range(words))


def body(kind, text, stream, max_tokens=12):
    out = {"model": "tiny", "max_tokens": max_tokens, "temperature": 0, "stream": stream}
    if kind == "chat":
        out["messages"] = [{"role": "user", "content": text}]
    else:
        out["prompt"] = text
    return out


def path(kind):
    return "/v1/chat/completions" if kind == "chat" else "/v1/completions"


def text_of(kind, choice):
    if kind == "completions":
        return choice.get("text") or ""
    return (choice.get("message") or choice.get("delta") or {}).get("content") or ""


def ask(address, kind, text, stream, max_tokens=12, timeout=120):
    """Status, text and headers of one answer; a streamed one must end with [DONE] and hold no error."""
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    connection.request("POST", path(kind), json.dumps(body(kind, text, stream, max_tokens)),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    data = answer.read().decode()
    connection.close()
    headers = {k.lower(): v for k, v in answer.getheaders()}
    if answer.status != 200:
        return answer.status, data, headers
    if not stream:
        return 200, text_of(kind, json.loads(data)["choices"][0]), headers
    events = [line[6:] for line in data.split("\n") if line.startswith("data: ")]
    if not events or events[-1] != "[DONE]":
        return 0, "no [DONE]: " + data[-200:], headers
    out = ""
    for event in map(json.loads, events[:-1]):
        if "error" in event:
            return 0, json.dumps(event), headers
        for choice in event.get("choices", []):
            out += text_of(kind, choice)
    return 200, out, headers


def wait_for(what, condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if condition():
                return True
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            pass
        time.sleep(0.25)
    print("  gave up waiting for", what, flush=True)
    return False


def kv_usage(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    return max(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
               if line.startswith("vllm:kv_cache_usage_perc"))


def fleet(admin):
    connection = http.client.HTTPConnection(*admin, timeout=10)
    connection.request("GET", "/pd/v1/fleet")
    pods = json.loads(connection.getresponse().read())["pods"]
    connection.close()
    return pods


def leave(address, kind, stream, until, words=60, max_tokens=200):
    """Sends a request and closes the connection once `until(socket)` returns."""
    payload = json.dumps(body(kind, prompt(int(time.time() * 1000) % 9973, words), stream, max_tokens)).encode()
    with socket.create_connection(address, timeout=60) as s:
        s.sendall((f"POST {path(kind)} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
                   f"Content-Length: {len(payload)}\r\n\r\n").encode() + payload)
        until(s)


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, ok, detail=""):
        print(("ok      " if ok else "FAILED  ") + name + ("" if ok else f": {detail}"), flush=True)
        self.passed += ok
        self.failed += not ok


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host-file", required=True)
    for name in ("prefill", "decode", "combined"):
        parser.add_argument("--" + name, type=int, required=True)
    args = parser.parse_args()
    checks = Checks()

    def healthy(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200

    for name in ("prefill", "decode", "combined"):
        if not wait_for(name + " engine", lambda: healthy(getattr(args, name)), 900):
            checks.check(name + " engine starts", False, "not healthy in time")
            print(f"{checks.passed} passed, {checks.failed} failed")
            return 1
    with open(args.host_file) as f:
        addresses = json.load(f)
    gateway, admin = (tuple([a.rsplit(":", 1)[0], int(a.rsplit(":", 1)[1])]) for a in
                      (addresses["gateway"], addresses["admin"]))
    alone = ("127.0.0.1", args.combined)
    wait_for("ready pods", lambda: all(p["health"] == "ready" for p in fleet(admin)), 30)
    # The first hand-off between two engines does a handshake with a limit that a loaded machine can miss.
    wait_for("the engines' handshake", lambda: ask(gateway, "completions", prompt(1), False)[0] == 200, 60)

    for kind in ("chat", "completions"):
        for stream in (False, True):
            text = prompt(len(kind) + stream)
            want = ask(alone, kind, text, stream)
            got = ask(gateway, kind, text, stream)
            name = f"{kind}, {'streamed' if stream else 'plain'}: the text of one engine alone"
            checks.check(name, got[:2] == want[:2], f"expected {want[:2]}, got {got[:2]}")
            checks.check(name + ", with a hand-off", got[2].get("x-pd-handoff") == "nixl", got[2])

    def one(i):
        kind, stream = ("chat", "completions")[i % 2], i % 4 > 1
        return ask(gateway, kind, prompt(i), stream), ask(alone, kind, prompt(i), stream)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(200)))
    wrong = [(got[:2], want[:2]) for got, want in answers if got[:2] != want[:2]]
    checks.check("200 requests, eight at a time: all texts right", not wrong, wrong[:2])
    no_handoff = [got[2].get("x-pd-handoff") for got, _ in answers if got[2].get("x-pd-handoff") != "nixl"]
    checks.check("200 requests: all with a hand-off", not no_handoff, no_handoff[:3])

    # The lease is 30 s: blocks that are free well before it were fetched or given back, not expired.
    def nothing_pinned():
        return kv_usage(args.prefill) == 0 and kv_usage(args.decode) == 0

    def nothing_counted():
        return all(p["load"][c] == 0 for p in fleet(admin)
                   for c in ("prefill_requests", "pending_decode", "decode_requests"))

    checks.check("no block pinned after 200 requests", wait_for("free blocks", nothing_pinned, 12),
                 "kv usage is not 0")

    def prefill_running():
        return any(p["load"]["prefill_requests"] > 0 for p in fleet(admin))

    def decode_running():
        return any(p["load"]["decode_requests"] > 0 for p in fleet(admin))

    phases = {
        "at once": (lambda s: None, 60),
        "during prefill": (lambda s: wait_for("prefill", prefill_running, 10), 1500),
        "when prefill has ended": (lambda s: wait_for("decode", decode_running, 20), 400),
        "at the first byte": (lambda s: s.recv(1), 60),
        "midway through the stream": (lambda s: [s.recv(4096) for _ in range(5)], 60),
    }
    for name, (until, words) in phases.items():
        for kind in ("chat", "completions"):
            for _ in range(3):
                leave(gateway, kind, True, until, words)
        checks.check(f"clients that leave {name}: no block pinned",
                     wait_for("free blocks", nothing_pinned, 15), "kv usage is not 0")
        checks.check(f"clients that leave {name}: nothing counted any more",
                     wait_for("counts of zero", nothing_counted, 5), fleet(admin))
    got = ask(gateway, "completions", prompt(3), False)
    checks.check("the gateway serves on", got[0] == 200, got[:2])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


sys.exit(main())
