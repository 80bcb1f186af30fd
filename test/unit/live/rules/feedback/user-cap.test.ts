import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CapCandidate,
  type CountedHour,
  capDays,
  capSubjectOf,
  defaultFeedbackCaps,
  type FeedbackCaps,
  kindGroups,
  withinCaps,
} from '../../../../../src/live/rules/feedback/user-cap.ts';
import type { OpinionKind } from '../../../../../src/live/rules/live-query.ts';
import { aCandidate, minutesAfterNoon, NOON } from './builders.ts';

const caps: FeedbackCaps = {
  explicit: { per_hour: 2, per_day: 3 },
  engagement: { per_hour: 2, per_day: 3 },
  struggle: { per_hour: 1, per_day: 1 },
};

const capped = (parts: Partial<CapCandidate>) => aCandidate({ caps, ...parts });

/** Candidates with distinct ids. */
function several(count: number, parts: Partial<CapCandidate> = {}): CapCandidate[] {
  return Array.from({ length: count }, (_, i) => capped({ id: `${JSON.stringify(parts)} ${i}`, ...parts }));
}

/** Numbers of feedback items per hour, counting only the items of an earlier batch that were within the cap. */
function countedHours(batch: readonly CapCandidate[], isWithin: readonly boolean[]): CountedHour[] {
  const rows = new Map<string, CountedHour>();
  for (const [index, candidate] of batch.entries()) {
    if (isWithin[index] !== true) continue;
    const hour = new Date(candidate.occurredAt);
    hour.setUTCMinutes(0, 0, 0);
    const row = {
      pipeline: candidate.pipeline,
      subject: capSubjectOf(candidate),
      group: kindGroups[candidate.kind as OpinionKind],
      hour,
    };
    const key = JSON.stringify(row);
    rows.set(key, { ...row, counted: (rows.get(key)?.counted ?? 0) + 1 });
  }
  return [...rows.values()];
}

const aBatch = fc.uniqueArray(
  fc
    .record({
      id: fc.integer({ min: 0, max: 10_000 }).map(String),
      queryId: fc.constantFrom('q1', 'q2'),
      kind: fc.constantFrom('click' as const, 'thumb' as const, 'copy' as const, 'abandonment' as const),
      userHash: fc.constantFrom(null, 'ada'),
      occurredAt: fc.constantFrom(0, 30, 59, 60, 720, 1440).map(minutesAfterNoon),
    })
    .map(capped),
  { maxLength: 40, selector: ({ id }) => id },
);

describe('the cap of a user', () => {
  it('neither applies to citations nor counts them', () => {
    const citations = several(10, { kind: 'citation' });
    const batch = [...citations, ...several(3)];
    expect(withinCaps(batch, [])).toEqual([...citations.map(() => true), true, true, false]);
    expect(capDays(citations)).toEqual([]);
  });

  it('admits feedback up to the limit of an hour', () => {
    expect(withinCaps(several(4), [])).toEqual([true, true, false, false]);
  });

  it('starts again every hour, up to the limit of the day', () => {
    const batch = [...several(4), ...several(3, { occurredAt: minutesAfterNoon(60) })];
    expect(withinCaps(batch, [])).toEqual([true, true, false, false, true, false, false]);
    expect(withinCaps(several(1, { occurredAt: minutesAfterNoon(720) }), [])).toEqual([true]);
  });

  it('includes feedback that was already counted in the same hour and day', () => {
    const row = {
      pipeline: 'support-docs',
      subject: capSubjectOf(aCandidate()),
      group: 'engagement' as const,
    };
    expect(withinCaps(several(2), [{ ...row, hour: NOON, counted: 1 }])).toEqual([true, false]);
    expect(withinCaps(several(1), [{ ...row, hour: minutesAfterNoon(-540), counted: 3 }])).toEqual([false]);
    expect(withinCaps(several(1), [{ ...row, hour: minutesAfterNoon(-540), counted: 2 }])).toEqual([true]);
  });

  it.each([
    ['another user', { userHash: 'hash-of-bob' }],
    ['another group of kinds, so that clicks never crowd out complaints', { kind: 'abandonment' }],
    ['another pipeline', { pipeline: 'intranet' }],
  ] as const)('leaves room for %s', (_what, change) => {
    expect(withinCaps([...several(3), ...several(1, change)], [])).toEqual([true, true, false, true]);
  });

  it('applies to clicks and copies together, over all queries of a user', () => {
    const batch = [capped({ id: 'a' }), capped({ id: 'b', kind: 'copy' }), capped({ id: 'c', queryId: 'q2' })];
    expect(withinCaps(batch, [])).toEqual([true, true, false]);
  });

  it('applies per query to anonymous feedback', () => {
    const batch = [...several(3, { userHash: null }), ...several(1, { userHash: null, queryId: 'q2' })];
    expect(withinCaps(batch, [])).toEqual([true, true, false, true]);
  });

  it('distinguishes a query from a user of the same name', () => {
    const batch = [...several(2, { userHash: 'q1' }), ...several(2, { userHash: null })];
    expect(withinCaps(batch, [])).toEqual([true, true, true, true]);
  });

  it('counts a repeated item of a batch once', () => {
    const [a, b] = [capped({ id: 'a' }), capped({ id: 'b' })];
    expect(withinCaps([a, a, a, b], [])).toEqual([true, true, true, true]);
  });

  it('never exceeds the caps, and does not depend on how feedback is split into batches', () => {
    fc.assert(
      fc.property(aBatch, fc.nat({ max: 40 }), (batch, cut) => {
        const answers = withinCaps(batch, []);
        const first = batch.slice(0, cut);
        const before = countedHours(first, answers.slice(0, cut));
        expect(withinCaps(batch.slice(cut), before)).toEqual(answers.slice(cut));
        const all = countedHours(batch, answers);
        for (const { group, counted } of all) expect(counted).toBeLessThanOrEqual(caps[group].per_hour);
        for (const { pipeline, subject, group, day } of capDays(batch)) {
          const counted = all
            .filter((row) => row.pipeline === pipeline && row.subject === subject && row.group === group)
            .filter(({ hour }) => hour.toISOString().slice(0, 10) === day.toISOString().slice(0, 10))
            .reduce((sum, row) => sum + row.counted, 0);
          expect(counted).toBeLessThanOrEqual(caps[group].per_day);
          expect(counted).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('lists each day and subject of a batch once', () => {
    const batch = [
      ...several(3),
      ...several(2, { userHash: null }),
      ...several(1, { occurredAt: minutesAfterNoon(1440) }),
    ];
    expect(capDays(batch)).toEqual([
      {
        pipeline: 'support-docs',
        subject: '["user","hash-of-ada"]',
        group: 'engagement',
        day: new Date('2026-11-20T00:00:00.000Z'),
      },
      {
        pipeline: 'support-docs',
        subject: '["query","q1"]',
        group: 'engagement',
        day: new Date('2026-11-20T00:00:00.000Z'),
      },
      {
        pipeline: 'support-docs',
        subject: '["user","hash-of-ada"]',
        group: 'engagement',
        day: new Date('2026-11-21T00:00:00.000Z'),
      },
    ]);
  });

  it('stops a script at the hourly limit by default', () => {
    const answers = withinCaps(several(1000, { kind: 'thumb', occurredAt: NOON, caps: defaultFeedbackCaps }), []);
    expect(answers.filter(Boolean)).toHaveLength(defaultFeedbackCaps.explicit.per_hour);
  });
});
