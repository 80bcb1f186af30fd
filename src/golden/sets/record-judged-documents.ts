import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import type { ProbedPipeline } from '../../index/probes/probes.ts';
import type { SeenDocument } from '../sql/golden-sets.ts';

/** Maximum number of documents that one pass reads; later passes read the remaining documents. */
const READ = 2000;
const BATCH = 500;

/**
 * Reads the missing texts of judged documents by document id, and stores them. If the store fails or has no texts, the
 * pass ends early, and the next pass reads the texts that are still missing.
 */
export async function recordJudgedDocuments(
  { db, clock }: Context,
  { name, store }: ProbedPipeline,
  judged: readonly string[],
  signal: AbortSignal,
) {
  const before = await db.golden.documents.seen(name, judged);
  const now = clock.now();
  const unread = passOf(
    judged.filter((id) => !before.has(id)),
    Math.floor(now.getTime() / DAY_MS),
  );
  if (store === null) return { judged: judged.length, known: before.size, problem: null };
  let known = before.size;
  let problem: string | null = null;
  for (let start = 0; start < unread.length; start += BATCH) {
    const answer = await store.chunks(unread.slice(start, start + BATCH), signal);
    if (answer.kind === 'failed') problem = answer.message;
    if (answer.kind !== 'ok') break;
    const texts = new Map<string, string[]>();
    for (const { id, content } of answer.value)
      if (content !== null) texts.set(id, [...(texts.get(id) ?? []), content]);
    const seen = Array.from(texts, ([documentId, parts]): SeenDocument => ({ documentId, content: parts.join('\n') }));
    await db.golden.documents.record(name, seen, now);
    known += seen.length;
  }
  return {
    judged: judged.length,
    /** Number of judged documents whose text is stored now. */
    known,
    /** The store error that ended the pass early, or null. */
    problem,
  };
}

/** Starts at a different document each day, so that documents without a text do not keep others from being read. */
function passOf(ids: readonly string[], day: number): readonly string[] {
  if (ids.length <= READ) return ids;
  const start = (day * READ) % ids.length;
  return [...ids.slice(start), ...ids.slice(0, start)].slice(0, READ);
}
