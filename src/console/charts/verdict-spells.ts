/** How a check stood over a span of time, told from the changes of its verdict. */
import type { Verdict } from '../../core/model.ts';
import type { CheckTransition, StoredStanding } from '../../ports/check-history.ts';

export interface VerdictSpell {
  readonly verdict: Verdict;
  readonly from: Date;
  readonly until: Date;
}

/**
 * The spells of one check from `from` to `until`, oldest first. What came before the first change is told by what it
 * changed from; a check that never changed within that time stood then as it does now. Before it was first judged
 * there is no spell.
 *
 * @param transitions of the check within that time, in any order
 * @param standing null for a check that was never judged
 */
export function spellsOf(
  transitions: readonly Pick<CheckTransition, 'from' | 'to' | 'occurredAt' | 'endedAt'>[],
  standing: Pick<StoredStanding, 'verdict' | 'since'> | null,
  from: Date,
  until: Date,
): VerdictSpell[] {
  const ordered = transitions.toSorted((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime());
  const [first] = ordered;
  if (first === undefined) {
    if (standing === null || standing.since >= until) return [];
    return [{ verdict: standing.verdict, from: later(from, standing.since), until }];
  }
  const before = first.from === null ? [] : [{ verdict: first.from, from, until: first.occurredAt }];
  const after = ordered.map(({ to, occurredAt, endedAt }) => ({
    verdict: to,
    from: occurredAt,
    until: endedAt === null || endedAt > until ? until : endedAt,
  }));
  return [...before, ...after];
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b;
}
