import type { Writable } from 'node:stream';
import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import { verdictText } from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { decimal, plural, range } from '../../../core/format.ts';
import { formatMetricKey } from '../../../math/ir/metric-key.ts';
import type { Column } from '../../../report/model/content.ts';
import { value } from '../../../report/model/show.ts';
import { tableText } from '../../../report/terminal.ts';
import type { MetricComparison } from '../../rules/compare-metric.ts';
import type { ManyComparison } from '../../rules/compare-runs.ts';
import { adviseOnSetSize, isWorseThanFirst, mostRegressed, type RunComparison } from '../../rules/compare-runs.ts';
import { type ComparisonSettings, minEffectOf } from '../../rules/verdict.ts';
import { comparisonJson, metricComparisonJson } from '../../runs/comparison-json.ts';
import { compareManyTrecFiles, compareTrecFiles, type OfflineComparison } from '../../trec/compare-trec.ts';
import type { ScoringSettings, TrecScores } from '../../trec/score-runs.ts';
import {
  duplicatesOption,
  qrelsOption,
  relevanceLevelOption,
  scoringSettings,
  TREC_HELP,
  writeAll,
} from './trec-options.ts';
import { countsJson, mismatchJson, notesOf, refuseMismatch } from './trec-report.ts';

const MAX_QUERIES = 10;

function* comparisonAsText(compared: OfflineComparison, settings: ComparisonSettings): Generator<string> {
  const { comparison } = compared;
  yield `${metricsTable(comparison.metrics)}\n\n`;
  yield `${describeVerdict(comparison, settings).join('\n')}\n`;
  yield `${describeQueries(compared).join('\n')}\n`;
  const losses = tableOfLosses(compared);
  if (losses !== null) yield `\n${losses}\n`;
  const advice = adviseOnSetSize(comparison, settings);
  if (advice.length > 0) yield `\n${advice.join('\n')}\n`;
}

export function metricsTable(metrics: readonly MetricComparison[]): string {
  return tableText(metrics, [
    ['metric', ({ key }) => formatMetricKey(key)],
    ['verdict', ({ verdict }) => verdict],
    ['baseline', ({ baseline }) => value(baseline, 'score'), 'number'],
    ['candidate', ({ candidate }) => value(candidate, 'score'), 'number'],
    ['difference', ({ difference }) => value(difference, 'difference'), 'number'],
    ['95 % CI', ({ ciLow, ciHigh }) => range(ciLow, ciHigh, 'difference'), 'number'],
    ['p', ({ p }) => value(p, 'p'), 'number'],
    ['won', ({ wins }) => wins, 'number'],
    ['lost', ({ losses }) => losses, 'number'],
    ['tied', ({ ties }) => ties, 'number'],
    ['detectable', detectable, 'number'],
  ]);
}

function describeVerdict({ primary, verdict, metrics }: RunComparison, settings: ComparisonSettings): string[] {
  const minEffects = [...new Set(metrics.map(({ key }) => minEffectOf(key.measure, settings)))];
  const others = metrics.filter((one) => one.verdict === 'regression').map(({ key }) => formatMetricKey(key));
  const context = others.filter((name) => name !== primary);
  return [
    `Verdict on ${primary}: ${verdict}.`,
    `A regression is a drop of at least ${minEffects.join(' or ')} (see --min-effect) with p < ${settings.alpha}; ` +
      'an improvement is a rise that meets the same conditions.',
    metrics.length > 1 &&
      'The first metric in --metrics decides. The other metrics are context; each is tested at the same significance level.',
    context.length > 0 &&
      verdict !== 'regression' &&
      `${context.join(' and ')} also regressed, but this does not affect the verdict.`,
  ].filter((line) => line !== false);
}

function describeQueries({ comparison, baseline, candidate }: OfflineComparison): string[] {
  return [
    `Judged queries: ${comparison.n}. Without results: ${baseline.counts.missing} in the baseline, ` +
      `${candidate.counts.missing} in the candidate.`,
    `Judged documents: ${baseline.counts.judgedDocuments}. Found: ` +
      `${baseline.counts.judgedDocumentsFound} in the baseline, ${candidate.counts.judgedDocumentsFound} in the candidate.`,
    // Notes on the judgments apply to both runs.
    ...new Set([baseline, candidate].flatMap(notesOf)),
  ];
}

