import { assert, constantFrom, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causes, causeTexts } from '../../../../src/diagnosis/rules/cause.ts';
import { rankCauses } from '../../../../src/diagnosis/rules/diagnose.ts';
import { type Sign, signNames, signStates } from '../../../../src/diagnosis/rules/signs.ts';
import { weightOf, weights } from '../../../../src/diagnosis/rules/weights.ts';

const aSign = (name: Sign['name'], state: string): Sign => ({ name, state, sentence: 'It was so.' }) as Sign;

/** Any signs that can be read together. */
const anySigns = record(
  Object.fromEntries(signNames.map((name) => [name, constantFrom<string>(...signStates[name])])),
  {
    requiredKeys: [],
  },
).map((states) => Object.entries(states).map(([name, state]) => aSign(name as Sign['name'], String(state))));

describe('causes that are ranked by signs', () => {
  it('are unknown without a sign', () => {
    expect(rankCauses([])).toMatchObject({ cause: 'unknown', confidence: 'low' });
  });

  it('have probabilities that sum to 1, the likeliest first, whatever is seen', () => {
    assert(
      property(anySigns, (signs) => {
        const { ranked } = rankCauses(signs);
        const probabilities = ranked.map(({ probability }) => probability);
        expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
        expect(probabilities).toEqual(probabilities.toSorted((a, b) => b - a));
        expect(new Set(ranked.map(({ cause }) => cause))).toEqual(new Set(causes));
      }),
    );
  });

  it('are never named with trust unless a strong sign of their own was seen', () => {
    assert(
      property(anySigns, (signs) => {
        const { cause, confidence, probability } = rankCauses(signs);
        if (cause === 'unknown') {
          expect(confidence).toBe('low');
          return;
        }
        const strongest = Math.max(...signs.map((sign) => weightOf(sign, cause)));
        expect(strongest).toBeGreaterThanOrEqual({ high: 3, medium: 2.5, low: 2 }[confidence]);
        expect(probability).toBeGreaterThan(confidence === 'high' ? 0.9 - 1e-12 : 0.5);
      }),
    );
  });

  it('do not depend on the order of the signs', () => {
    assert(
      property(anySigns, (signs) => {
        const [one, other] = [rankCauses(signs), rankCauses(signs.toReversed())];
        expect(other.cause).toBe(one.cause);
        expect(other.probability).toBeCloseTo(one.probability, 12);
      }),
    );
  });

  it('are not told by what merely fits them', () => {
    const fitting = [aSign('score', 'steady'), aSign('results', 'intact'), aSign('documents', 'same')];
    expect(rankCauses(fitting)).toMatchObject({ cause: 'unknown' });
  });

  it('keep what speaks for and against them apart', () => {
    const { ranked } = rankCauses([aSign('ann_recall', 'fell'), aSign('labels', 'many_gone')]);
    expect(ranked.find(({ cause }) => cause === 'index_parameters')).toMatchObject({
      supporting: [{ name: 'ann_recall' }],
      opposing: [{ name: 'labels' }],
    });
  });

  it('refuse a sign that was read twice', () => {
    expect(() => rankCauses([aSign('canary', 'same'), aSign('canary', 'changed')])).toThrow(RangeError);
  });
});

describe('the table of weights', () => {
  it('has a state of each sign that speaks for each cause', () => {
    const spokenFor = new Set(
      Object.values(weights).flatMap((states) =>
        Object.values(states).flatMap((row: Readonly<Record<string, number>>) =>
          Object.entries(row).flatMap(([cause, weight]) => (weight >= 3 ? [cause] : [])),
        ),
      ),
    );
    expect(spokenFor).toEqual(new Set(causes.filter((cause) => cause !== 'unknown')));
  });

  it('stays within 5 nats', () => {
    const all = Object.values(weights).flatMap((states) =>
      Object.values(states).flatMap((row) => Object.values(row)),
    );
    for (const weight of all) expect(Math.abs(weight)).toBeLessThanOrEqual(5);
  });

  it('leads to causes that have something to do', () => {
    for (const cause of causes) expect(causeTexts[cause].action).toMatch(/\.$/);
  });
});
