/** Counts how often, and for how long, a check failed or had no data in a replayed history. */
import { duration } from '../../core/format.ts';
import type { Verdict } from '../../core/model.ts';
import type { CheckStatus } from './check-state.ts';

export type EvaluatedCheck = Pick<CheckStatus, 'name' | 'severity' | 'threshold' | 'verdict' | 'explanation'>;

/** Consecutive evaluations with the same verdict, until the first evaluation with another verdict. */
export interface VerdictEpisode {
  readonly verdict: Verdict;
  readonly from: Date;
  readonly until: Date;
  /** Explanation from the first evaluation. */
  readonly explanation: string;
}

/** Totals over all episodes with the same verdict. */
interface Firings {
  readonly verdict: Verdict;
  readonly episodes: number;
  readonly totalSeconds: number;
  readonly longestSeconds: number;
  readonly firstAt: Date;
  /** Start of the last episode. */
  readonly lastAt: Date;
  /** Explanation of the longest episode, or of the first of several equally long episodes. */
  readonly example: string;
}

export type CheckBacktest = NonNullable<ReturnType<ReturnType<typeof replayCheck>['end']>>;

export interface BacktestPeriod {
  /** End of the period, at which the last episode ends too. */
  readonly until: Date;
  /** How many seconds a verdict is valid. After that, the verdict is `no_data`, as in the daemon. */
  readonly trustedSeconds: number;
}

/**
 * Replays the evaluations of one check, in constant memory.
 *
 * @param onEpisode called with each finished episode in chronological order, without gaps
 */
export function replayCheck(
  { until, trustedSeconds }: BacktestPeriod,
  onEpisode: (episode: VerdictEpisode) => void = () => undefined,
) {
  const firings = new Map<Verdict, Firings>();
  let latest: { readonly at: Date; readonly result: EvaluatedCheck } | null = null;
  let episode: VerdictEpisode | null = null;
  let [evaluations, episodes] = [0, 0];

  const close = (): void => {
    if (episode === null) return;
    episodes += 1;
    onEpisode(episode);
    if (episode.verdict !== 'ok') firings.set(episode.verdict, withEpisode(firings.get(episode.verdict), episode));
  };
  /** Extends the episode if the verdict is the same, otherwise starts a new one. */
  const extend = (verdict: Verdict, from: Date, to: Date, explanation: string): void => {
    if (episode?.verdict === verdict) {
      episode = { ...episode, until: to };
      return;
    }
    close();
    episode = { verdict, from, until: to, explanation };
  };
  /** Applies the latest verdict until the next evaluation, or until it is too old to trust. */
  const applyUntil = (next: Date): void => {
    if (latest === null) return;
    const { at, result } = latest;
    const trustedUntil = new Date(at.getTime() + trustedSeconds * 1000);
    extend(result.verdict, at, trustedUntil < next ? trustedUntil : next, result.explanation ?? '');
    const outdated = `The check has not been evaluated for more than ${duration(trustedSeconds)}.`;
    if (trustedUntil < next) extend('no_data', trustedUntil, next, outdated);
  };
  return {
    /**
     * Adds the next evaluation. The caller must add evaluations in chronological order. Ignores evaluations at or after
     * the end of the period.
     */
    add(at: Date, result: EvaluatedCheck): void {
      if (at >= until) return;
      applyUntil(at);
      latest = { at, result };
      evaluations += 1;
    },
    /** Returns the result for the period; null if there were no evaluations. No method may be called after `end`. */
    end() {
      if (latest === null) return null;
      applyUntil(until);
      close();
      const { name, severity, threshold } = latest.result;
      return {
        name,
        severity,
        threshold,
        evaluations,
        /** Number of verdict changes, including changes to and from `no_data`. */
        transitions: episodes - 1,
        /** Worst verdict first; excludes `ok` and verdicts that did not occur. */
        firings: (['critical', 'warning', 'no_data'] as const).flatMap((verdict) => firings.get(verdict) ?? []),
      };
    },
  };
}

function withEpisode(before: Firings | undefined, { verdict, from, until, explanation }: VerdictEpisode): Firings {
  const seconds = (until.getTime() - from.getTime()) / 1000;
  const isLongest = before === undefined || seconds > before.longestSeconds;
  return {
    verdict,
    episodes: (before?.episodes ?? 0) + 1,
    totalSeconds: (before?.totalSeconds ?? 0) + seconds,
    longestSeconds: isLongest ? seconds : before.longestSeconds,
    firstAt: before?.firstAt ?? from,
    lastAt: from,
    example: isLongest ? explanation : before.example,
  };
}
