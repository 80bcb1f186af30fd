/** Asks shadows a share of the kept live queries, after users have their answers, and holds each beside what they got. */

import type { ThrottleLimits } from '../connectors/throttle/limits.ts';
import { openThrottle, type Throttle } from '../connectors/throttle/throttle.ts';
import type { GoldenSets } from '../golden/sql/golden-sets.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { Logger } from '../logger.ts';
import type { Meter } from '../metrics/meter.ts';
import { forEachPipeline } from '../queue/for-each-pipeline.ts';
import { type Clock, DAY_MS, HOUR_MS } from '../time.ts';
import { startOfUtcDay } from './ask-golden.ts';
import { overlapOf } from './rules/relevance.ts';
import type { ShadowAnswer, ShadowKey, ShadowTables, UnaskedQuery } from './shadow-tables.ts';

export interface AskLiveDeps {
  readonly shadows: ShadowTables;
  readonly sets: Pick<GoldenSets, 'list'>;
  readonly limits: ThrottleLimits;
  readonly pipelines: readonly WatchedPipeline[];
  /** Days that the live queries of each pipeline are kept. */
  readonly retentionDays: ReadonlyMap<string, number>;
  readonly meter: Pick<Meter, 'increment'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names this worker. */
  readonly holder: string;
}

/** Of all shadows together; the next turn begins five minutes after this one. */
const TURN_MS = 200_000;
/** A query that waited longer is left out: the index is no longer the one that answered the user. */
const PATIENCE_MS = HOUR_MS;
const MAX_PER_TURN = 500;
/** Where the service did not say how many it asked for. */
const USUAL_K = 10;
/** Failures in a row after which the rest waits for the next turn. */
export const MAX_FAILURES = 5;

/**
 * One turn over all shadows. A shadow that does not answer is counted (`recalld_shadow_live_questions_total`); what the
 * time of the turn leaves is asked in the next one.
 *
 * @throws as forEachPipeline, by the name that the shadow is asked under
 */
export async function askShadows(deps: AskLiveDeps, signal: AbortSignal): Promise<void> {
  const turn = AbortSignal.any([signal, AbortSignal.timeout(TURN_MS)]);
  const work = deps.pipelines.flatMap((pipeline) => [
    ...pipeline.shadows.map((shadow) => ({
      name: shadow.asked.name,
      run: () => withinTurn(() => askShadow(deps, pipeline, shadow, turn), turn),
    })),
    { name: pipeline.name, run: () => prune(deps, pipeline) },
  ]);
  await forEachPipeline(work, signal, ({ run }) => run());
}

/** The end of a turn is no failure. */
async function withinTurn(work: () => Promise<void>, turn: AbortSignal): Promise<void> {
  if (turn.aborted) return;
  try {
    await work();
  } catch (error) {
    if (!turn.aborted || error !== turn.reason) throw error;
  }
}

/** Of shadows that the config no longer has too. */
async function prune(
  { shadows, retentionDays, clock }: AskLiveDeps,
  { name }: Pick<WatchedPipeline, 'name'>,
): Promise<void> {
  const days = retentionDays.get(name);
  if (days !== undefined) await shadows.prune(name, new Date(clock.now().getTime() - days * DAY_MS));
}

async function askShadow(
  deps: AskLiveDeps,
  pipeline: WatchedPipeline,
  shadow: Shadow,
  signal: AbortSignal,
): Promise<void> {
  const key: ShadowKey = { pipeline: pipeline.name, shadow: shadow.name, fingerprint: shadow.fingerprint };
  const now = deps.clock.now();
  const left = (await liveCallsPerDay(deps, pipeline, shadow)) - (await deps.shadows.asked(key, startOfUtcDay(now)));
  if (left <= 0 || shadow.liveRate === 0) return;
  const since = new Date(now.getTime() - PATIENCE_MS);
  const queries = await deps.shadows.unasked(key, {
    since,
    rate: shadow.liveRate,
    limit: Math.min(left, MAX_PER_TURN),
  });
  if (queries.length === 0) return;
  const gate = await openThrottle(deps, {
    pipeline: shadow.asked.name,
    holder: `${deps.holder}-live`,
    ...shadow.limits,
    usualLatencyMs: null,
  });
  try {
    const remaining = queries.values();
    const work = async (): Promise<void> => {
      for (const query of remaining) {
        if (signal.aborted || gate.failuresInARow() >= MAX_FAILURES) return;
        await deps.shadows.saveAnswers(key, [await askOne(deps, shadow, query, gate, signal)], deps.clock.now());
      }
    };
    await Promise.all(Array.from({ length: shadow.limits.concurrency }, work));
  } finally {
    await gate.close();
  }
}

/** What the golden sets of the pipeline leave of the day, whether they were asked yet or not. */
export async function liveCallsPerDay(
  { sets }: Pick<AskLiveDeps, 'sets'>,
  { golden }: Pick<WatchedPipeline, 'golden'>,
  { maxCallsPerDay }: Shadow,
): Promise<number> {
  const newest = new Map<string, { readonly version: number; readonly queries: number }>();
  for (const one of await sets.list()) {
    if ((newest.get(one.name)?.version ?? 0) < one.version) newest.set(one.name, one);
  }
  let left = maxCallsPerDay;
  for (const { set } of golden) {
    const queries = newest.get(set)?.queries ?? 0;
    if (queries <= left) left -= queries;
  }
  return left;
}

async function askOne(
  { meter }: AskLiveDeps,
  { name, asked, liveRate, chunkSeparator }: Shadow,
  { id, receivedAt, cluster, probability, text, tags, topK, outcome, documentIds }: UnaskedQuery,
  gate: Throttle,
  signal: AbortSignal,
): Promise<ShadowAnswer> {
  const k = topK ?? Math.max(documentIds.length, USUAL_K);
  await gate.enter(signal);
  let latencyMs: number | null = null;
  let hasFailed = true;
  try {
    const answer = await asked.retriever.retrieve({ text, k, tags }, signal);
    hasFailed = answer.kind !== 'documents';
    latencyMs = answer.kind === 'error' ? null : answer.latencyMs;
    const ids = answer.kind === 'documents' ? answer.documents.map((one) => one.id) : [];
    const came = answer.kind !== 'documents' ? answer.kind : ids.length === 0 ? 'empty' : 'ok';
    meter.increment('recalld_shadow_live_questions_total', {
      pipeline: asked.shadowOf ?? '',
      shadow: name,
      outcome: came,
    });
    const isComparable = !hasFailed && (outcome === 'ok' || outcome === 'empty');
    const beside = isComparable ? overlapOf(documentIds, ids, chunkSeparator, k) : null;
    return {
      queryId: id,
      receivedAt,
      cluster,
      probability: probability * liveRate,
      outcome: came,
      documentIds: ids,
      overlap: beside?.overlap ?? null,
      isChanged: beside?.isChanged ?? null,
      latencyMs,
    };
  } finally {
    gate.leave(latencyMs, hasFailed);
  }
}
