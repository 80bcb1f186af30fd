/** `llm`: the chat model that makes questions and grades documents. */
import { z } from 'zod';
import { httpServiceShape, keySchema } from '../config/connection.ts';

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

export type LlmConfig = NonNullable<z.infer<typeof llmSchema>>;
