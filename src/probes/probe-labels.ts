/** Looks for the judged documents of a golden set in the vector store. */
import { judgedDocuments, type LabelProbe, probeLabels } from '../golden/rules/labels.ts';
import type { GoldenQuery } from '../model.ts';
import type { VectorStore } from '../stores/vector-store.ts';

/** Ids in one question to the store. */
const BATCH = 500;

/** Never fails: a store that cannot answer makes the state of the labels unknown, with the reason. */
export async function probeStoredLabels(
  queries: readonly GoldenQuery[],
  relevanceLevel: number,
  store: VectorStore | null,
  signal: AbortSignal,
): Promise<LabelProbe> {
  if (store === null) {
    return {
      kind: 'unknown',
      reason: 'The config names no vector_store, so nobody can look whether judged documents still exist.',
    };
  }
  const ids = judgedDocuments(queries);
  const existing = new Set<string>();
  for (let start = 0; start < ids.length; start += BATCH) {
    const answer = await store.existing(ids.slice(start, start + BATCH), signal);
    if (answer.kind === 'unsupported') return { kind: 'unknown', reason: answer.reason };
    if (answer.kind === 'failed') return { kind: 'unknown', reason: answer.message };
    for (const id of answer.value) existing.add(id);
  }
  return probeLabels(queries, existing, relevanceLevel);
}
