import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { Command, Option } from 'commander';
import { evaluateTrecFiles } from '../app/offline-evaluation.ts';
import { RecalldError } from '../core/errors.ts';
import { formatMetricKey, type MetricKey, parseMetricKey } from '../core/ir/metric-key.ts';
import { type DuplicatePolicy, duplicatePolicies } from '../core/ir/ranking.ts';
import { evaluationAsJson, evaluationAsText } from './eval-report.ts';

const DEFAULT_METRICS = 'ndcg@10,mrr@10,map,recall@10,precision@10,hit_rate@10,unjudged@10';

interface EvalOptions {
  readonly qrels: string;
  readonly run: string;
  readonly metrics: string;
  readonly relevanceLevel: string;
  readonly duplicates: DuplicatePolicy;
  readonly perQuery?: boolean;
  readonly json?: boolean;
}

/**
 * `recalld eval`: scores a TREC run against judgments, as `trec_eval -c` would, without a database.
 *
 * Its action throws RecalldError: `usage` and `metric_unknown` for the command line, `file_unreadable` and
 * `file_malformed` for the files.
 *
 * @param output where the report goes
 */
export function evalCommand(output: Writable = process.stdout): Command {
  return new Command('eval')
    .description('Score a TREC run file against judgments; needs no database')
    .requiredOption('--qrels <file>', 'judgments: TREC qrels, or qrels.tsv of BEIR')
    .requiredOption('--run <file>', 'TREC run: query-id Q0 document-id rank score tag')
    .option('--metrics <list>', 'metric keys, separated by commas', DEFAULT_METRICS)
    .option('--relevance-level <grade>', 'least grade that counts as relevant', '1')
    .addOption(
      new Option('--duplicates <policy>', 'what to do with a document that a ranking holds twice')
        .choices(duplicatePolicies)
        .default('collapse'),
    )
    .option('--per-query', 'print the scores of each query too')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action(async (options: EvalOptions) => {
      const evaluation = await evaluateTrecFiles({
        qrelsPath: options.qrels,
        runPath: options.run,
        keys: parseMetricList(options.metrics),
        relevanceLevel: parseRelevanceLevel(options.relevanceLevel),
        duplicates: options.duplicates,
      });
      const format = options.json === true ? evaluationAsJson : evaluationAsText;
      await writeAll(output, format(evaluation, options.perQuery === true));
    });
}

const HELP = `
Metrics: hit_rate@k precision@k recall@k f1@k mrr@k mrr map@k map dcg@k dcg ndcg@k ndcg ndcg_exp@k ndcg_exp unjudged@k

Documents are ordered by score, ties by document id, both descending; the rank column is ignored, as in trec_eval.
Means are over all judged queries: one without results scores 0 (trec_eval -c). Score ties are documents with the
same score as the one ranked right before them. Duplicates: collapse keeps the first place of a document and closes
the gap, occupy keeps the later places empty, reject stops with an error.

Example:
  recalld eval --qrels qrels.txt --run run.txt --metrics ndcg@10,recall@100 --json
`;

function parseMetricList(list: string): MetricKey[] {
  const names = list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) {
    throw new RecalldError('usage', '--metrics names no metric; give a list such as ndcg@10,map.');
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

async function writeAll(output: Writable, pieces: Iterable<string>): Promise<void> {
  for (const piece of pieces) {
    if (!output.write(piece)) await once(output, 'drain');
  }
}
