/** What is known of a shadow, for commands, routes, pages and the exporter, as sentences for people and as JSON. */
import { count } from '../console/format.ts';
import { RecalldError } from '../errors.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { GoldenSets } from '../golden/sql/golden-sets.ts';
import type { GoldenTicks } from '../golden/sql/golden-ticks.ts';
import type { Shadow, WatchedPipeline } from '../golden/watched-pipeline.ts';
import { type Clock, DAY_MS } from '../time.ts';
import { startOfUtcDay, verdictsOn } from './ask-golden.ts';
import { liveCallsPerDay } from './ask-live.ts';
import type { RelevanceTables } from './relevance-tables.ts';
import {
  type Evidence,
  evidenceOf,
  isCalled,
  type Look,
  overallVerdict,
  type ShadowVerdict,
  standingOf,
} from './rules/looks.ts';
import { type LiveStanding, standingOnLive, type WeightedShare, weightedShare } from './rules/relevance.ts';
import type { ListedAnswer, LiveSummary, ShadowKey, ShadowTables } from './shadow-tables.ts';

export interface ReadShadowDeps {
  readonly shadows: ShadowTables;
  readonly relevance: Pick<RelevanceTables, 'days'>;
  readonly runs: GoldenRuns;
  readonly sets: GoldenSets;
  readonly ticks: Pick<GoldenTicks, 'queriesSince'>;
  readonly clock: Clock;
}

/** What one golden set says of a shadow. */
export interface ShadowOnSet {
  readonly goldenSet: string;
  readonly verdict: ShadowVerdict;
  /** The test that decided, else the latest. */
  readonly by: Look | null;
  readonly looks: readonly Look[];
  readonly evidence: Evidence;
  /** The latest run of the shadow, whatever it came to, and when the latest completed one ended. */
  readonly latestRun: GoldenRun | null;
  readonly completedAt: Date | null;
  /** Of the latest completed run and of that which it stands beside, in milliseconds. */
  readonly latency95: { readonly shadow: number | null; readonly pipeline: number | null };
}

/** What live queries of the last days say of it, without a judgment. */
interface ShadowOnLive {
  readonly days: number;
  readonly asked: number;
  readonly failed: number;
  /** Null while none was answered on both sides. */
  readonly overlap: WeightedShare | null;
  readonly changed: WeightedShare | null;
  /** Milliseconds, of the shadow alone. */
  readonly latency: { readonly median: number; readonly p95: number } | null;
}

/** What judged live queries say of it. */
export interface ShadowOnJudged extends LiveStanding {
  /** Documents of each list that are graded. */
  readonly k: number;
  readonly lastDay: string | null;
}

export interface ShadowReport {
  readonly pipeline: string;
  readonly shadow: string;
  readonly verdict: ShadowVerdict;
  /** Difference of nDCG that is to be found. */
  readonly difference: number;
  readonly golden: readonly ShadowOnSet[];
  readonly live: ShadowOnLive;
  /** Null where live queries are not judged. */
  readonly judged: ShadowOnJudged | null;
  readonly calls: {
    readonly today: number;
    readonly maxPerDay: number;
    /** Of live queries, when the golden sets had theirs. */
    readonly maxLivePerDay: number;
    readonly dollarsToday: number;
    readonly dollarsPerThousand: number;
  };
}

const LIVE_DAYS = 7;

export async function readShadow(
  deps: ReadShadowDeps,
  pipeline: WatchedPipeline,
  shadow: Shadow,
): Promise<ShadowReport> {
  const now = deps.clock.now();
  const key = keyOf(pipeline, shadow);
  const golden: ShadowOnSet[] = [];
  for (const { set } of pipeline.golden) golden.push(await readOnSet(deps, pipeline, shadow, set));
  const judged = await readOnJudged(deps, pipeline, shadow);
  const today = startOfUtcDay(now);
  let calls = await deps.shadows.asked(key, today);
  for (const { set } of pipeline.golden) calls += await deps.ticks.queriesSince(shadow.asked.name, set, today);
  return {
    pipeline: pipeline.name,
    shadow: shadow.name,
    verdict: overallVerdict(
      golden.map(({ verdict }) => verdict),
      judged?.verdict ?? null,
    ),
    difference: shadow.difference,
    golden,
    judged,
    live: onLive(await deps.shadows.summary(key, new Date(now.getTime() - LIVE_DAYS * DAY_MS))),
    calls: {
      today: calls,
      maxPerDay: shadow.maxCallsPerDay,
      maxLivePerDay: await liveCallsPerDay(deps, pipeline, shadow),
      dollarsToday: calls * shadow.costPerCall,
      dollarsPerThousand: 1000 * shadow.costPerCall,
    },
  };
}

