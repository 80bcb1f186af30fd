import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toWire } from '../../../../src/platform/http/wire.ts';

const schema = z.object({
  run_id: z.string(),
  started_at: z.iso.datetime(),
  ci_low: z.number().nullable(),
  by_segment: z.record(z.string(), z.object({ golden_set: z.string() })),
  queries: z.array(z.object({ query_id: z.string(), too_old: z.boolean().optional() })),
});

const inside = {
  runId: 'r1',
  startedAt: new Date('2026-03-01T12:00:00Z'),
  ciLow: null,
  bySegment: { course_id: { goldenSet: 'faq' } },
  queries: [{ queryId: 'q1', tooOld: false }, { queryId: 'q2' }],
};

describe('the wire form of a value', () => {
  it('has the field names of its schema, dates as text, and unchanged keys of records', () => {
    expect(toWire(schema, inside)).toEqual({
      run_id: 'r1',
      started_at: '2026-03-01T12:00:00.000Z',
      ci_low: null,
      by_segment: { course_id: { golden_set: 'faq' } },
      queries: [{ query_id: 'q1', too_old: false }, { query_id: 'q2' }],
    });
  });

  it('is accepted by its schema', () => {
    expect(schema.safeParse(JSON.parse(JSON.stringify(toWire(schema, inside)))).success).toBe(true);
  });

  it('has no field that the schema does not name', () => {
    const holder = { ...inside, text: 'what a user asked', queries: [{ queryId: 'q1', userHash: 'secret' }] };
    const wire = JSON.stringify(toWire(schema, holder));
    expect(wire).not.toContain('what a user asked');
    expect(wire).not.toContain('secret');
  });

  it('is rejected for an object whose schema does not name its fields', () => {
    expect(() => toWire(z.object({ note: z.unknown() }), { note: { any: 1 } })).toThrow('no wire form');
  });
});
