/** Which queries moved between two runs, and how. */
import type { MetricKey } from '../../ir/metric-key.ts';
import { type ComparedSide, sharedQueries } from './compare-golden-runs.ts';
import { scoreQueries } from './query-scores.ts';

export interface ChangedQuery {
  readonly queryId: string;
  readonly text: string;
  readonly baseline: number;
  readonly candidate: number;
  readonly difference: number;
  /** It had documents before and has none now. */
  readonly isNewlyEmpty: boolean;
}

/**
 * Queries that both runs were asked and whose score changed, most regressed first, ties by id.
 *
 * @param key by which they are scored
 */
export function changedQueries(
  baseline: ComparedSide,
  candidate: ComparedSide,
  stale: ReadonlySet<string>,
  key: MetricKey & { readonly k: number },
): ChangedQuery[] {
  const shared = sharedQueries(baseline.queries, candidate.queries).filter(({ id }) => !stale.has(id));
  const score = ({ answers }: ComparedSide) => {
    const { relevanceLevel } = candidate.settings;
    const only = { cutoffs: [key.k], relevanceLevel, measures: [key.measure] };
    return scoreQueries(shared, answers, only).columns[0];
  };
  const [before, after] = [score(baseline), score(candidate)];
  const emptyBefore = emptyQueries(baseline);
  const emptyAfter = emptyQueries(candidate);
  return shared
    .map(({ id, text }, row): ChangedQuery => {
      const [old, now] = [before?.[row] ?? 0, after?.[row] ?? 0];
      const isNewlyEmpty = emptyAfter.has(id) && !emptyBefore.has(id);
      return { queryId: id, text, baseline: old, candidate: now, difference: now - old, isNewlyEmpty };
    })
    .filter(({ difference, isNewlyEmpty }) => difference !== 0 || isNewlyEmpty)
    .toSorted((a, b) => a.difference - b.difference || (a.queryId < b.queryId ? -1 : 1));
}

function emptyQueries({ answers }: ComparedSide): ReadonlySet<string> {
  return new Set(answers.filter(({ documents }) => documents.length === 0).map(({ queryId }) => queryId));
}
