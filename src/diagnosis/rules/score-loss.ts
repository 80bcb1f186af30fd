/** What the fall of a score between two runs is made of, query by query. */
import { type ComparedSide, sharedQueries } from '../../golden/rules/compare-golden-runs.ts';
import { type RunMetricKey, scoresBy } from '../../golden/rules/score-run.ts';
import { groupBySegment } from '../../golden/rules/segments.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import type { GoldenQuery } from '../../model.ts';
import { mean } from '../../stats/descriptive.ts';
import { answeredOf } from './changed-answers.ts';
import type { EffectPart } from './explains.ts';

export interface ScoreLoss {
  /** Metric key, such as `ndcg@10`. */
  readonly measure: string;
  /** Means over the queries that each run was asked, those that failed counting 0. */
  readonly before: number;
  readonly now: number;
  /** Of `before - now`: what queries lost that failed, got nothing, have stale labels, are not in both, or the others. */
  readonly parts: Readonly<Record<EffectPart, number>>;
  readonly segment: HurtSegment | null;
}

/** The segment that lost most, beside the others; null without two segments of some size, or when little was lost. */
export interface HurtSegment {
  readonly name: string;
  readonly n: number;
  /** Mean loss of a query in it, and outside of it. */
  readonly inside: number;
  readonly outside: number;
}

/** @param stale ids of queries whose labels are not alive */
export function scoreLoss(
  before: ComparedSide,
  after: ComparedSide,
  stale: ReadonlySet<string>,
  key: RunMetricKey,
): ScoreLoss | null {
  if (before.queries.length === 0 || after.queries.length === 0) return null;
  const level = after.settings.relevanceLevel;
  const old = mean(scoresBy(key, before.queries, before.answers, level));
  const now = mean(scoresBy(key, after.queries, after.answers, level));
  const shared = sharedQueries(before.queries, after.queries);
  const [from, to] = [before, after].map(({ answers }) => scoresBy(key, shared, answers, level));
  const losses = shared.map((query, row) => ({ query, loss: (from?.[row] ?? 0) - (to?.[row] ?? 0) }));
  const partOf = partsBy(after, stale);
  const parts: Record<EffectPart, number> = { failed: 0, timed_out: 0, empty: 0, stale: 0, unshared: 0, answers: 0 };
  for (const { query, loss } of losses) parts[partOf(query)] += loss / after.queries.length;
  const isAllShared = shared.length === before.queries.length && shared.length === after.queries.length;
  if (!isAllShared) parts.unshared = old - now - losses.reduce((sum, { loss }) => sum + loss / after.queries.length, 0);
  return { measure: formatMetricKey(key), before: old, now, parts, segment: hurtSegment(losses, after) };
}

function partsBy({ answers }: ComparedSide, stale: ReadonlySet<string>): (query: GoldenQuery) => EffectPart {
  const answered = answeredOf(answers);
  const timedOut = new Set(answers.filter(({ outcome }) => outcome === 'timeout').map(({ queryId }) => queryId));
  return ({ id }) => {
    const answer = answered.get(id);
    if (answer === undefined) return timedOut.has(id) ? 'timed_out' : 'failed';
    if (answer.documents.length === 0) return 'empty';
    return stale.has(id) ? 'stale' : 'answers';
  };
}

const MIN_IN_SEGMENT = 5;

function hurtSegment(
  losses: readonly { readonly query: GoldenQuery; readonly loss: number }[],
  { settings: { segmentKeys, maxSegments } }: ComparedSide,
): HurtSegment | null {
  const { segments } = groupBySegment(
    losses.map(({ query }) => query),
    segmentKeys,
    maxSegments,
  );
  const sum = (rows: readonly number[]): number => rows.reduce((total, row) => total + (losses[row]?.loss ?? 0), 0);
  const total = losses.reduce((lost, { loss }) => lost + loss, 0);
  const found = segments
    .filter(({ members }) => members.length >= MIN_IN_SEGMENT && losses.length - members.length >= MIN_IN_SEGMENT)
    .map(({ name, members }): HurtSegment => {
      const inside = sum(members);
      const others = losses.length - members.length;
      return { name, n: members.length, inside: inside / members.length, outside: (total - inside) / others };
    });
  return found.toSorted((a, b) => b.inside - b.outside - (a.inside - a.outside))[0] ?? null;
}
