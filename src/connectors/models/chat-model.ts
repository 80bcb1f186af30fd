/** `llm`: the chat model that generates queries and grades documents. */

import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import type { PromptMessage } from '../../core/text/prompt-data.ts';
import { httpServiceShape, keySchema, textSchema } from '../../platform/config/connection.ts';
import { at, bearer, createJsonApi, type JsonAnswer } from '../../platform/outbound/json-api.ts';

const { url: _url, ...service } = httpServiceShape;

const price = z.number().min(0).max(1_000_000);

export const llmSchema = z
  .strictObject({
    base_url: textSchema.describe('Base URL of the API, up to `/v1`.').meta({ secret: 'url' }),
    ...service,
    timeout_ms: service.timeout_ms.default(60_000),
    max_per_second: service.max_per_second.default(5),
    api_key: keySchema,
    model: textSchema.describe('Name of the model.'),
    price_per_million_tokens: z
      .strictObject({
        input: price.describe('Price of input tokens.'),
        output: price.describe('Price of output tokens.'),
      })
      .optional()
      .describe('Prices of the model, in US dollars per million tokens. A cost limit requires these prices.'),
  })
  .optional()
  .describe(
    'The chat model that generates queries for `golden generate` and grades documents for pipelines with a `judged` section: OpenAI, Azure, vLLM, Ollama or another OpenAI-compatible service.',
  );

type LlmConfig = NonNullable<z.infer<typeof llmSchema>>;

/** Response formats that recalld requests. Not every service supports `json_schema`, which is stricter. */
type ResponseForm = 'json_schema' | 'json_object';

/** HTTP statuses with which services reject an unsupported `response_format`. */
const refusals: ReadonlySet<number | null> = new Set([400, 404, 415, 422, 501]);

/**
 * OpenAI-compatible chat models: OpenAI, Azure, vLLM, Ollama, llama.cpp and gateways.
 *
 * Sends `POST {base}/chat/completions` with a strict JSON schema. If a service rejects the schema, this call and all
 * later calls request a JSON object without a schema. The default temperature is 1, because generated queries should
 * vary.
 *
 * @throws RecalldError config_invalid if the config has no chat model, or if the model's address, headers or TLS files
 *   are invalid
 */
export function createChatModel(config: LlmConfig | undefined): ChatModel {
  if (config === undefined) {
    throw new RecalldError('config_invalid', 'The config has no chat model; add llm: {base_url, model, api_key}.');
  }
  const api = createJsonApi(
    { ...config, url: config.base_url },
    { service: 'The chat model', configField: 'llm', urlKey: 'base_url', credentials: bearer(config.api_key) },
  );
  const { model } = config;
  let form: ResponseForm = 'json_schema';
  const send = (request: ChatRequest, as: ResponseForm, signal: AbortSignal): Promise<JsonAnswer> =>
    api.call(
      {
        method: 'POST',
        path: '/chat/completions',
        body: bodyOf(request, model, as),
        purpose: request.purpose ?? 'question',
      },
      signal,
    );
  return {
    model,
    async answer(request, signal) {
      const asked = form;
      const first = await send(request, asked, signal);
      if (first.kind === 'answer' || asked === 'json_object' || !refusals.has(first.status)) return read(first);
      const second = await send(request, 'json_object', signal);
      if (second.kind === 'answer') form = 'json_object';
      return read(second);
    },
    close: () => api.close(),
  };
}

function bodyOf(request: ChatRequest, model: string, form: ResponseForm): Record<string, unknown> {
  const { messages, schema, maxTokens, seed, temperature = 1 } = request;
  return {
    model,
    messages,
    temperature,
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
  if ((typeof refusal === 'string' && refusal !== '') || reason === 'content_filter') return { kind: 'refused', usage };
  const text = at(choice, 'message', 'content');
  if (typeof text === 'string') return { kind: 'text', text, isWhole: reason !== 'length', usage };
  const problem = 'returned a response without choices[0].message.content; check that llm.base_url ends in /v1';
  return { kind: 'failed', code: 'no_content', message: `The chat model ${problem}.` };
}

function usageOf(usage: unknown): TokenUsage | null {
  const [input, output] = [at(usage, 'prompt_tokens'), at(usage, 'completion_tokens')];
  return isCount(input) && isCount(output) ? { input, output } : null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

export interface ChatRequest {
  readonly messages: readonly PromptMessage[];
  /** JSON Schema of the response, and the name of the schema. */
  readonly schema: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
  readonly maxTokens: number;
  readonly seed: number;
  /** Default: 1. */
  readonly temperature?: number;
  /** Purpose of the call, as shown in error messages; default: `question`. */
  readonly purpose?: string;
}

interface TokenUsage {
  readonly input: number;
  readonly output: number;
}

/**
 * Result of a call. A failure is returned and never thrown. `message` names the service, the call and the fix, and
 * contains neither a secret nor any part of the request.
 */
export type ChatAnswer =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** True if the model finished its answer. A truncated answer is not valid JSON. */
      readonly isWhole: boolean;
      /** Numbers of input and output tokens; null if the service does not report them. */
      readonly usage: TokenUsage | null;
    }
  | { readonly kind: 'refused'; readonly usage: TokenUsage | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

export interface ChatModel {
  /** Name of the model, stored with its results. */
  readonly model: string;
  /** Closes connections; absent if there are none. */
  close?(): void;
  /** Rejects only if `signal` aborts, with `signal.reason`. */
  answer(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
}
