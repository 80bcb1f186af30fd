/** How long changes of documents take to arrive in the store, of those that were followed. */
import { survivalQuantile } from '../../stats/survival.ts';

/** A change that was looked for, round by round. */
export interface Arrival {
  /** How many changes it stands for. */
  readonly weight: number;
  readonly hasCome: boolean;
  /** Seconds from the change until it was last looked for in vain; 0 where it was there at the first look. */
  readonly after: number;
  /** Seconds until it was found; of what still waits the same as `after`. */
  readonly by: number;
}

export interface Lag {
  /** Seconds. */
  readonly value: number;
  /** 95 % bounds; null where no upper bound is known, and `value` is the lower one. */
  readonly bounds: { readonly low: number; readonly high: number } | null;
}

/**
 * The time by which a share of all changes has come, by Kaplan and Meier with what waits as censored. A change came at
 * some time between two looks: the lower bound takes each as if it had come right after the first of them, the upper
 * bound and the value as if right before the second. Too few changes, or too few that came, have no upper bound.
 *
 * @param share in (0, 1)
 */
export function lagOf(arrivals: readonly Arrival[], share: number): Lag {
  const latest = survivalQuantile(
    arrivals.map(({ by, ...rest }) => ({ ...rest, time: by })),
    share,
    0.95,
  );
  const earliest = survivalQuantile(
    arrivals.map(({ after, ...rest }) => ({ ...rest, time: after })),
    share,
    0.95,
  );
  const low = earliest.low ?? Math.max(0, ...arrivals.map(({ after }) => after));
  const { value, high } = latest;
  return value === null || high === null
    ? { value: low, bounds: null }
    : { value, bounds: { low: Math.min(low, value), high } };
}
