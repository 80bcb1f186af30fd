/**
 * Measures how often an equally good shadow is reported as worse or better within 90 days of daily reports. Also
 * measures whether a shadow whose nDCG is 0.03 lower on 300 queries is reported within the number of days that its
 * report estimates.
 *
 *     npx tsx bench/shadow-reports.ts [--quick] [--scale N] [--out FILE]
 *
 * The tests use the daemon's code; runs are simulated. `--scale 4` simulates four times as many shadows.
 */
import { pathToFileURL } from 'node:url';
import {
  evidenceOfTests,
  type GoldenTest,
  isTestDue,
  levelOfTest,
  statusOfTests,
} from '../src/experiments/rules/golden-tests.ts';
import { isCalled } from '../src/experiments/rules/verdict.ts';
import { compareMetric } from '../src/golden/rules/compare-metric.ts';
import { averagePairs, type ScoredPair } from '../src/golden/rules/run-noise.ts';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

interface ShadowWorld {
  /** Standard deviation, over queries, of the score difference between the two retrievers. */
  readonly questions: number;
  /** Standard deviation, over runs, of the score difference of one query. */
  readonly noise: number;
}

export interface EqualCell extends ShadowWorld {
  readonly shadows: number;
  /** Share of shadows that were ever reported as worse or better within the 90 days. */
  readonly everCalled: ShareWithBounds;
  /** Share of daily reports that state that the shadow is worse or better. */
  readonly reports: number;
}

export interface WorseCell extends ShadowWorld {
  readonly shadows: number;
  /** Share of shadows whose report estimated a number of days. */
  readonly announced: ShareWithBounds;
  /** Median of the first estimates in days; null if there were none. */
  readonly days: number | null;
  /**
   * Share of the shadows with an estimate that were reported as worse by the estimated day; null if there were none.
   */
  readonly inTime: ShareWithBounds | null;
  /** Share of shadows that were reported as worse within the 90 days. */
  readonly called: ShareWithBounds;
  /** Share of shadows that were reported as better within the 90 days. */
  readonly calledBetter: ShareWithBounds;
}

export interface ShadowResult {
  readonly provenance: Provenance;
  readonly questions: number;
  readonly difference: number;
  readonly lookDays: number;
  readonly equal: readonly EqualCell[];
  readonly worse: readonly WorseCell[];
}

const SEED = 20_261_123;
const QUESTIONS = 300;
const DIFFERENCE = 0.03;
const DAYS = 90;
/** Share of queries with a score difference between two retrievers over the same index. */
const CHANGED = 0.4;
const POOL = 50_000;

const equalWorlds: readonly ShadowWorld[] = [
  { questions: 0.12, noise: 0 },
  { questions: 0.2, noise: 0.1 },
  { questions: 0.05, noise: 0.25 },
  { questions: 0, noise: 0.2 },
];

const worseWorlds: readonly ShadowWorld[] = [
  { questions: 0.1, noise: 0 },
  { questions: 0.13, noise: 0 },
  { questions: 0.1, noise: 0.15 },
  { questions: 0.08, noise: 0.25 },
  { questions: 0.05, noise: 0.35 },
  { questions: 0.2, noise: 0.1 },
];

/** Differences per query: most are 0 and a few are large, because a relevant document is either found or not. */
function drawPool({ questions }: ShadowWorld, mean: number, random: RandomNumbers): Float64Array {
  const raw = Float64Array.from({ length: POOL }, () =>
    random.uniform() < CHANGED ? Math.sign(random.uniform() - 0.5) * random.uniform() ** 2 : 0,
  );
  const usual = raw.reduce((sum, one) => sum + one, 0) / POOL;
  const spread = Math.sqrt(raw.reduce((sum, one) => sum + (one - usual) ** 2, 0) / POOL);
  return raw.map((one) => (questions / spread) * (one - usual) + mean);
}

interface Played {
  readonly tests: readonly GoldenTest[];
  /** Day by which the first report with an estimate expected a verdict; null if no report had an estimate. */
  readonly announced: number | null;
}

