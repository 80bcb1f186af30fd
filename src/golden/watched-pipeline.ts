/** One pipeline of the config, ready for work. */
import type { GoldenCheck } from '../checks/rules/golden-checks.ts';
import type { ThresholdCheck } from '../checks/rules/threshold.ts';
import type { Retriever } from '../connectors/retrievers/retriever.ts';
import { RecalldError } from '../core/errors.ts';
import { DAY_MS } from '../core/time.ts';
import type { ProbedPipeline } from '../index/probes/probes.ts';
import type { Cron } from '../math/schedule/occurrences.ts';
import { defaultCutoffs, type RunSettings } from './rules/run.ts';
import type { QuietHours } from './rules/schedule.ts';
import { defaultNoAnswer } from './rules/unwanted-answers.ts';

export interface WatchedPipeline extends ProbedPipeline {
  readonly retriever: Retriever;
  /** Longest that one attempt at the retriever may take. */
  readonly timeoutMs: number;
  readonly golden: readonly GoldenSchedule[];
  readonly checks: readonly GoldenCheck[];
  /** Of measures that golden runs do not score. */
  readonly thresholds: readonly ThresholdCheck[];
  /** Retrievers that may take the place of its own, and are asked the same without users. */
  readonly shadows: readonly Shadow[];
  /** The pipeline whose shadow it is; null for one that users ask. */
  readonly shadowOf: string | null;
  /** What it is made of where the config alone says so; left out, what was seen of its parts. */
  readonly fingerprints?: Readonly<Record<string, string>>;
  /** Gives back the connections of its parts. */
  close(): Promise<void>;
}

export interface Shadow {
  readonly name: string;
  /** Changes with what answers, so that nothing is held against it that another one did. */
  readonly fingerprint: string;
  /** Share of the live sample that it is asked. */
  readonly liveRate: number;
  readonly maxCallsPerDay: number;
  readonly limits: Pick<RunSettings, 'concurrency' | 'maxPerSecond'>;
  /** US dollars. */
  readonly costPerCall: number;
  /** Difference of nDCG that is to be found. */
  readonly difference: number;
  /** What the id of a document ends before in that of a chunk, on both sides; null: ids are compared as they are. */
  readonly chunkSeparator: string | null;
  /** Best documents of each list that the judge of live queries grades; null: nothing is graded beside what users got. */
  readonly judgedDepth: number | null;
  /** Under its own name, so that its runs, its pace and its failures are nobody else's; without schedule and checks. */
  readonly asked: WatchedPipeline;
}

/** No pipeline of a config has such a name. */
export function shadowPipelineName(pipeline: string, shadow: string): string {
  return `${pipeline}~${shadow}`;
}

/** The other way round: a pipeline of the config, and which of its shadows a run is of; null: of the pipeline itself. */
export function partsOfPipelineName(name: string): { readonly pipeline: string; readonly shadow: string | null } {
  const [pipeline = name, shadow = null] = name.split('~');
  return { pipeline, shadow };
}

export interface GoldenSchedule {
  readonly set: string;
  /** Null: it runs only by hand. */
  readonly cron: Cron | null;
  /** A few queries that stand for the set between two full runs; null: none. */
  readonly sentinel: { readonly cron: Cron; readonly queries: number } | null;
  /** Of quiet hours and of the day of the budget. */
  readonly timezone: string;
  /** In these no scheduled full run starts. */
  readonly quietHours: readonly QuietHours[];
  /** Null: no limit. */
  readonly maxQueriesPerDay: number | null;
  /** Ticks at which a new version runs beside the old one before it takes over; 0: it takes over at once. */
  readonly rotationRuns: number;
  /** How long the answers of its runs are kept. */
  readonly keepAnswersMs: number;
  readonly settings: RunSettings;
}

/** Of pipelines of the config, in whatever form. @throws RecalldError pipeline_unknown with the names that exist */
export function findPipeline<Named extends { readonly name: string }>(
  pipelines: readonly Named[],
  name: string,
): Named {
  const found = pipelines.find((pipeline) => pipeline.name === name);
  if (found !== undefined) return found;
  const names = pipelines.map((pipeline) => pipeline.name).join(', ');
  throw new RecalldError(
    'pipeline_unknown',
    `The config has no pipeline "${name}"; it has ${names === '' ? 'none, add one under `pipelines`' : names}.`,
  );
}

/** A pipeline of the config or a shadow of one; null when the config no longer has it. */
export function findAskedPipeline(pipelines: readonly WatchedPipeline[], name: string): WatchedPipeline | null {
  const asked = pipelines.flatMap((one) => [one, ...one.shadows.map((shadow) => shadow.asked)]);
  return asked.find((one) => one.name === name) ?? null;
}

/** What there is to say of a set that no pipeline of the config names. */
export function unwatchedSet(set: string): string {
  return `No pipeline of the config names the golden set ${set}, so nothing runs it by itself and no check judges it; add \`{set: ${set}}\` to \`golden\` of its pipeline.`;
}

/** How `pipeline` runs `set`: as its config says, or with the defaults for a set that the config does not name. */
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

/** What all who ask a retriever for golden queries may do together: the strictest of the golden sets of its pipeline. */
export function retrieverLimitsOf({
  golden,
}: Pick<WatchedPipeline, 'golden'>): Pick<RunSettings, 'concurrency' | 'maxPerSecond'> {
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
