import { describe, expect, it } from 'vitest';
import { alertHeadline, alertText, recoveryText } from '../../../../src/checks/rules/alert-text.ts';
import { type CheckState, stateAt } from '../../../../src/checks/rules/check-state.ts';
import { evaluate } from '../../../../src/checks/rules/evaluate.ts';
import { type FoundByRule, factsOfIsolation, isolationCheckOf } from '../../../../src/checks/rules/isolation-check.ts';
import { NOON } from '../../../support/builders.ts';

const check = isolationCheckOf('docs', 'tenants');
const none = { segment_missing: 0, document_unidentified: 0, field_missing: 0 };
const leak = { segment: 'acme', documents: [{ id: 'beta/7', rank: 2 }], documentCount: 1 };

function stateOf(found: Partial<FoundByRule> | null, at = NOON): CheckState {
  const full = found === null ? null : { violated: 0, allowed: 0, unchecked: none, latest: [], ...found };
  return stateAt(check, evaluate(check, factsOfIsolation('tenants', full, at), null, at), at);
}

describe('the check of an isolation rule', () => {
  it('is critical at the first violation, without a confirmation, and names the document and the tenant', () => {
    const state = stateOf({ violated: 1, allowed: 999, latest: [leak] });
    expect(state).toMatchObject({ verdict: 'critical', value: 1, threshold: 0, n: 1000 });
    expect(alertHeadline(state)).toBe('isolation rule tenants violated by 1 live query');
    expect(alertText(state)).toBe('1 live query violated the rule tenants in the last hour: acme got beta/7 (rank 2)');
  });

  it('names the latest violations and documents, counts the others, and cuts off long names', () => {
    const documents = [1, 2, 3, 4].map((rank) => ({ id: `${'x'.repeat(100)}${rank}`, rank }));
    const latest = [1, 2, 3].map(() => ({ ...leak, documents, documentCount: 12 }));
    const { explanation } = stateOf({ violated: 40, allowed: 0, latest });
    expect(explanation).toContain('40 live queries');
    expect(explanation).toContain('(rank 3) and 9 more');
    expect(explanation).toContain('; 37 more.');
    expect(explanation).not.toContain('x'.repeat(80));
  });

  it('is ok if no checked answer violates the rule, and states the share that could not be checked', () => {
    const state = stateOf({ allowed: 75, unchecked: { ...none, segment_missing: 25 } });
    expect(state).toMatchObject({ verdict: 'ok', value: 0, n: 75 });
    expect(state.explanation).toContain("25 % lack the rule's segment");
    expect(recoveryText(state, null)).toBe('violations of isolation rule tenants stopped');
  });

  it('has no data and alerts if no query could be checked', () => {
    expect(stateOf({ unchecked: { ...none, segment_missing: 25 } })).toMatchObject({
      verdict: 'no_data',
      isQuiet: false,
    });
  });

  it('has no data and is quiet without live queries', () => {
    expect(stateOf(null)).toMatchObject({ verdict: 'no_data', isQuiet: true });
  });

  it('has no data when its evaluation is too old to trust', () => {
    const status = evaluate(
      check,
      factsOfIsolation('tenants', { violated: 0, allowed: 9, unchecked: none, latest: [] }, NOON),
      null,
      NOON,
    );
    expect(stateAt(check, status, new Date(NOON.getTime() + 16 * 60_000)).verdict).toBe('no_data');
  });
});
