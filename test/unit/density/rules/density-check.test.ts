import { describe, expect, it } from 'vitest';
import { type DensityEvidence, judgeDensityDrift } from '../../../../src/density/rules/density-check.ts';

const needs = { days: 14, sessions: 2000 };
const since = new Date('2026-11-20T12:00:00Z');
const watched = { kind: 'watched', grade: 'page', evidenceRatio: 0.01, open: {} } as const;

const judge = (evidence: DensityEvidence, severity: 'critical' | 'warning' = 'critical') =>
  judgeDensityDrift({ name: 'density drift', severity }, evidence);

describe('the check of density drift', () => {
  it('says how many days and sessions a baseline lacks', () => {
    const result = judge({ kind: 'learning', days: 3, sessions: 700, needs });
    expect(result).toMatchObject({ name: 'density drift', verdict: 'no_data', value: null });
    expect(result.explanation).toBe(
      'There is no baseline yet: 3 of 14 days and 700 of 2000 sessions were measured; 11 days and 1300 sessions are missing.',
    );
  });

  it.each([
    ['while a baseline is made anew', { kind: 'replaying', reason: 'a change of index' }, 'after a change of index'],
    ['when windows no longer close', { kind: 'stale', closedAt: since }, '2026-11-20T12:00:00.000Z'],
  ] as const)('does not know %s', (_name, evidence, words) => {
    const { verdict, explanation } = judge(evidence);
    expect(verdict).toBe('no_data');
    expect(explanation).toContain(words);
  });

  it.each(['critical', 'warning'] as const)('has its severity, %s, while a page is open', (severity) => {
    const result = judge({ ...watched, open: { page: since, ticket: since } }, severity);
    expect(result.verdict).toBe(severity);
    expect(result.explanation).toContain('2026-11-20T12:00:00.000Z');
  });

  it('warns while a ticket is open', () => {
    expect(judge({ ...watched, open: { ticket: since } }).verdict).toBe('warning');
  });

  it('is fine otherwise, with the evidence, and says when no page could come', () => {
    expect(judge(watched)).toMatchObject({ verdict: 'ok', value: 0.01, threshold: 1 });
    expect(judge({ ...watched, grade: 'provisional' }).explanation).toContain('tickets, no pages');
    expect(judge({ ...watched, evidenceRatio: null }).explanation).toBe('Live queries are covered as in the baseline.');
  });

  it('does not say that all is as it was while there is evidence enough, and no alarm yet', () => {
    const { verdict, explanation } = judge({ ...watched, evidenceRatio: 1.3 });
    expect(verdict).toBe('ok');
    expect(explanation).toMatch(
      /^Live queries may be covered worse than in the baseline: .* 1\.30+ of what it takes\.$/,
    );
  });
});
