import { describe, expect, it } from 'vitest';
import { acceptedFalsePages } from '../../../../../src/checks/rules/false-pages.ts';
import { pageStatistics } from '../../../../../src/incidents/diagnosis/rules/incident.ts';
import { anIncident } from '../../../../support/builders.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 0, minute));

function pagedIncident(cause: 'retriever_outage' | 'unknown', criticalAt: readonly Date[], endedAt: Date | null) {
  return anIncident({ cause, timeline: anIncident().timeline.map((alert) => ({ ...alert, criticalAt, endedAt })) });
}

describe('page counts in a period', () => {
  it('include each change to critical, and count a page that is both unexplained and brief once', () => {
    const incidents = [
      pagedIncident('retriever_outage', [at(0), at(50)], at(60)),
      pagedIncident('unknown', [at(0)], at(30)),
      pagedIncident('unknown', [at(0)], null),
      pagedIncident('retriever_outage', [], at(1)),
    ];
    expect(pageStatistics(incidents, at(0), at(60))).toEqual({ pages: 4, unexplained: 2, brief: 2, suspect: 3 });
  });

  it('exclude pages before or after the period', () => {
    const incidents = [pagedIncident('unknown', [at(0), at(50)], at(60))];
    expect(pageStatistics(incidents, at(1), at(50))).toMatchObject({ pages: 0 });
  });
});

describe('the number of accepted false pages', () => {
  it('is the budget in proportion to the length of the period', () => {
    const day = 86_400_000;
    expect(acceptedFalsePages({ count: 2, periodMs: 28 * day }, 7 * day)).toBe(0.5);
  });
});
