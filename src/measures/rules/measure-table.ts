/**
 * Every measure that is stored over time, once: what it is called, which way is worse, how often it is taken, what it is
 * exported as. Sentences, thresholds, the catalogue of metrics, the export and the pages are made from these rows; adding
 * a measure takes a row and the code that takes it. Golden scores are no rows: their keys are those of `ir`.
 */
import { indexMeasures } from './index-measures.ts';
import { judgedMeasures } from './judged-measures.ts';
import type { JudgedMeasure, Measure, MeasureGauge } from './measure-row.ts';
import { partMeasures } from './part-measures.ts';
import { trafficMeasures } from './traffic-measures.ts';

/** In reading order: traffic, feedback, density, judged scores, the index against its manifest, then the store, its index and the embedder, then golden runs. */
export const measureTable = { ...trafficMeasures, ...judgedMeasures, ...indexMeasures, ...partMeasures } as const;

type MeasureName = keyof typeof measureTable;

type Rows = typeof measureTable;

/** Measures that thresholds may be set on. */
export type JudgedMeasureName = {
  [Name in MeasureName]: Rows[Name] extends { readonly judged: JudgedMeasure } ? Name : never;
}[MeasureName];

const rows: Readonly<Record<string, Measure>> = measureTable;

export const judgedMeasureNames = Object.keys(measureTable).filter(
  (name) => rows[name]?.judged !== undefined,
) as JudgedMeasureName[];

export function isJudgedMeasure(measure: string): measure is JudgedMeasureName {
  return rows[measure]?.judged !== undefined;
}

export function judgedMeasure(measure: JudgedMeasureName): JudgedMeasure {
  return measureTable[measure].judged;
}

/** Null for what is exported in another form or not at all. */
export function gaugeOf(measure: string): MeasureGauge | null {
  return rows[measure]?.gauge ?? null;
}

/** A measure that has no row is called by its own name, without its underscores. */
export function measureRow(measure: string): Measure {
  const spaced = measure.replaceAll('_', ' ');
  return (
    rows[measure] ?? {
      title: `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}`,
      means: spaced,
      note: '',
      scale: 'other',
    }
  );
}

const gapReasons: Readonly<Record<string, string>> = {
  no_queries: 'no live queries',
  none_sampled: 'none of the live queries was sampled',
  no_clicks: 'no clicks',
  no_stages: 'no live query tells of stages',
  no_texts: 'no document came with its text',
  no_query_texts: 'no live query came with its text',
  no_feedback: 'no feedback',
  no_baseline: 'no baseline yet',
  no_vectors: 'no live query with a vector',
  no_embedder: 'the config names no embedder',
  too_few_sessions: 'too few sessions',
  too_few_queries: 'too few live queries',
  too_few_clicks: 'too few clicks',
  too_few_opinions: 'too few opinions',
  unsupported: 'the store cannot tell',
  store_empty: 'the store has no vectors',
  store_failed: 'the store did not answer',
  embedder_failed: 'the embedder did not answer',
  too_few_labels: 'people have graded too few sessions',
  judge_failing: 'the judge fails too often',
  judge_in_doubt: 'the judge may have changed',
  no_judge: 'people alone grade',
  store_slow: 'the store has slowed down',
  retriever_failed: 'the retriever did not answer',
  manifest_unreadable: 'the manifest cannot be read',
  too_few_changes: 'too few documents changed',
};

/** Why a measure came to no value, in words; a reason that is not known here loses its underscores. */
export function gapWords(reason: string): string {
  return gapReasons[reason] ?? reason.replaceAll('_', ' ');
}
