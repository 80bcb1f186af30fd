import { createHash } from 'node:crypto';
import { isThreshold, thresholdMeasure } from '../checks/config.ts';
import type { GoldenCheck } from '../checks/rules/golden-checks.ts';
import type { ThresholdCheck } from '../checks/rules/threshold.ts';
import { createEmbedder } from '../connectors/embedders/open-embedder.ts';
import { createRetriever } from '../connectors/retrievers/open-retriever.ts';
import { createVectorStore } from '../connectors/stores/open-store.ts';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { ShadowConfig } from '../experiments/config.ts';
import { minuteOfDay } from '../golden/config.ts';
import {
  findPipeline,
  type GoldenSchedule,
  type Shadow,
  shadowPipelineName,
  type WatchedPipeline,
} from '../golden/watched-pipeline.ts';
import { parseRules } from '../live/rules/isolation.ts';
import { thresholdPolicy } from '../measures/rules/measure-table.ts';
import { durationMs } from '../platform/config/times.ts';
import { redactBody } from './config/inspect.ts';
import type { Config, GoldenConfig, PipelineConfig } from './config/schema.ts';

/**
 * Services open connections and start processes on first use; closePipelines closes the connections and ends the
 * processes.
 *
 * @throws RecalldError config_invalid, with the config path and the pipeline name
 */
export function createPipelines(config: Config, logger: Logger): WatchedPipeline[] {
  return config.pipelines.map((pipeline, index) =>
    naming(`pipelines[${index}] (${pipeline.name})`, () => {
      const { close, ...parts } = createParts(pipeline, 'vector_store', logger);
      const shadows = pipeline.shadow.map((shadow) => createShadow(shadow, pipeline, logger));
      return {
        name: pipeline.name,
        ...parts,
        annRecall: pipeline.ann_recall,
        timeoutMs: pipeline.retriever.timeout_ms,
        golden: pipeline.golden.map((golden) => createGoldenSchedule(golden, pipeline)),
        checks: goldenChecks(pipeline),
        thresholds: thresholdChecks(pipeline),
        isolation: parseRules(pipeline.isolation),
        shadows,
        shadowOf: null,
        async close() {
          await Promise.all([close(), ...shadows.map(({ asked }) => asked.close())]);
        },
      };
    }),
  );
}

/** Adds a config path to the errors of `work`. */
export function naming<T>(place: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    throw new RecalldError(error.code, `${place}: ${error.message}`, { cause: error });
  }
}

/** @param at config path of the store */
function createParts(pipeline: PipelineConfig, at: string, logger: Logger) {
  const { vector_store: storeConfig, embedder: embedderConfig } = pipeline;
  const store = storeConfig === undefined ? null : createVectorStore(storeConfig, at);
  const embedder = embedderConfig === undefined ? null : createEmbedder(embedderConfig);
  const retriever = createRetriever(pipeline.retriever, {
    embedder,
    store,
    logger,
    repeatsAnswers: pipeline.privacy.text !== 'hash',
  });
  const close = async (): Promise<void> => {
    await Promise.all([retriever.close?.(), store?.close(), embedder?.close?.()]);
  };
  return { retriever, store, embedder, close };
}

/**
 * Does not look for stale judgments in a shadow's store: if that store lacks a document, the shadow is at fault, not
 * the judgment.
 */
