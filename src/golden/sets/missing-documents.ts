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
  proposeLabels,
} from '../rules/labels.ts';
import type { GoldenDocuments } from '../sql/golden-sets.ts';
import { recordJudgedDocuments } from './record-judged-documents.ts';

const NEIGHBOURS = 20;

/** Searches the store for chunks that replaced missing documents. Rejects only with the reason of `signal`. */
export async function findLostDocuments(
  documents: GoldenDocuments,
  { name, store, embedder }: ProbedPipeline,
  lost: readonly string[],
  signal: AbortSignal,
) {
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
  const missing = new Set(lost);
  for (const [index, [id, { content: text }]] of known.entries()) {
    const vector = embedded.vectors[index];
    if (vector === undefined) continue;
    const request = { vector, k: NEIGHBOURS, filter: {}, exact: false, withContent: true };
    const found = await store.nearest(request, signal);
    if (found.kind === 'unsupported') return { anchors, unknown, gap: found.reason };
    if (found.kind === 'failed') return { anchors, unknown, gap: found.message };
    const { neighbours } = found.value;
    if (neighbours.length > 0 && neighbours.every(({ content }) => content === null)) {
      const gap = 'The store returns no texts; set vector_store.content to the name of the text field.';
      return { anchors, unknown, gap };
    }
    const candidates = neighbours.flatMap(({ id: documentId, content, similarity }) =>
      content === null || missing.has(documentId) ? [] : [{ documentId, content, similarity }],
    );
    anchors.set(id, findAnchors(text, candidates));
  }
  return {
    /** Possible replacement chunks, keyed by the id of the missing document; empty if no chunk is similar enough. */
    anchors,
    /** Ids of missing documents that cannot be searched for, because their texts are not stored. */
    unknown,
    /** Explains in one sentence why the search ended early; null if the search was complete. */
    gap: null,
  };
}

/**
 * Maximum number of missing documents whose replacements a run searches for in the store. The limit applies separately
 * to documents that the manifest lists as deleted and to all other missing documents. Documents beyond the limit are
 * classified like the majority of the searched documents of their kind.
 */
const SEARCHED = 100;
const SEED = 1;

/**
 * Classifies missing documents as superseded (a stored chunk has their text), deleted (the manifest lists them as
 * deleted) or lost. Rejects only with the reason of `signal`; `fateOf` classifies the documents that cannot be searched
 * for.
 */
async function fatesOf(
  documents: GoldenDocuments,
  pipeline: ProbedPipeline,
  missing: readonly string[],
  judged: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DocumentFate>> {
  if (missing.length === 0) return new Map();
  const deleted = await documents.withdrawn(pipeline.name, missing);
  const kinds = [missing.filter((id) => deleted.has(id)), missing.filter((id) => !deleted.has(id))].map((ids) => ({
    ids,
    searched: ids.length <= SEARCHED ? ids : drawn(ids, SEARCHED, SEED),
  }));
  const wanted = kinds.flatMap(({ searched }) => searched);
  const { anchors } = await findLostDocuments(documents, pipeline, wanted, signal);
  const found = (id: string): 'replaced' | 'not_found' | 'unknown' => {
    const chunks = anchors.get(id);
    if (chunks === undefined) return 'unknown';
    return chunks.length > 0 ? 'replaced' : 'not_found';
  };
  const missingShare = missing.length / Math.max(1, judged);
  return new Map(
    kinds.flatMap(({ ids, searched }) => {
      const fates = new Map(searched.map((id) => [id, fateOf(found(id), missingShare, deleted.has(id))]));
      const usual = mostCommon([...fates.values()]);
      return ids.map((id): [string, DocumentFate] => [id, fates.get(id) ?? usual]);
    }),
  );
}

/** Returns `deleted` or `lost` if more than half of the documents have that fate; otherwise `superseded`. */
function mostCommon(fates: readonly DocumentFate[]): DocumentFate {
  const isMost = (one: DocumentFate): boolean => 2 * fates.filter((fate) => fate === one).length > fates.length;
  return (['deleted', 'lost'] as const).find(isMost) ?? 'superseded';
}

/**
 * Looks up the judged documents of a set in the store, and classifies the missing documents. Records the texts of the
 * documents that the store has, so that a later run can distinguish a lost document from a document with a new id.
 * Rejects only with the reason of `signal`. If the store fails, the result has the kind `unknown` and states the
 * reason.
 */
export async function probeStoredLabels(
  context: Context,
  pipeline: ProbedPipeline,
  queries: readonly GoldenQuery[],
  relevanceLevel: number,
  signal: AbortSignal,
): Promise<LabelProbe> {
  const judged = judgedDocuments(queries);
  const found = await existingDocuments(judged, pipeline.store, signal);
  if (found.kind === 'unknown') return found;
  const { existing } = found;
  await recordJudgedDocuments(context, pipeline, [...existing], signal);
  const missing = judged.filter((id) => !existing.has(id));
  const fates = await fatesOf(context.db.golden.documents, pipeline, missing, judged.length, signal);
  return probeLabels(queries, existing, relevanceLevel, fates);
}

/** Probes the judged documents of a set (see `probeStoredLabels`), and proposes replacements for missing documents. */
export async function findReplacements(
  context: Context,
  pipeline: ProbedPipeline,
  queries: readonly GoldenQuery[],
  relevanceLevel: number,
  signal: AbortSignal,
) {
  const labels = await probeStoredLabels(context, pipeline, queries, relevanceLevel, signal);
  const stale = labels.kind === 'probed' ? labels.labels : [];
  const missing = [...new Set(stale.map(({ documentId }) => documentId))];
  const lost = await findLostDocuments(context.db.golden.documents, pipeline, missing, signal);
  return { labels, missing, lost, proposals: proposeLabels(stale, lost.anchors) };
}
