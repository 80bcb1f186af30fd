import type { StoredChunk } from './vector-store.ts';

/** Maximum length of a document's text in characters; longer texts are truncated. */
const MAX_TEXT = 20_000;

/** Returns the texts of documents, keyed by document id: the texts of their chunks, one per line. */
export function documentTexts(chunks: readonly StoredChunk[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const { id, content } of chunks) {
    const before = texts.get(id);
    if (content !== null) texts.set(id, before === undefined ? content : `${before}\n${content}`);
  }
  return new Map([...texts].map(([id, text]) => [id, storable(text.slice(0, MAX_TEXT))]));
}

/** Removes what PostgreSQL does not store: NUL characters and lone surrogates. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
