/** Collapses the verdict changes in which a check only lost or regained its data, so that failures stay visible. */
import type { Verdict } from '../../core/model.ts';

interface Change {
  readonly from: Verdict | null;
  readonly to: Verdict;
}

/** One change, or several consecutive changes between OK and no data. */
export type FoldedChange<One extends Change> =
  | { readonly kind: 'change'; readonly change: One }
  | { readonly kind: 'flapping'; readonly newest: One; readonly oldest: One; readonly times: number };

/** Minimum number of changes in a collapsed sequence; shorter sequences are shown individually. */
const MIN_FOLDED = 3;

/** @param changes verdict changes of one check, newest first */
export function foldFlapping<One extends Change>(changes: readonly One[]): FoldedChange<One>[] {
  const streaks: One[][] = [];
  for (const change of changes) {
    const streak = streaks.at(-1);
    if (streak !== undefined && isOnlyData(change) && streak.every(isOnlyData)) streak.push(change);
    else streaks.push([change]);
  }
  return streaks.flatMap((streak): FoldedChange<One>[] => {
    const [newest, oldest] = [streak[0], streak.at(-1)];
    if (streak.length < MIN_FOLDED || newest === undefined || oldest === undefined)
      return streak.map((change) => ({ kind: 'change', change }));
    return [{ kind: 'flapping', newest, oldest, times: streak.filter(({ to }) => to === 'no_data').length }];
  });
}

function isOnlyData({ from, to }: Change): boolean {
  return [from ?? 'ok', to].every((verdict) => verdict === 'ok' || verdict === 'no_data');
}
