/** How often and for how long a check would have fired on a history of its verdicts, and with what explanation. */
import type { Verdict } from '../../core/model.ts';
import type { CheckStatus } from './check-state.ts';
import type { CheckResult } from './threshold.ts';

/** What one evaluation of a check came to. */
export type EvaluatedCheck = Pick<CheckStatus, 'name' | 'severity' | 'threshold' | 'verdict' | 'explanation'>;

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

export interface CheckBacktest extends Pick<CheckResult, 'name' | 'severity' | 'threshold'> {
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

/** The backtest of one check, fed with its evaluations; it keeps sums and no history. */
export interface CheckReplay {
  /** Takes the next evaluation; they come oldest first, and those at or after the end of the period are left out. */
  add(at: Date, result: EvaluatedCheck): void;
  /** What it came to by the end of the period; null without any evaluation. Nothing may be added afterwards. */
  end(): CheckBacktest | null;
}

/** @param onEpisode is called with each episode when it is over, oldest first, without gaps between them */
export function replayCheck(
  { until, trustedSeconds }: BacktestPeriod,
  onEpisode: (episode: VerdictEpisode) => void = () => undefined,
): CheckReplay {
  const firings = new Map<Verdict, Firings>();
  let latest: { readonly at: Date; readonly result: EvaluatedCheck } | null = null;
  let episode: VerdictEpisode | null = null;
  let [evaluations, episodes] = [0, 0];

  const close = (): void => {
    if (episode === null) return;
    episodes += 1;
    onEpisode(episode);
    if (episode.verdict !== 'ok') {
      firings.set(episode.verdict, withEpisode(firings.get(episode.verdict), episode.verdict, episode));
    }
  };
  /** Lengthens the episode when the verdict is the same; else begins another. */
  const extend = (verdict: Verdict, from: Date, to: Date, explanation: string): void => {
    if (episode?.verdict === verdict) {
      episode = { ...episode, until: to };
      return;
    }
    close();
    episode = { verdict, from, until: to, explanation };
  };
  /** What was found last holds until the next evaluation, or until it is too old to trust. */
  const holdUntil = (next: Date): void => {
    if (latest === null) return;
    const { at, result } = latest;
    const trustedUntil = new Date(at.getTime() + trustedSeconds * 1000);
    extend(result.verdict, at, trustedUntil < next ? trustedUntil : next, result.explanation ?? '');
    if (trustedUntil >= next) return;
    extend('no_data', trustedUntil, next, `Nothing was judged for longer than ${trustedSeconds} s.`);
  };
  return {
    add(at, result) {
      if (at >= until) return;
      holdUntil(at);
      latest = { at, result };
      evaluations += 1;
    },
    end() {
      if (latest === null) return null;
      holdUntil(until);
      close();
      const { name, severity, threshold } = latest.result;
      return {
        name,
        severity,
        threshold,
        evaluations,
        transitions: episodes - 1,
        firings: fired.flatMap((verdict) => firings.get(verdict) ?? []),
      };
    },
  };
}

function withEpisode(
  before: Firings | undefined,
  verdict: Firings['verdict'],
  { from, until, explanation: example }: VerdictEpisode,
): Firings {
  const seconds = (until.getTime() - from.getTime()) / 1000;
  if (before === undefined) {
    return {
      verdict,
      episodes: 1,
      totalSeconds: seconds,
      longestSeconds: seconds,
      firstAt: from,
      lastAt: from,
      example,
    };
  }
  const isLongest = seconds > before.longestSeconds;
  return {
    ...before,
    episodes: before.episodes + 1,
    totalSeconds: before.totalSeconds + seconds,
    longestSeconds: isLongest ? seconds : before.longestSeconds,
    lastAt: from,
    example: isLongest ? example : before.example,
  };
}
