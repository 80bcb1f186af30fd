/** The variables by which a dashboard is narrowed to pipelines, golden sets, cut-offs and segments. */
import { type QueryVariableBuilder, VariableSort } from '@grafana/grafana-foundation-sdk/dashboard';
import { allOf, labelVariable } from './frame.ts';

/** Every pipeline of which there is any metric. No value stands for all, since SQL needs their names. */
const pipelines = 'label_values({__name__=~"recalld_.+", job=~"$job"}, pipeline)';
const sets =
  'label_values(recalld_golden_run_last_attempt_timestamp_seconds{job=~"$job", pipeline=~"$pipeline"}, golden_set)';

export function onePipeline(): QueryVariableBuilder {
  return labelVariable('pipeline', 'Pipeline', pipelines);
}

export function manyPipelines(): QueryVariableBuilder {
  return allOf(onePipeline());
}

export function oneGoldenSet(): QueryVariableBuilder {
  return labelVariable('golden_set', 'Golden set', sets);
}

export function manyGoldenSets(): QueryVariableBuilder {
  return allOf(oneGoldenSet());
}

/** The largest cut-off comes first. */
export function cutoff(): QueryVariableBuilder {
  const query =
    'label_values(recalld_golden_ndcg{job=~"$job", pipeline=~"$pipeline", golden_set=~"$golden_set"}, k)';
  return labelVariable('k', 'Cut-off', query, VariableSort.NumericalDesc);
}

/** Segments of a metric, `all` at first. */
export function segmentOf(selector: string): QueryVariableBuilder {
  return labelVariable('segment', 'Segment', `label_values(${selector}, segment)`).current({
    text: 'all',
    value: 'all',
  });
}
