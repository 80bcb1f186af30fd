/** What the pages for people are made from: the services of the API, and what people ask beyond it. */
import type { ChecksDeps } from '../../checks/routes.ts';
import type { ComplaintRouteDeps } from '../../density/complaints-routes.ts';
import type { DensityRouteDeps } from '../../density/routes.ts';
import type { Annotations } from '../../deployments/annotations.ts';
import type { DeploymentsDeps } from '../../deployments/routes.ts';
import type { Incidents } from '../../diagnosis/incidents.ts';
import type { Explained, ExplainedRun } from '../../explain/misses.ts';
import type { BaselinesDeps, GoldenRunsDeps } from '../../golden/golden-routes.ts';
import type { LabelFixes } from '../../golden/sets/label-fixes.ts';
import type { GoldenBaselines } from '../../golden/sql/golden-baselines.ts';
import type { RunReads } from '../../golden/sql/run-results.ts';
import type { GoldenSchedule } from '../../golden/watched-pipeline.ts';
import type { IndexPageDeps } from '../../index-truth/index-reads.ts';
import type { JudgePageDeps } from '../../judging/judge-reads.ts';
import type { FeedbackSummaryDeps } from '../../live/feedback-summary-routes.ts';
import type { TrafficReads } from '../../live/sql/traffic-reads.ts';
import type { Logger } from '../../logger.ts';
import type { Measurements } from '../../measures/measurements.ts';
import type { ShadowRouteDeps } from '../../shadow/shadow-routes.ts';
import type { PipelinesDeps } from '../../status/status-api.ts';
import type { VariantRouteDeps } from '../../variants/variants-routes.ts';

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
    ShadowRouteDeps,
    VariantRouteDeps,
    ComplaintRouteDeps,
    FeedbackSummaryDeps {
  readonly incidents: Pick<Incidents, 'find' | 'list' | 'open'>;
  readonly logger: Logger;
  readonly site: SiteSettings;
  readonly baselines: GoldenBaselines;
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly runReads: RunReads;
  readonly annotations: Annotations;
  readonly trafficReads: TrafficReads;
  /** Why the misses of one question of a run did not come back, asked anew; of a pipeline that the config no longer has, none. */
  explainMisses(runId: string, queryId: string): Promise<readonly Explained[]>;
  /** Those of so many questions of a run. */
  explainRun(runId: string, questions: number): Promise<ExplainedRun>;
  /** The first words of documents, of those whose text is known or in the store. */
  wordsOfDocuments(pipeline: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Cosines of the nearest chunks of queries drawn from a density baseline, ascending; null when they are gone. */
  referenceSimilarities(pipeline: string, version: number): Promise<Float64Array | null>;
}
