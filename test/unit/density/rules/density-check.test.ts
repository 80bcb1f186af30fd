import { describe, expect, it } from 'vitest';
import { evaluateAll, type StoredFacts } from '../../../../src/checks/evaluate-checks.ts';
import { HOUR_MS } from '../../../../src/core/time.ts';
import type { AlertState } from '../../../../src/density/rules/alert.ts';
import { evaluateDensityDrift } from '../../../../src/density/rules/density-check.ts';
import type { DensityPhase, ReplayingPhase, WatchingPhase } from '../../../../src/density/rules/watch-state.ts';
import { type ContextParts, contextOf } from '../../../support/context.ts';

const needs = { days: 14, sessions: 2000 };
const since = new Date('2026-11-20T12:00:00Z');
const noAlert = { incident: null } as unknown as AlertState;
const open = { incident: { openedMs: since.getTime() } } as AlertState;
const watched = { kind: 'watching', grade: 'page', alerts: { page: noAlert, ticket: noAlert } } as WatchingPhase;

const evaluateDrift = (
  phase: DensityPhase,
  evidenceRatio: number | null = 0.01,
  severity: 'critical' | 'warning' = 'critical',
) => evaluateDensityDrift(severity, needs, phase, evidenceRatio);

describe('the density drift check', () => {
  it('states how many days and sessions the baseline still needs', () => {
    const result = evaluateDrift({ kind: 'learning', progress: { days: 3, sessions: 700 } });
    expect(result).toMatchObject({ verdict: 'no_data', value: null });
    expect(result.explanation).toBe(
      'No baseline yet: 3 of 14 days and 700 of 2000 sessions measured; 11 days and 1300 sessions are missing.',
    );
    expect(evaluateDensityDrift('critical', needs, null, null).explanation).toContain('0 of 14 days');
  });

  it('has no data while the baseline is being replaced', () => {
    const phase = { kind: 'replaying', reason: 'a change of index' } as ReplayingPhase;
    const { verdict, explanation } = evaluateDrift(phase);
    expect(verdict).toBe('no_data');
    expect(explanation).toContain('after a change of index');
  });

  it.each(['critical', 'warning'] as const)('has its configured severity, %s, while a page is open', (severity) => {
    const result = evaluateDrift({ ...watched, alerts: { page: open, ticket: open } }, 0.01, severity);
    expect(result.verdict).toBe(severity);
    expect(result.explanation).toContain('2026-11-20 12:00 UTC');
  });

  it('warns while a ticket is open', () => {
    expect(evaluateDrift({ ...watched, alerts: { ticket: open } }).verdict).toBe('warning');
  });

  it('has no data once windows no longer close, and names the jobs to check', () => {
    const plan = {
      pipeline: 'docs',
      severity: 'critical',
      checkName: 'density drift',
      windowMs: HOUR_MS,
      graceMs: 0,
      needs,
    };
    const stored = { state: { phase: watched, closedMs: since.getTime() }, revision: 1, updatedAt: since };
    const statusAt = (hours: number) => {
      const now = new Date(since.getTime() + hours * HOUR_MS);
      const context = contextOf({
        pipelines: [{ name: 'docs', golden: [], thresholds: [], isolation: [] }],
        densityPlans: [plan],
      } as ContextParts);
      const facts = {
        latest: [],
        measurements: [],
        isolation: [],
        density: new Map([['docs', stored]]),
      } as unknown as StoredFacts;
      return evaluateAll(context, facts, [], now)[0]?.status;
    };
    expect(statusAt(1)).toMatchObject({
      verdict: 'ok',
      explanation: 'Drift not confirmed: coverage of live queries is as good as in the baseline.',
    });
    expect(statusAt(48)).toMatchObject({
      verdict: 'no_data',
      explanation:
        'No window of live queries has ended since 2026-11-20 12:00 UTC. Check the measure-query-coverage and evaluate-density jobs.',
    });
  });

  it('is OK without an incident, with the e-value, and states when no page can fire', () => {
    expect(evaluateDrift(watched)).toMatchObject({ verdict: 'ok', value: 0.01 });
    expect(evaluateDrift({ ...watched, grade: 'provisional' }).explanation).toContain('only ticket alerts can fire');
    expect(evaluateDrift(watched, null).explanation).toBe(
      'Drift not confirmed: coverage of live queries is as good as in the baseline.',
    );
  });

  it('reports suspected drift while the evidence suffices but no alert has fired', () => {
    const { verdict, explanation } = evaluateDrift(watched, 1.3);
    expect(verdict).toBe('ok');
    expect(explanation).toMatch(/^Drift suspected but not confirmed: .* 130 % of the alert threshold\.$/);
  });
});
