/** How often and for how long a check would have fired on a history of its verdicts, and with what explanation. */
import type { Verdict } from '../../model.ts';
import type { CheckResult } from './threshold.ts';

/** One evaluation of a check. */
export interface CheckEvaluation {
  readonly at: Date;
  readonly result: CheckResult;
}

/** Evaluations in a row with the same verdict, from the first of them to the first with another. */
export interface VerdictEpisode {
  readonly verdict: Verdict;
  readonly from: Date;
  readonly until: Date;
  /** The explanation of its first evaluation. */
  readonly explanation: string;
}

/** All episodes with one verdict. */
export interface Firings {
  readonly verdict: Exclude<Verdict, 'ok'>;
  readonly episodes: number;
  readonly totalSeconds: number;
  readonly longestSeconds: number;
  readonly firstAt: Date;
  /** When the last of them began. */
  readonly lastAt: Date;
  /** The explanation of the longest episode; of several that are as long, the first. */
  readonly example: string;
}

export interface CheckBacktest {
  readonly name: string;
  readonly severity: CheckResult['severity'];
  readonly threshold: number;
  readonly evaluations: number;
  /** Number of changes of the verdict, including those to and from `no_data`. */
  readonly transitions: number;
  /** The worst first; verdicts that never came are left out, as is `ok`. */
  readonly firings: readonly Firings[];
}

export interface BacktestPeriod {
  /** The end of the history: a verdict that stands then has lasted until then. */
  readonly until: Date;
  /** How long a verdict is trusted after it was found. Beyond that the state is `no_data`, as in the daemon. */
  readonly trustedSeconds: number;
}

const fired: readonly Firings['verdict'][] = ['critical', 'warning', 'no_data'];

/**
 * Reads the history of one check.
 *
 * @param history evaluations of that check, oldest first; those at or after the end of the period are left out
 * @returns null without any evaluation
 */
export function backtestCheck(history: readonly CheckEvaluation[], period: BacktestPeriod): CheckBacktest | null {
  const judged = history.filter(({ at }) => at < period.until);
  const latest = judged.at(-1)?.result;
  if (latest === undefined) return null;
  const episodes = episodesOf(judged, period);
  const { name, severity, threshold } = latest;
  return {
    name,
    severity,
    threshold,
    evaluations: judged.length,
    transitions: episodes.length - 1,
    firings: fired.flatMap((verdict) => firingsOf(verdict, episodes)),
  };
}

function firingsOf(verdict: Firings['verdict'], all: readonly VerdictEpisode[]): Firings[] {
  const episodes = all.filter((episode) => episode.verdict === verdict);
  const [first] = episodes;
  const last = episodes.at(-1);
  if (first === undefined || last === undefined) return [];
  const longest = episodes.reduce((a, b) => (secondsOf(b) > secondsOf(a) ? b : a));
  return [
    {
      verdict,
      episodes: episodes.length,
      totalSeconds: episodes.reduce((sum, episode) => sum + secondsOf(episode), 0),
      longestSeconds: secondsOf(longest),
      firstAt: first.from,
      lastAt: last.from,
      example: longest.explanation,
    },
  ];
}

/** The history without gaps: episodes that follow each other, up to the end of the period. */
export function episodesOf(
  history: readonly CheckEvaluation[],
  { until, trustedSeconds }: BacktestPeriod,
): VerdictEpisode[] {
  const found: VerdictEpisode[] = [];
  for (const [index, { at, result }] of history.entries()) {
    const next = history[index + 1]?.at ?? until;
    const trustedUntil = new Date(at.getTime() + trustedSeconds * 1000);
    extend(found, result.verdict, at, trustedUntil < next ? trustedUntil : next, result.explanation);
    if (trustedUntil < next) {
      const explanation = `Nothing was judged for longer than ${trustedSeconds} s.`;
      extend(found, 'no_data', trustedUntil, next, explanation);
    }
  }
  return found;
}

/** Lengthens the last episode when the verdict is the same; else begins a new one. */
function extend(episodes: VerdictEpisode[], verdict: Verdict, from: Date, until: Date, explanation: string): void {
  const last = episodes.at(-1);
  if (last?.verdict === verdict) episodes[episodes.length - 1] = { ...last, until };
  else episodes.push({ verdict, from, until, explanation });
}

function secondsOf({ from, until }: VerdictEpisode): number {
  return (until.getTime() - from.getTime()) / 1000;
}
