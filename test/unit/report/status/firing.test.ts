import { describe, expect, it } from 'vitest';
import { shownBy } from '../../../../src/incidents/diagnosis/edge/pages/diagnosis.ts';
import { updateTimelines } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import { hrefOf } from '../../../../src/report/console/links.ts';
import { firingPanel, firingTitle, headlineOf, verdictBadges } from '../../../../src/report/status/firing.ts';
import type { PipelineStatus } from '../../../../src/report/status/pipeline-status.ts';
import { terminalText } from '../../../../src/report/terminal.ts';
import { anAlert, anIncident, NOON } from '../../../support/builders.ts';
import { aCheckState } from '../../../support/check-states.ts';

describe('the headline of a firing pipeline', () => {
  const scores = anAlert({ name: 'a score', headline: 'nDCG@10 on faq 0, below 0.7' });
  const outage = anAlert({ name: 'an outage', headline: 'retriever down (HTTP 503)' });
  const slow = anAlert({ name: 'a delay', severity: 'warning', headline: 'p95 latency 900 ms, above 500 ms' });
  const status: PipelineStatus = {
    pipeline: 'docs',
    state: 'critical',
    reasons: [],
    unknowns: [],
    alerts: [slow, scores, outage],
    checks: [],
    golden: [],
    measurements: [],
  };
  const incidentOf = (...alerts: (typeof scores)[]) => anIncident({ timeline: updateTimelines([], alerts, NOON) });

  it('is that of the first critical alert of the incident', () => {
    expect(headlineOf(status, incidentOf(outage, scores))).toBe('Retriever down (HTTP 503)');
    expect(headlineOf(status, incidentOf(scores, outage))).toBe('nDCG@10 on faq 0, below 0.7');
  });

  it('is that of a critical alert if the incident is not open yet', () => {
    expect(headlineOf(status, null)).toBe('nDCG@10 on faq 0, below 0.7');
  });

  it('is that of a critical alert even if the incident began with a warning', () => {
    expect(headlineOf(status, incidentOf(slow))).not.toContain('p95 latency');
  });
});

describe('the card of a firing pipeline', () => {
  const late = { verdict: 'no_data', sentence: 'Live traffic has not been measured yet.' } as const;
  const slow = anAlert({ name: 'a delay', severity: 'warning', headline: 'p95 latency 900 ms, above 500 ms' });
  const status: PipelineStatus = {
    pipeline: 'docs',
    state: 'no_data',
    reasons: [late, { verdict: 'warning', sentence: 'a delay: too long.' }],
    unknowns: [],
    alerts: [slow],
    checks: [],
    golden: [],
    measurements: [],
  };
  const incident = anIncident({ severity: 'warning', timeline: updateTimelines([], [slow], NOON) });
  const at = new Date(NOON.getTime() + 60_000);

  it('states that a warning fires and which data is missing, because either alone would mislead', () => {
    expect(terminalText(verdictBadges(status, incident), at)).toMatch(/Warning.*No data/);
    expect(terminalText(firingPanel(status, incident, true), at)).toContain(`No data: ${late.sentence}`);
    expect(terminalText(verdictBadges({ ...status, state: 'warning' }, incident), at)).not.toContain('No data');
  });

  it('keeps the alert of the open incident if missing data hides whether the alert still fires', () => {
    const stale = { ...status, alerts: [], reasons: [late] };
    const text = terminalText(firingPanel(stale, incident, true), at);
    expect(text).toMatch(/^P95 latency 900 ms, above 500 ms since 2026-11-20 12:00/i);
    expect(text).toContain(`No data: ${late.sentence}`);
    expect(terminalText(verdictBadges(stale, incident), at)).toMatch(/Warning.*No data/);
    expect(firingTitle(stale, incident)).toBe('Last known alert');
    expect(terminalText(firingPanel(stale, incident, false), at)).toContain(`No data: ${late.sentence}`);
    expect(headlineOf(stale, null)).toBe(late.sentence);
    expect(firingTitle(stale, null)).toBe('No data');
    // The incident is still open for a few seconds after its check passes.
    const checks = [aCheckState({ name: slow.name, verdict: 'ok' })];
    expect(headlineOf({ ...stale, checks }, incident)).toBe(late.sentence);
  });

  it('shows the time of the first bad measurement, as notifications do, not the time of the confirmation', () => {
    const breachedSince = new Date(NOON.getTime() - 3_600_000);
    const check = aCheckState({ name: slow.name, verdict: 'warning', since: NOON, breachedSince });
    const text = terminalText(firingPanel({ ...status, checks: [check] }, incident, true), at);
    expect(text).toContain('since 2026-11-20 11:00');
    expect(terminalText(firingPanel(status, incident, true), at)).toContain('since 2026-11-20 12:00');
  });
});

describe('the link to the evidence for an incident', () => {
  const ofAlert = (parts: Parameters<typeof anAlert>[0], rest: Parameters<typeof anIncident>[0] = {}) => {
    const found = shownBy(anIncident({ ...rest, timeline: updateTimelines([], [anAlert(parts)], NOON) }));
    return found === null ? null : hrefOf(found, undefined);
  };
  const score = { measured: { measure: 'ndcg@10', segment: 'golden_set=faq' } };

  it('leads to the queries that dropped, failed, or have outdated judgments', () => {
    expect(ofAlert(score)).toContain('view=regressed');
    expect(ofAlert({ measured: { measure: 'retriever_error_ratio', segment: 'all' } })).toContain('view=failed');
    for (const state of ['superseded', 'deleted'] as const) {
      const signs = [{ name: 'gone_documents', state, sentence: '', from: null, n: null }] as const;
      expect(ofAlert(score, { cause: 'golden_labels', signs })).toContain('view=stale');
    }
  });

  it('leads to topics, live queries and answers if no golden query shows the incident', () => {
    expect(ofAlert({ goldenSet: null }, { cause: 'uncovered_topic' })).toContain('/density#topics');
    expect(ofAlert({ goldenSet: null, measured: { measure: 'live_hit_rate', segment: 'all' } })).toContain(
      '/incidents/7#live-queries',
    );
    expect(ofAlert({ goldenSet: null, rule: 'RecalldIsolationViolated' })).toContain('/traffic#isolation');
  });

  it('is absent if no page lists such queries', () => {
    expect(ofAlert({ measured: { measure: 'retriever_latency_p95_seconds', segment: 'all' } })).toBeNull();
    expect(ofAlert({ goldenSet: null })).toBeNull();
  });
});
