/** What the pages for people are made from: the services of the API, and what people ask beyond it. */
import type { FoundFixes } from '../../console/pages/labels-page.tsx';
import type { Acceptance } from '../../core/golden/check/accept-proposals.ts';
import type { GoldenSchedule } from '../../pipeline/watched-pipeline.ts';
import type { Annotations } from '../../ports/annotations.ts';
import type { CheckHistory } from '../../ports/check-history.ts';
import type { Diagnoses } from '../../ports/diagnoses.ts';
import type { GoldenBaselines } from '../../ports/golden-baselines.ts';
import type { Measurements } from '../../ports/measurements.ts';
import type { RunReads } from '../../ports/run-reads.ts';
import type { Logger } from '../../ports/telemetry.ts';
import type { TrafficReads } from '../../ports/traffic-reads.ts';
import type { BaselinesDeps } from '../baselines.ts';
import type { DensityDeps } from '../density.ts';
import type { DeploymentsDeps } from '../deployments.ts';
import type { FeedbackSummaryDeps } from '../feedback-summary.ts';
import type { GoldenRunsDeps } from '../golden-runs.ts';
import type { PipelinesDeps } from '../pipelines.ts';
import type { UncoveredTopicsDeps } from '../uncovered-topics.ts';

/** A pipeline of the config, as far as pages need it. */
export interface ConsolePipeline {
  readonly name: string;
  /** False in hash mode: then no text of a query is shown, whatever is stored. */
  readonly showsText: boolean;
  readonly golden: readonly Pick<GoldenSchedule, 'set' | 'cron'>[];
  readonly floors: readonly { readonly measure: string; readonly below: number }[];
}

export interface SiteSettings {
  readonly version: string;
  readonly pipelines: readonly ConsolePipeline[];
  /** Key of what sessions and forms are signed with; the same in every replica. */
  readonly signingKey: string;
  /** Where browsers reach the pages when that is not what they ask for, as behind a proxy; null: nowhere else. */
  readonly publicUrl: string | null;
}

export interface ConsoleDeps
  extends PipelinesDeps,
    GoldenRunsDeps,
    BaselinesDeps,
    DensityDeps,
    DeploymentsDeps,
    FeedbackSummaryDeps,
    UncoveredTopicsDeps {
  readonly history: Pick<CheckHistory, 'standings' | 'transitions'>;
  readonly diagnoses: Pick<Diagnoses, 'list' | 'open'>;
  readonly logger: Logger;
  readonly site: SiteSettings;
  readonly baselines: GoldenBaselines;
  readonly measurements: Pick<Measurements, 'series'>;
  readonly runReads: RunReads;
  readonly annotations: Annotations;
  readonly trafficReads: TrafficReads;
  /** Coverage of all queries of a density baseline, ascending; null when it is gone. */
  referenceScores(pipeline: string, version: number): Promise<Float64Array | null>;
  /**
   * Looks in the store for what took the place of judged documents that are gone.
   *
   * @throws RecalldError pipeline_unknown, golden_set_unknown
   */
  findLabelFixes(pipeline: string, goldenSet: string): Promise<FoundFixes>;
  /**
   * Makes a new version of the set with what was accepted.
   *
   * @param version of the set that the proposals were made for
   * @throws RecalldError golden_set_changed when they would not be made now
   */
  acceptLabelFixes(
    pipeline: string,
    goldenSet: string,
    version: number,
    acceptances: readonly Acceptance[],
  ): Promise<void>;
}
