/** What documents are about, from which people judge better than from ids: their first words, read anew each time. */
import type { GoldenDocuments } from '../golden/sql/golden-documents.ts';
import type { VectorStore } from '../stores/vector-store.ts';

const LONGEST = 140;
/** More are not shown on a page. */
const MAX_DOCUMENTS = 60;

/**
 * By id, of documents that the store has, or that were judged and read from it before. Of a document with several
 * chunks the words of the first that the store gives. Never throws for a store that does not answer.
 */
export async function wordsOfDocuments(
  { documents }: { readonly documents: Pick<GoldenDocuments, 'seen'> },
  { name, store }: { readonly name: string; readonly store: VectorStore | null },
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].slice(0, MAX_DOCUMENTS);
  const words = new Map<string, string>();
  for (const [id, { content }] of await documents.seen(name, wanted)) words.set(id, firstWords(content));
  const left = wanted.filter((id) => !words.has(id));
  if (store === null || left.length === 0) return words;
  const found = await store.chunks(left, signal).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  for (const { id, content } of found?.kind === 'ok' ? found.value : [])
    if (content !== null && content.trim() !== '' && !words.has(id)) words.set(id, firstWords(content));
  return words;
}

/** Up to the end of a word. */
export function firstWords(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= LONGEST) return line;
  const cut = line.slice(0, LONGEST);
  const end = cut.lastIndexOf(' ');
  return `${cut.slice(0, end > LONGEST / 2 ? end : LONGEST)}…`;
}
