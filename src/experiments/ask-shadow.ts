/** Sends live queries to a shadow within its limits, and compares its results with those that users got. */

import type { FoundDocument } from '../connectors/retrievers/retriever.ts';
import { openThrottle } from '../connectors/throttle/throttle.ts';
import type { Context } from '../core/context.ts';
import { DAY_MS } from '../core/time.ts';
import type { GoldenSets } from '../golden/sql/golden-sets.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import { forEachPipeline } from '../platform/queue/for-each-pipeline.ts';
import { keyOf } from './context.ts';
import type { ShadowAnswer, UnaskedQuery } from './sql/shadow-answers.ts';

/** Number of consecutive failures after which the remaining queries wait for the next round. */
const MAX_FAILURES = 5;

export function startOfUtcDay(now: Date): Date {
  return new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS);
}

/**
 * Returns the maximum number of live queries per day for a shadow: its call limit minus the queries of the pipeline's
 * golden sets, whether or not the sets run on that day. Skips a set that has more queries than the limit allows after
 * subtracting the previous sets.
 */
export async function liveCallsPerDay(sets: GoldenSets, { golden }: WatchedPipeline, { maxCallsPerDay }: Shadow) {
  // The list has the newest version of each set first.
  const newest = new Map((await sets.list()).toReversed().map((one) => [one.name, one]));
  let left = maxCallsPerDay;
  for (const { set } of golden) {
    const queries = newest.get(set)?.queries ?? 0;
    if (queries <= left) left -= queries;
  }
  return left;
}

/** Returns how many more live queries the shadow may receive today (UTC). */
export async function liveCallsLeft(context: Context, pipeline: WatchedPipeline, shadow: Shadow): Promise<number> {
  const asked = await context.db.experiments.answers.asked(keyOf(pipeline, shadow), startOfUtcDay(context.clock.now()));
  return (await liveCallsPerDay(context.db.golden.sets, pipeline, shadow)) - asked;
}

/**
 * Calls `work` for every shadow of the given pipelines.
 *
 * @throws the errors of forEachPipeline, which name shadows (`asked.name`) instead of pipelines
 */
export function forEachShadow(
  pipelines: readonly WatchedPipeline[],
  signal: AbortSignal,
  work: (pipeline: WatchedPipeline, shadow: Shadow) => Promise<void>,
): Promise<void> {
  const shadows = pipelines.flatMap((pipeline) =>
    pipeline.shadows.map((shadow) => ({ name: shadow.asked.name, run: () => work(pipeline, shadow) })),
  );
  return forEachPipeline(shadows, signal, ({ run }) => run());
}

export type Asker = Context & { readonly signal: AbortSignal };

interface Asking {
  readonly pipeline: WatchedPipeline;
  readonly shadow: Shadow;
  readonly queries: readonly UnaskedQuery[];
  readonly lanes: number;
  /** Name that distinguishes this task from other tasks of the same worker. */
  readonly work: string;
  readonly withText: boolean;
  depth(query: UnaskedQuery): number;
  /**
   * @param found documents that the shadow returned; null if it failed
   * @returns null if no more queries can be compared now
   */
  compare(
    query: UnaskedQuery,
    found: readonly FoundDocument[] | null,
  ): Promise<Pick<ShadowAnswer, 'overlap' | 'judged'> | null>;
}

/**
 * Sends the queries and stores each result. Counts results and failures in `recalld_shadow_live_questions_total`.
 *
 * @throws the abort reason of `signal`, and RecalldError database_unreachable
 */
export async function askQueries(context: Asker, asking: Asking): Promise<void> {
  const { signal } = context;
  const { pipeline, shadow, queries, lanes, work, withText } = asking;
  const { asked, limits } = shadow;
  if (queries.length === 0) return;
  const holder = `${context.holder}-${work}`;
  const gate = await openThrottle(context, { pipeline: asked.name, holder, ...limits, usualLatencyMs: null });
  const labels = { pipeline: pipeline.name, shadow: shadow.name };
  const ask = async (query: UnaskedQuery): Promise<boolean> => {
    const { text, tags } = query;
    await gate.enter(signal);
    let latencyMs: number | null = null;
    let found: readonly FoundDocument[] | null = null;
    let outcome: ShadowAnswer['outcome'];
    try {
      const answer = await asked.retriever.retrieve({ text, k: asking.depth(query), tags, withText }, signal);
      if (answer.kind === 'documents') found = answer.documents;
      if (answer.kind !== 'error') latencyMs = answer.latencyMs;
      outcome = answer.kind !== 'documents' ? answer.kind : answer.documents.length === 0 ? 'empty' : 'ok';
      context.meter.increment('recalld_shadow_live_questions_total', { ...labels, outcome });
    } finally {
      gate.leave(latencyMs, found === null);
    }
    const compared = await asking.compare(query, found);
    if (compared === null) return false;
    const documentIds = (found ?? []).map(({ id }) => id);
    const answer = { query, outcome, latencyMs, documentIds, ...compared };
    await context.db.experiments.answers.save(keyOf(pipeline, shadow), answer, context.clock.now());
    return true;
  };
  const remaining = queries.values();
  const lane = async (): Promise<void> => {
    for (const query of remaining) {
      signal.throwIfAborted();
      if (gate.failuresInARow() >= MAX_FAILURES || !(await ask(query))) return;
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
  } finally {
    await gate.close();
  }
}
