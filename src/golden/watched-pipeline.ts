import type { GoldenCheck } from '../checks/rules/golden-checks.ts';
import type { ThresholdCheck } from '../checks/rules/threshold.ts';
import type { Retriever } from '../connectors/retrievers/retriever.ts';
import { RecalldError } from '../core/errors.ts';
import { DAY_MS } from '../core/time.ts';
import type { ProbedPipeline } from '../index/probes/probes.ts';
import type { ParsedRule } from '../live/rules/isolation.ts';
import type { Cron } from '../math/schedule/occurrences.ts';
import { defaultNoAnswer } from './rules/forbidden-results.ts';
import { defaultCutoffs, type RunSettings } from './rules/run.ts';
import type { QuietHours } from './rules/schedule.ts';

export interface WatchedPipeline extends ProbedPipeline {
  readonly retriever: Retriever;
  /** Time limit for each attempt of a retriever call. */
  readonly timeoutMs: number;
  readonly golden: readonly GoldenSchedule[];
  readonly checks: readonly GoldenCheck[];
  /** Checks on measures other than golden scores. */
  readonly thresholds: readonly ThresholdCheck[];
  /** Rules that restrict which documents the queries of a segment may return. The rules also apply to golden runs. */
  readonly isolation: readonly ParsedRule[];
  /** Candidates to replace the retriever. Shadows run the same queries, but users never see the results. */
  readonly shadows: readonly Shadow[];
  /** Name of the pipeline that this pipeline shadows; null for a pipeline with users. */
  readonly shadowOf: string | null;
  /**
   * Fingerprints that are computed only from the config. If absent, the fingerprints that the components report are
   * used.
   */
  readonly fingerprints?: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export interface Shadow {
  readonly name: string;
  /**
   * Fingerprint of the shadow's retriever. Only results that the shadow returned with this fingerprint are compared.
   */
  readonly fingerprint: string;
  /** Share of the sampled live queries that the shadow replays. */
  readonly liveRate: number;
  readonly maxCallsPerDay: number;
  readonly limits: { readonly concurrency: number; readonly maxPerSecond: number };
  /** Cost per call in US dollars. */
  readonly costPerCall: number;
  /** Smallest nDCG difference that the comparison should be able to detect. */
  readonly difference: number;
  /** Separator after the document id in chunk ids of both retrievers; if null, ids are compared unchanged. */
  readonly chunkSeparator: string | null;
  /**
   * Number of top documents of each retriever that the judge grades; if null, only documents that users saw are graded.
   */
  readonly judgedDepth: number | null;
  /**
   * A separate pipeline for the shadow, so that the shadow has its own runs, rate limit and failures. This pipeline has
   * no schedule and no checks.
   */
  readonly asked: WatchedPipeline;
}

/** Returns the name of a shadow's pipeline; no configured pipeline can have such a name. */
export function shadowPipelineName(pipeline: string, shadow: string): string {
  return `${pipeline}~${shadow}`;
}

/** The inverse of `shadowPipelineName`; `shadow` is null for a pipeline that is not a shadow. */
export function partsOfPipelineName(name: string): { readonly pipeline: string; readonly shadow: string | null } {
  const [pipeline = name, shadow = null] = name.split('~');
  return { pipeline, shadow };
}

export interface GoldenSchedule {
  readonly set: string;
  /** Schedule; null if the set runs only manually. */
  readonly cron: Cron | null;
  /** A few representative queries that run between full runs; null if the set has no sentinel. */
  readonly sentinel: { readonly cron: Cron; readonly queries: number } | null;
  /** Time zone for the quiet hours and the daily budget. */
  readonly timezone: string;
  /** Hours during which recalld starts no scheduled full run. */
  readonly quietHours: readonly QuietHours[];
  /** Maximum number of queries per day; null for no limit. */
  readonly maxQueriesPerDay: number | null;
  /**
   * Number of ticks at which both the old and the new version of the set run before the new version takes over. If
   * `rotationRuns` is 0, the new version takes over immediately.
   */
  readonly rotationRuns: number;
  /** Retention time of the query results of the set's runs, in milliseconds. */
  readonly keepAnswersMs: number;
  readonly settings: RunSettings;
}

/**
 * Returns the configured pipeline with this name.
 *
 * @throws RecalldError pipeline_unknown with the existing names
 */
export function findPipeline<Named extends { readonly name: string }>(
  pipelines: readonly Named[],
  name: string,
): Named {
  const found = pipelines.find((pipeline) => pipeline.name === name);
  if (found !== undefined) return found;
  const names = pipelines.map((pipeline) => pipeline.name).join(', ');
  throw new RecalldError(
    'pipeline_unknown',
    names === ''
      ? 'The config has no pipelines; add a pipeline under `pipelines`.'
      : `The config has no pipeline "${name}". Known pipelines: ${names}.`,
  );
}

/** Finds a pipeline or a shadow by its pipeline name; null if it is no longer in the config. */
export function findAskedPipeline(pipelines: readonly WatchedPipeline[], name: string): WatchedPipeline | null {
  const asked = pipelines.flatMap((one) => [one, ...one.shadows.map((shadow) => shadow.asked)]);
  return asked.find((one) => one.name === name) ?? null;
}

export function unwatchedSet(set: string): string {
  return `No pipeline in the config uses the golden set ${set}, so it is not scheduled and has no checks. Add \`{set: ${set}}\` to \`golden\` of a pipeline.`;
}

/** Returns the schedule of a set from the config, or the defaults for a set that is not in the config. */
export function scheduleOf(pipeline: WatchedPipeline, set: string): GoldenSchedule {
  return (
    pipeline.golden.find((schedule) => schedule.set === set) ?? {
      set,
      cron: null,
      sentinel: null,
      timezone: 'UTC',
      quietHours: [],
      maxQueriesPerDay: null,
      rotationRuns: 3,
      keepAnswersMs: 180 * DAY_MS,
      settings: defaultSettings,
    }
  );
}

/** Returns the limits that all callers of a retriever share: the strictest among the golden sets of its pipeline. */
export function retrieverLimitsOf({ golden }: { readonly golden: WatchedPipeline['golden'] }): Shadow['limits'] {
  const settings = golden.length === 0 ? [defaultSettings] : golden.map((one) => one.settings);
  return {
    concurrency: Math.min(...settings.map(({ concurrency }) => concurrency)),
    maxPerSecond: Math.min(...settings.map(({ maxPerSecond }) => maxPerSecond)),
  };
}

const defaultSettings: RunSettings = {
  cutoffs: defaultCutoffs,
  gains: [],
  relevanceLevel: 1,
  concurrency: 4,
  maxPerSecond: 20,
  onError: 'score_zero',
  errorBudget: 0.05,
  segmentKeys: [],
  maxSegments: 50,
  noAnswer: defaultNoAnswer,
};
