import { describe, expect, it } from 'vitest';
import type { ComparedSide } from '../../../../../src/golden/rules/compare-golden-runs.ts';
import { olderAnswers, repeatedAnswers } from '../../../../../src/incidents/diagnosis/rules/answers-alike.ts';
import { anAnswer, aRunSettings, documents, goldenQueries, NOON } from '../../../../support/builders.ts';

const queries = goldenQueries(20);
const side = (answer: (index: number) => readonly string[]): ComparedSide => ({
  queries,
  answers: queries.map(({ id: queryId }, index) => anAnswer({ queryId, documents: documents(...answer(index)) })),
  settings: aRunSettings(),
});
const list = (name: string, index: number) => ['a', 'b', 'c', 'd'].map((place) => `${name}${index}${place}`);
const good = side((index) => list('good', index));

describe('two consecutive bad runs', () => {
  it('repeat if the same fault occurs in the same way', () => {
    const bad = side((index) => list(index < 12 ? 'bad' : 'good', index));
    expect(repeatedAnswers(good, bad, bad)).toEqual({ changed: 12, inOne: 0, back: 0, alike: 12, unlike: 0 });
  });

  it('alternate if a query is sometimes answered as before', () => {
    const first = side((index) => list(index % 2 === 0 ? 'bad' : 'good', index));
    const second = side((index) => list(index % 4 < 2 ? 'bad' : 'good', index));
    expect(repeatedAnswers(good, first, second)).toEqual({ changed: 15, inOne: 10, back: 5, alike: 5, unlike: 0 });
  });

  it('are distinguished from a repair, after which all results are restored', () => {
    const bad = side((index) => list(index < 12 ? 'bad' : 'good', index));
    expect(repeatedAnswers(good, bad, good)).toEqual({ changed: 12, inOne: 12, back: 12, alike: 0, unlike: 0 });
  });

  it('exclude empty answers, which do not come from another index', () => {
    const first = side((index) => (index % 2 === 0 ? [] : list('good', index)));
    expect(repeatedAnswers(good, first, good)).toMatchObject({ changed: 0 });
  });

  it('differ if each has its own results', () => {
    const [first, second] = [side((index) => list('one', index)), side((index) => list('other', index))];
    expect(repeatedAnswers(good, first, second)).toMatchObject({ changed: 20, unlike: 20 });
  });

  it('are inconclusive if all changes happened between the two runs', () => {
    const second = side((index) => list(index < 12 ? 'new' : 'good', index));
    expect(repeatedAnswers(good, good, second)).toBeNull();
  });

  it('are the same if only the last documents of long answers vary', () => {
    const wavering = side((index) => [...list('good', index).slice(0, 3), 'z', 'y'].slice(0, 4));
    const longer = side((index) => [...list('good', index), 'e', 'f', 'g']);
    const waveringLonger = side((index) => [...list('good', index), 'e', 'f', 'h']);
    expect(repeatedAnswers(longer, waveringLonger, longer)).toMatchObject({ changed: 0 });
    expect(repeatedAnswers(good, wavering, good)).toMatchObject({ changed: 20 });
  });
});

it('finds the much older run whose answers match the current ones', () => {
  const old = side((index) => list(index < 10 ? 'old' : 'good', index));
  const older = [
    { at: NOON, side: good },
    { at: new Date(0), side: old },
  ];
  expect(olderAnswers(older, good, old)).toEqual({
    at: new Date(0),
    withNow: 1,
    withReference: 0.5,
    referenceWithNow: 0.5,
  });
});
