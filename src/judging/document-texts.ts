/** What the documents of a drawn query say, from the retriever or the store. */
import { hash } from 'node:crypto';
import { wellFormed } from '../postgres/values.ts';
import type { JudgingPlan } from './plan.ts';
import { MAX_DOCUMENT_CHARACTERS, type StoredText } from './rules/judge-prompt.ts';

/** A document that is not among so many neighbours of its query is not looked for any further. */
const NEIGHBOURS = 100;

export type DocumentTexts =
  | { readonly kind: 'texts'; readonly texts: ReadonlyMap<string, StoredText> }
  /** Retriever or store did not answer; another time. */
  | { readonly kind: 'unreachable'; readonly message: string };

interface AskedQuery {
  readonly text: string;
  readonly embedding: Float32Array | null;
  readonly segments: Readonly<Record<string, string>>;
  readonly documentIds: readonly string[];
}

/**
 * Asks the retriever the query again, with texts, and for what it does not bring looks among the nearest chunks of the
 * store. What has gone since the user asked has no text. Rejects only with the reason of `signal`.
 */
export async function documentTexts(
  { retriever, store, embedder }: Pick<JudgingPlan, 'retriever' | 'store' | 'embedder'>,
  { text, embedding, segments, documentIds }: AskedQuery,
  signal: AbortSignal,
): Promise<DocumentTexts> {
  const texts = new Map<string, StoredText>();
  const wanted = new Set(documentIds);
  const keep = (id: string, content: string | null | undefined): void => {
    if (content == null || content.trim() === '' || !wanted.delete(id)) return;
    texts.set(id, storedText(content));
  };
  const answer = await retriever.retrieve({ text, k: documentIds.length, tags: segments, withText: true }, signal);
  if (answer.kind === 'documents') for (const { id, text: content } of answer.documents) keep(id, content);
  if (wanted.size === 0) return { kind: 'texts', texts };
  const found = await nearestChunks({ store, embedder }, { text, embedding, k: NEIGHBOURS }, signal);
  for (const { id, content } of found.chunks) keep(id, content);
  const problem = answer.kind === 'documents' ? found.problem : answer.message;
  if (texts.size === 0 && problem !== null) return { kind: 'unreachable', message: problem };
  return { kind: 'texts', texts };
}

export interface NearestChunks {
  /** Best first; an id comes as often as its document has chunks among them. */
  readonly chunks: readonly { readonly id: string; readonly content: string | null }[];
  /** Store or embedder did not answer. */
  readonly problem: string | null;
}

/** None where the pipeline has no store, or nothing makes a vector of the question. Rejects only with the reason of `signal`. */
export async function nearestChunks(
  { store, embedder }: Pick<JudgingPlan, 'store' | 'embedder'>,
  { text, embedding, k }: { readonly text: string; readonly embedding: Float32Array | null; readonly k: number },
  signal: AbortSignal,
): Promise<NearestChunks> {
  const nothing = { chunks: [], problem: null };
  if (store === null) return nothing;
  let vector = embedding;
  if (vector === null) {
    if (embedder === null) return nothing;
    const embedded = await embedder.embed([text], signal);
    if (embedded.kind === 'failed') return { chunks: [], problem: embedded.message };
    vector = embedded.vectors[0] ?? null;
    if (vector === null) return nothing;
  }
  const found = await store.nearest({ vector, k, filter: {}, exact: false, withContent: true }, signal);
  if (found.kind === 'failed') return { chunks: [], problem: found.message };
  return found.kind === 'unsupported' ? nothing : { chunks: found.value.neighbours, problem: null };
}

/** The text up to where a judge reads it, by its hash. */
export function storedText(text: string): StoredText {
  const content = wellFormed(text.slice(0, MAX_DOCUMENT_CHARACTERS).replaceAll('\0', ''));
  return { content, hash: hash('sha256', content, 'hex') };
}
