/** What fall a golden set finds, said before it comes: from the noise of its retriever and the check that judges. */
import { normalCdf, normalQuantile } from '../../stats/distributions.ts';
import { type RerunNoise, rerunVariance } from './run-noise.ts';
import { POWER } from './verdict.ts';

/** A check on a regression, as far as it decides what is found. */
export interface DropCheck {
  /** Metric key such as `ndcg@10`. */
  readonly measure: string;
  readonly drop: number;
  /** Level of one side. */
  readonly alpha: number;
  /** Runs in a row that must show it. */
  readonly runs: number;
}

/** Where the config has none, a set is spoken of by the check of the example config. */
export const usualCheck = { drop: 0.02, alpha: 0.005, runs: 2 } as const;

/** The integral over the mean of the reruns from -REACH to REACH in steps of STEP, in standard deviations. */
const REACH = 6;
const STEP = 0.1;

/**
 * The least fall of the true mean that is called within so many runs with a chance of 0.8, while index and model are
 * those of the baseline.
 *
 * A run is a fall when it lies below the mean of the K reruns by the drop of the check, and by z sd with sd^2 of
 * `rerunVariance`. What it really moves by is taken as it was estimated, W / n + S (see there), and so is the mean of the
 * reruns with a K-th of that, which all runs are compared with; the chance is averaged over it.
 *
 * @param n queries of the set
 * @param looks runs within which it is to be called; with fewer than the check takes nothing is
 * @returns null when so few runs call nothing
 */
export function detectableDrop(noise: RerunNoise, n: number, check: DropCheck, looks: number): number | null {
  if (looks < check.runs) return null;
  if (noise.isStill) return check.drop;
  const { reruns, standardDeviation, queries, ofQueries } = noise;
  const shared = Math.max(0, standardDeviation ** 2 / 2 - ofQueries / queries);
  const deviation = Math.sqrt(ofQueries / n + shared);
  const needed = Math.max(check.drop, normalQuantile(1 - check.alpha) * Math.sqrt(rerunVariance(noise, n)));
  if (deviation === 0) return needed;
  const chanceOf = (drop: number): number => {
    let total = 0;
    for (let i = -REACH / STEP; i <= REACH / STEP; i++) {
      const baseline = i * STEP;
      const density = Math.exp(-(baseline ** 2) / 2) / Math.sqrt(2 * Math.PI);
      const perRun = normalCdf((drop - needed) / deviation + baseline / Math.sqrt(reruns));
      total += density * STEP * chanceOfRow(perRun, check.runs, looks);
    }
    return total;
  };
  let [low, high] = [0, needed + 2 * REACH * deviation];
  while (high - low > 1e-5) {
    const middle = (low + high) / 2;
    if (chanceOf(middle) < POWER) low = middle;
    else high = middle;
  }
  return high;
}

/** Chance that of so many looks, each a hit with probability p, some `row` in a row are hits. */
export function chanceOfRow(p: number, row: number, looks: number): number {
  const states = new Float64Array(row);
  states[0] = 1;
  let done = 0;
  for (let look = 0; look < looks; look++) {
    const open = 1 - done;
    done += (states[row - 1] ?? 0) * p;
    for (let length = row - 1; length > 0; length--) states[length] = (states[length - 1] ?? 0) * p;
    states[0] = open * (1 - p);
  }
  return done;
}

/**
 * In a sentence.
 *
 * @param noise of the measure over all queries, or null while nothing was rerun
 * @param runsPerDay 0 for a set without a schedule
 */
export function describePower(noise: RerunNoise | null, n: number, check: DropCheck, runsPerDay: number): string {
  const { measure, runs } = check;
  const inRuns = runs === 1 ? 'one run' : `${runs} runs`;
  const watched = check.drop.toFixed(4);
  if (noise === null) {
    return (
      `${measure}: what fall it finds is not known before a run is pinned with reruns, which measure the noise of the ` +
      `retriever (\`recalld baselines pin RUN --reruns 9\`). One that always answers the same shows each fall of ` +
      `${watched} or more in ${inRuns}.`
    );
  }
  if (noise.isStill) {
    return (
      `${measure}: each fall of ${watched} or more is called within ${inRuns}, as the retriever answered the same in ` +
      `${noise.reruns} runs.`
    );
  }
  const soon = detectableDrop(noise, n, check, runs) ?? Number.NaN;
  const day = runsPerDay > runs ? detectableDrop(noise, n, check, runsPerDay) : null;
  const within = day === null ? '' : `, one of ${day.toFixed(4)} within a day (${runsPerDay} runs)`;
  return (
    `${measure}: with ${n} queries and the noise of ${noise.reruns} runs a fall of ${soon.toFixed(4)} is called within ` +
    `${inRuns} with a chance of ${POWER}${within}; the check watches for ${watched}.`
  );
}
