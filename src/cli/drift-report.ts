/** How an offline comparison of vectors is written down: one JSON document, or a table for people. */
import type { OfflineDrift } from '../app/commands/offline-drift.ts';
import { DENSITY_FLOOR } from '../core/drift/coverage/coverage-verdict.ts';
import { FEWEST_SESSIONS } from '../core/drift/coverage/query-density.ts';
import { formatTable } from './output.ts';

/** What the report repeats of the command line. */
export interface DriftSettings {
  readonly k: number;
  readonly alpha: number;
  readonly seed: number;
}

export function driftAsJson(drift: OfflineDrift, { k, alpha, seed }: DriftSettings): object {
  const { counts, density, coverage, score, embedding } = drift;
  return {
    k,
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
    test: { alpha, density_upper_limit: coverage.densityUpperLimit, density_floor: DENSITY_FLOOR },
    distinct_chunks: drift.distinctChunks,
    regions: drift.regions,
    sessions: density.sessions,
    seed,
    subsample: isSubsampled(drift) ? embedding.sampled : null,
  };
}

export function driftAsText(drift: OfflineDrift, settings: DriftSettings): string {
  return `${[verdictLine(drift, settings), '', measureTable(drift), '', ...notes(drift, settings)].join('\n')}\n`;
}

function verdictLine({ coverage, density }: OfflineDrift, { alpha }: DriftSettings): string {
  const confidence = `${Number((100 * (1 - alpha)).toPrecision(6))} %`;
  const bound = `Query density ${decimal(density.density)}, with ${confidence} confidence at most ${decimal(coverage.densityUpperLimit)}`;
  return coverage.verdict === 'worse_covered'
    ? `Worse covered. ${bound}: below ${DENSITY_FLOOR}.`
    : `Not worse covered, as far as can be told. ${bound}: not below ${DENSITY_FLOOR}.`;
}

function measureTable({ density, score, embedding }: OfflineDrift): string {
  const { uncovered } = density;
  return formatTable(
    ['measure', 'value', 'without change'],
    [
      ['query density', decimal(density.density), '1'],
      ['mean surprise', decimal(density.meanX), '0.99'],
      ['uncovered share', decimal(uncovered.share), String(uncovered.threshold)],
      ['  95 % interval', `${decimal(uncovered.ciLow)} to ${decimal(uncovered.ciHigh)}`, ''],
      ['excess traffic', decimal(uncovered.excess), '0'],
      ['Mann-Whitney A of the scores', decimal(score.mannWhitneyA), '0.5'],
      ['Wasserstein-1 of the scores', decimal(score.wasserstein), 'near 0'],
      ['Kolmogorov-Smirnov D', decimal(score.kolmogorovSmirnov.d), 'near 0'],
      ['  p', decimal(score.kolmogorovSmirnov.pKolmogorov), ''],
      ['PSI of the scores', decimal(score.psi), 'near 0'],
      ['MMD^2 of the vectors', decimal(embedding.mmdUnbiased), '0'],
      ['  p', decimal(embedding.mmdP), ''],
      ['energy distance', decimal(embedding.energyDistance), '0'],
      ['centroid distance', decimal(embedding.centroid.distance), 'near 0'],
      ['centroid cosine distance', decimal(embedding.centroid.cosineDistance), 'near 0'],
    ],
    1,
  );
}

function notes(drift: OfflineDrift, { k, seed }: DriftSettings): string[] {
  const { counts, density, embedding } = drift;
  const copies = counts.store - drift.distinctChunks;
  const regions = drift.regions === 1 ? 'one region' : `${drift.regions} regions`;
  const lines = [
    `Store ${counts.store} chunks${copies === 0 ? '' : `, ${copies} of them copies`}; reference ${counts.reference} queries; ` +
      `current ${counts.current} queries of ${density.sessions} sessions; k ${k}, ${regions}, seed ${seed}.`,
  ];
  if (isSubsampled(drift)) {
    lines.push(
      `MMD and energy distance are of ${embedding.sampled.reference} reference and ${embedding.sampled.current} current queries, drawn with the seed.`,
    );
  }
  if (density.sessions < FEWEST_SESSIONS) {
    lines.push(`Fewer than ${FEWEST_SESSIONS} sessions: only a large loss of coverage can be seen.`);
  }
  lines.push(
    'The measures of the vectors tell that the questions changed, which alone is no loss of coverage.',
  );
  return lines;
}

function isSubsampled({ counts, embedding }: OfflineDrift): boolean {
  return embedding.sampled.reference < counts.reference || embedding.sampled.current < counts.current;
}

/** Four decimals, or three digits of a number that they would hide. */
function decimal(value: number): string {
  return value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(2) : value.toFixed(4);
}
