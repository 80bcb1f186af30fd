import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { compareTrecFiles } from '../app/commands/offline-comparison.ts';
import { RecalldError } from '../errors.ts';
import type { ComparisonSettings } from '../golden/rules/verdict.ts';
import { comparisonJson } from '../golden/schema/comparison.ts';
import { comparisonAsText } from './compare-report.ts';
import { EXIT_CHECK_FAILED } from './exit-code.ts';
import { scoringSettings, TREC_HELP, type TrecOptions, trecCommand, writeAll } from './trec-options.ts';

const DEFAULT_METRICS = 'ndcg@10,mrr@10,recall@10,hit_rate@10';

interface CompareOptions extends TrecOptions {
  readonly baseline: string;
  readonly candidate: string;
  readonly alpha: string;
  readonly minEffect?: string;
}

/**
 * `recalld compare`: compares two TREC runs query by query, without a database. It sets the exit code 1 when the
 * candidate is a regression.
 *
 * Its action throws RecalldError: `usage` and `metric_unknown` for the command line, `file_unreadable` and
 * `file_malformed` for the files.
 *
 * @param output where the report goes
 */
export function compareCommand(output: Writable = process.stdout): Command {
  return trecCommand(
    'compare',
    'Compare two TREC run files query by query; needs no database; exit 1 on a regression.',
    [
      ['--baseline <file>', 'TREC run to compare with'],
      ['--candidate <file>', 'TREC run to judge'],
    ],
    DEFAULT_METRICS,
  )
    .option('--alpha <level>', 'level of the two-sided test', '0.05')
    .option(
      '--min-effect <difference>',
      'least difference that matters (default: 0.02, and 0.03 for hit_rate)',
    )
    .addHelpText('after', HELP)
    .action(async (options: CompareOptions) => {
      const settings = comparisonSettings(options);
      const compared = await compareTrecFiles({
        qrelsPath: options.qrels,
        baselinePath: options.baseline,
        candidatePath: options.candidate,
        ...scoringSettings(options),
        ...settings,
      });
      const { comparison } = compared;
      await writeAll(
        output,
        options.json === true
          ? [`${JSON.stringify(comparisonJson(comparison), null, 2)}\n`]
          : comparisonAsText(compared, settings),
      );
      if (comparison.verdict === 'regression') process.exitCode = EXIT_CHECK_FAILED;
    });
}

const HELP = `${TREC_HELP}
A metric is a regression (improvement) when its mean falls (rises) by at least the least difference that matters and
p < alpha; no_change when no query changed, or when the 95 % interval lies within the least difference that matters;
inconclusive otherwise. p is that of the sign-flip randomization test: exact, or by seeded draws for many queries.
p of each metric is not adjusted. The verdict on all metrics together takes p adjusted for their number (Holm), so
name only metrics that you would act on. unjudged@k is compared, but decides nothing.

Bounds are those of the mean difference: Newcombe for hit_rate, else BCa bootstrap or t. "detectable" is the smallest
difference that so many queries find with a chance of 0.8.

Example:
  recalld compare --qrels qrels.txt --baseline monday.run --candidate tuesday.run --metrics ndcg@10,recall@10
`;

function comparisonSettings({ alpha, minEffect }: CompareOptions): ComparisonSettings {
  const level = asNumber(alpha);
  if (!(level > 0 && level < 1)) {
    throw new RecalldError(
      'usage',
      `--alpha must be a number between 0 and 1, such as 0.05, not "${alpha}".`,
    );
  }
  if (minEffect === undefined) return { alpha: level, minEffect: null };
  const least = asNumber(minEffect);
  if (!(least >= 0 && least < Number.POSITIVE_INFINITY)) {
    throw new RecalldError(
      'usage',
      `--min-effect must be a number of at least 0, such as 0.02, not "${minEffect}".`,
    );
  }
  return { alpha: level, minEffect: least };
}

function asNumber(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text);
}
