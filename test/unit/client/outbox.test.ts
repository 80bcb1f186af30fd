import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Outbox } from '../../../src/client/outbox.ts';

interface Numbered {
  readonly id: number;
  readonly bytes: number;
}

const records = (count: number, bytes = 10, from = 0): Numbered[] =>
  Array.from({ length: count }, (_, i) => ({ id: from + i, bytes }));

const ids = (taken: readonly Numbered[]): number[] => taken.map(({ id }) => id);

function filled(limits: { maxItems: number; maxBytes: number }, content: readonly Numbered[]) {
  const outbox = new Outbox<Numbered>(limits);
  const dropped = content.map((record) => outbox.push(record)).reduce((sum, count) => sum + count, 0);
  return { outbox, dropped };
}

describe('a full outbox', () => {
  it('drops the oldest item when it has too many', () => {
    const { outbox, dropped } = filled({ maxItems: 3, maxBytes: 1000 }, records(8));
    expect(dropped).toBe(5);
    expect(ids(outbox.take(10, 1000))).toEqual([5, 6, 7]);
  });

  it('drops enough of the oldest items to fit the bytes of the new one', () => {
    const { outbox, dropped } = filled({ maxItems: 100, maxBytes: 100 }, [...records(10), { id: 10, bytes: 35 }]);
    expect(dropped).toBe(4);
    expect(ids(outbox.take(10, 1000))).toEqual([4, 5, 6, 7, 8, 9, 10]);
  });

  it('drops the new item if all other items are being sent', () => {
    const { outbox } = filled({ maxItems: 3, maxBytes: 1000 }, records(3));
    const underWay = outbox.take(3, 1000);
    expect(outbox.push({ id: 3, bytes: 10 })).toBe(1);
    expect(outbox.pending).toBe(3);
    outbox.release(underWay);
    expect(outbox.push({ id: 4, bytes: 10 })).toBe(0);
    expect(ids(outbox.take(3, 1000))).toEqual([4]);
  });
});

describe('a batch', () => {
  it('stops before the record that would make it too large', () => {
    const { outbox } = filled({ maxItems: 10, maxBytes: 1000 }, records(5));
    expect(ids(outbox.take(10, 35))).toEqual([0, 1, 2]);
    expect(ids(outbox.take(10, 35))).toEqual([3, 4]);
  });

  it('contains a single record if the record is larger than a batch', () => {
    const { outbox } = filled({ maxItems: 10, maxBytes: 1000 }, [{ id: 0, bytes: 500 }, ...records(1, 10, 1)]);
    expect(ids(outbox.take(10, 35))).toEqual([0]);
  });

  it('that is put back keeps its order', () => {
    const { outbox } = filled({ maxItems: 10, maxBytes: 1000 }, records(5));
    outbox.putBack(outbox.take(3, 1000));
    expect(ids(outbox.take(10, 1000))).toEqual([0, 1, 2, 3, 4]);
  });
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('push' as const), bytes: fc.integer({ min: 1, max: 50 }) }),
  fc.record({
    kind: fc.constantFrom('take' as const, 'release' as const, 'putBack' as const, 'clear' as const),
  }),
);

it('an outbox stays within its limits, keeps the order, and counts every record', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const limits = { maxItems: 6, maxBytes: 120 };
      const outbox = new Outbox<Numbered>(limits);
      let underWay: Numbered[] = [];
      let pushed = 0;
      let gone = 0;
      const released: number[] = [];
      for (const action of steps) {
        if (action.kind === 'push') {
          gone += outbox.push({ id: pushed, bytes: action.bytes });
          pushed += 1;
        } else if (action.kind === 'clear') {
          gone += outbox.clear();
          underWay = [];
        } else if (action.kind === 'take' && underWay.length === 0) {
          underWay = outbox.take(3, 60);
          const taken = [...released, ...ids(underWay)];
          expect(taken).toEqual([...new Set(taken)].toSorted((a, b) => a - b));
        } else if (action.kind === 'release') {
          gone += underWay.length;
          released.push(...ids(underWay));
          outbox.release(underWay.splice(0));
        } else if (action.kind === 'putBack') {
          outbox.putBack(underWay.splice(0));
        }
        expect(outbox.pending).toBeLessThanOrEqual(limits.maxItems);
        expect(outbox.pendingBytes).toBeLessThanOrEqual(limits.maxBytes);
        expect(outbox.pending).toBe(pushed - gone);
        expect([outbox.pushed, outbox.done]).toEqual([pushed, gone]);
      }
      outbox.clear();
      expect([outbox.pendingBytes, outbox.waitingBytes]).toEqual([0, 0]);
    }),
  );
});
