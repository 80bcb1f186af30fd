import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { evaluateTrecFiles } from '../app/commands/offline-evaluation.ts';
import { evaluationAsJson, evaluationAsText } from './eval-report.ts';
import { scoringSettings, TREC_HELP, type TrecOptions, trecCommand, writeAll } from './trec-options.ts';

const DEFAULT_METRICS = 'ndcg@10,mrr@10,map,recall@10,precision@10,hit_rate@10,unjudged@10';

interface EvalOptions extends TrecOptions {
  readonly run: string;
  readonly perQuery?: boolean;
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
  return trecCommand(
    'eval',
    'Score a TREC run file against judgments; needs no database.',
    [['--run <file>', 'TREC run: query-id Q0 document-id rank score tag']],
    DEFAULT_METRICS,
  )
    .option('--per-query', 'print the scores of each query too')
    .addHelpText('after', HELP)
    .action(async (options: EvalOptions) => {
      const evaluation = await evaluateTrecFiles({
        qrelsPath: options.qrels,
        runPath: options.run,
        ...scoringSettings(options),
      });
      const format = options.json === true ? evaluationAsJson : evaluationAsText;
      await writeAll(output, format(evaluation, options.perQuery === true));
    });
}

const HELP = `${TREC_HELP}
Score ties are documents with the same score as the one ranked right before them.

Example:
  recalld eval --qrels qrels.txt --run run.txt --metrics ndcg@10,recall@100 --json
`;