function createShadow(shadow: ShadowConfig, pipeline: PipelineConfig, logger: Logger): Shadow {
  const { name, retriever, vector_store = pipeline.vector_store, embedder = pipeline.embedder } = shadow;
  const { chunk_separator: chunkSeparator } = shadow;
  const { judged } = pipeline;
  const own = { ...pipeline, retriever, vector_store, embedder };
  const parts = createParts(own, `shadow (${name}).vector_store`, logger);
  // Excludes secrets, because a new API key does not mean a new index.
  const identity = JSON.stringify(redactBody({ retriever, vector_store, embedder, chunkSeparator }));
  const fingerprint = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  return {
    name,
    fingerprint,
    liveRate: shadow.live_rate,
    maxCallsPerDay: shadow.max_calls_per_day,
    limits: { concurrency: shadow.concurrency, maxPerSecond: shadow.max_per_second },
    costPerCall: shadow.cost_per_call,
    difference: shadow.difference,
    chunkSeparator,
    judgedDepth: judged === undefined || judged.judge.kind === 'none' || shadow.live_rate === 0 ? null : judged.depth,
    asked: {
      name: shadowPipelineName(pipeline.name, name),
      retriever: parts.retriever,
      store: null,
      embedder: null,
      annRecall: { ...pipeline.ann_recall, queries: 0 },
      timeoutMs: retriever.timeout_ms,
      golden: [],
      checks: [],
      thresholds: [],
      isolation: [],
      shadows: [],
      shadowOf: pipeline.name,
      fingerprints: { retriever: fingerprint },
      close: parts.close,
    },
  };
}

export function assertConfiguredPipeline({ pipelines }: Config, name: string): void {
  findPipeline(pipelines, name);
}

export async function closePipelines(pipelines: readonly WatchedPipeline[]): Promise<void> {
  await Promise.all(pipelines.map((pipeline) => pipeline.close()));
}

export function createGoldenSchedule(golden: GoldenConfig, pipeline: PipelineConfig): GoldenSchedule {
  return {
    set: golden.set,
    cron: golden.cron === undefined ? null : { expression: golden.cron, timezone: golden.timezone },
    sentinel:
      golden.sentinel === undefined
        ? null
        : {
            cron: { expression: golden.sentinel.cron, timezone: golden.timezone },
            queries: golden.sentinel.queries,
          },
    timezone: golden.timezone,
    quietHours: golden.quiet_hours.map(({ from, to }) => ({ from: minuteOfDay(from), to: minuteOfDay(to) })),
    maxQueriesPerDay: golden.max_queries_per_day,
    keepAnswersMs: durationMs(golden.keep_answers),
    rotationRuns: golden.rotation_runs,
    settings: {
      cutoffs: [...new Set(golden.cutoffs)].toSorted((a, b) => a - b),
      relevanceLevel: golden.relevance_level,
      gains: golden.gains,
      concurrency: golden.concurrency,
      maxPerSecond: golden.max_per_second,
      onError: golden.on_error,
      errorBudget: golden.error_budget,
      segmentKeys: pipeline.segments.keys,
      maxSegments: pipeline.segments.max,
      noAnswer: { maxScore: golden.no_answer.max_score, maxResults: golden.no_answer.max_results },
    },
  };
}

export function goldenChecks({ checks, isolation }: PipelineConfig): GoldenCheck[] {
  // Isolation rules also apply to golden queries.
  // A forbidden document in golden results triggers a page even if no check for forbidden documents is configured.
  const isImplied = isolation.length > 0 && !checks.some((check) => 'forbidden_results' in check);
  const implied = isImplied
    ? [{ forbidden_results: true as const, name: undefined, severity: 'critical' as const }]
    : [];
  return [...checks, ...implied].flatMap((check): GoldenCheck[] => {
    const { name, severity } = check;
    if ('regression' in check) return [{ ...check, kind: 'regression', measure: check.regression }];
    if ('stale_labels_above' in check)
      return [{ kind: 'stale_labels', name, severity, above: check.stale_labels_above }];
    if ('forbidden_results' in check) return [{ kind: 'forbidden_results', name, severity }];
    return 'below' in check && !isThreshold(check) ? [{ ...check, kind: 'floor' }] : [];
  });
}

/** Returns the checks on everything except golden scores. */
export function thresholdChecks({ checks }: PipelineConfig): ThresholdCheck[] {
  return checks.filter(isThreshold).flatMap((check) => {
    const measure = thresholdMeasure(check.measure);
    if (measure === null) return [];
    const { name, severity, segments, min_n, confirm, no_data: noData } = check;
    const { minN, confirm: usual } = thresholdPolicy(measure);
    const threshold = 'below' in check ? check.below : check.above;
    return {
      name,
      measure,
      threshold,
      severity,
      segments,
      minN: min_n ?? minN,
      confirm: confirm ?? usual,
      noData,
    };
  });
}
