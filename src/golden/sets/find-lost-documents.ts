/** Looks in the store for the chunks that took the place of documents that are gone. */

import { embedTexts } from '../../embedders/embed-texts.ts';
import type { ProbedPipeline } from '../../probes/probes.ts';
import { type Anchor, findAnchors } from '../rules/labels.ts';
import type { GoldenDocuments } from '../sql/golden-documents.ts';

const NEIGHBOURS = 20;

export interface LostDocuments {
  /** Chunks that may take the place, by the id of the lost document; empty where nothing came near. */
  readonly anchors: ReadonlyMap<string, readonly Anchor[]>;
  /** Ids of lost documents whose text was never seen, so that nobody knows what to look for. */
  readonly unknown: readonly string[];
  /** Why the search ended early, one sentence. */
  readonly gap: string | null;
}

/** Never fails but by `signal`. */
export async function findLostDocuments(
  documents: GoldenDocuments,
  { name, store, embedder }: Pick<ProbedPipeline, 'name' | 'store' | 'embedder'>,
  lost: readonly string[],
  signal: AbortSignal,
): Promise<LostDocuments> {
  const texts = await documents.texts(name, lost);
  const unknown = lost.filter((id) => !texts.has(id));
  const anchors = new Map<string, readonly Anchor[]>();
  if (store === null || texts.size === 0) return { anchors, unknown, gap: null };
  const known = [...texts];
  const embedded = await embedTexts(
    embedder,
    known.map(([, text]) => text),
    signal,
  );
  if (embedded.kind === 'unknown') return { anchors, unknown, gap: embedded.reason };
  const gone = new Set(lost);
  for (const [index, [id, text]] of known.entries()) {
    const vector = embedded.vectors[index];
    if (vector === undefined) continue;
    const request = { vector, k: NEIGHBOURS, filter: {}, exact: false, withContent: true };
    const found = await store.nearest(request, signal);
    if (found.kind === 'unsupported') return { anchors, unknown, gap: found.reason };
    if (found.kind === 'failed') return { anchors, unknown, gap: found.message };
    const { neighbours } = found.value;
    if (neighbours.length > 0 && neighbours.every(({ content }) => content === null)) {
      const gap = 'The store gives no texts; name the field of the text in vector_store (content).';
      return { anchors, unknown, gap };
    }
    const candidates = neighbours.flatMap(({ id: documentId, content, similarity }) =>
      content === null || gone.has(documentId) ? [] : [{ documentId, content, similarity }],
    );
    anchors.set(id, findAnchors(text, candidates));
  }
  return { anchors, unknown, gap: null };
}
