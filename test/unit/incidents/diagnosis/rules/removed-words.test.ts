import { describe, expect, it } from 'vitest';
import type { ComparedSide } from '../../../../../src/golden/rules/compare-golden-runs.ts';
import { changedQueries, wordEffects } from '../../../../../src/incidents/diagnosis/rules/removed-words.ts';
import { aGoldenQuery, anAnswer, aRunSettings, documents } from '../../../../support/builders.ts';

/** Finds the documents that are named after the words of a text, last word first. */
const search = (text: string): string[] =>
  text
    .split(' ')
    .toReversed()
    .map((word) => `about-${word}`);

const others = ['v', 'w', 'x', 'y', 'z'];

const texts = Array.from({ length: 12 }, (_, n) => `which city${n} has river${n} and old bridge${n} today`);

const sideOf = (find: (text: string, index: number) => readonly string[], all = texts): ComparedSide => ({
  queries: all.map((text, index) => aGoldenQuery({ id: `q${index}`, text })),
  answers: all.map((text, index) => anAnswer({ queryId: `q${index}`, documents: documents(...find(text, index)) })),
  settings: aRunSettings(),
});

/** Effects of removed words if the retriever returned the results of `search` before, and returns those of `find` now. */
function effectsOf(find: (text: string) => readonly string[], all = texts) {
  const queries = changedQueries(sideOf(search, all), sideOf(find, all));
  const requests = queries.flatMap((query) => query.requests);
  return wordEffects(queries, new Map(requests.map((request) => [request, find(request.text)])));
}

describe('the queries that are sent without one of their words', () => {
  it('are those whose results changed most, with up to six of their words', () => {
    const now = sideOf((text, index) => (index < 10 ? [`other-${index}`] : search(text)));
    const queries = changedQueries(sideOf(search), now);
    expect(queries).toHaveLength(8);
    expect(queries[0]?.requests.map(({ text }) => text)).toEqual([
      'which city0 has river0 and old bridge0 today',
      'city0 has river0 and old bridge0 today',
      'which has river0 and old bridge0 today',
      'which city0 has and old bridge0 today',
      'which city0 has river0 old bridge0 today',
      'which city0 has river0 and old today',
      'which city0 has river0 and old bridge0',
      'which city0 has river0 and old bridge0 today',
    ]);
  });

  it('have at least four words, and had results before and after', () => {
    const all = ['one two three', 'one two three four'];
    expect(
      changedQueries(
        sideOf(search, all),
        sideOf(() => ['b'], all),
      ),
    ).toHaveLength(1);
    expect(
      changedQueries(
        sideOf(search),
        sideOf(() => []),
      ),
    ).toEqual([]);
    expect(changedQueries(sideOf(search), sideOf(search))).toEqual([]);
  });
});

describe('words that are removed from queries with changed results', () => {
  it('have no effect near the end if the retriever truncates queries', () => {
    const effects = effectsOf((text) => [...search(text.slice(0, 12)), ...others]);
    expect(effects).toEqual({
      asked: 8,
      varying: 0,
      recovered: 0,
      changed: 8,
      startIgnored: 0,
      endIgnored: 8,
      restored: 0,
    });
  });

  it('have no effect at all if the retriever ignores the query', () => {
    expect(effectsOf(() => others)).toEqual({
      asked: 8,
      varying: 0,
      recovered: 0,
      changed: 8,
      startIgnored: 8,
      endIgnored: 8,
      restored: 0,
    });
  });

  it('are not counted as ignored if the retriever returns only a few documents', () => {
    expect(effectsOf(() => ['x', 'y'])).toMatchObject({ changed: 8, startIgnored: 0, endIgnored: 0 });
  });

  it('restore the earlier results if only the exact text gets wrong results, as from a cache', () => {
    const cached = new Set(texts);
    const effects = effectsOf((text) => (cached.has(text) ? others : search(text)));
    expect(effects).toEqual({
      asked: 8,
      varying: 0,
      recovered: 0,
      changed: 8,
      startIgnored: 0,
      endIgnored: 0,
      restored: 8,
    });
  });

  it('are counted only for queries whose results are still changed, and only with a response to each request', () => {
    const queries = changedQueries(
      sideOf(search),
      sideOf(() => others),
    );
    const [first, second] = queries;
    const recovered = queries.flatMap(({ requests }) => requests).map((one) => [one, search(one.text)] as const);
    expect(wordEffects(queries, new Map(recovered))).toMatchObject({ asked: 8, changed: 0 });
    const answered = [...(first?.requests ?? []), ...(second?.requests ?? []).slice(1)];
    expect(wordEffects(queries, new Map(answered.map((one) => [one, others])))).toMatchObject({
      asked: 1,
      changed: 1,
    });
  });

  it('are no evidence if the results of the same query vary', () => {
    let calls = 0;
    const effects = effectsOf(() => [`x${(calls += 1)}`]);
    expect(effects).toMatchObject({ asked: 8, varying: 8, recovered: 0 });
  });

  it('are no evidence if only some calls get the changed results', () => {
    const queries = changedQueries(
      sideOf(search),
      sideOf(() => others),
    );
    const requests = queries.flatMap((query) => query.requests);
    let calls = 0;
    const found = requests.map((one) => [one, (calls += 1) % 2 === 0 ? search(one.text) : others] as const);
    expect(wordEffects(queries, new Map(found))).toMatchObject({ asked: 8, varying: 0, recovered: 8 });
  });

  it('are compared as documents if the ids of chunks are judged as documents', () => {
    const queries = changedQueries(
      sideOf(search),
      sideOf(() => others),
    );
    const requests = queries.flatMap((query) => query.requests);
    const found = new Map(requests.map((one, place) => [one, others.map((id) => `${id}#${place}`)]));
    expect(wordEffects(queries, found)).toMatchObject({ startIgnored: 0 });
    expect(wordEffects(queries, found, '#')).toMatchObject({ startIgnored: 8 });
  });
});
