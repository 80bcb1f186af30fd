/**
 * The table of all measures stored over time: name, direction, interval and gauge. Sentences, thresholds, the metric
 * catalog, the export and the pages are derived from this table. To add a measure, add a row here and the code that
 * records its values. Golden scores are not in the table; their keys are those of `math/ir`.
 */
import { capitalized } from '../../core/format.ts';
import { indexMeasures } from './index-measures.ts';
import { judgedMeasures } from './judged-measures.ts';
import type { Measure, ThresholdPolicy } from './measure-row.ts';
import { pipelineMeasures } from './pipeline-measures.ts';
import { trafficMeasures } from './traffic-measures.ts';

/** All measures, in display order. */
export const measureTable = { ...trafficMeasures, ...judgedMeasures, ...indexMeasures, ...pipelineMeasures } as const;

type MeasureName = keyof typeof measureTable;

type Rows = typeof measureTable;

/** Measures for which the config may set a threshold. */
export type ThresholdMeasureName = {
  [Name in MeasureName]: Rows[Name] extends { readonly thresholdPolicy: ThresholdPolicy } ? Name : never;
}[MeasureName];

/** Measures that are watched for changes. */
export type WatchedMeasureName = {
  [Name in MeasureName]: Rows[Name] extends { readonly isWatched: true } ? Name : never;
}[MeasureName];

const rows: Readonly<Record<string, Measure>> = measureTable;

export const thresholdMeasureNames = Object.keys(measureTable).filter(
  (name) => rows[name]?.thresholdPolicy !== undefined,
) as ThresholdMeasureName[];

export function isThresholdMeasure(measure: string): measure is ThresholdMeasureName {
  return rows[measure]?.thresholdPolicy !== undefined;
}

/** True for a measure in the table; false for a golden score. */
export function isStoredMeasure(measure: string): boolean {
  return rows[measure] !== undefined;
}

export function thresholdPolicy(measure: ThresholdMeasureName): ThresholdPolicy {
  return measureTable[measure].thresholdPolicy;
}

/** Returns the row of a measure, or a generic row for a measure that is not in the table. */
export function measureRow(measure: string): Measure {
  const spaced = measure.replaceAll('_', ' ');
  return (
    rows[measure] ?? {
      title: capitalized(spaced),
      subject: spaced,
      note: '',
      scale: 'other',
    }
  );
}

/** Returns the title of a measure as it appears in running text: `live latency p95` for `Live latency, p95`. */
export function titleInLine(measure: string): string {
  const { title } = measureRow(measure);
  return `${title.charAt(0).toLowerCase()}${title.slice(1)}`.replace(', ', ' ');
}

const gapReasons: Readonly<Record<string, string>> = {
  no_queries: 'no live queries',
  none_sampled: 'live queries arrived, but none was sampled',
  no_clicks: 'no clicks',
  no_stages: 'no live query reports stages',
  no_latencies: 'no live query reports a latency',
  no_texts: 'no live query has a text for each of its documents',
  no_query_texts: 'no live query has a text',
  no_episodes: 'no closed episode',
  single_retrievals: 'no episode with a second retrieval',
  no_rewritten_queries: 'no query differs from its original text',
  no_feedback: 'no feedback',
  no_baseline: 'no baseline yet',
  no_vectors: 'no live query with a vector',
  no_embedder: 'no embedder configured',
  too_few_sessions: 'too few sessions',
  too_few_queries: 'too few live queries',
  too_few_episodes: 'too few episodes',
  too_few_clicks: 'too few clicks',
  too_few_opinions: 'too few opinions',
  unsupported: 'the store does not support this measurement',
  store_empty: 'the store has no vectors',
  store_failed: 'the store did not respond',
  embedder_failed: 'the embedder did not respond',
  too_few_judgments: 'too few sessions with human judgments',
  judge_failing: 'the judge failed on too many queries',
  judge_drift_suspected: 'the judge may have changed',
  no_judge: 'no judge model configured',
  store_slow: 'the store is too slow',
  retriever_failed: 'the retriever did not respond',
  manifest_unreadable: 'the manifest cannot be read',
  too_few_changes: 'too few documents changed',
  few_changed_results: 'too few golden queries with changed results',
  too_few_answers: 'too few golden queries returned documents',
  none_missed: 'the golden run missed no relevant document whose text is in the store',
  timeout: 'the store or the embedder took too long',
};

/** Describes why a measure has no value. An unknown reason is shown without its underscores. */
export function gapWords(reason: string): string {
  return gapReasons[reason] ?? reason.replaceAll('_', ' ');
}