function keyOf({ name: pipeline }: WatchedPipeline, { name: shadow, fingerprint }: Shadow): ShadowKey {
  return { pipeline, shadow, fingerprint };
}

async function readOnSet(
  { shadows, runs }: ReadShadowDeps,
  pipeline: WatchedPipeline,
  shadow: Shadow,
  goldenSet: string,
): Promise<ShadowOnSet> {
  const looks = await shadows.looks(keyOf(pipeline, shadow), goldenSet);
  const last = looks.at(-1) ?? null;
  const own = { pipeline: shadow.asked.name, goldenSet, limit: 1 } as const;
  const [latestRun = null] = await runs.list(own);
  const [completed] = await runs.list({ ...own, status: 'completed' });
  return {
    goldenSet,
    ...standingOf(looks),
    looks,
    evidence: evidenceOf(looks, shadow.difference, verdictsOn(pipeline, shadow)),
    latestRun,
    completedAt: completed?.finishedAt ?? null,
    latency95: {
      shadow: last === null ? null : await runs.latency95(last.runId),
      pipeline: last === null ? null : await runs.latency95(last.against),
    },
  };
}

async function readOnJudged(
  { relevance }: ReadShadowDeps,
  pipeline: WatchedPipeline,
  shadow: Shadow,
): Promise<ShadowOnJudged | null> {
  const { judgedDepth: k, difference } = shadow;
  if (k === null) return null;
  const days = await relevance.days(keyOf(pipeline, shadow), k);
  const standing = standingOnLive(days, difference, verdictsOn(pipeline, shadow));
  return { ...standing, k, lastDay: days.at(-1)?.day ?? null };
}

function onLive(summary: LiveSummary): ShadowOnLive {
  const { asked, failed, median, p95 } = summary;
  return {
    days: LIVE_DAYS,
    asked,
    failed,
    overlap: weightedShare(summary, summary.overlap),
    changed: weightedShare(summary, summary.changed),
    latency: median === null || p95 === null ? null : { median, p95 },
  };
}

/** @throws RecalldError shadow_unknown with the names that exist */
export function findShadow({ name: pipeline, shadows }: WatchedPipeline, name: string): Shadow {
  const found = shadows.find((shadow) => shadow.name === name);
  if (found !== undefined) return found;
  const names = shadows.map((shadow) => shadow.name).join(', ');
  throw new RecalldError(
    'shadow_unknown',
    `The pipeline ${pipeline} has no shadow "${name}"; it has ${names === '' ? 'none, add one under `shadow` of the pipeline' : names}.`,
  );
}

export interface ShadowPageData {
  readonly pipeline: string;
  readonly shadows: readonly {
    readonly report: ShadowReport;
    /** Live queries whose lists have least in common. */
    readonly changed: readonly ListedAnswer[];
  }[];
  readonly showsText: boolean;
}

const LISTED = 10;

export async function readShadowPage(
  deps: ReadShadowDeps & { readonly pipelines: readonly WatchedPipeline[] },
  name: string,
  showsText: boolean,
): Promise<ShadowPageData> {
  const pipeline = deps.pipelines.find((one) => one.name === name);
  const since = new Date(deps.clock.now().getTime() - LIVE_DAYS * DAY_MS);
  const shadows: ShadowPageData['shadows'][number][] = [];
  for (const shadow of pipeline?.shadows ?? []) {
    if (pipeline === undefined) continue;
    shadows.push({
      report: await readShadow(deps, pipeline, shadow),
      changed: await deps.shadows.mostChanged(keyOf(pipeline, shadow), since, LISTED),
    });
  }
  return { pipeline: name, shadows, showsText };
}

export const verdictSentences: Readonly<Record<ShadowVerdict, string>> = {
  worse: 'It is worse: do not let it take the place of the retriever.',
  better: 'It is better.',
  alike: 'It is as good: no difference that matters is left possible.',
  undecided: 'Nothing is decided: neither a difference that matters nor its absence is shown.',
  no_data: 'No golden set has been asked yet.',
};

