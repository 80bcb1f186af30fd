import { documentTexts } from '../../connectors/stores/document-texts.ts';
import type { Context } from '../../core/context.ts';
import { DAY_MS } from '../../core/time.ts';
import type { ProbedPipeline } from '../../index/probes/probes.ts';

/** Maximum number of documents per pass; later passes read the remaining documents. */
const READ = 2000;
const BATCH = 500;

/**
 * Reads and stores, by document id, the texts of judged documents that have no stored text, or whose text was last read
 * before `readBefore`. If the store fails or has no texts, the pass ends early, and the next pass reads the remaining
 * texts.
 */
export async function recordJudgedDocuments(
  { db, clock }: Context,
  { name, store }: ProbedPipeline,
  judged: readonly string[],
  signal: AbortSignal,
  readBefore: Date = new Date(0),
) {
  const before = await db.golden.documents.seen(name, judged);
  const now = clock.now();
  const unread = passOf(
    judged.filter((id) => (before.get(id)?.seenAt ?? new Date(0)) <= readBefore),
    Math.floor(now.getTime() / DAY_MS),
  );
  if (store === null) return { judged: judged.length, known: before.size, problem: null };
  let known = before.size;
  let problem: string | null = null;
  for (let start = 0; start < unread.length; start += BATCH) {
    const answer = await store.chunks(unread.slice(start, start + BATCH), signal);
    if (answer.kind === 'failed') problem = answer.message;
    if (answer.kind !== 'ok') break;
    const texts = documentTexts(answer.value);
    await db.golden.documents.record(name, texts, now);
    known += [...texts.keys()].filter((id) => !before.has(id)).length;
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
