/** `llm`: the chat model that makes questions and grades documents. */

import { z } from 'zod';
import { RecalldError } from '../../core/errors.ts';
import type { PromptMessage } from '../../core/text/prompt-data.ts';
import { httpServiceShape, keySchema } from '../../platform/config/connection.ts';
import { at, bearer, createJsonApi, type JsonAnswer } from '../../platform/outbound/json-api.ts';

const { url: _url, ...service } = httpServiceShape;

const price = z.number().min(0).max(1_000_000);

export const llmSchema = z
  .strictObject({
    base_url: z
      .string()
      .min(1)
      .describe('Where the API is, up to `/v1`: OpenAI, Azure, vLLM, Ollama and all that speak as OpenAI.')
      .meta({ secret: 'url' }),
    ...service,
    timeout_ms: service.timeout_ms.default(60_000),
    max_per_second: service.max_per_second.default(5),
    api_key: keySchema,
    model: z.string().min(1).describe('Name of the model.'),
    price_per_million_tokens: z
      .strictObject({
        input: price.describe('Price of the tokens that are sent.'),
        output: price.describe('Price of the tokens of the answers.'),
      })
      .optional()
      .describe('What the model costs, in US dollars; without it a cap on cost is refused.'),
  })
  .optional()
  .describe(
    'The chat model that `golden generate` asks for questions, and that grades documents where a pipeline is `judged`.',
  );

type LlmConfig = NonNullable<z.infer<typeof llmSchema>>;

/** How the shape of an answer is asked for; not every service knows the stricter one. */
type ResponseForm = 'json_schema' | 'json_object';

/** Statuses with which services refuse a `response_format` that they do not know. */
const refusals: ReadonlySet<number | null> = new Set([400, 404, 415, 422, 501]);

/**
 * Chat models that speak as OpenAI does: OpenAI, Azure, vLLM, Ollama, llama.cpp and gateways.
 *
 * `POST {base}/chat/completions` with a strict JSON schema, at temperature 1 unless the request says otherwise (questions
 * shall vary). A service that refuses the schema is asked again for any JSON object, and from then on for that at once.
 *
 * @throws RecalldError config_invalid when there is none, or its address, headers or TLS files cannot be used
 */
export function createChatModel(config: LlmConfig | undefined): ChatModel {
  if (config === undefined) {
    throw new RecalldError(
      'config_invalid',
      'The config names no chat model; add llm: {base_url, model, api_key} to ask one.',
    );
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

/** A request to a model that talks. */
export interface ChatRequest {
  readonly messages: readonly PromptMessage[];
  /** JSON Schema that the answer must have, with a name for it. */
  readonly schema: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> };
  readonly maxTokens: number;
  readonly seed: number;
  /** Left out: 1. */
  readonly temperature?: number;
  /** What the call is for, in messages; left out: `question`. */
  readonly purpose?: string;
}

interface TokenUsage {
  readonly input: number;
  readonly output: number;
}

/**
 * What a call came to. A failure is an outcome and never thrown; `message` names service, call and the way out, and
 * holds no secret and nothing of the request.
 */
export type ChatAnswer =
  | {
      readonly kind: 'text';
      readonly text: string;
      /** Whether the model ended by itself; a text that was cut off is no JSON. */
      readonly isWhole: boolean;
      /** Null when the service does not count. */
      readonly usage: TokenUsage | null;
    }
  | { readonly kind: 'refused'; readonly usage: TokenUsage | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

export interface ChatModel {
  /** Name of the model, for the record. */
  readonly model: string;
  /** Gives connections back; there is none where none are held. */
  close?(): void;
  /** Rejects only with the reason of `signal`. */
  answer(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
}
