#!/usr/bin/env python3
"""Sends the requests of the quickstart and shows which pair served each, by which scores.

show_requests.py ADDRESSES_JSON, which is what pd-host serve --ports-file wrote. Needs the standard library alone.
Exit status 0 when every request was served and every long prompt went back to the pod that had it.
"""
import http.client
import json
import sys
import threading
import time

SECONDS = 60  # bound of every wait here

MANUAL = "The heat pump takes warmth from the ground, lifts it and gives it to the house. " * 24
LOG = "12:00:01 pump started, pressure 1.8 bar, flow 14 litres, return 28 degrees, all in range. " * 24


class Request:
    """One request to send, and afterwards what is known about it."""

    def __init__(self, title, path, body, stream=False, follows=None):
        self.title = title
        self.path = path
        self.body = dict(body, model="sim", stream=stream)
        self.stream = stream
        self.follows = follows  # the earlier request whose long prompt this one repeats
        self.id = ""
        self.headers = {}
        self.decision = {}
        self.first_byte_ms = None
        self.problem = None


def chat(title, text, **more):
    body = {"max_tokens": 12, "messages": [{"role": "user", "content": text}]}
    return Request(title, "/v1/chat/completions", body, **more)


def completion(title, text, **more):
    return Request(title, "/v1/completions", {"max_tokens": 12, "prompt": text}, **more)


def requests_in_order():
    """Lists of requests; those of one list are sent at the same time."""
    manual = chat("manual: what is it?", MANUAL + "What is it?")
    log = completion("log: any fault?", LOG + "Any fault?", stream=True)
    return [
        [chat("short question", "What is a heat pump?")],
        [completion("short text", "A heat pump is", stream=True)],
        [manual],
        [log],
        [chat("manual: who made it?", MANUAL + "Who made it?", stream=True, follows=manual)],
        [completion("log: when?", LOG + "When did it start?", follows=log)],
        [chat(f"at the same time ({n} of 4)", f"Question number {n}.", stream=n % 2 == 0) for n in range(1, 5)],
        [chat("manual: is it loud?", MANUAL + "Is it loud?", follows=manual)],
    ]


def connect(address):
    host, port = address.rsplit(":", 1)
    return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=SECONDS)


def get_json(address, path):
    connection = connect(address)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        return json.loads(body) if answer.status == 200 else None
    finally:
        connection.close()


def read_stream(answer):
    """Returns the number of events; the last one must be [DONE]."""
    events = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: ")]
    if not events or events[-1] != "[DONE]":
        raise ValueError("the stream ended without [DONE]")
    return len(events) - 1


def send(request, gateway):
    connection = connect(gateway)
    try:
        begin = time.monotonic()
        connection.request("POST", request.path, json.dumps(request.body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        request.first_byte_ms = (time.monotonic() - begin) * 1000
        request.headers = {name.lower(): value for name, value in answer.getheaders()}
        request.id = request.headers.get("x-request-id", "")
        if answer.status != 200:
            raise ValueError(f"status {answer.status}: {answer.read(300).decode(errors='replace')}")
        if request.stream:
            if read_stream(answer) == 0:
                raise ValueError("the stream carried no event")
        elif not json.loads(answer.read())["choices"]:
            raise ValueError("the answer has no choice")
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        request.problem = str(error) or type(error).__name__
    finally:
        connection.close()


def look_up(request, admin):
    """The decision is kept when the request is through, which can be a moment after its last byte."""
    deadline = time.monotonic() + SECONDS
    while request.problem is None:
        record = get_json(admin, f"/pd/v1/decisions/{request.id}")
        if record is not None and record["decisions"]:
            request.decision = record["decisions"][-1]
            return
        if time.monotonic() > deadline:
            request.problem = f"GET /pd/v1/decisions/{request.id} knows no decision"
        time.sleep(0.01)


def wait_until_seen(earlier, admin):
    """Engines' numbers are read every 250 ms: waits until those of the earlier request are in, and all is quiet.

    Otherwise a repeated prompt now and then follows an idle decode pod of the other roleset, as it should.
    """
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        loads = {pod["name"]: pod["load"] for pod in get_json(admin, "/pd/v1/fleet")["pods"]}
        quiet = all(load["running"] == 0 for load in loads.values())
        if quiet and (loads[earlier.decision["decode"]]["throughput"] or 0) > 0:
            return
        time.sleep(0.02)


def check_affinity(request):
    if request.problem or request.follows is None or request.follows.problem:
        return
    here, before = request.decision["prefill"], request.follows.decision["prefill"]
    if here != before:
        request.problem = f"went to {here}, but {before} has computed this prompt"


# ---- The table ----


def number(value):
    if isinstance(value, (int, float)):
        return f"{value:.2f}"
    return "-" if value is None else str(value)


def in_pod_order(values, pods):
    return " ".join(f"{number(values.get(pod)):>5}" for pod in pods)


COLUMNS = ["request", "stream", "prefill", "decode", "hand-off", "stage", "ms", "known %", "scores prefill", "scores decode"]


def row(request, prefill_pods, decode_pods):
    decision = request.decision
    percent = decision.get("match_percent", {})
    return [
        request.title,
        "yes" if request.stream else "no",
        request.headers.get("x-pd-prefill-pod", "-"),
        request.headers.get("x-pd-decode-pod", "-"),
        request.headers.get("x-pd-handoff", "-"),
        decision.get("stage") or "-",
        "-" if request.first_byte_ms is None else f"{request.first_byte_ms:.0f}",
        f"{percent.get(decision.get('prefill'), 0):.0f}",
        in_pod_order(decision.get("prefill_scores", {}), prefill_pods),
        in_pod_order(decision.get("decode_scores", {}), decode_pods),
    ]


def print_table(requests):
    pods = sorted({pod["name"] for request in requests for pod in request.decision.get("case", {}).get("pods", [])})
    prefill_pods = [pod for pod in pods if pod.startswith("prefill")]
    decode_pods = [pod for pod in pods if pod.startswith("decode")]
    rows = [COLUMNS] + [row(request, prefill_pods, decode_pods) for request in requests]
    widths = [max(len(line[column]) for line in rows) for column in range(len(COLUMNS))]
    rows.insert(1, ["-" * width for width in widths])
    print()
    for line in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    print()
    print(f"Scores stand in the order {' '.join(prefill_pods)} and {' '.join(decode_pods)}; the lowest sum within")
    print("a roleset (a, b) wins, equals are drawn. ms: to the first byte. known: share of the prompt that the pod has cached.")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        addresses = json.load(file)
    done = []
    for group in requests_in_order():
        for request in group:
            if request.follows is not None and not request.follows.problem:
                wait_until_seen(request.follows, addresses["admin"])
        threads = [threading.Thread(target=send, args=(request, addresses["gateway"])) for request in group]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for request in group:
            look_up(request, addresses["admin"])
            check_affinity(request)
            print(f"  {request.title}: {request.problem or 'served'}", flush=True)
        done += group
    print_table(done)
    failed = [request for request in done if request.problem]
    for request in failed:
        print(f"FAILED {request.title}: {request.problem}")
    print(f"{len(done) - len(failed)} requests served, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
