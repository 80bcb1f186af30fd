/**
 * When a shadow is tested on a golden set, at which level, what the tests come to, and when there will be enough of
 * them.
 */
import type { ComparisonVerdict } from '../../golden/rules/verdict.ts';
import { pairedTSampleSize, smallestDetectableDifference, type TestPlan } from '../../math/stats/paired-tests.ts';

/** Chance that an equal shadow is ever called better or worse, however long and however often one looks. */
const FALSE_CALLS = 0.01;
/** A further one would come after four months, at a level that calls nothing. */
const MAX_LOOKS = 7;
/** Runs by the last of them. */
export const MAX_RUNS = 2 ** (MAX_LOOKS - 1);

/**
 * By which evidence is planned, so that it comes with a chance of 0.8: the same questions tell the spread and the
 * difference, and where a few large losses are missing both look small.
 */
export const PLANNED_POWER = 0.9;

/** Chance that one of the verdicts on an equal shadow is ever a call: all have the same part. */
export function falseCallsOf(verdicts: number): number {
  return FALSE_CALLS / Math.max(1, verdicts);
}

/**
 * Level of a test. The chance of a false call is shared evenly by the verdicts on a shadow: of each golden set of the
 * pipeline, and of judged live queries where they are. Of each golden set the first test takes half, and each further one half of what is left (alpha spending; Lan and DeMets, Biometrika 70, 1983): all
 * that ever come take no more than the whole.
 *
 * @param look from 1
 */
export function levelOfLook(look: number, verdicts: number): number {
  return falseCallsOf(verdicts) / 2 ** look;
}

/**
 * A version of a set is tested when its runs have doubled: at 1, 2, 4, 8, ... of them.
 *
 * @param runs of the version
 * @param looks tests of the version that were made
 */
export function isLookDue(runs: number, looks: number): boolean {
  return runs >= 2 ** looks && looks < MAX_LOOKS;
}

/** A test that was made. */
export interface Look {
  readonly look: number;
  readonly goldenSetVersion: number;
  readonly runId: string;
  readonly against: string;
  /** Pairs of runs of the version by then. */
  readonly runs: number;
  readonly k: number;
  /** Questions. */
  readonly n: number;
  readonly baseline: number;
  readonly candidate: number;
  readonly difference: number;
  readonly ciLow: number;
  readonly ciHigh: number;
  readonly ciMethod: string;
  readonly p: number;
  readonly alpha: number;
  /** Of the differences of the questions. */
  readonly standardDeviation: number;
  /** See `averagePairs`. */
  readonly noise: number | null;
  readonly smallestDetectableDifference: number | null;
  readonly verdict: ComparisonVerdict;
  readonly lookedAt: Date;
}

/** `alike`: no difference that matters is left possible. `undecided`: neither that nor a difference is shown. */
export const shadowVerdicts = ['worse', 'better', 'alike', 'undecided', 'no_data'] as const;

export type ShadowVerdict = (typeof shadowVerdicts)[number];

/**
 * What a set says of a shadow: the first test that called it decides, and no later one takes it back.
 *
 * @param looks rising
 */
export function standingOf(looks: readonly Look[]): { readonly verdict: ShadowVerdict; readonly by: Look | null } {
  const called = looks.find(({ verdict }) => verdict === 'regression' || verdict === 'improvement');
  const by = called ?? looks.at(-1) ?? null;
  if (by === null) return { verdict: 'no_data', by };
  return { verdict: wordOf[by.verdict], by };
}

export const isCalled = (verdict: ShadowVerdict): boolean => verdict === 'worse' || verdict === 'better';

const wordOf: Readonly<Record<ComparisonVerdict, ShadowVerdict>> = {
  regression: 'worse',
  improvement: 'better',
  no_change: 'alike',
  inconclusive: 'undecided',
};

/**
 * Worse where any says so; better where any does and no golden set is undecided. Judged live queries take long, so that they
 * hold nothing back: without a golden set they decide alone.
 *
 * @param golden of each golden set
 * @param live null where live queries are not judged
 */
export function overallVerdict(golden: readonly ShadowVerdict[], live: ShadowVerdict | null): ShadowVerdict {
  const verdicts = live !== null && (golden.length === 0 || isCalled(live)) ? [...golden, live] : golden;
  const has = (verdict: ShadowVerdict): boolean => verdicts.includes(verdict);
  if (has('worse')) return 'worse';
  if (has('undecided')) return 'undecided';
  if (has('better')) return 'better';
  return has('alike') ? 'alike' : 'no_data';
}

/**
 * `decided`: it was called. `enough`: a difference that is to be found would have been called with a chance of 0.8.
 * `days`: that many more runs, one a day. `more_questions`: further runs of these questions never will. `unknown`: nothing
 * is known of the noise yet.
 */
export type Evidence =
  | { readonly kind: 'decided' }
  | { readonly kind: 'enough' }
  | { readonly kind: 'days'; readonly days: number }
  | { readonly kind: 'more_questions'; readonly questions: number }
  | { readonly kind: 'unknown' };

/**
 * When a true difference is called with a chance of 0.8, while nothing is yet: at the first test to come whose smallest
 * detectable difference is no more, planned with 0.9. What questions differ by stays, the noise from run to run is
 * averaged out:
 *
 *     variance of a question after r runs = sd^2 - noise^2 / runs + noise^2 / r
 *
 * @param looks rising
 * @param difference to be found, > 0
 * @param verdicts on the shadow, which share the chance of a false call
 */
export function evidenceOf(looks: readonly Look[], difference: number, verdicts: number): Evidence {
  const last = looks.at(-1);
  if (last === undefined) return { kind: 'unknown' };
  if (isCalled(standingOf(looks).verdict)) return { kind: 'decided' };
  const looksOfVersion = looks.filter(({ goldenSetVersion }) => goldenSetVersion === last.goldenSetVersion).length;
  const { n, standardDeviation, noise, runs, look } = last;
  const isFound = (deviation: number, by: number): boolean =>
    (smallestDetectableDifference(deviation, n, planOf(by, verdicts)) ?? Number.POSITIVE_INFINITY) <= difference;
  if (isFound(standardDeviation, look)) return { kind: 'enough' };
  if (noise === null) return { kind: 'unknown' };
  const between = Math.max(0, standardDeviation ** 2 - noise ** 2 / runs);
  for (let later = 1; looksOfVersion + later <= MAX_LOOKS; later++) {
    const due = 2 ** (looksOfVersion + later - 1);
    if (isFound(Math.sqrt(between + noise ** 2 / due), look + later))
      return { kind: 'days', days: Math.max(1, due - runs) };
  }
  return {
    kind: 'more_questions',
    questions: pairedTSampleSize(difference, Math.sqrt(between), planOf(look + 1, verdicts)),
  };
}

function planOf(look: number, verdicts: number): TestPlan {
  return { alpha: levelOfLook(look, verdicts), sided: 2, power: PLANNED_POWER };
}
