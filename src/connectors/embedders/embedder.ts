/** `pipelines[].embedder`: what turns the text of a query into a vector. */
import { z } from 'zod';
import { httpServiceShape, keySchema } from '../../platform/config/connection.ts';

/**
 * What a call to an embedding model came to. A failure is an outcome and never thrown; `code` is short and stable,
 * `message` names service, call and the way out, and holds no secret and no text.
 */
export type EmbedderAnswer =
  | {
      readonly kind: 'vectors';
      /** One for each text, in the order of the texts. */
      readonly vectors: readonly Float32Array[];
      readonly latencyMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      readonly latencyMs: number;
    };

/** Text in, vectors out, all of one length. */
export interface Embedder {
  /** Kind of API, model and requested dimension in a line: another one means other vectors. */
  readonly identity: string;
  /** Splits what is too much for one request; fails as a whole. Rejects only with the reason of `signal`. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbedderAnswer>;
  /** Gives connections back; there is none where none are held. */
  close?(): Promise<void>;
}

/** The vectors of texts, or why there are none. */
type EmbeddedTexts =
  | { readonly kind: 'vectors'; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Never fails but by `signal`. */
export async function embedTexts(
  embedder: Embedder | null,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  if (embedder === null) {
    return {
      kind: 'unknown',
      reason: 'The config names no embedder, so texts cannot be compared by meaning.',
    };
  }
  if (texts.length === 0) return { kind: 'vectors', vectors: [] };
  const answer = await embedder.embed(texts, signal);
  return answer.kind === 'vectors'
    ? { kind: 'vectors', vectors: answer.vectors }
    : { kind: 'unknown', reason: answer.message };
}

const { url: _url, ...service } = httpServiceShape;

const base = z.string().min(1).meta({ secret: 'url' });

const batch = z.int().min(1).max(2048).default(64).describe('Most texts in one request.');

const openai = z.strictObject({
  kind: z.literal('openai').describe('OpenAI, Azure, vLLM, TEI, Ollama and all that speak as OpenAI.'),
  base_url: base.describe('Where the API is, up to `/v1`.'),
  ...service,
  api_key: keySchema,
  model: z.string().min(1).describe('Name of the model.'),
  dimensions: z.int().min(1).optional().describe('Length of the vectors, where the model offers a choice.'),
  batch_size: batch,
});

const tei = z.strictObject({
  kind: z.literal('tei').describe('Text Embeddings Inference, by its own API.'),
  base_url: base.describe('Where the service is.'),
  ...service,
  api_key: keySchema,
  prompt_name: z.string().min(1).optional().describe('Prompt of the model to put before a query.'),
  batch_size: batch.default(32),
});

export const embedderSchema = z.discriminatedUnion('kind', [openai, tei]);

export type EmbedderConfig = z.infer<typeof embedderSchema>;
