/** Options that `eval` and `compare` share: judgments, metrics, and the treatment of rankings. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { Option } from '@commander-js/extra-typings';
import { RecalldError } from '../../../core/errors.ts';
import { formatMetricKey, type MetricKey, parseMetricKey } from '../../../math/ir/metric-key.ts';
import { type DuplicatePolicy, duplicatePolicies } from '../../../math/ir/ranking.ts';
import type { ScoringSettings } from '../../trec/score-runs.ts';

export const qrelsOption = new Option(
  '--qrels <file>',
  'judgments: TREC qrels, or a BEIR qrels.tsv',
).makeOptionMandatory();

export const relevanceLevelOption = new Option(
  '--relevance-level <grade>',
  'minimum grade that counts as relevant',
).default('1');

export const duplicatesOption = new Option('--duplicates <policy>', 'how to treat a document that a ranking repeats')
  .choices(duplicatePolicies)
  .default('collapse' as const);

export const TREC_HELP = `
Metrics: hit_rate@k precision@k recall@k f1@k mrr@k mrr map@k map cg@k cg dcg@k dcg ndcg@k ndcg ndcg_exp@k ndcg_exp union_recall@k all_found@k unjudged@k

recalld sorts documents by score, then by document id, both descending. Like trec_eval, it ignores the rank column.
Means are over all judged queries; a query without results scores 0 (trec_eval -c). Policies for duplicate documents:
collapse keeps the first rank of a document and closes the gap, occupy leaves the later ranks empty, and reject stops
with an error. Scores are compared as doubles, as in trec_eval 10. In contrast, trec_eval 9 and pytrec_eval round scores
to float32 first, so scores that differ only in the eighth digit become equal.

If q1 is judged and q1#1 is not, the query ids q1#1, q1#2, ... are steps of q1, such as the hops of a multi-hop question.
union_recall@k is the share of the relevant documents in the union of the top k documents of all steps. all_found@k
is 1 if the union contains all relevant documents. Other metrics use one merged ranking: first the documents at rank 1 of
each step, then those at rank 2, and so on.

A run has six columns (or five, without the tag) separated by spaces or tabs, or only by tabs if ids contain spaces.
Alternatively, a header names the columns, such as "query-id document-id rank". If a run contains no judged document, the
exit code is 2, and a message shows how the ids differ.
`;

/** @throws RecalldError `metric_unknown` or `usage` */
export function scoringSettings(metrics: string, level: string, duplicates: DuplicatePolicy): ScoringSettings {
  return { keys: parseMetricList(metrics), relevanceLevel: parseRelevanceLevel(level), duplicates };
}

function parseMetricList(list: string): MetricKey[] {
  const names = list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) {
    throw new RecalldError('usage', '--metrics contains no metric. Write a list such as ndcg@10,map.');
  }
  const keys = names.map(parseMetricKey);
  return [...new Map(keys.map((key) => [formatMetricKey(key), key])).values()];
}

function parseRelevanceLevel(text: string): number {
  const level = Number(text);
  if (!/^[1-9][0-9]*$/.test(text) || !Number.isSafeInteger(level)) {
    throw new RecalldError('usage', `--relevance-level must be a whole number of at least 1, not "${text}".`);
  }
  return level;
}

/** Writes the pieces one after another, and waits while the stream's buffer is full. */
export async function writeAll(output: Writable, pieces: Iterable<string>): Promise<void> {
  for (const piece of pieces) {
    if (!output.write(piece)) await once(output, 'drain');
  }
}
