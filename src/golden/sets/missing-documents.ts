/** What became of judged documents that are no longer in the store: replaced or withdrawn, or lost. */

import { embedTexts } from '../../connectors/embedders/embedder.ts';
import type { Context } from '../../core/context.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { existingDocuments, type ProbedPipeline } from '../../index/probes/probes.ts';
import { drawn } from '../../math/stats/random.ts';
import {
  type Anchor,
  type DocumentFate,
  fateOf,
  findAnchors,
  judgedDocuments,
  type LabelProbe,
  probeLabels,
} from '../rules/labels.ts';
import type { GoldenDocuments } from '../sql/golden-sets.ts';
import { recordJudgedDocuments } from './record-judged-documents.ts';

type Stored = Pick<ProbedPipeline, 'name' | 'store' | 'embedder'>;

const NEIGHBOURS = 20;

export interface LostDocuments {
  /** Chunks that may take the place, by the id of the lost document; empty where nothing came near. */
  readonly anchors: ReadonlyMap<string, readonly Anchor[]>;
  /** Ids of lost documents whose text is unknown, so that nothing can be searched for. */
  readonly unknown: readonly string[];
  /** Why the search ended early, one sentence. */
  readonly gap: string | null;
}

/** Searches the store for the chunks that took the place of documents that are gone. Never fails but by `signal`. */
export async function findLostDocuments(
  documents: GoldenDocuments,
  { name, store, embedder }: Stored,
  lost: readonly string[],
  signal: AbortSignal,
): Promise<LostDocuments> {
  const texts = await documents.seen(name, lost);
  const unknown = lost.filter((id) => !texts.has(id));
  const anchors = new Map<string, readonly Anchor[]>();
  if (store === null || texts.size === 0) return { anchors, unknown, gap: null };
  const known = [...texts];
  const embedded = await embedTexts(
    embedder,
    known.map(([, { content }]) => content),
    signal,
  );
  if (embedded.kind === 'unknown') return { anchors, unknown, gap: embedded.reason };
  const gone = new Set(lost);
  for (const [index, [id, { content: text }]] of known.entries()) {
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

/** Documents that are searched for at the end of one run; the others are taken to be like the most of these. */
const SEARCHED = 100;
const SEED = 1;

/**
 * Finds out what became of documents that are gone: the manifest deleted them, a chunk of the store has their text, or
 * neither. Never fails but by `signal`: what cannot be looked up is unknown, and `fateOf` decides.
 *
 * @param gone ids of judged documents that the store does not have
 * @param judged number of judged documents of the set
 */
async function fatesOf(
  documents: GoldenDocuments,
  pipeline: Stored,
  gone: readonly string[],
  judged: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DocumentFate>> {
  if (gone.length === 0) return new Map();
  const deleted = await documents.withdrawn(pipeline.name, gone);
  const open = gone.filter((id) => !deleted.has(id));
  const searched = open.length <= SEARCHED ? open : drawn(open, SEARCHED, SEED);
  const { anchors } = await findLostDocuments(documents, pipeline, searched, signal);
  const found = (id: string): 'replaced' | 'not_found' | 'unknown' => {
    const chunks = anchors.get(id);
    if (chunks === undefined) return 'unknown';
    return chunks.length > 0 ? 'replaced' : 'not_found';
  };
  const goneShare = gone.length / Math.max(1, judged);
  const fates = new Map<string, DocumentFate>(searched.map((id) => [id, fateOf(found(id), goneShare)]));
  const lost = [...fates.values()].filter((fate) => fate === 'lost').length;
  const usual: DocumentFate = 2 * lost > fates.size ? 'lost' : 'superseded';
  return new Map(gone.map((id) => [id, deleted.has(id) ? 'superseded' : (fates.get(id) ?? usual)]));
}

/**
 * Probes the judged documents of a set: which are in the store, and what became of the others. Reads the texts of those
 * that are there, so that a later run can tell a lost document from one that has another id. Never fails but by `signal`:
 * a store that cannot answer makes the state of the labels unknown, with the reason.
 *
 * @param relevanceLevel minimum grade that counts as relevant
 */
export async function probeStoredLabels(
  context: Context,
  pipeline: Stored,
  queries: readonly GoldenQuery[],
  relevanceLevel: number,
  signal: AbortSignal,
): Promise<LabelProbe> {
  const judged = judgedDocuments(queries);
  const found = await existingDocuments(judged, pipeline.store, signal);
  if (found.kind === 'unknown') return found;
  const { existing } = found;
  await recordJudgedDocuments(context, pipeline, [...existing], signal);
  const gone = judged.filter((id) => !existing.has(id));
  const fates = await fatesOf(context.db.golden.documents, pipeline, gone, judged.length, signal);
  return probeLabels(queries, existing, relevanceLevel, fates);
}
