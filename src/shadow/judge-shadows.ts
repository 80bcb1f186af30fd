/**
 * Drawn live queries, asked of shadows too -> grades of what they bring, and day by day how it compares with what
 * users got.
 */

import type { ThrottleLimits } from '../connectors/throttle/limits.ts';
import { openThrottle, type Throttle } from '../connectors/throttle/throttle.ts';
import type { GoldenSets } from '../golden/sql/golden-sets.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import { gradeText, type Left, storedText } from '../judging/grade-queries.ts';
import type { Judge } from '../judging/judge.ts';
import type { JudgingDeps, JudgingPlan } from '../judging/plan.ts';
import { textHash } from '../privacy/rules/redactor.ts';
import { forEachPipeline } from '../queue/for-each-pipeline.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';
import { startOfUtcDay } from './ask-golden.ts';
import { liveCallsPerDay, MAX_FAILURES } from './ask-live.ts';
import type { RelevanceTables, ShadowPair, UnpairedQuery } from './relevance-tables.ts';
import { scorePair, sumLiveDay } from './rules/relevance.ts';
import type { ShadowKey, ShadowTables } from './shadow-tables.ts';

export interface JudgeShadowsDeps extends JudgingDeps {
  readonly shadows: Pick<ShadowTables, 'asked'>;
  readonly relevance: RelevanceTables;
  readonly sets: Pick<GoldenSets, 'list'>;
  readonly limits: ThrottleLimits;
  readonly pipelines: readonly WatchedPipeline[];
  /** Names this worker. */
  readonly holder: string;
}

/** Queries are drawn half an hour after they came, once an hour; of later ones the index is another. */
const PATIENCE_MS = 4 * HOUR_MS;

/**
 * One round of every shadow: queries that were drawn, and whose answers to users were graded, are asked of the shadow
 * within its own budget of calls, and graded for no more money than the day of the judge has left. It goes by what the
 * judge has stored, whenever that was. Repeating it asks nothing twice.
 *
 * @throws as forEachPipeline, by the name that the shadow is asked under
 */
export async function judgeShadows(
  deps: JudgeShadowsDeps,
  plans: readonly JudgingPlan[],
  signal: AbortSignal,
): Promise<void> {
  const work = plans.flatMap((plan) => {
    const pipeline = deps.pipelines.find(({ name }) => name === plan.pipeline);
    const judged = pipeline?.shadows.filter(({ judgedDepth }) => judgedDepth !== null) ?? [];
    const oldest = new Date(deps.clock.now().getTime() - plan.retentionDays * DAY_MS);
    return [
      ...judged.map((shadow) => ({
        name: shadow.asked.name,
        run: async () => pipeline && judgeShadow(deps, plan, pipeline, shadow, signal),
      })),
      { name: plan.pipeline, run: () => deps.relevance.prune(plan.pipeline, oldest) },
    ];
  });
  await forEachPipeline(work, signal, ({ run }) => run());
}

async function judgeShadow(
  deps: JudgeShadowsDeps,
  plan: JudgingPlan,
  pipeline: WatchedPipeline,
  shadow: Shadow,
  signal: AbortSignal,
): Promise<void> {
  const key: ShadowKey = { pipeline: pipeline.name, shadow: shadow.name, fingerprint: shadow.fingerprint };
  if (plan.judge !== null) await pairQueries(deps, { plan, pipeline, shadow, key, judge: plan.judge }, signal);
  const ended = startOfUtcDay(new Date(deps.clock.now().getTime() - PATIENCE_MS));
  for (const day of await deps.relevance.unsummedDays(key, plan.depth, ended)) {
    const { pairs, leftOut } = await deps.relevance.pairsOf(key, plan.depth, day);
    await deps.relevance.saveDay(key, plan.depth, sumLiveDay(day, pairs, leftOut));
  }
}

interface Work {
  readonly plan: JudgingPlan;
  readonly pipeline: WatchedPipeline;
  readonly shadow: Shadow;
  readonly key: ShadowKey;
  readonly judge: Judge;
}

