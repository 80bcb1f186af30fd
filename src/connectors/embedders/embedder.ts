/** `pipelines[].embedder`: the embedding model for query texts. */
import { z } from 'zod';
import { httpServiceShape, keySchema, textSchema, wholeIn } from '../../platform/config/connection.ts';
import type { FailedCall } from '../../platform/outbound/json-api.ts';

/**
 * Result of a call to an embedding model. A failure is returned and never thrown. `code` is short and stable; `message`
 * names the service, the call and the fix, and contains neither a secret nor an embedded text.
 */
export type EmbedderAnswer =
  | {
      readonly kind: 'vectors';
      /** One vector per text, in the order of the texts. */
      readonly vectors: readonly Float32Array[];
      readonly latencyMs: number;
    }
  | FailedCall;

/** Converts texts into vectors of equal length. */
export interface Embedder {
  /**
   * API kind, model and requested dimensions, on one line. Embedders with different identities may return different
   * vectors.
   */
  readonly identity: string;
  /**
   * Splits a large request into several requests. If any request fails, the whole call fails. Rejects only if `signal`
   * aborts, with `signal.reason`.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbedderAnswer>;
  /** Closes the embedder's connections. An embedder without connections does not have this method. */
  close?(): Promise<void>;
}

/** The vectors of the texts, or the reason why recalld could not compute the vectors. */
type EmbeddedTexts =
  | { readonly kind: 'vectors'; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Rejects only if `signal` aborts, with `signal.reason`. */
export async function embedTexts(
  embedder: Embedder | null,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  if (embedder === null) {
    return {
      kind: 'unknown',
      reason: 'The config has no embedder, so recalld cannot compare texts by meaning.',
    };
  }
  if (texts.length === 0) return { kind: 'vectors', vectors: [] };
  const answer = await embedder.embed(texts, signal);
  return answer.kind === 'vectors'
    ? { kind: 'vectors', vectors: answer.vectors }
    : { kind: 'unknown', reason: answer.message };
}

const { url: _url, ...service } = httpServiceShape;

const base = textSchema.meta({ secret: 'url' });

const batch = wholeIn(1, 2048).default(64).describe('Maximum number of texts in one request.');

const openai = z.strictObject({
  kind: z.literal('openai').describe('OpenAI, Azure, vLLM, TEI, Ollama and other OpenAI-compatible services.'),
  base_url: base.describe('Base URL of the API, up to `/v1`.'),
  ...service,
  api_key: keySchema,
  model: textSchema.describe('Name of the model.'),
  dimensions: z.int().min(1).optional().describe('Number of dimensions to request, if the model supports several.'),
  batch_size: batch,
});

const tei = z.strictObject({
  kind: z.literal('tei').describe('Text Embeddings Inference, through its native API.'),
  base_url: base.describe('Base URL of the service.'),
  ...service,
  api_key: keySchema,
  prompt_name: textSchema.optional().describe('Name of the model prompt to prepend to each query.'),
  batch_size: batch.default(32),
});

export const embedderSchema = z.discriminatedUnion('kind', [openai, tei]);

export type EmbedderConfig = z.infer<typeof embedderSchema>;
