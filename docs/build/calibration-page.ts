/** docs/explanation/calibration.md and its subpages: simulated false alerts, delays, and coverage of intervals. */
import path from 'node:path';
import { type CoverageResult, type CoveredCell, MIN_COVERAGE, TIMES_REPEATED } from '../../bench/bound-coverage.ts';
import type { IndexCoverageResult } from '../../bench/index-coverage.ts';
import type { IndexStoresResult } from '../../bench/index-stores.ts';
import { readResult } from '../../bench/result-file.ts';
import type { ShadowRelevanceResult } from '../../bench/shadow-relevance.ts';
import type { ShadowResult } from '../../bench/shadow-reports.ts';
import type { VariantResult } from '../../bench/variant-reports.ts';
import { densityCalibrationPage } from './calibration-density.ts';
import { goldenCalibrationPage } from './calibration-golden.ts';
import { indexParagraphs, storeParagraphs } from './calibration-index.ts';
import { judgingCalibrationPage } from './calibration-judging.ts';
import { relevanceParagraphs, shadowParagraphs } from './calibration-shadows.ts';
import { measuredBy, percent } from './calibration-text.ts';
import { variantParagraphs } from './calibration-variants.ts';
import { faultsPages } from './faults-page.ts';
import { generatedPage, type Page, table } from './page.ts';

const results = path.resolve(import.meta.dirname, '../../bench/results');

export function calibrationPages(): Page[] {
  return [
    overviewPage(),
    goldenCalibrationPage(results),
    densityCalibrationPage(results),
    judgingCalibrationPage(results),
    experimentsPage(),
    indexPage(),
  ];
}

function overviewPage(): Page {
  const coverage = readResult(path.join(results, 'bound-coverage.json')) as CoverageResult;
  return generatedPage(
    'docs/explanation/calibration.md',
    ['bench/results'],
    [
      '# Calibration',
      'How often do alerts fire although nothing changed? How soon do they fire after a change? How often do confidence intervals contain the truth? To answer these three questions, simulations run recalld on traffic and retrievers whose true state is known.',
      table(
        ['Subject', 'What was simulated'],
        [
          [
            '[Golden runs](calibration/golden-runs.md)',
            'false regressions caused by retriever noise, and detection of real drops',
          ],
          [
            '[Query density](calibration/density.md)',
            'false pages and tickets, and time to detect lost or missing content',
          ],
          [
            '[Judged relevance](calibration/judging.md)',
            'confidence intervals with a biased judge, and detection of drops',
          ],
          [
            '[Shadows and variants](calibration/experiments.md)',
            'verdicts on equal and worse candidates if you read the report every day',
          ],
          [
            '[Index truth](calibration/index-truth.md)',
            'confidence intervals and pages for missing, orphaned, outdated and late documents',
          ],
          ['[Diagnosis](diagnosis-accuracy.md)', 'how often the named cause is right, in simulated pipelines'],
          ...(faultsPages().length === 0
            ? []
            : [
                [
                  '[Faults](faults.md)',
                  'how often the named cause is right, with a real daemon and faults by independent authors',
                ],
              ]),
        ],
      ),
      'For thresholds on live measures and index recall, `recalld config check` computes the expected number of false pages with formulas instead of simulations. To repeat all simulations and write the calibration pages, run:',
      '```sh\nnpm run bench:calibration\n```',
      ...boundParagraphs(coverage),
    ],
  );
}

function experimentsPage(): Page {
  const shadows = readResult(path.join(results, 'shadow-reports.json')) as ShadowResult;
  const relevance = readResult(path.join(results, 'shadow-relevance.json')) as ShadowRelevanceResult;
  const variants = readResult(path.join(results, 'variant-reports.json')) as VariantResult;
  return generatedPage(
    'docs/explanation/calibration/experiments.md',
    ['bench/results'],
    [
      '# Calibration of shadows and variants',
      'The simulations on this page show how often reports on [shadows](../../how-to/shadow.md) and [variants](../../how-to/variants.md) are right if you read them every day.',
      ...shadowParagraphs(shadows),
      measuredBy(shadows.provenance),
      ...relevanceParagraphs(relevance),
      measuredBy(relevance.provenance),
      ...variantParagraphs(variants),
      measuredBy(variants.provenance),
    ],
  );
}

function indexPage(): Page {
  const indexes = readResult(path.join(results, 'index-coverage.json')) as IndexCoverageResult;
  const stores = readResult(path.join(results, 'index-stores.json')) as IndexStoresResult | null;
  return generatedPage(
    'docs/explanation/calibration/index-truth.md',
    ['bench/results'],
    [
      '# Calibration of index truth',
      'The simulations on this page show how often the intervals of [index truth](../index-truth.md) contain the truth, and how soon recalld pages about a faulty index.',
      ...indexParagraphs(indexes),
      measuredBy(indexes.provenance),
      ...(stores === null ? [] : [...storeParagraphs(stores), measuredBy(stores.provenance)]),
    ],
  );
}

function boundParagraphs({ provenance, cells, repeated }: CoverageResult): string[] {
  const rows = [...new Set(cells.map(({ bound }) => bound))].map((bound) => {
    const worlds = cells.filter((cell) => cell.bound === bound);
    const worst = worlds.reduce((a, b) => (b.coverage.share < a.coverage.share ? b : a));
    return [bound, `${worlds.length}`, covered(worst), worst.world];
  });
  const short = cells.filter(({ coverage }) => coverage.share < MIN_COVERAGE);
  return [
    '## How often intervals contain the truth',
    `The table lists every value that recalld exports with a 95 % interval. For each value, the table shows how often the interval contains the truth in the worst of the simulated scenarios. ${short.length === 0 ? `In each of the ${cells.length} scenarios, at least ${percent(MIN_COVERAGE)} of the intervals contain the truth.` : `Below ${percent(MIN_COVERAGE)}: ${short.map(({ bound, world }) => `${bound} in ${world}`).join('; ')}.`}${repeatedText(repeated)} The interval for the number of live queries refers to the queries that arrived; all other intervals refer to the population of queries, users and sessions.`,
    table(['Interval', 'Scenarios', 'Contains the truth', 'Worst scenario'], rows),
    measuredBy(provenance),
  ];
}

/** Returns a sentence about the intervals that were simulated again, with a leading space; empty if there are none. */
function repeatedText(repeated: readonly string[]): string {
  if (repeated.length === 0) return '';
  const [each, these] = repeated.length === 1 ? ['', 'this interval'] : ['each of ', 'these intervals'];
  const names = repeated.map((bound) => `"${bound}"`).join(', ');
  return ` In the first simulations, less than ${percent(MIN_COVERAGE)} of the intervals contained the truth in at least one scenario of ${each}${names}. We then simulated all scenarios of ${these} again with ${TIMES_REPEATED} times as many runs.`;
}

function covered({ coverage: { share, low, high } }: CoveredCell): string {
  return `${(100 * share).toFixed(1)} % (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`;
}