/** Simulates one shadow with a daily test, until the test has a verdict. */
function play({ noise }: ShadowWorld, pool: Float64Array, random: RandomNumbers): Played {
  const differences = Float64Array.from({ length: QUESTIONS }, () => pool[random.below(POOL)] ?? 0);
  const usual = Float64Array.from({ length: QUESTIONS }, () => 0.3 + 0.6 * random.uniform());
  const pairs: ScoredPair[] = [];
  const tests: GoldenTest[] = [];
  let announced: number | null = null;
  for (let day = 1; day <= DAYS; day++) {
    // Each retriever varies independently.
    const moved = (): number => (noise / Math.SQRT2) * random.normal();
    pairs.push({
      baseline: usual.map((score) => score + moved()),
      candidate: usual.map((score, row) => score + (differences[row] ?? 0) + moved()),
    });
    if (!isTestDue(pairs.length, tests.length)) continue;
    tests.push(testOf(pairs, tests.length + 1));
    // Ignores the verdicts, so that the first estimate counts even if the same test reports the shadow as worse.
    const undecided = tests.map((one) => ({ ...one, verdict: 'inconclusive' as const }));
    const evidence = evidenceOfTests(undecided, DIFFERENCE, 1);
    if (evidence.state === 'enough') announced ??= day;
    if (evidence.state === 'days') announced ??= day + evidence.days;
    if (isCalled(statusOfTests(tests).verdict)) break;
  }
  return { tests, announced };
}

const KEY = { measure: 'ndcg', k: 10 } as const;

function testOf(pairs: readonly ScoredPair[], number: number): GoldenTest {
  const { scores, noise } = averagePairs(pairs);
  const alpha = levelOfTest(number, 1);
  const [baseline] = scores.baseline;
  const [candidate] = scores.candidate;
  const compared = compareMetric(KEY, baseline, candidate, null, { alpha, minEffect: null });
  const names = { goldenSetVersion: 1, runId: '', against: '' };
  return { ...compared, ...names, k: KEY.k, number, runs: pairs.length, alpha, noise };
}

const calledOn = ({ tests }: Played, verdict: 'regression' | 'improvement'): number | null => {
  const status = statusOfTests(tests);
  return status.verdict === verdict ? (status.by?.runs ?? null) : null;
};

export function measureShadows(quick: boolean, scale: number, say: (line: string) => void): ShadowResult {
  const startedAt = performance.now();
  const random = randomNumbers(SEED);
  const equal = equalWorlds.map((world): EqualCell => {
    const shadows = Math.round((quick ? 1 : 500) * scale);
    const pool = drawPool(world, 0, random);
    const played = Array.from({ length: shadows }, () => play(world, pool, random));
    const days = played.map((one) => calledOn(one, 'regression') ?? calledOn(one, 'improvement'));
    const reported = days.reduce<number>((sum, day) => sum + (day === null ? 0 : DAYS - day + 1), 0);
    const called = days.filter((day) => day !== null).length;
    say(`equal, ${world.questions} between questions, ${world.noise} from run to run: ${called} of ${shadows} called`);
    return {
      ...world,
      shadows,
      everCalled: shareWithBounds(called, shadows),
      reports: reported / (shadows * DAYS),
    };
  });
  const worse = worseWorlds.map((world): WorseCell => {
    const shadows = Math.round((quick ? 1 : 250) * scale);
    const pool = drawPool(world, -DIFFERENCE, random);
    const played = Array.from({ length: shadows }, () => play(world, pool, random));
    const announced = played.flatMap((one) => (one.announced === null ? [] : [{ ...one, announced: one.announced }]));
    const days = announced.map((one) => one.announced).toSorted((a, b) => a - b);
    const inTime = announced.filter((one) => (calledOn(one, 'regression') ?? DAYS + 1) <= one.announced).length;
    say(
      `worse, ${world.questions} between questions, ${world.noise} from run to run: ${announced.length} of ${shadows} announced, ${inTime} in time`,
    );
    return {
      ...world,
      shadows,
      announced: shareWithBounds(announced.length, shadows),
      days: days[Math.floor(days.length / 2)] ?? null,
      inTime: announced.length === 0 ? null : shareWithBounds(inTime, announced.length),
      called: shareWithBounds(played.filter((one) => calledOn(one, 'regression') !== null).length, shadows),
      calledBetter: shareWithBounds(played.filter((one) => calledOn(one, 'improvement') !== null).length, shadows),
    };
  });
  return {
    provenance: provenance(commandOf('shadow-reports', scale), SEED, startedAt),
    questions: QUESTIONS,
    difference: DIFFERENCE,
    lookDays: DAYS,
    equal,
    worse,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { quick, scale, out } = readArguments(process.argv.slice(2), 'shadow-reports');
  const result = measureShadows(quick, scale, (line) => console.log(line));
  if (out !== null) writeResult(out, result);
}
