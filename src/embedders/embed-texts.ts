import type { Embedder } from './embedder.ts';

/** The vectors of texts, or why there are none. */
export type EmbeddedTexts =
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
