/** Chat models that speak as OpenAI does: OpenAI, Azure, vLLM, Ollama, llama.cpp and gateways. */

import type { JsonAnswer, JsonApi } from '../outbound/json-api.ts';
import { at } from '../outbound/json-value.ts';
import type { ChatAnswer, ChatModel, ChatRequest, TokenUsage } from './chat-model.ts';

/** How the shape of an answer is asked for; not every service knows the stricter one. */
type ResponseForm = 'json_schema' | 'json_object';

/** Statuses with which services refuse a `response_format` that they do not know. */
const refusals: ReadonlySet<number | null> = new Set([400, 404, 415, 422, 501]);

/**
 * `POST {base}/chat/completions` with a strict JSON schema and temperature 1 (questions shall vary). A service that
 * refuses the schema is asked again for any JSON object, and from then on for that at once.
 */
export function createOpenAiChatModel({
  api,
  model,
}: {
  readonly api: JsonApi;
  readonly model: string;
}): ChatModel {
  let form: ResponseForm = 'json_schema';
  const send = (request: ChatRequest, as: ResponseForm, signal: AbortSignal): Promise<JsonAnswer> =>
    api.call(
      { method: 'POST', path: '/chat/completions', body: bodyOf(request, model, as), purpose: 'question' },
      signal,
    );
  return {
    model,
    async answer(request, signal) {
      const asked = form;
      const first = await send(request, asked, signal);
      if (first.kind === 'answer' || asked === 'json_object' || !refusals.has(first.status))
        return read(first);
      const second = await send(request, 'json_object', signal);
      if (second.kind === 'answer') form = 'json_object';
      return read(second);
    },
  };
}

function bodyOf(request: ChatRequest, model: string, form: ResponseForm): Record<string, unknown> {
  const { messages, schema, maxTokens, seed } = request;
  return {
    model,
    messages,
    temperature: 1,
    seed,
    max_tokens: maxTokens,
    response_format:
      form === 'json_object'
        ? { type: 'json_object' }
        : { type: 'json_schema', json_schema: { name: schema.name, strict: true, schema: schema.schema } },
  };
}

function read(answer: JsonAnswer): ChatAnswer {
  if (answer.kind === 'failed') return { kind: 'failed', code: answer.code, message: answer.message };
  const choice = at(answer.json, 'choices', 0);
  const usage = usageOf(at(answer.json, 'usage'));
  const reason = at(choice, 'finish_reason');
  const refusal = at(choice, 'message', 'refusal');
  if ((typeof refusal === 'string' && refusal !== '') || reason === 'content_filter')
    return { kind: 'refused', usage };
  const text = at(choice, 'message', 'content');
  if (typeof text === 'string') return { kind: 'text', text, isWhole: reason !== 'length', usage };
  const problem = 'gave an answer without choices[0].message.content; check that llm.base_url ends in /v1';
  return { kind: 'failed', code: 'no_content', message: `The chat model ${problem}.` };
}

function usageOf(usage: unknown): TokenUsage | null {
  const [input, output] = [at(usage, 'prompt_tokens'), at(usage, 'completion_tokens')];
  return isCount(input) && isCount(output) ? { input, output } : null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