/** Chooses the first metric that regressed; if none regressed, the first metric in which any query scored lower. */
function tableOfLosses({ comparison, queryIds, baseline, candidate }: OfflineComparison): string | null {
  const { metrics } = comparison;
  const regressed = metrics.findIndex(({ verdict }) => verdict === 'regression');
  const column = regressed === -1 ? metrics.findIndex(({ losses }) => losses > 0) : regressed;
  const metric = metrics[column];
  if (metric === undefined) return null;
  const worst = mostRegressed(queryIds, baseline.columns[column] ?? [], candidate.columns[column] ?? [], MAX_QUERIES);
  const table = tableText(worst, [
    ['query', ({ queryId }) => queryId],
    ['baseline', (query) => value(query.baseline, 'score'), 'number'],
    ['candidate', (query) => value(query.candidate, 'score'), 'number'],
    ['difference', ({ difference }) => value(difference, 'difference'), 'number'],
  ]);
  return `Queries with the largest drops in ${formatMetricKey(metric.key)} (showing ${worst.length} of ${metric.losses}):\n${table}`;
}

/** Formats the smallest detectable difference, which is unknown if no query changed. */
function detectable({ smallestDetectableDifference, standardDeviation }: MetricComparison): string {
  if (smallestDetectableDifference === null || standardDeviation === 0) return '-';
  return decimal(smallestDetectableDifference);
}

const DEFAULT_METRICS = 'ndcg@10,mrr@10,recall@10,hit_rate@10';

/**
 * Compares TREC runs query by query, without a database.
 *
 * The action of the command throws a RecalldError with the code `usage`, `metric_unknown`, `file_unreadable` or
 * `file_malformed`; for a run with no judged document, the code is `nothing_matches`.
 */
export function compareCommand(
  command: Command,
  _signal: AbortSignal,
  output: Writable = process.stdout,
): CommandUnknownOpts {
  return command
    .addOption(qrelsOption)
    .requiredOption('--baseline <file>', 'TREC run that is the baseline')
    .requiredOption(
      '--candidate <file...>',
      "TREC run to compare with the baseline; with several runs, all pairs are compared, and Holm's method adjusts p",
    )
    .option('--metrics <list>', 'metric keys, separated by commas', DEFAULT_METRICS)
    .addOption(relevanceLevelOption)
    .addOption(duplicatesOption)
    .option('--json', 'print one JSON document')
    .option('--alpha <level>', 'significance level of the two-sided test', '0.05')
    .option(
      '--min-effect <difference>',
      'smallest difference that matters (default: 0.02, and 0.03 for hit_rate and all_found)',
    )
    .addHelpText('after', HELP)
    .action(async ({ qrels, baseline: baselinePath, candidate: candidates, alpha, minEffect, json, ...options }) => {
      const settings = comparisonSettings(alpha, minEffect);
      const scoring = scoringSettings(options.metrics, options.relevanceLevel, options.duplicates);
      const [candidatePath = '', ...more] = candidates;
      if (more.length > 0) {
        const paths = [baselinePath, ...candidates];
        return compareAll(qrels, paths, { ...scoring, ...settings }, json === true, output);
      }
      const request = { qrelsPath: qrels, baselinePath, candidatePath, ...scoring, ...settings };
      const compared = await compareTrecFiles(request);
      const { comparison, baseline, candidate } = compared;
      const runs = { baseline, candidate };
      if (json === true) {
        const found = hasMismatch([baseline, candidate]) ? {} : comparisonJson(comparison);
        await writeAll(output, [`${JSON.stringify({ ...found, ...runsJson(runs) }, null, 2)}\n`]);
      }
      refuseMismatch(qrels, [baseline, candidate]);
      if (json !== true) await writeAll(output, comparisonAsText(compared, settings));
      if (comparison.verdict === 'regression') process.exitCode = EXIT_CHECK_FAILED;
    });
}

async function compareAll(
  qrelsPath: string,
  runPaths: readonly string[],
  settings: ScoringSettings & ComparisonSettings,
  isJson: boolean,
  output: Writable,
): Promise<void> {
  const { comparison, scores } = await compareManyTrecFiles({ qrelsPath, runPaths, ...settings });
  if (isJson) {
    const found = hasMismatch(scores) ? {} : manyJson(runPaths, comparison);
    const runs = runsJson(Object.fromEntries(scores.map((run) => [run.path, run])));
    await writeAll(output, [`${JSON.stringify({ ...found, ...runs }, null, 2)}\n`]);
  }
  refuseMismatch(qrelsPath, scores);
  if (!isJson) {
    const notes = [...new Set(scores.flatMap(notesOf))];
    await writeAll(output, [[formatMany(runPaths, comparison), ...notes].join('\n'), '\n']);
  }
  if (isWorseThanFirst(comparison)) process.exitCode = EXIT_CHECK_FAILED;
}

function runsJson(runs: Readonly<Record<string, TrecScores>>) {
  const entries = Object.entries(runs);
  return {
    counts: Object.fromEntries(entries.map(([name, run]) => [name, countsJson(run)])),
    mismatch: hasMismatch(Object.values(runs))
      ? Object.fromEntries(entries.map(([name, run]) => [name, mismatchJson(run)]))
      : null,
    notes: [...new Set(entries.flatMap(([, run]) => notesOf(run)))],
  };
}

