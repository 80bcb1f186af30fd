/** Composes what the pages for people need beyond the API. */

import type { ChecksDeps } from '../../checks/edge/routes.ts';
import { ofKind } from '../../checks/rules/golden-checks.ts';
import type { Logger } from '../../core/logger.ts';
import { readComplaints } from '../../density/edge/complaints-reads.ts';
import type { ComplaintRouteDeps, DensityRouteDeps } from '../../density/edge/routes.ts';
import type { ExperimentRouteDeps } from '../../experiments/edge/routes.ts';
import type { BaselinesDeps, GoldenRunsDeps } from '../../golden/edge/golden-routes.ts';
import { createLabelFixes, type LabelFixes } from '../../golden/sets/label-fixes.ts';
import type { GoldenBaselines } from '../../golden/sql/golden-baselines.ts';
import type { RunReads } from '../../golden/sql/run-results.ts';
import { findPipeline, type GoldenSchedule } from '../../golden/watched-pipeline.ts';
import type { Incidents } from '../../incidents/diagnosis/incidents.ts';
import {
  type Explained,
  type ExplainedRun,
  explainAll,
  filtersOf,
  missesOfRun,
  wordsOfDocuments,
} from '../../incidents/explain/answers.ts';
import type { IndexPageDeps } from '../../index/truth/index-reads.ts';
import type { JudgePageDeps } from '../../judging/edge/judge-page.ts';
import type { Annotations } from '../../live/deployments/deployments.ts';
import type { DeploymentsDeps } from '../../live/deployments/edge/routes.ts';
import type { FeedbackSummaryDeps } from '../../live/edge/live-routes.ts';
import type { TrafficReads } from '../../live/sql/live-samples.ts';
import type { Measurements } from '../../measures/measurements.ts';
import type { PipelinesDeps } from '../../report/status/status-api.ts';
import type { Dependencies } from '../dependencies.ts';
import { version } from '../version.ts';

type ConsoleApi = Pick<
  ConsoleDeps,
  | 'logger'
  | 'site'
  | 'baselines'
  | 'checkStore'
  | 'incidents'
  | 'measurements'
  | 'runReads'
  | 'annotations'
  | 'trafficReads'
  | 'referenceSimilarities'
  | 'explainMisses'
  | 'explainRun'
  | 'wordsOfDocuments'
  | 'readComplaints'
  | 'storeOf'
  | 'findLabelFixes'
  | 'acceptLabelFixes'
>;

/** A page is waited for no longer. */
const EXPLAIN_LIMIT_MS = 60_000;
const WORDS_LIMIT_MS = 2000;

export function createConsoleApi(dependencies: Dependencies): ConsoleApi {
  const { config, logger, reads, db } = dependencies;
  const pipelineOf = (name: string) => dependencies.pipelines.find((one) => one.name === name);
  const storeOf = (pipeline: string) => pipelineOf(pipeline)?.store ?? null;
  const explain = async (runId: string, queryId: string | null, limit: number): Promise<ExplainedRun> => {
    const { run, misses, questions } = await missesOfRun(dependencies, runId, { queryId, document: null, limit });
    const pipeline = pipelineOf(run.pipeline);
    if (pipeline === undefined) return { misses, explained: [] };
    const filters = filtersOf(config, run.pipeline);
    const signal = AbortSignal.timeout(EXPLAIN_LIMIT_MS);
    return { misses, explained: await explainAll(dependencies, pipeline, questions, filters, signal) };
  };
  return {
    logger,
    site: {
      version,
      pipelines: consolePipelines(dependencies),
      publicUrl: config.alerts.console_base_url,
    },
    baselines: db.golden.baselines,
    checkStore: db.checks,
    incidents: db.incidents,
    measurements: reads.measurements,
    runReads: reads.golden.runReads,
    annotations: db.live.annotations,
    trafficReads: reads.live.trafficReads,
    async referenceSimilarities(pipeline, version) {
      const similarities = await reads.density.baselines.similarities(pipeline, version);
      return similarities.length === 0 ? null : similarities;
    },
    storeOf,
    explainMisses: async (runId, queryId) => (await explain(runId, queryId, 1)).explained,
    explainRun: (runId, questions) => explain(runId, null, questions),
    wordsOfDocuments: (pipeline, ids, isAsked) =>
      wordsOfDocuments(
        dependencies,
        { name: pipeline, store: isAsked ? storeOf(pipeline) : null },
        ids,
        AbortSignal.timeout(WORDS_LIMIT_MS),
      ),
    readComplaints(name, days, why) {
      const signal = AbortSignal.timeout(EXPLAIN_LIMIT_MS);
      const filters = why ? filtersOf(config, name) : null;
      return readComplaints(dependencies, findPipeline(dependencies.pipelines, name), { days, filters }, signal);
    },
    ...createLabelFixes(dependencies),
  };
}

function consolePipelines({ config, pipelines }: Dependencies): ConsolePipeline[] {
  return pipelines.map(({ name, golden, checks }) => ({
    name,
    showsText: config.pipelines.find((one) => one.name === name)?.privacy.text !== 'hash',
    isIndexed: config.pipelines.find((one) => one.name === name)?.index !== undefined,
    isJudged: config.pipelines.find((one) => one.name === name)?.judged !== undefined,
    golden,
    floors: ofKind(checks, 'floor'),
  }));
}

/** A pipeline of the config, as far as pages need it. */
export interface ConsolePipeline {
  readonly name: string;
  /** False in hash mode: then no text of a query is shown, whatever is stored. */
  readonly showsText: boolean;
  readonly isJudged: boolean;
  readonly isIndexed: boolean;
  readonly golden: readonly Pick<GoldenSchedule, 'set' | 'cron'>[];
  readonly floors: readonly { readonly measure: string; readonly below: number }[];
}

export interface SiteSettings {
  readonly version: string;
  readonly pipelines: readonly ConsolePipeline[];
  /** Where browsers reach the pages when that is not what they ask for, as behind a proxy; null: nowhere else. */
  readonly publicUrl: string | null;
}

export interface ConsoleDeps
  extends PipelinesDeps,
    ChecksDeps,
    GoldenRunsDeps,
    BaselinesDeps,
    LabelFixes,
    DensityRouteDeps,
    DeploymentsDeps,
    IndexPageDeps,
    JudgePageDeps,
    ExperimentRouteDeps,
    ComplaintRouteDeps,
    FeedbackSummaryDeps {
  readonly incidents: Pick<Incidents, 'find' | 'list' | 'open'>;
  readonly logger: Logger;
  readonly site: SiteSettings;
  readonly baselines: GoldenBaselines;
  readonly measurements: Pick<Measurements, 'latest' | 'series' | 'trends'>;
  readonly runReads: RunReads;
  readonly annotations: Annotations;
  readonly trafficReads: TrafficReads;
  /** Why the misses of one question of a run did not come back, asked anew; of a pipeline that the config no longer has, none. */
  explainMisses(runId: string, queryId: string): Promise<readonly Explained[]>;
  /** Those of so many questions of a run. */
  explainRun(runId: string, questions: number): Promise<ExplainedRun>;
  /** The first words of documents whose text is known; `isAsked`: or in the store. */
  wordsOfDocuments(pipeline: string, ids: readonly string[], isAsked: boolean): Promise<ReadonlyMap<string, string>>;
  /** Cosines of the nearest chunks of queries drawn from a density baseline, ascending; null when they are gone. */
  referenceSimilarities(pipeline: string, version: number): Promise<Float64Array | null>;
}
