import { describe, expect, it } from 'vitest';
import type { ComparedSide } from '../../../../../src/golden/rules/compare-golden-runs.ts';
import type { QueryAnswer } from '../../../../../src/golden/rules/run.ts';
import { changedAnswers } from '../../../../../src/incidents/diagnosis/rules/changed-answers.ts';
import { aFailedAnswer, anAnswer, aRunSettings, documents, goldenQueries } from '../../../../support/builders.ts';

const queries = goldenQueries(10);
const side = (answer: (queryId: string, index: number) => QueryAnswer): ComparedSide => ({
  queries,
  answers: queries.map(({ id }, index) => answer(id, index)),
  settings: aRunSettings(),
});
const right = side((queryId, i) => anAnswer({ queryId, documents: documents(`d${i + 1}`, 'x') }));
const none: ReadonlySet<string> = new Set();

describe('golden answers compared with those of an earlier run', () => {
  it('are unchanged if nothing changed', () => {
    expect(changedAnswers(right, right, none)).toMatchObject({
      answered: 10,
      score: { measure: 'ndcg@10', n: 10, difference: 0, verdict: 'no_change' },
      kept: 1,
      documentsBefore: 11,
      vanished: 0,
      appeared: 0,
    });
  });

  it('exclude failures, which are examined separately', () => {
    const failing = side((queryId, i) =>
      i < 4 ? aFailedAnswer({ queryId }) : anAnswer({ queryId, documents: documents(`d${i + 1}`, 'x') }),
    );
    expect(changedAnswers(right, failing, none)).toMatchObject({
      answered: 6,
      kept: 1,
      score: { difference: 0 },
    });
  });

  it('distinguish vanished documents from new documents', () => {
    const renamed = side((queryId, i) => anAnswer({ queryId, documents: documents(`new${i}`, 'x') }));
    expect(changedAnswers(right, renamed, none)).toMatchObject({
      kept: 0.5,
      vanished: 10,
      appeared: 10,
      score: { difference: -1, verdict: 'regression' },
    });
  });

  it('are not scored if the judged documents are gone', () => {
    const empty = side((queryId) => anAnswer({ queryId, outcome: 'empty', documents: [] }));
    const all = new Set(queries.map(({ id }) => id));
    expect(changedAnswers(right, empty, all)).toMatchObject({
      score: null,
      empty: 10,
      emptyBefore: 0,
      kept: null,
    });
  });

  const full = (index: number) => ['a', 'b', `d${index + 1}`, 'c', 'd', 'e'];
  const long = side((queryId, i) => anAnswer({ queryId, documents: documents(...full(i)) }));
  const changedTo = (ids: (index: number) => readonly string[]) =>
    changedAnswers(
      long,
      side((queryId, i) => anAnswer({ queryId, documents: documents(...ids(i)) })),
      none,
    );

  it('distinguish another order from other documents', () => {
    expect(changedTo((i) => full(i).toReversed())).toMatchObject({ disorder: 1, kept: 1 });
    expect(changedTo((i) => full(i).slice(1))).toMatchObject({ disorder: 0 });
  });

  it('distinguish answers that lost their last documents from answers that lost others', () => {
    expect(changedTo((i) => full(i).slice(0, 2))).toMatchObject({ cut: 1, length: { before: 6, now: 2 } });
    expect(changedTo((i) => full(i).slice(4))).toMatchObject({ cut: 0, length: { before: 6, now: 2 } });
  });

  it('count a document added to many answers as new, but not a renamed document', () => {
    expect(changedTo((i) => ['urn:a', ...full(i).slice(1)]).newcomer.queries).toBe(0);
    const added = changedTo((i) => full(i).with(i % 5, 'constant'));
    expect(added.newcomer.queries).toBe(added.answered);
  });

  it('do not count a document as new if it only moves up into the rank of a vanished one', () => {
    expect(changedTo((i) => [...full(i).filter((id) => id !== 'a'), 'next']).newcomer.queries).toBe(0);
    const above = changedTo((i) => full(i).slice(1).toSpliced(1, 0, 'next'));
    expect(above.newcomer.queries).toBe(above.answered);
  });

  it('count lists whose documents were only pushed down by new ones', () => {
    const below = (above: readonly string[]) => changedTo((i) => [...above, ...full(i)].slice(0, 6)).replaced;
    expect(below(['pinned'])).toMatchObject({ pushed: below(['pinned']).changed });
    expect(below(['pinned', 'also pinned'])).toMatchObject({ pushed: below(['pinned', 'also pinned']).changed });
    expect(below(['pinned']).changed).toBeGreaterThan(0);
    expect(below(['1', '2', '3', '4']).pushed).toBe(0);
    expect(changedTo((i) => [...full(i).slice(1), 'next']).replaced.pushed).toBe(0);
    expect(changedTo((i) => full(i).slice(0, 2)).replaced.pushed).toBe(0);
    expect(changedTo((i) => [...full(i).slice(0, 4), 'x', 'y']).replaced.pushed).toBe(0);
  });

  it('distinguish renamed documents from replaced documents', () => {
    expect(changedTo((i) => full(i).map((id) => `new-${id}`))).toMatchObject({ renamed: 1 });
    expect(changedTo((i) => full(i).map((_, place) => `other-${(7 * i + 5 * place) % 23}`)).renamed).toBeLessThan(0.5);
  });

  it('distinguish documents that all answers lost from documents that only some answers lost', () => {
    expect(changedTo((i) => full(i).filter((id) => id !== 'b'))).toMatchObject({ keptOfThere: 1 });
    expect(changedTo((i) => full(i).filter((id) => id !== (i % 2 === 0 ? 'a' : 'b'))).keptOfThere).toBeLessThan(0.9);
  });

  it('count documents that no query returns any more separately from documents that fewer queries return', () => {
    // Each of a, b, c, d and e was returned for every query.
    expect(changedTo((i) => full(i).filter((id) => id !== 'b')).rarer).toEqual({ documents: 1, gone: 1 });
    expect(changedTo((i) => full(i).filter((id) => id !== 'b' || i % 4 === 0)).rarer).toEqual({
      documents: 1,
      gone: 0,
    });
    expect(changedTo(full).rarer).toEqual({ documents: 0, gone: 0 });
  });

  it('show whether changed lists lost the same documents, as if from a second index, or different ones', () => {
    const half = (i: number, missing: readonly string[]) =>
      i < 6 ? [...full(i).filter((id) => !missing.includes(id)), 'new', 'newer'] : full(i);
    // The first six lists each lost a and b; the other four come from the complete index.
    expect(changedTo((i) => half(i, ['a', 'b'])).dropped).toEqual({ lost: 12, gone: 12 });
    // Each of the six lists lost two documents, but other changed lists contain them.
    expect(
      changedTo((i) =>
        half(
          i,
          [
            ['a', 'b'],
            ['b', 'c'],
            ['c', 'a'],
          ][i % 3] ?? [],
        ),
      ).dropped,
    ).toEqual({
      lost: 12,
      gone: 0,
    });
  });

  it('show that lists lost their top document, unless no query returns that document any more', () => {
    const shifted = (i: number) => ['a', 'b', 'c', 'd'].slice(i % 2).concat('e');
    const before = side((queryId, i) => anAnswer({ queryId, documents: documents(...shifted(i)) }));
    const skipped = side((queryId, i) => anAnswer({ queryId, documents: documents(...shifted(i).slice(1), 'f') }));
    const without = side((queryId, i) =>
      anAnswer({ queryId, documents: documents(...shifted(i).filter((id) => id !== 'a')) }),
    );
    // Lists begin with a or b; b is still returned, but a is not.
    expect(changedAnswers(before, skipped, none).firstGone).toBe(1);
    expect(changedAnswers(before, without, none).firstGone).toBe(0);
  });

  it('have no score if no query was answered in both runs', () => {
    const down = side((queryId) => aFailedAnswer({ queryId }));
    expect(changedAnswers(right, down, none)).toMatchObject({ answered: 0, score: null, kept: null });
  });
});
