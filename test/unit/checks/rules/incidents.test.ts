import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptedFalsePages } from '../../../../src/checks/rules/false-pages.ts';
import {
  incidentsOf,
  pageStatistics,
  type StandingCheck,
  type VerdictChange,
} from '../../../../src/checks/rules/incidents.ts';
import type { Verdict } from '../../../../src/model.ts';

const atMinute = (minute: number) => new Date(Date.UTC(2026, 10, 20, 0, minute));

describe('pageStatistics', () => {
  it('counts every change to critical, and once what is both unexplained and brief', () => {
    expect(
      pageStatistics([
        { criticalAt: [atMinute(0), atMinute(50)], closedAt: atMinute(60), cause: 'retriever_outage' },
        { criticalAt: [atMinute(0)], closedAt: atMinute(30), cause: 'unknown' },
        { criticalAt: [atMinute(0)], closedAt: null, cause: null },
        { criticalAt: [], closedAt: atMinute(1), cause: null },
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

const HOUR_MS = 3_600_000;
const at = (hour: number) => new Date(Date.UTC(2026, 10, 20, hour));
const from = at(0);
const until = at(24);

function change(hour: number, before: Verdict | null, to: Verdict): VerdictChange {
  const explanation = `${to} at ${hour}`;
  return { check: 'floor', severity: 'critical', from: before, to, occurredAt: at(hour), explanation };
}

const standing = (verdict: Verdict, since: Date): StandingCheck => ({
  name: 'floor',
  severity: 'critical',
  verdict,
  since,
  explanation: 'as it stands',
});

describe('incidentsOf', () => {
  it('tells one incident from the first warning to ok, with the sentence of its worst', () => {
    const changes = [
      change(3, 'ok', 'warning'),
      change(5, 'warning', 'critical'),
      change(6, 'critical', 'no_data'),
      change(7, 'no_data', 'critical'),
      change(9, 'critical', 'ok'),
    ];
    expect(incidentsOf(changes.toReversed(), [], from, until)).toEqual([
      {
        check: 'floor',
        severity: 'critical',
        worst: 'critical',
        openedAt: at(3),
        closedAt: at(9),
        durationMs: 6 * HOUR_MS,
        criticalAt: [at(5), at(7)],
        explanation: 'critical at 5',
      },
    ]);
  });

  it('knows one that was open before, and one that is open still', () => {
    const [still, before] = incidentsOf(
      [change(2, 'critical', 'ok'), change(20, 'ok', 'warning'), change(30, 'warning', 'ok')],
      [],
      from,
      until,
    );
    expect(before).toMatchObject({
      openedAt: null,
      closedAt: at(2),
      criticalAt: [],
      durationMs: 2 * HOUR_MS,
    });
    expect(still).toMatchObject({
      openedAt: at(20),
      closedAt: null,
      worst: 'warning',
      durationMs: 4 * HOUR_MS,
    });
  });

  it('takes a check that never changed for what it is now, and no data for no incident', () => {
    expect(incidentsOf([], [standing('critical', at(-9))], from, until)).toMatchObject([
      { worst: 'critical', openedAt: null, closedAt: null, explanation: 'as it stands' },
    ]);
    expect(incidentsOf([change(30, 'ok', 'critical')], [standing('critical', at(30))], from, until)).toEqual([]);
    expect(incidentsOf([], [standing('no_data', at(-9))], from, until)).toEqual([]);
    expect(incidentsOf([change(3, 'ok', 'no_data')], [], from, until)).toEqual([]);
  });

  it('never has two incidents of a check at once, nor one outside of the time', () => {
    const verdict = fc.constantFrom<Verdict>('ok', 'warning', 'critical', 'no_data');
    fc.assert(
      fc.property(fc.array(verdict, { maxLength: 30 }), (verdicts) => {
        const changes = verdicts.map((to, hour) => change(hour - 3, verdicts[hour - 1] ?? null, to));
        const found = incidentsOf(
          changes.filter(({ occurredAt }) => occurredAt >= from),
          [],
          from,
          until,
        );
        let next = until;
        for (const { openedAt, closedAt, durationMs } of found) {
          const opened = openedAt ?? from;
          expect(opened >= from && (closedAt ?? next) <= next).toBe(true);
          expect(durationMs).toBeGreaterThanOrEqual(0);
          next = opened;
        }
      }),
    );
  });
});
