/** Config -> pipelines that are ready for work. A new kind of retriever is one line here. */
import { createHttpRetriever } from '../adapters/retriever/http.ts';
import { isGoldenMeasure } from '../contracts/config/checks.ts';
import { defaultCutoffs } from '../contracts/config/judgeable-checks.ts';
import type { Config, GoldenConfig, PipelineConfig } from '../contracts/config/schema.ts';
import type { FloorCheck } from '../core/checks/floor.ts';
import { RecalldError } from '../core/errors.ts';
import type { RunSettings } from '../core/golden/run.ts';
import type { GoldenSchedule, WatchedPipeline } from '../pipeline/watched-pipeline.ts';

/** @throws RecalldError config_invalid when a template or a JMESPath expression of a retriever is wrong */
export function createPipelines(config: Config): WatchedPipeline[] {
  return config.pipelines.map((pipeline, index) => ({
    name: pipeline.name,
    retriever: createRetriever(pipeline, index),
    timeoutMs: pipeline.retriever.timeout_ms,
    golden: pipeline.golden.map((golden) => createGoldenSchedule(golden, pipeline)),
    floors: floorChecks(pipeline),
  }));
}

/** @throws RecalldError pipeline_unknown with the names that exist */
export function findPipeline(pipelines: readonly WatchedPipeline[], name: string): WatchedPipeline {
  const found = pipelines.find((pipeline) => pipeline.name === name);
  if (found !== undefined) return found;
  const names = pipelines.map((pipeline) => pipeline.name).join(', ');
  throw new RecalldError(
    'pipeline_unknown',
    `The config has no pipeline "${name}"; it has ${names === '' ? 'none, add one under `pipelines`' : names}.`,
  );
}

/** How `pipeline` runs `set`: as its config says, or with the defaults for a set that the config does not name. */
export function scheduleOf(pipeline: WatchedPipeline, set: string): GoldenSchedule {
  return (
    pipeline.golden.find((schedule) => schedule.set === set) ?? { set, cron: null, settings: defaultSettings }
  );
}

const defaultSettings: RunSettings = {
  cutoffs: defaultCutoffs,
  relevanceLevel: 1,
  concurrency: 4,
  maxPerSecond: 20,
  onError: 'score_zero',
  errorBudget: 0.05,
  segmentKeys: [],
  maxSegments: 50,
};

const defaultBody = { query: '{{text}}', k: '{{k}}' };

function createRetriever(pipeline: PipelineConfig, index: number): WatchedPipeline['retriever'] {
  const { url, method, headers, body, results, timeout_ms: timeoutMs, retries } = pipeline.retriever;
  try {
    return createHttpRetriever({
      url,
      method,
      headers,
      body: body ?? (method === 'GET' ? null : defaultBody),
      results,
      timeoutMs,
      retries,
    });
  } catch (error) {
    if (!(error instanceof RecalldError)) throw error;
    throw new RecalldError(error.code, `pipelines[${index}] (${pipeline.name}): ${error.message}`, {
      cause: error,
    });
  }
}

function createGoldenSchedule(golden: GoldenConfig, pipeline: PipelineConfig): GoldenSchedule {
  return {
    set: golden.set,
    cron: golden.cron === undefined ? null : { expression: golden.cron, timezone: golden.timezone },
    settings: {
      cutoffs: [...new Set(golden.cutoffs)].toSorted((a, b) => a - b),
      relevanceLevel: golden.relevance_level,
      concurrency: golden.concurrency,
      maxPerSecond: golden.max_per_second,
      onError: golden.on_error,
      errorBudget: golden.error_budget,
      segmentKeys: pipeline.segments.keys,
      maxSegments: pipeline.segments.max,
    },
  };
}

function floorChecks(pipeline: PipelineConfig): FloorCheck[] {
  return pipeline.checks.flatMap((check) =>
    'below' in check && isGoldenMeasure(check.measure) ? [check] : [],
  );
}
