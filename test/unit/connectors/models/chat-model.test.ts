import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { ChatRequest, llmSchema } from '../../../../src/connectors/models/chat-model.ts';
import { never, openChatModel } from '../../../support/connectors.ts';
import {
  type FaultServer,
  hang,
  html,
  inTurn,
  json,
  type Responder,
  startFaultServer,
  status,
  tooManyRequests,
  truncated,
} from '../../../support/fault-server.ts';

let server: FaultServer;
let responder: Responder;

beforeEach(async () => {
  server = await startFaultServer((request, response) => responder(request, response));
});
afterEach(() => server.close());

const request: ChatRequest = {
  messages: [{ role: 'user', content: 'Ask.' }],
  schema: { name: 'q', schema: { type: 'object' } },
  maxTokens: 99,
  seed: 7,
};
const completion = (content: string | null, rest: object = {}, message: object = {}) =>
  json({
    choices: [{ message: { role: 'assistant', content, ...message }, finish_reason: 'stop', ...rest }],
    usage: { prompt_tokens: 12, completion_tokens: 3 },
  });
const aModel = (changes: Partial<NonNullable<z.input<typeof llmSchema>>> = {}) =>
  openChatModel({ base_url: server.url, model: 'small', timeout_ms: 5000, retries: 0, ...changes });
const bodies = () => server.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

describe('a chat model', () => {
  it('receives a strict schema, and returns text and token usage', async () => {
    responder = completion('{"a":1}');
    expect(await aModel().answer(request, never)).toEqual({
      kind: 'text',
      text: '{"a":1}',
      isWhole: true,
      usage: { input: 12, output: 3 },
    });
    expect(bodies()[0]).toMatchObject({
      model: 'small',
      max_tokens: 99,
      seed: 7,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'q', strict: true, schema: { type: 'object' } },
      },
    });
    expect(server.requests[0]?.target).toBe('/chat/completions');
  });

  it('that rejects schemas is asked for any JSON object, in this call and in all later ones', async () => {
    responder = (one, response) => (one.body.includes('json_schema') ? status(400) : completion('{}'))(one, response);
    const model = aModel();
    expect(await model.answer(request, never)).toMatchObject({ kind: 'text' });
    expect(await model.answer(request, never)).toMatchObject({ kind: 'text' });
    expect(bodies().map(({ response_format: form }) => (form as { type: string }).type)).toEqual([
      'json_schema',
      'json_object',
      'json_object',
    ]);
  });

  it('that is busy is retried at the time it requested', async () => {
    responder = inTurn(tooManyRequests('0'), completion('{}'));
    expect(await aModel({ retries: 1 }).answer(request, never)).toMatchObject({ kind: 'text' });
  });

  it.each<[string, Responder]>([
    ['a refusal', completion(null, {}, { refusal: 'I cannot help with that.' })],
    ['filtered content', completion('', { finish_reason: 'content_filter' })],
  ])('that answers with %s counts as a refusal', async (_, answer) => {
    responder = answer;
    expect(await aModel().answer(request, never)).toEqual({
      kind: 'refused',
      usage: { input: 12, output: 3 },
    });
  });

  it('reports a truncated answer, even without token usage', async () => {
    responder = json({ choices: [{ message: { content: '{"a"' }, finish_reason: 'length' }] });
    expect(await aModel().answer(request, never)).toEqual({
      kind: 'text',
      text: '{"a"',
      isWhole: false,
      usage: null,
    });
  });

  it.each<[string, Responder, string]>([
    ['unrelated JSON', json({ id: 'x' }), 'no_content'],
    ['a web page', html(), 'not_json'],
    ['a truncated body', truncated(), 'connection_reset'],
    ['HTTP 500', status(500), 'http_500'],
    ['HTTP 401', status(401), 'http_401'],
    ['no response in time', hang(), 'timeout'],
    ['a long Retry-After', tooManyRequests('3600'), 'http_429'],
  ])('that answers with %s fails with a code and without secrets', async (_, answer, code) => {
    responder = answer;
    const failed = await aModel({ timeout_ms: 1000, headers: { authorization: 'Bearer top-secret' } }).answer(
      request,
      never,
    );
    expect(failed).toMatchObject({ kind: 'failed', code });
    expect(JSON.stringify(failed)).not.toContain('top-secret');
  });
});
