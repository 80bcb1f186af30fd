/** Traffic of a period -> a stored baseline. */
import type { Baseline, InsufficientBaseline } from '../../core/drift/baseline/baseline.ts';
import { NO_REGION, percentile, surpriseOf } from '../../core/drift/coverage/percentile.ts';
import { drawn } from '../../core/stats/draw.ts';
import { rowOf } from '../../core/vector/matrix.ts';
import type { Clock } from '../../ports/clock.ts';
import type { DensityBaselines, KeptQuery } from '../../ports/density-baselines.ts';
import type { DensityCompute } from '../../ports/density-compute.ts';
import type { CoveragePeriod } from '../../ports/query-coverage.ts';
import type { DensityPlan } from './plan.ts';
import { type ReadTrafficDeps, readTraffic, type Traffic } from './read-traffic.ts';

export interface BuildBaselineDeps extends ReadTrafficDeps {
  readonly baselines: DensityBaselines;
  readonly compute: DensityCompute;
  readonly clock: Clock;
}

export type BuiltBaseline =
  | {
      readonly kind: 'built';
      readonly version: number;
      readonly baseline: Baseline;
      readonly traffic: Traffic;
    }
  | {
      readonly kind: 'insufficient';
      readonly days: number;
      readonly sessions: number;
      readonly problem: InsufficientBaseline['of'] | null;
    };

/** Percentiles of more queries are no sharper, and their vectors would not fit the memory of a small machine. */
const MOST_QUERIES = 20_000;
const MOST_TAIL = 2_000;
const SAMPLE = 1_000;
const SEED = 1;

/**
 * Builds and stores a baseline of what was measured in the period. One that is good for nothing is not stored.
 *
 * @param reason why it is built, for people
 */
export async function buildBaseline(
  deps: BuildBaselineDeps,
  plan: DensityPlan,
  { scoredSince, ...period }: Omit<CoveragePeriod, 'pipeline'>,
  reason: string,
  signal: AbortSignal,
): Promise<BuiltBaseline> {
  const { pipeline, windowMs, needs } = plan;
  const within = { pipeline, ...period, scoredSince };
  const traffic = await readTraffic(deps, within, { most: MOST_QUERIES, columns: null }, signal);
  const sessions = traffic.tally.chances.reduce((sum, group) => sum + group.sessions, 0);
  if (traffic.queries.length === 0) return { kind: 'insufficient', days: 0, sessions, problem: null };
  const settings = { period, windowMs, seed: SEED, pageNeeds: needs };
  const built = await deps.compute.buildBaseline(traffic, settings, signal);
  if ('kind' in built) return { kind: 'insufficient', days: built.have, sessions, problem: built.of };
  if (built.grade === 'insufficient') {
    return { kind: 'insufficient', days: built.days, sessions: built.sessions, problem: null };
  }
  const { tail, ...frozen } = built;
  const kept = keptTail(built, traffic);
  const version = await deps.baselines.save(
    {
      pipeline,
      createdAt: deps.clock.now(),
      reason,
      baseline: frozen,
      tailSessions: tail.length === 0 ? 0 : built.global.sessions * kept.share,
    },
    { tail: kept.queries, sample: keptSample(built, traffic) },
  );
  return { kind: 'built', version, baseline: built, traffic };
}

/** The worst covered query of each session of the tail; of too many a random part, and its share. */
function keptTail(
  { tail }: Baseline,
  traffic: Traffic,
): { readonly queries: readonly KeptQuery[]; readonly share: number } {
  const worst = new Map<string, Baseline['tail'][number]>();
  for (const query of tail) {
    const other = worst.get(query.session);
    if (other === undefined || query.surprise > other.surprise) worst.set(query.session, query);
  }
  const votes = [...worst.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const chosen = drawn(votes, MOST_TAIL, SEED);
  const places = placesById(traffic);
  return {
    share: votes.length === 0 ? 0 : chosen.length / votes.length,
    queries: chosen.flatMap(({ id, session, surprise }) => {
      const place = places.get(id);
      return place === undefined ? [] : keptQuery(traffic, place, session, surprise);
    }),
  };
}

/** One query of each session, at random. */
function keptSample({ scores }: Baseline, traffic: Traffic): readonly KeptQuery[] {
  const order = drawn([...traffic.queries.keys()], traffic.queries.length, SEED);
  const seen = new Set<string>();
  const chosen: KeptQuery[] = [];
  for (const place of order) {
    const query = traffic.queries[place];
    if (query === undefined || query.row === null || query.score === null) continue;
    const session = query.session ?? `query ${query.id}`;
    if (seen.has(session) || chosen.length === SAMPLE) continue;
    seen.add(session);
    const surprise = surpriseOf(percentile(query.score, NO_REGION, scores));
    chosen.push(...keptQuery(traffic, place, session, surprise));
  }
  return chosen;
}

function keptQuery(
  { queries, covered, vectors }: Traffic,
  place: number,
  session: string,
  surprise: number,
): KeptQuery[] {
  const [query, about] = [queries[place], covered[place]];
  if (query === undefined || about === undefined || query.row === null) return [];
  const { id, userHash, score, nearest } = about;
  // A copy: the bytes of a driver must not lie in shared memory.
  const vector = Float32Array.from(rowOf(vectors, query.row));
  return [{ id, userHash, session, score, surprise, nearest, vector }];
}

function placesById({ queries }: Traffic): ReadonlyMap<string, number> {
  return new Map(queries.map(({ id }, place) => [id, place]));
}
