// The official Node.js client against pd-host. EXPECTED holds the texts that the engine makes itself.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

// The package lives in the folder that CLIENTS names, not beside this file.
const { default: OpenAI } = createRequire(`${process.env.CLIENTS}/`)('openai');

const expected = JSON.parse(process.env.EXPECTED);
const client = new OpenAI({
  baseURL: process.env.BASE_URL, apiKey: 'unused', maxRetries: 0, timeout: 30000,
});
const messages = [{ role: 'user', content: expected.prompt }];

const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
assert.deepEqual(ids, ['sim']);
assert.equal((await client.models.retrieve('sim')).id, 'sim');

const { data: chat, response } = await client.chat.completions
  .create({ model: 'sim', messages, max_tokens: 24 }).withResponse();
assert.equal(chat.choices[0].message.content, expected.chat);
assert.equal(chat.usage.completion_tokens, 24);
assert.equal(response.headers.get('x-pd-handoff'), 'nixl');
assert.equal(chat._request_id, response.headers.get('x-request-id'));

let text = '';
for await (const chunk of await client.chat.completions.create({
  model: 'sim', messages, max_tokens: 24, stream: true,
})) {
  for (const choice of chunk.choices) text += choice.delta.content ?? '';
}
assert.equal(text, expected.chat);

const completion = await client.completions.create({
  model: 'sim', prompt: expected.prompt, max_tokens: 24,
});
assert.equal(completion.choices[0].text, expected.completion);

text = '';
for await (const chunk of await client.completions.create({
  model: 'sim', prompt: expected.prompt, max_tokens: 24, stream: true,
})) {
  for (const choice of chunk.choices) text += choice.text;
}
assert.equal(text, expected.completion);

const left = await client.chat.completions.create({
  model: 'sim', messages, max_tokens: 100000, stream: true,
});
for await (const chunk of left) {
  assert.ok(chunk.id);
  break;
}
left.controller.abort();

await assert.rejects(client.chat.completions.create({ model: 'no-such', messages }), OpenAI.NotFoundError);
await assert.rejects(
  client.chat.completions.create({ model: 'sim', messages, n: 'x' }),
  (error) => error instanceof OpenAI.BadRequestError && Boolean(error.type) && Boolean(error.requestID));
await assert.rejects(
  client.models.retrieve('no-such'),
  (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
