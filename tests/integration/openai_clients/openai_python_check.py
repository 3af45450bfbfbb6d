"""The official Python client against pd-host. EXPECTED holds the texts that the engine makes itself."""

import json
import os

import openai

expected = json.loads(os.environ["EXPECTED"])
client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key="unused", max_retries=0, timeout=30)
messages = [{"role": "user", "content": expected["prompt"]}]

assert [model.id for model in client.models.list()] == ["sim"]
assert client.models.retrieve("sim").id == "sim"

chat = client.chat.completions.create(model="sim", messages=messages, max_tokens=24)
assert chat.choices[0].message.content == expected["chat"], chat
assert chat.choices[0].finish_reason == "length", chat
assert chat.usage.completion_tokens == 24, chat

raw = client.chat.completions.with_raw_response.create(model="sim", messages=messages, max_tokens=24)
assert raw.headers["x-pd-handoff"] == "nixl", raw.headers
assert raw.parse()._request_id == raw.headers["x-request-id"], raw.headers

text = ""
usage = None
stream = client.chat.completions.create(
    model="sim", messages=messages, max_tokens=24, stream=True, stream_options={"include_usage": True}
)
for chunk in stream:
    text += "".join(choice.delta.content or "" for choice in chunk.choices)
    usage = chunk.usage or usage
assert text == expected["chat"], text
assert usage.completion_tokens == 24, usage

completion = client.completions.create(model="sim", prompt=expected["prompt"], max_tokens=24)
assert completion.choices[0].text == expected["completion"], completion

text = ""
for chunk in client.completions.create(model="sim", prompt=expected["prompt"], max_tokens=24, stream=True):
    text += "".join(choice.text for choice in chunk.choices)
assert text == expected["completion"], text

left = client.chat.completions.create(model="sim", messages=messages, max_tokens=100000, stream=True)
next(iter(left))
left.close()

for kind, wrong in ((openai.NotFoundError, {"model": "no-such"}), (openai.BadRequestError, {"n": "x"})):
    try:
        client.chat.completions.create(**{"model": "sim", "messages": messages, **wrong})
        raise AssertionError(f"{wrong} was accepted")
    except kind as error:
        assert error.message and error.type, error
        assert error.request_id, error
try:
    client.models.retrieve("no/such")
    raise AssertionError("an unknown model was found")
except openai.NotFoundError as error:
    assert error.code == "model_not_found", error
