import type { Writable } from 'node:stream';
import { Command } from 'commander';
import { compareVectorFiles } from '../app/commands/offline-drift.ts';
import { RecalldError } from '../core/errors.ts';
import { driftAsJson, driftAsText } from './drift-report.ts';
import { EXIT_CHECK_FAILED } from './exit-code.ts';
import { createProgressBar } from './progress.ts';

interface DriftOptions {
  readonly store: string;
  readonly reference: string;
  readonly current: string;
  readonly sessions?: string;
  readonly k: string;
  readonly regions?: string;
  readonly alpha: string;
  readonly seed: string;
  readonly json?: boolean;
}

/**
 * `recalld drift`: tells from three files of vectors whether the current queries are worse covered by the store than
 * the reference queries, without a database. Sets exit code 1 when they are.
 *
 * Its action throws RecalldError: `usage` for the command line, `file_unreadable` and `file_malformed` for the files,
 * `interrupted`.
 *
 * @param output where the report goes
 */
export function driftCommand(signal: AbortSignal, output: Writable = process.stdout): Command {
  return new Command('drift')
    .description('Compare the coverage of two sets of queries by a store of vectors; needs no database.')
    .requiredOption('--store <file>', 'vectors of the chunks')
    .requiredOption('--reference <file>', 'vectors of the queries to compare with')
    .requiredOption('--current <file>', 'vectors of the queries to judge')
    .option(
      '--sessions <file>',
      'session of each current query, one name on each line (default: each is its own)',
    )
    .option('--k <number>', 'nearest chunks whose mean cosine is the score of a query', '5')
    .option(
      '--regions <number>',
      'groups of similar reference queries within which scores are ranked; 0 = one for all ' +
        '(default: reference queries / 300, at most 32, 1 below 600)',
    )
    .option('--alpha <level>', 'chance of a false "worse_covered"', '0.05')
    .option('--seed <number>', 'seed of regions, subsamples and permutations', '1')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action(async (options: DriftOptions) => {
      const settings = {
        k: wholeNumber('--k', options.k, 1),
        alpha: level(options.alpha),
        seed: wholeNumber('--seed', options.seed, 0),
      };
      const progress = createProgressBar('Searching');
      try {
        const drift = await compareVectorFiles({
          ...settings,
          storePath: options.store,
          referencePath: options.reference,
          currentPath: options.current,
          sessionsPath: options.sessions ?? null,
          regions: options.regions === undefined ? null : wholeNumber('--regions', options.regions, 0),
          signal,
          showProgress: (state) => progress.show(state),
        });
        progress.end();
        output.write(
          options.json === true
            ? `${JSON.stringify(driftAsJson(drift, settings), null, 2)}\n`
            : driftAsText(drift, settings),
        );
        if (drift.coverage.verdict === 'worse_covered') process.exitCode = EXIT_CHECK_FAILED;
      } finally {
        progress.end();
      }
    });
}

const HELP = `
Files: .npy (2-d, float32 or float64, C order) or JSONL, one array of numbers on each line. Vectors may have any length.

The score of a query is the mean cosine to its k nearest distinct chunks (equal vectors count once), by exact search.
Query density ranks each current score among the reference scores of its region: 1 = as well covered as the reference,
lower = worse. A query is uncovered when its score is among the lowest 5 % there. Each session has one vote.

Verdict: "worse_covered" when the one-sided upper limit of the query density, at the level alpha, is below 0.95; it
counts the chance in both sets of queries. Then the exit code is 1. Otherwise "not_worse" and 0. It is for one look at
a window: do not repeat it every hour.

The other measures describe. MMD has gamma = 1 / median squared distance of the pooled queries; its p is of 199
permutations with gamma and 6 gamma. MMD and energy distance take at most 2000 queries of each file, drawn with the seed.

Example:
  recalld drift --store chunks.npy --reference last-month.npy --current today.npy --json
`;

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < least) {
    throw new RecalldError('usage', `${option} must be a whole number of at least ${least}, not "${text}".`);
  }
  return value;
}

function level(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value > 0 && value <= 0.5)) {
    throw new RecalldError('usage', `--alpha must be above 0 and at most 0.5, not "${text}".`);
  }
  return value;
}
