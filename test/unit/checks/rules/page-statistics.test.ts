import { describe, expect, it } from 'vitest';
import { acceptedFalsePages } from '../../../../src/checks/rules/false-pages.ts';
import { pageStatistics } from '../../../../src/checks/rules/incidents.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 0, minute));

describe('pageStatistics', () => {
  it('counts every change to critical, and once what is both unexplained and brief', () => {
    expect(
      pageStatistics([
        { criticalAt: [at(0), at(50)], closedAt: at(60), cause: 'retriever_outage' },
        { criticalAt: [at(0)], closedAt: at(30), cause: 'unknown' },
        { criticalAt: [at(0)], closedAt: null, cause: null },
        { criticalAt: [], closedAt: at(1), cause: null },
      ]),
    ).toEqual({ pages: 4, unexplained: 2, brief: 2, suspect: 3 });
  });
});

describe('acceptedFalsePages', () => {
  it('is the share of the budget that falls into the span', () => {
    const day = 86_400_000;
    expect(acceptedFalsePages({ count: 2, periodMs: 28 * day }, 7 * day)).toBe(0.5);
  });
});
