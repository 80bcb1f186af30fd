/** docs/explanation/calibration/golden-runs.md: false regressions of golden runs, and detection of real drops. */
import path from 'node:path';
import type { DropCell } from '../../bench/golden/false-regressions.ts';
import type { NoiseLevel } from '../../bench/golden/noisy-retriever.ts';
import { defaultCheck } from '../../bench/golden/watched-stream.ts';
import type { GoldenResult } from '../../bench/golden-false-regressions.ts';
import { readResult } from '../../bench/result-file.ts';
import { falseRegressions } from '../../src/checks/rules/false-pages.ts';
import { measuredBy, percent, status } from './calibration-text.ts';
import { generatedPage, type Page, table } from './page.ts';

/** Maximum number of false regressions per retriever that a check on hourly runs may report in the simulated time. */
const GOLDEN_BUDGET = 1;
/** Number of queries per golden set in the table that shows how soon recalld detects drops. */
const TYPICAL_QUERIES = 300;

/** For kinds of retriever noise, the share of real drops that recalld must detect. */
const promises = [
  { noise: 'none', queries: 100, drop: 0.05, runs: 2, share: 1 },
  { noise: 'flips, few', queries: 100, drop: 0.05, runs: 48, share: 0.7 },
  { noise: 'flips', queries: 300, drop: 0.05, runs: 48, share: 0.8 },
  { noise: 'flips, few', queries: 300, drop: 0.03, runs: 48, share: 0.9 },
] as const;

export function goldenCalibrationPage(results: string): Page {
  const result = readResult(path.join(results, 'golden-false-regressions.json')) as GoldenResult;
  const { unchanged, dropped, check, days, reruns, noiseLevels } = result;
  const usual = unchanged.filter((cell) => cell.reruns === reruns);
  const worst = usual.reduce((a, b) => (b.falseRegressions.mean > a.falseRegressions.mean ? b : a));
  const over = usual.filter(({ falseRegressions: { mean } }) => mean > GOLDEN_BUDGET);
  const sizes = [...new Set(usual.map(({ queries }) => queries))];
  const names = noiseLevels.map(({ name }) => name);
  const falseText = (noise: string, queries: number, measure: string): string => {
    const cell = usual.find((one) => one.noise === noise && one.queries === queries && one.measure === measure);
    return cell === undefined ? '-' : bounded(cell.falseRegressions);
  };
  const detected = (noise: string, drop: number, runs: number): string => {
    const cell = dropped.find(
      (one) =>
        one.noise === noise &&
        one.queries === TYPICAL_QUERIES &&
        one.drop === drop &&
        one.churn === 0 &&
        one.reruns === reruns,
    );
    const share = cell === undefined ? Number.NaN : calledWithin(cell, runs);
    return Number.isNaN(share) ? '-' : percent(share);
  };
  const goals = promises.map(({ noise, queries, drop, runs, share: goal }) => {
    const cell = dropped.find(
      (one) =>
        one.noise === noise && one.queries === queries && one.drop === drop && one.churn === 0 && one.reruns === reruns,
    );
    const share = cell === undefined ? Number.NaN : calledWithin(cell, runs);
    return [noise, `${queries}`, `${drop}`, `${runs}`, percent(goal), percent(share)];
  });
  return generatedPage(
    'docs/explanation/calibration/golden-runs.md',
    ['bench/results'],
    [
      '# Calibration of golden runs',
      `Each simulated stream has one retriever and an hourly golden run for ${days} days. The regression check (drop ${check.drop}, alpha ${check.alpha}, ${check.runs} consecutive runs) compares each run with a baseline that was pinned with ${reruns} runs. The index either does not change or is rebuilt every night ([decision 12](../../decisions/0012-noise-before-a-run.md)). The file \`bench/results/golden-false-regressions.json\` contains all ${unchanged.length + dropped.length} simulated scenarios.`,
      '## Simulated noise',
      table(
        ['Noise', 'Within a run', 'Every night'],
        noiseLevels.map((level) => [level.name, ...describeLevel(level)]),
      ),
      '## False regressions',
      `**Budget**: a check on hourly runs may report at most ${GOLDEN_BUDGET} false regression in ${days} days. The worst of ${usual.length} scenarios (${worst.noise}, ${worst.queries} queries, ${worst.measure}@10) has ${bounded(worst.falseRegressions)} false regressions. \`recalld config check\` does not know the noise of the retriever, and expects ${falseRegressions(defaultCheck, days * result.runsPerDay).toFixed(2)} false regressions ([alert tuning](../../how-to/alert-tuning.md)). The false-regression budget is ${over.length === 0 ? status(worst.falseRegressions.mean, worst.falseRegressions.high, GOLDEN_BUDGET) : `*missed* in ${over.length} scenarios`}.`,
      `The table shows the number of false nDCG regressions in ${days} days, by the size of the golden set:`,
      table(
        ['Noise', ...sizes.map((queries) => `${queries} queries`)],
        names.map((noise) => [noise, ...sizes.map((queries) => falseText(noise, queries, 'ndcg'))]),
      ),
      '## Detection of real drops',
      table(['Noise', 'Queries', 'Drop', 'Within runs', 'Goal', 'Detected'], goals),
      `The next table shows the share of streams in which recalld detects a drop in nDCG. Each golden set has ${TYPICAL_QUERIES} queries. Detecting a drop takes at least two runs.`,
      table(
        ['Noise', ...[0.03, 0.05].flatMap((drop) => [2, 24, 168].map((runs) => `drop of ${drop}, ${runs} runs`))],
        names.map((noise) => [
          noise,
          ...[0.03, 0.05].flatMap((drop) => [2, 24, 168].map((runs) => detected(noise, drop, runs))),
        ]),
      ),
      '## What to conclude',
      [
        '- The main problem is noise that all queries of a run share, because no test of a single run can distinguish shared noise from a real drop. recalld estimates the shared noise from the reruns of the baseline, and uses its upper 95 % bound.',
        '- Five reruns are too few to estimate the noise that all queries share. Pin a baseline with ten or more runs.',
        '- Most false regressions occur in the few streams whose reruns varied less than usual by chance. If a check keeps reporting false regressions, pin another baseline.',
        '- If the noise that all queries share is as large as the smallest drop that a check reports, this noise hides real drops. In this case, raise the `drop` of the check, or reduce the noise.',
        '- Nightly rebuilds that shift all queries together cause false pages until recalld has measured five rebuilds. Undetected rebuilds also cause false pages.',
        '- The hit rate of a golden run varies about 25 % more than its nDCG.',
      ].join('\n'),
      measuredBy(result.provenance),
    ],
  );
}

