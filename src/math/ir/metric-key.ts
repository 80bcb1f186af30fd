import { RecalldError } from '../../core/errors.ts';
import { closest } from '../../core/text/spelling.ts';

/** Names of the ranked-retrieval measures; `evaluate.ts` defines them. */
export type Measure = keyof typeof needsCutoff;

/** A measure and its cutoff; `k` is null for the whole ranking. */
export interface MetricKey {
  readonly measure: Measure;
  readonly k: number | null;
}

/** Returns the display name of a metric key, such as `nDCG@10`. */
export function metricName(key: string): string {
  return key.replace(/^ndcg/, 'nDCG').replace(/^mrr/, 'MRR');
}

/** True for measures that are undefined without a cutoff, such as a share of the top k. */
const needsCutoff = {
  hit_rate: true,
  precision: true,
  recall: true,
  f1: true,
  mrr: false,
  map: false,
  cg: false,
  dcg: false,
  ndcg: false,
  ndcg_exp: false,
  union_recall: true,
  all_found: true,
  unjudged: true,
} as const;

const measures = Object.keys(needsCutoff).filter(isMeasure);

/** True for measures that are 1 or 0 for a single query, so their mean is a proportion. */
export const isProportion = (measure: Measure): boolean => measure === 'hit_rate' || measure === 'all_found';

/** True for measures of the union of several rankings; `union.ts` defines them. */
export const isUnionMeasure = (measure: Measure): boolean => measure === 'union_recall' || measure === 'all_found';

/** True for sums of gains, which have no upper bound; every other measure is in [0, 1]. */
export const isUnbounded = (measure: Measure): boolean => measure === 'cg' || measure === 'dcg';

/**
 * Reads a metric key such as `ndcg@10` or `map`.
 *
 * @throws RecalldError `metric_unknown` for an unknown measure, a missing cutoff, or a cutoff that is not a whole
 * number >= 1; the message names the key and the available metrics.
 */
export function parseMetricKey(text: string): MetricKey {
  const at = text.indexOf('@');
  const name = at === -1 ? text : text.slice(0, at);
  if (!isMeasure(name)) {
    const meant = closest(name.toLowerCase(), measures);
    const guess = meant === null ? '' : ` Did you mean "${meant}"?`;
    throw new RecalldError('metric_unknown', `There is no metric "${text}".${guess} ${existing()}`);
  }
  if (at === -1) {
    if (!needsCutoff[name]) return { measure: name, k: null };
    throw new RecalldError(
      'metric_unknown',
      `The metric "${text}" needs a cutoff, for example "${name}@10". ${existing()}`,
    );
  }
  const cutoff = text.slice(at + 1);
  const k = Number(cutoff);
  if (!/^[1-9][0-9]*$/.test(cutoff) || !Number.isSafeInteger(k)) {
    throw new RecalldError(
      'metric_unknown',
      `The cutoff of the metric "${text}" must be a whole number of at least 1, for example "${name}@10". ${existing()}`,
    );
  }
  return { measure: name, k };
}

export function formatMetricKey(key: MetricKey): string {
  return key.k === null ? key.measure : `${key.measure}@${key.k}`;
}

function isMeasure(name: string): name is Measure {
  return Object.hasOwn(needsCutoff, name);
}

function existing(): string {
  const forms = measures.map((name) => (needsCutoff[name] ? `${name}@k` : `${name}, ${name}@k`));
  return `Metrics are: ${forms.join(', ')}.`;
}
