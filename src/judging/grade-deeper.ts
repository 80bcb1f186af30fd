/** Of some of the graded queries: what the store holds near to the question beside what users got, graded as well. */
import { textHash } from '../privacy/rules/keyed-hash.ts';
import type { PoolScores, ShallowQuery } from './deeper-pools.ts';
import { nearestChunks, storedText } from './document-texts.ts';
import { gradeText, type Left, PATIENCE_MS, takeInTurn, unreachable } from './grade-queries.ts';
import type { Judge } from './judge.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import type { StoredText } from './rules/judge-prompt.ts';
import { poolScores } from './rules/pool-gap.ts';

/**
 * After the grades of a round, so that these come first where money is short. What cannot be reached is left for the next
 * round and given up after a day; every grade is stored as it comes, so that none is paid for twice.
 *
 * @throws the reason of `signal` when it aborts, and RecalldError database_unreachable
 */
export async function gradeDeeper(
  deps: JudgingDeps,
  plan: JudgingPlan,
  judge: Judge,
  signal: AbortSignal,
): Promise<void> {
  const { deeperPools, clock, meter, logger } = deps;
  const { pipeline, deeper, depth: k } = plan;
  const expired = await deeperPools.expire(pipeline, new Date(clock.now().getTime() - PATIENCE_MS));
  if (expired > 0) {
    meter.increment('recalld_judge_failures_total', { pipeline, reason: 'expired' }, expired);
    logger.warn('deeper searches were given up: nothing could be searched or graded within a day', {
      pipeline,
      expired,
    });
  }
  if (deeper === null) return;
  const kind = { fingerprint: judge.fingerprint, k, searched: deeper.documents };
  await takeInTurn(clock, signal, {
    claim: (due, leaseUntil) => deeperPools.claim(pipeline, judge.fingerprint, due, leaseUntil),
    async work(query) {
      const found = await searchDeeper(deps, plan, { query, judge, k: deeper.documents }, signal);
      if (typeof found === 'string') return found;
      await deeperPools.close(pipeline, query.id, found === null ? null : { ...found, ...kind });
      return null;
    },
    release: (id, dueAt) => deeperPools.release(pipeline, id, dueAt),
  });
}

/** Null where it cannot be searched, or not all of it has a grade. */
async function searchDeeper(
  deps: JudgingDeps,
  plan: JudgingPlan,
  { query, judge, k }: { readonly query: ShallowQuery; readonly judge: Judge; readonly k: number },
  signal: AbortSignal,
): Promise<PoolScores | null | Left> {
  const { id, text, embedding, shown } = query;
  if (text === null || shown.some(({ hash, grade }) => hash !== null && grade === null)) return null;
  const { chunks, problem } = await nearestChunks(plan, { text, embedding, k }, signal);
  if (problem !== null) return unreachable(deps, plan.pipeline, problem);
  const by = { textHash: textHash(text, deps.hashKey), fingerprint: judge.fingerprint };
  const texts = textsBeside(shown, chunks);
  if (texts === null) return null;
  const grades: number[] = [];
  for (const document of texts) {
    const graded = await gradeText(deps, plan, judge, { text, document, by }, signal);
    if (graded === 'no_money' || graded === 'unreachable') return graded;
    const { grade, isFlagged } = graded;
    if (grade === null) return null;
    const stored = { contentHash: document.hash, grade, isFlagged };
    await deps.judged.recordUnshown(plan.pipeline, id, stored, by, deps.clock.now());
    grades.push(grade);
  }
  return poolScores(
    shown.map(({ grade }) => grade ?? 0),
    grades,
    plan.depth,
  );
}

/** Each text once that users did not get, neither under its id nor under another; null where the store gave no text. */
function textsBeside(
  shown: ShallowQuery['shown'],
  chunks: Awaited<ReturnType<typeof nearestChunks>>['chunks'],
): readonly StoredText[] | null {
  const readable = chunks.flatMap(({ id, content }) =>
    content === null || content.trim() === '' ? [] : [{ id, text: storedText(content) }],
  );
  if (readable.length === 0) return null;
  const ids = new Set(shown.map(({ id }) => id));
  const hashes = new Set(shown.map(({ hash }) => hash));
  const others = readable.filter(({ id, text }) => !ids.has(id) && !hashes.has(text.hash));
  return [...new Map(others.map(({ text }) => [text.hash, text])).values()];
}
