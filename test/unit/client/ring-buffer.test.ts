import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { RingBuffer } from '../../../src/client/ring-buffer.ts';

const operations = fc.array(fc.constantFrom('push', 'unshift', 'shift'), { maxLength: 60 });

it('gives back what it holds in order, whatever is added and removed at either end', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), operations, (capacity, steps) => {
      const buffer = new RingBuffer<number>(capacity);
      const model: number[] = [];
      for (const [i, step] of steps.entries()) {
        const hasRoom = model.length < capacity;
        const expected = step === 'shift' ? model.shift() : hasRoom ? void model[step](i) : 'full';
        expect(step === 'shift' ? buffer.shift() : tryTo(() => buffer[step](i))).toBe(expected);
        expect(buffer.length).toBe(model.length);
        expect(buffer.first).toBe(model[0]);
      }
    }),
  );
});

function tryTo(add: () => void): string | undefined {
  try {
    add();
    return undefined;
  } catch (error) {
    return error instanceof RangeError ? 'full' : 'broken';
  }
}
