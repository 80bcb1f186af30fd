import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  costOf,
  estimateTokens,
  estimateTotal,
  promptIdentity,
  queryMessages,
  queryProblem,
  queryStyle,
  repairMessages,
  stratifiedOrder,
} from '../../../../src/golden/rules/generation.ts';
import { matrixOf } from '../../../../src/math/vector/matrix.ts';

describe('the order of chunks', () => {
  const topics = (sizes: readonly number[]) =>
    matrixOf(
      sizes.flatMap((size, topic) =>
        Array.from({ length: size }, (_, i) =>
          Float32Array.from({ length: 4 }, (__, axis) => (axis === topic ? 1 : 0.02 * ((i * (axis + 3)) % 5))),
        ),
      ),
    );

  it('contains every chunk once, and is the same for the same seed', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { minLength: 1, maxLength: 4 }), fc.nat(1000), (sizes, seed) => {
        const rows = topics(sizes);
        const order = stratifiedOrder(rows, seed);
        expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: rows.rows }, (_, i) => i));
        expect(stratifiedOrder(rows, seed)).toEqual(order);
      }),
      { numRuns: 30 },
    );
  });

  it('represents a small topic proportionally among the first chunks, whatever the order of the store', () => {
    const order = stratifiedOrder(topics([300, 100]), 3);
    const small = order.slice(0, 100).filter((row) => row >= 300).length;
    // The expected number is 25 of 100; each of about 14 clusters may be off by one.
    expect(small).toBeGreaterThanOrEqual(18);
    expect(small).toBeLessThanOrEqual(32);
  });
});

describe('the style of a generated query', () => {
  it('varies, and is the same for the same seed and position', () => {
    const styles = Array.from({ length: 60 }, (_, place) => JSON.stringify(queryStyle(place, 1)));
    expect(new Set(styles).size).toBeGreaterThan(30);
    expect(JSON.stringify(queryStyle(7, 1))).toBe(styles[7]);
    expect(queryStyle(7, 2)).not.toEqual(queryStyle(7, 1));
  });
});

describe('a generated query', () => {
  const chunk = 'Refunds are paid within fourteen days to the card that was used for the payment of the order.';

  it.each([
    ['How long does it take until I get my money back?', null],
    ['refund time credit card', null],
    ['Are refunds paid within fourteen days to the card?', 'quotes_chunk'],
    ['What does the passage say about refunds?', 'points_at_text'],
    ['According to the article, when is money returned?', 'points_at_text'],
    ['What is described in this short document?', 'points_at_text'],
    ['Was sagt dieser Text, im Text steht was?', 'points_at_text'],
    ['Que dit le document sur le remboursement ?', 'points_at_text'],
    ['Which rules are listed above?', 'points_at_text'],
    ['How do I change the text of my advert?', null],
    ['Which page of the catalogue shows lamps?', null],
    ['What is the section of a beam?', null],
    ['Refund', 'unfit_length'],
    ['word '.repeat(61), 'unfit_length'],
  ])('"%s" has the problem %s', (question, problem) => {
    expect(queryProblem(question, chunk)).toBe(problem);
  });
});

describe('the prompt', () => {
  const style = { persona: 'a tester', manner: 'key words', length: '3 words' };

  it('contains the source, truncated to a maximum length, and the style', () => {
    const [, user] = queryMessages('x'.repeat(10_000), style);
    expect(user?.content).toContain('a tester');
    expect(user?.content.length).toBeLessThan(6200);
  });

  it('for a repair contains the invalid answer and its error', () => {
    const messages = repairMessages(queryMessages('source', style), 'nonsense', 'it was cut off');
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(messages[3]?.content).toContain('it was cut off');
  });

  it('has an identity that does not depend on chunk and style', () => {
    expect(promptIdentity()).toBe(promptIdentity());
    expect(promptIdentity()).toContain('golden_question');
  });
});

describe('the estimated cost', () => {
  it('is the sum of the input and output tokens at their prices', () => {
    expect(costOf({ input: 2_000_000, output: 500_000 }, { input: 0.4, output: 1.6 })).toBeCloseTo(1.6, 12);
  });

  it('is too high rather than too low: it assumes more tokens than English text has, and even more for other scripts', () => {
    expect(estimateTokens(['How do I reset my password?'])).toBeGreaterThan(7);
    expect(estimateTokens(['配送状況を確認するには'])).toBeGreaterThan(estimateTokens(['abcdefghijk']));
    expect(estimateTokens([])).toBe(0);
  });

  it('grows with the length of the chunks', () => {
    expect(estimateTotal(100, [200, 400])).toEqual({ input: 51_000, output: 8500 });
    expect(estimateTotal(100, [])).toEqual({ input: 0, output: 8500 });
  });
});
