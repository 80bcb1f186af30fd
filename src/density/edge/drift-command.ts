import type { Writable } from 'node:stream';
import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { EXIT_CHECK_FAILED } from '../../cli/exit.ts';
import { formatTable } from '../../cli/output.ts';
import { createProgressBar } from '../../cli/progress.ts';
import { RecalldError } from '../../core/errors.ts';
import { decimal, formatValue, percentage, plural, range } from '../../core/format.ts';
import {
  compareVectorFiles,
  type OfflineDrift,
  type OfflineDriftRequest,
  type ScoreChoice,
  scoreNames,
} from '../offline-drift.ts';
import { DENSITY_THRESHOLD, MIN_SESSIONS, UNCOVERED_PERCENTILE } from '../rules/query-density.ts';

/**
 * Command `recalld drift`: compares three vector files without a database. Reports whether the store covers current
 * queries less well than reference queries, and sets exit code 1 if so.
 *
 * The action throws a RecalldError with the code `usage`, `file_unreadable`, `file_malformed` or `interrupted`.
 *
 * @param output stream for the report
 */
export function driftCommand(
  command: Command,
  signal: AbortSignal,
  output: Writable = process.stdout,
): CommandUnknownOpts {
  return command
    .requiredOption('--store <file>', 'vectors of the stored chunks')
    .requiredOption('--reference <file>', 'vectors of the reference queries')
    .requiredOption('--current <file>', 'vectors of the queries to test')
    .option(
      '--sessions <file>',
      'session of each current query, one name per line (default: each query is its own session)',
    )
    .addOption(
      new Option('--score <name>', 'score that measures how well a query is covered')
        .choices(scoreNames)
        .default(scoreNames[0]),
    )
    .option(
      '--k <number>',
      'for --score mean-top-k: number of nearest chunks whose mean cosine is the score (default: 5)',
    )
    .option(
      '--regions <number>',
      'number of groups of similar reference queries within which scores are ranked; ' +
        '0 or 1: all queries form one group (default: one group per 300 reference queries, at most 32; a single group below 600 queries)',
    )
    .option('--alpha <level>', 'accepted false positive rate of the verdict "worse_covered"', '0.05')
    .option('--seed <number>', 'random seed for regions, subsamples and permutations', '1')
    .option('--json', 'print one JSON document')
    .addHelpText('after', HELP)
    .action(async (options) => {
      const progress = createProgressBar('Searching');
      const request: OfflineDriftRequest = {
        score: scoreOf(options.score, options.k),
        alpha: level(options.alpha),
        seed: wholeNumber('--seed', options.seed, 0),
        storePath: options.store,
        referencePath: options.reference,
        currentPath: options.current,
        sessionsPath: options.sessions ?? null,
        regions: options.regions === undefined ? null : wholeNumber('--regions', options.regions, 0),
        signal,
        showProgress: (state) => progress.show(state),
      };
      try {
        const drift = await compareVectorFiles(request);
        progress.end();
        const text =
          options.json === true
            ? JSON.stringify(driftAsJson(drift, request), null, 2)
            : [verdictLine(drift, request), '', measureTable(drift), '', ...notes(drift, request)].join('\n');
        output.write(`${text}\n`);
        if (drift.coverage.verdict === 'worse_covered') process.exitCode = EXIT_CHECK_FAILED;
      } finally {
        progress.end();
      }
    });
}

const HELP = `
Files: .npy (2-d; float16, float32 or float64) or JSONL with one array of numbers per line. Vectors need not be normalized.

Scores, by exact search among distinct chunks (equal vectors count once):
  top-1-less-mean  cosine to the nearest chunk minus half of the query's mean cosine to the store (used by the daemon)
  mean-top-k       mean cosine to the k nearest chunks

Query density ranks each current score among the reference scores of its region: 1 = as well covered as the reference,
lower = worse. A query is uncovered if its score is among the lowest 5 % of its region. Each session has equal weight.

The density against similar reference queries compares each query with the five most similar reference queries, so it does
not change if a topic becomes more frequent. This density is more sensitive to new, uncovered queries, and uses at most
10000 reference queries.

Verdict: "worse_covered" (exit code 1) if the one-sided upper limit of the query density, or of the density against
similar reference queries, is below ${DENSITY_THRESHOLD}. Each limit uses half of alpha and accounts for the sampling
noise of both files. Otherwise "not_worse" (exit code 0). Test each period only once: if you repeat the test every hour,
false positives accumulate.

The other measures do not affect the verdict. MMD uses gamma = 1 / median squared distance of the pooled queries; its
p-value comes from 199 permutations with gamma and 6 gamma. MMD and energy distance use a random sample of at most
2000 queries per file.

Example:
  recalld drift --store chunks.npy --reference last-month.npy --current today.npy --json
`;

function scoreOf(name: ScoreChoice['name'], k: string | undefined): ScoreChoice {
  const neighbours = wholeNumber('--k', k ?? '5', 1);
  if (name === 'mean-top-k') return { name, k: neighbours };
  if (k !== undefined)
    throw new RecalldError('usage', '--k requires --score mean-top-k. Remove --k, or add --score mean-top-k.');
  return { name };
}

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