/** Describes the noise within a run and between days. */
function describeLevel({ restless, flips, shared, replicas, rebuild }: NoiseLevel): [string, string] {
  const run = [
    restless > 0 ? `for ${percent(restless)} of the queries, the relevant document moves by up to three ranks` : '',
    flips > 0 ? `for ${percent(flips)} of the queries, the relevant document gets a random rank` : '',
    shared > 0 ? `all queries shift together (SD ${shared} nDCG)` : '',
    replicas === 'none'
      ? ''
      : `one of three replicas responds to ${replicas}; for a tenth of the queries, the replicas return different results`,
  ].filter((part) => part !== '');
  const night =
    rebuild === null
      ? []
      : [
          rebuild.redraw > 0
            ? `for ${percent(rebuild.redraw)} of the queries, the relevant document gets a random rank`
            : '',
          rebuild.shared > 0 ? `all queries shift together (SD ${rebuild.shared} nDCG)` : '',
          rebuild.wanders ? 'changes accumulate from night to night' : '',
          rebuild.isSeen ? '' : 'recalld does not detect the rebuild',
        ].filter((part) => part !== '');
  return [run.length === 0 ? '-' : run.join('; '), night.length === 0 ? '-' : night.join('; ')];
}

function calledWithin(cell: DropCell, runs: number): number {
  return cell.calledWithin.find((one) => one.runs === runs)?.share.share ?? Number.NaN;
}

function bounded({ mean, low, high }: { readonly mean: number; readonly low: number; readonly high: number }): string {
  return `${mean.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}