/**
 * @param difference that is to be found
 * @param knownAfter until when nothing is known of the noise
 */
export function evidenceSentence(evidence: Evidence, difference: number, knownAfter = 'the second run'): string {
  switch (evidence.kind) {
    case 'decided':
      return 'It is decided.';
    case 'enough':
      return `There is enough evidence: a difference of ${difference} would have been called with a chance of 0.8.`;
    case 'days':
      return `Enough evidence for a difference of ${difference} in about ${evidence.days === 1 ? 'one day' : `${evidence.days} days`}.`;
    case 'more_questions':
      return `More runs of these questions will not show a difference of ${difference}; about ${count(evidence.questions)} questions would.`;
    case 'unknown':
      return `When there is enough evidence for a difference of ${difference} is known after ${knownAfter}.`;
  }
}

/** What judged live queries say, as a sentence more. */
export const judgedEvidence = ({ evidence }: ShadowOnJudged, difference: number): string =>
  evidenceSentence(evidence, difference, 'some days with graded queries');

const shareJson = (share: WeightedShare | null) =>
  share === null ? null : { value: share.value, ci_low: share.low, ci_high: share.high, n: share.n };

export function shadowJson({ pipeline, shadow, verdict, difference, golden, live, judged, calls }: ShadowReport) {
  return {
    pipeline,
    shadow,
    verdict,
    explanation: verdictSentences[verdict],
    difference,
    golden: golden.map((one) => setJson(one, difference)),
    judged: judged === null ? null : judgedJson(judged, difference),
    live: {
      days: live.days,
      asked: live.asked,
      failed: live.failed,
      overlap: shareJson(live.overlap),
      changed: shareJson(live.changed),
      latency_ms: live.latency,
    },
    calls: {
      today: calls.today,
      max_per_day: calls.maxPerDay,
      max_live_per_day: calls.maxLivePerDay,
      dollars_today: calls.dollarsToday,
      dollars_per_1000: calls.dollarsPerThousand,
    },
  };
}

function evidenceJson(evidence: Evidence) {
  const { kind: state } = evidence;
  return {
    state,
    days: state === 'days' ? evidence.days : state === 'enough' || state === 'decided' ? 0 : null,
    questions: state === 'more_questions' ? evidence.questions : null,
  };
}

function judgedJson(judged: ShadowOnJudged, difference: number) {
  const { difference: found } = judged;
  return {
    verdict: judged.verdict,
    measure: `ndcg@${judged.k}`,
    days: judged.days,
    last_day: judged.lastDay,
    queries: judged.queries,
    sessions: judged.sessions,
    left_out: judged.leftOut,
    baseline: judged.baseline,
    candidate: judged.candidate,
    difference: found?.value ?? null,
    ci_low: found?.low ?? null,
    ci_high: found?.high ?? null,
    decided_on: judged.calledOn,
    smallest_detectable_difference: judged.smallestDetectableDifference,
    evidence: { ...evidenceJson(judged.evidence), explanation: judgedEvidence(judged, difference) },
  };
}

function setJson({ goldenSet, verdict, by, looks, evidence, latestRun, latency95 }: ShadowOnSet, difference: number) {
  return {
    golden_set: goldenSet,
    verdict,
    measure: by === null ? null : `ndcg@${by.k}`,
    version: by?.goldenSetVersion ?? null,
    queries: by?.n ?? 0,
    runs: by?.runs ?? 0,
    baseline: by?.baseline ?? null,
    candidate: by?.candidate ?? null,
    difference: by?.difference ?? null,
    ci_low: by?.ciLow ?? null,
    ci_high: by?.ciHigh ?? null,
    ci_method: by?.ciMethod ?? null,
    p: by?.p ?? null,
    alpha: by?.alpha ?? null,
    tests: looks.length,
    decided_at: isCalled(verdict) ? (by?.lookedAt.toISOString() ?? null) : null,
    smallest_detectable_difference: looks.at(-1)?.smallestDetectableDifference ?? null,
    evidence: {
      ...evidenceJson(evidence),
      explanation: evidenceSentence(evidence, difference),
    },
    run_id: by?.runId ?? null,
    baseline_run_id: by?.against ?? null,
    latest_run:
      latestRun === null ? null : { run_id: latestRun.id, status: latestRun.status, reason: latestRun.reason },
    latency_p95_ms: latency95,
  };
}
