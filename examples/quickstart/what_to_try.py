#!/usr/bin/env python3
"""Prints what to try on a running quickstart: what_to_try.py ADDRESSES_JSON STATE_FOLDER"""
import json
import sys

TEXT = """
The gateway answers on http://{gateway}, the admin port on http://{admin}. Try:

  curl -i http://{gateway}/v1/chat/completions -H 'content-type: application/json' -H 'x-request-id: mine' \\
    -d '{{"model":"sim","max_tokens":12,"messages":[{{"role":"user","content":"Hello"}}]}}'
  curl http://{admin}/pd/v1/decisions/mine      # why these two pods
  curl -N http://{gateway}/v1/completions -H 'content-type: application/json' \\
    -d '{{"model":"sim","stream":true,"max_tokens":40,"prompt":"Once upon a time"}}'
  curl http://{gateway}/v1/models
  curl http://{admin}/pd/v1/fleet               # pods, their load and health
  curl http://{admin}/pd/v1/policies            # the policies that are loaded
  curl http://{admin}/metrics

Configuration and logs: {state}
"""


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        addresses = json.load(file)
    print(TEXT.format(state=sys.argv[2], **addresses))


if __name__ == "__main__":
    main()