const hasMismatch = (runs: readonly TrecScores[]): boolean => runs.some(({ mismatch }) => mismatch !== null);

const HELP = `${TREC_HELP}
The verdict on a metric is regression if its mean drops by at least the smallest difference that matters and p < alpha,
and improvement if its mean rises by at least as much and p < alpha. The verdict is no_change if no query changed, or if
the 95 % CI of the difference excludes every difference that matters. Otherwise, the verdict is inconclusive. p comes
from the sign-flip randomization test, which is exact for few queries and uses seeded random samples for many.

The first metric in --metrics decides the overall verdict and the exit code. The other metrics are context; each is
tested at the same significance level. unjudged@k decides only if it is the only metric.

The 95 % CI of the mean difference is computed with Newcombe's method for hit_rate and all_found, and with the BCa
bootstrap or the t distribution for other metrics. "detectable" is the smallest difference that this number of queries
detects with a probability of 80 %.

With several candidates, every pair of runs is compared in every metric, and Holm's method adjusts p for the number of
pairs. The exit code is 1 if a candidate is a regression compared with the baseline.

Example:
  recalld compare --qrels qrels.txt --baseline monday.run --candidate tuesday.run --metrics ndcg@10,recall@10
`;

function comparisonSettings(alpha: string, minEffect: string | undefined): ComparisonSettings {
  const level = asNumber(alpha);
  if (!(level > 0 && level < 1)) {
    throw new RecalldError('usage', `--alpha must be a number between 0 and 1, such as 0.05, not "${alpha}".`);
  }
  if (minEffect === undefined) return { alpha: level, minEffect: null };
  const smallest = asNumber(minEffect);
  if (!(smallest >= 0 && smallest < Number.POSITIVE_INFINITY)) {
    throw new RecalldError('usage', `--min-effect must be a number of at least 0, such as 0.02, not "${minEffect}".`);
  }
  return { alpha: level, minEffect: smallest };
}

function asNumber(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text);
}

/** @param names one per compared run, in the order of the comparison */
export function formatMany(names: readonly string[], { n, measures, primary }: ManyComparison): string {
  const unbeaten = primary.unbeaten.map((place) => letterOf(place)).join(' or ');
  const by = formatMetricKey(primary.key);
  return [
    ...names.map((name, place) => `${letterOf(place)}  ${name}`),
    '',
    tableText(measures, [
      ['measure', ({ key }) => formatMetricKey(key)],
      ...names.map(
        (_, place): Column<ManyComparison['measures'][number]> => [
          letterOf(place),
          ({ means }) => value(means[place] ?? Number.NaN, 'score'),
          'number',
        ],
      ),
    ]),
    '',
    `In ${by}, no other run is better than ${unbeaten} (${plural(n, 'query', 'queries')}).`,
    '',
    tableText(
      [...primary.pairs.entries()],
      [
        ['pair', ([, { before, after }]) => `${letterOf(before)} to ${letterOf(after)}`],
        ['verdict', ([, { verdict }]) => verdictText(verdict)],
        ['difference', ([, { metric }]) => value(metric.difference, 'difference'), 'number'],
        ['95 % CI', ([, { metric }]) => range(metric.ciLow, metric.ciHigh, 'difference'), 'number'],
        ['p', ([, { metric }]) => value(metric.p, 'p'), 'number'],
        ['adjusted p', ([, { pHolm }]) => value(pHolm, 'p'), 'number'],
        [
          'also',
          ([place, { verdict }]) =>
            measures
              .filter((one) => one !== primary && one.pairs[place]?.verdict === verdict && verdict !== 'inconclusive')
              .map(({ key }) => formatMetricKey(key))
              .join(' '),
          'number',
        ],
      ],
    ),
  ].join('\n');
}

function letterOf(place: number): string {
  return place < 26 ? String.fromCodePoint(65 + place) : String(place + 1);
}

/** @param names one per compared run, in the order of the comparison */
export function manyJson(names: readonly string[], { n, measures, primary }: ManyComparison) {
  return {
    n,
    primary: formatMetricKey(primary.key),
    unbeaten: primary.unbeaten.map((place) => names[place]),
    configurations: names.map((name, place) => ({
      name,
      metrics: Object.fromEntries(measures.map(({ key, means }) => [formatMetricKey(key), means[place]])),
    })),
    pairs: primary.pairs.map(({ before, after, verdict }, place) => ({
      baseline: names[before],
      candidate: names[after],
      verdict,
      metrics: Object.fromEntries(
        measures.flatMap(({ key, pairs }) => {
          const pair = pairs[place];
          if (pair === undefined) return [];
          const { metric, pHolm, verdict: found } = pair;
          return [[formatMetricKey(key), { ...metricComparisonJson(metric), p_holm: pHolm, verdict: found }]];
        }),
      ),
    })),
  };
}