function driftAsJson(drift: OfflineDrift, { score: choice, alpha, seed }: OfflineDriftRequest): object {
  const { counts, density, coverage, score, embedding } = drift;
  return {
    score_name: choice.name,
    k: choice.name === 'mean-top-k' ? choice.k : 1,
    counts,
    query_density: {
      value: density.density,
      mean_x: density.meanX,
      uncovered_share: density.uncovered.share,
      uncovered_ci_low: density.uncovered.ciLow,
      uncovered_ci_high: density.uncovered.ciHigh,
      excess_traffic: density.uncovered.excess,
    },
    score: {
      mann_whitney_a: score.mannWhitneyA,
      wasserstein_1d: score.wasserstein,
      ks_d: score.kolmogorovSmirnov.d,
      ks_p: score.kolmogorovSmirnov.pKolmogorov,
      psi: score.psi,
    },
    embedding: {
      mmd2_unbiased: embedding.mmdUnbiased,
      mmd2_p: embedding.mmdP,
      energy_distance: embedding.energyDistance,
      centroid_distance: embedding.centroid.distance,
      centroid_cosine_distance: embedding.centroid.cosineDistance,
    },
    verdict: coverage.verdict,
    test: {
      alpha,
      density_upper_limit: coverage.densityUpperLimit,
      matched_density: coverage.matched.density,
      matched_density_upper_limit: coverage.matched.upperLimit,
      density_threshold: DENSITY_THRESHOLD,
    },
    distinct_chunks: drift.distinctChunks,
    regions: drift.regions,
    sessions: density.sessions,
    seed,
    subsample: isSubsampled(drift) ? embedding.sampled : null,
  };
}

function verdictLine({ coverage, density }: OfflineDrift, { alpha }: OfflineDriftRequest): string {
  const { verdict, densityUpperLimit, matched: similar } = coverage;
  const confidence = percentage(1 - alpha / 2);
  const bound = (value: number, limit: number): string =>
    `${decimal(value)} (at most ${decimal(limit)} with ${confidence} confidence)`;
  const whole = `Query density ${bound(density.density, densityUpperLimit)}`;
  const matched = `density against similar reference queries ${bound(similar.density, similar.upperLimit)}`;
  if (verdict === 'not_worse') {
    return `No loss of coverage detected. ${whole}; ${matched}. The threshold is ${DENSITY_THRESHOLD}.`;
  }
  const lower = densityUpperLimit < DENSITY_THRESHOLD ? whole : `Query ${matched}`;
  return `Coverage is worse. ${lower}, below the threshold of ${DENSITY_THRESHOLD}.`;
}

function measureTable({ coverage, density, score, embedding }: OfflineDrift): string {
  const { uncovered } = density;
  return formatTable(
    ['measure', 'value', 'without change'],
    [
      ['query density', decimal(density.density), '1'],
      ['  against similar reference queries', decimal(coverage.matched.density), '1'],
      ['mean surprise', decimal(density.meanX), '0.99'],
      ['uncovered share', percentage(uncovered.share), percentage(UNCOVERED_PERCENTILE)],
      ['  95 % CI', range(uncovered.ciLow, uncovered.ciHigh, 'share'), ''],
      ['excess traffic', percentage(uncovered.excess), '0 %'],
      ['Mann-Whitney A of the scores', decimal(score.mannWhitneyA), '0.5'],
      ['Wasserstein-1 of the scores', decimal(score.wasserstein), 'near 0'],
      ['Kolmogorov-Smirnov D', decimal(score.kolmogorovSmirnov.d), 'near 0'],
      ['  p', formatValue(score.kolmogorovSmirnov.pKolmogorov, 'p'), ''],
      ['PSI of the scores', decimal(score.psi), 'near 0'],
      ['MMD^2 of the vectors', decimal(embedding.mmdUnbiased), '0'],
      ['  p', formatValue(embedding.mmdP, 'p'), ''],
      ['energy distance', decimal(embedding.energyDistance), '0'],
      ['centroid distance', decimal(embedding.centroid.distance), 'near 0'],
      ['centroid cosine distance', decimal(embedding.centroid.cosineDistance), 'near 0'],
    ],
    1,
  );
}

function notes(drift: OfflineDrift, { score, seed }: OfflineDriftRequest): string[] {
  const { counts, density, embedding } = drift;
  const copies = counts.store - drift.distinctChunks;
  const regions = drift.regions === 1 ? 'one region' : `${drift.regions} regions`;
  const lines = [
    `Store: ${plural(counts.store, 'chunk')}${copies === 0 ? '' : `, of which ${copies} duplicates`}; reference: ${counts.reference} queries; ` +
      `current: ${counts.current} queries of ${plural(density.sessions, 'session')}; ${score.name === 'mean-top-k' ? `mean of the top ${score.k}` : score.name}, ${regions}, seed ${seed}.`,
  ];
  if (isSubsampled(drift)) {
    lines.push(
      `MMD and energy distance use a random sample of ${embedding.sampled.reference} reference and ${embedding.sampled.current} current queries.`,
    );
  }
  if (density.sessions < MIN_SESSIONS) {
    lines.push(`With fewer than ${MIN_SESSIONS} current sessions, only a large loss of coverage can be detected.`);
  }
  lines.push(
    'MMD, energy distance and centroid distances show whether the queries changed; a change is not necessarily a loss of coverage.',
  );
  return lines;
}

function isSubsampled({ counts, embedding }: OfflineDrift): boolean {
  return embedding.sampled.reference < counts.reference || embedding.sampled.current < counts.current;
}
