/** Keeps what the judged documents say while they are in the store, so that they can be found again when they are gone. */

import { embedTexts } from '../../embedders/embedder.ts';
import type { GoldenQuery } from '../../model.ts';
import type { ProbedPipeline } from '../../probes/probes.ts';
import { type Clock, DAY_MS } from '../../time.ts';
import { judgedDocuments } from '../rules/labels.ts';
import type { GoldenDocuments, SeenDocument } from '../sql/golden-sets.ts';

export interface RecordDocumentsDeps {
  readonly documents: GoldenDocuments;
  readonly clock: Clock;
}

/** Most queries that are searched for in one pass; the next pass takes others. */
const QUERIES_PER_PASS = 500;
/** A relevant document that is not among so many neighbours of its query is not looked for any further. */
const NEIGHBOURS = 100;

export interface RecordedDocuments {
  readonly judged: number;
  /** Of them those whose text is known now. */
  readonly known: number;
  /** What the store or the embedder answered that ended the pass early; null when it did not. */
  readonly problem: string | null;
}

/**
 * Looks for judged documents without a known text among the nearest chunks of their queries, and stores their texts.
 * A store or an embedder that fails, or a store without texts, ends the pass; the next one goes on. What was found
 * before is stored all the same.
 */
export async function recordJudgedDocuments(
  { documents, clock }: RecordDocumentsDeps,
  { name, store, embedder }: Pick<ProbedPipeline, 'name' | 'store' | 'embedder'>,
  queries: readonly GoldenQuery[],
  signal: AbortSignal,
): Promise<RecordedDocuments> {
  const judged = judgedDocuments(queries);
  const before = await documents.seen(name, judged);
  const missing = new Set(judged.filter((id) => !before.has(id)));
  const nothingNew = { judged: judged.length, known: before.size, problem: null };
  if (store === null || embedder === null || missing.size === 0) return nothingNew;
  const now = clock.now();
  const asked = passOf(
    queries.filter(({ judgments }) => judgments.some(({ documentId }) => missing.has(documentId))),
    Math.floor(now.getTime() / DAY_MS),
  );
  const embedded = await embedTexts(
    embedder,
    asked.map(({ text }) => text),
    signal,
  );
  if (embedded.kind === 'unknown') return { ...nothingNew, problem: embedded.reason };
  const seen = new Map<string, SeenDocument>();
  let problem: string | null = null;
  for (const vector of embedded.vectors) {
    const found = await store.nearest({ vector, k: NEIGHBOURS, filter: {}, exact: false, withContent: true }, signal);
    if (found.kind === 'failed') problem = found.message;
    if (found.kind !== 'ok') break;
    for (const { id, content } of found.value.neighbours) {
      if (missing.has(id) && content !== null) seen.set(id, { documentId: id, content });
    }
  }
  if (seen.size > 0) await documents.record(name, [...seen.values()], now);
  return { judged: judged.length, known: before.size + seen.size, problem };
}

/** Another stretch of the queries each day, so that those whose documents are never found do not bar the way. */
function passOf(queries: readonly GoldenQuery[], day: number): readonly GoldenQuery[] {
  if (queries.length <= QUERIES_PER_PASS) return queries;
  const start = (day * QUERIES_PER_PASS) % queries.length;
  return [...queries.slice(start), ...queries.slice(0, start)].slice(0, QUERIES_PER_PASS);
}
