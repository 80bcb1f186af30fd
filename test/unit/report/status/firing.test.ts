import { describe, expect, it } from 'vitest';
import { updateTimelines } from '../../../../src/incidents/diagnosis/rules/incident.ts';
import { headlineOf } from '../../../../src/report/status/firing.ts';
import { anAlert, anIncident, NOON } from '../../../support/builders.ts';

describe('the headline of a firing pipeline', () => {
  const scores = anAlert({ name: 'a score', headline: 'nDCG@10 on faq 0, below 0.7' });
  const outage = anAlert({ name: 'an outage', headline: 'retriever down (HTTP 503)' });
  const slow = anAlert({ name: 'a delay', severity: 'warning', headline: 'p95 latency 900 ms, above 500 ms' });
  const status = {
    pipeline: 'docs',
    state: 'critical',
    reasons: [],
    unknowns: [],
    alerts: [slow, scores, outage],
    checks: [],
    golden: [],
    measurements: [],
  } as const;
  const incidentOf = (...alerts: (typeof scores)[]) => anIncident({ timeline: updateTimelines([], alerts, NOON) });

  it('is that of the alert that leads the page and the messages of the incident', () => {
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