async function pairQueries(deps: JudgeShadowsDeps, work: Work, signal: AbortSignal): Promise<void> {
  const { relevance, panels, clock } = deps;
  const { plan, pipeline, shadow, key } = work;
  const now = clock.now();
  const { identity } = await panels.current(plan.pipeline, work.judge.fingerprint, now);
  const judge = { ...work.judge, fingerprint: identity };
  const left = (await liveCallsPerDay(deps, pipeline, shadow)) - (await deps.shadows.asked(key, startOfUtcDay(now)));
  if (left <= 0) return;
  const since = new Date(now.getTime() - PATIENCE_MS);
  const queries = await relevance.unpaired(key, { since, judge: identity, limit: left });
  if (queries.length === 0) return;
  const gate = await openThrottle(deps, {
    pipeline: shadow.asked.name,
    holder: `${deps.holder}-judged`,
    ...shadow.limits,
    usualLatencyMs: null,
  });
  try {
    for (const query of queries) {
      signal.throwIfAborted();
      if (gate.failuresInARow() >= MAX_FAILURES) return;
      const pair = await pairOne(deps, { ...work, judge }, query, gate, signal);
      if (typeof pair === 'string') return;
      await relevance.savePair(key, pair, clock.now());
    }
  } finally {
    await gate.close();
  }
}

interface Brought {
  /** Content of its text, or of the same document that users got. */
  readonly hash: string;
  readonly text: string | null;
}

async function pairOne(
  deps: JudgeShadowsDeps,
  { plan, shadow, judge }: Work,
  query: UnpairedQuery,
  gate: Throttle,
  signal: AbortSignal,
): Promise<ShadowPair | Left> {
  const { depth: k } = plan;
  const { id, receivedAt, cluster, probability, documents } = query;
  const about = { id, receivedAt, cluster, probability, k };
  const brought = await ask(shadow, query, k, gate, signal);
  if (brought === 'failed') return { ...about, outcome: 'failed', scores: null };
  const ungraded: ShadowPair = { ...about, outcome: 'ungraded', scores: null };
  const grades = new Map<string, number>();
  for (const { hash, grade } of documents) {
    if (hash === null || grade === null) return ungraded;
    grades.set(hash, grade);
  }
  if (brought === 'unreadable') return ungraded;
  const by = { textHash: textHash(query.text, deps.hashKey), fingerprint: judge.fingerprint };
  for (const { hash, text } of brought) {
    if (grades.has(hash) || text === null) continue;
    const document = { hash, content: text };
    const graded = await gradeText(deps, plan, judge, { text: query.text, document, by }, signal);
    if (graded === 'no_money' || graded === 'unreachable') return graded;
    const { grade, isFlagged } = graded;
    if (grade === null) return ungraded;
    grades.set(hash, grade);
    await deps.judged.recordUnshown(plan.pipeline, id, { contentHash: hash, grade, isFlagged }, by, deps.clock.now());
  }
  const shown = distinct(documents.flatMap(({ hash }) => hash ?? []));
  const scores = scorePair(shown, distinct(brought.map(({ hash }) => hash)), grades, k);
  return { ...about, outcome: 'graded', scores };
}

const distinct = (hashes: readonly string[]): string[] => [...new Set(hashes)];

/** Its best k documents with their contents. */
async function ask(
  { asked, chunkSeparator }: Shadow,
  { text, tags, documents }: UnpairedQuery,
  k: number,
  gate: Throttle,
  signal: AbortSignal,
): Promise<readonly Brought[] | 'failed' | 'unreadable'> {
  await gate.enter(signal);
  let latencyMs: number | null = null;
  let hasFailed = true;
  try {
    const answer = await asked.retriever.retrieve({ text, k, tags, withText: true }, signal);
    hasFailed = answer.kind !== 'documents';
    latencyMs = answer.kind === 'error' ? null : answer.latencyMs;
    if (answer.kind !== 'documents') return 'failed';
    // Chunks of another index may have other texts under the same ids.
    const same = chunkSeparator === null ? documents : [];
    const best = [...new Map(answer.documents.map((one) => [one.id, one])).values()].slice(0, k);
    const brought = best.flatMap(({ id, text: content }): Brought[] => {
      const shown = same.find((one) => one.id === id)?.hash;
      if (shown != null) return [{ hash: shown, text: null }];
      if (content == null || content.trim() === '') return [];
      const stored = storedText(content);
      return [{ hash: stored.hash, text: stored.content }];
    });
    return brought.length < best.length ? 'unreadable' : brought;
  } finally {
    gate.leave(latencyMs, hasFailed);
  }
}
