import { expect, it } from 'vitest';
import { commonNewcomer, foreignLists } from '../../../../../src/incidents/diagnosis/rules/foreign-lists.ts';

const listOf = (query: number): string[] => Array.from({ length: 10 }, (_, place) => `d${query}-${place}`);
const queries = Array.from({ length: 20 }, (_, query) => query);
const same = { text: 'q', old: ['a', 'b', 'c'], now: ['a', 'b', 'c'] };

it('counts queries that get the list that another query got before', () => {
  const lists = queries.map((query) => ({
    text: `q${query}`,
    old: listOf(query),
    now: listOf(query < 6 ? query + 6 : query),
  }));
  expect(foreignLists(lists, [])).toEqual({ compared: 20, foreign: 6, usual: 0 });
});

it('excludes a list that several queries share if no query had this list before', () => {
  const lists = queries.map((query) => ({
    text: `q${query}`,
    old: listOf(query),
    now: query < 5 ? listOf(99) : listOf(query),
  }));
  expect(foreignLists(lists, [])).toMatchObject({ foreign: 0 });
});

it('compares truncated lists with the beginnings of the earlier lists', () => {
  const cut = queries.map((query) => ({ text: `q${query}`, old: listOf(query), now: listOf(query).slice(0, 3) }));
  expect(foreignLists(cut, [])).toMatchObject({ compared: 20, foreign: 0, usual: 0 });
  const foreign = queries.map((query) => ({
    text: `q${query}`,
    old: listOf(query),
    now: listOf((query + 1) % 20).slice(0, 3),
  }));
  expect(foreignLists(foreign, [])).toMatchObject({ foreign: 20 });
});

it('counts queries with the same earlier list separately, and does not treat them as a fault', () => {
  expect(foreignLists([same, same], [])).toMatchObject({ compared: 2, foreign: 0, usual: 2 });
});

it('counts lists of live queries with other texts, but not of live queries with the same text', () => {
  const lists = queries.map((query) => ({
    text: `Query ${query}?`,
    old: listOf(query),
    now: query < 6 ? listOf(100 + query) : listOf(query),
  }));
  const live = (textOf: (query: number) => string) =>
    queries.map((query) => ({ text: textOf(query), documentIds: listOf(100 + query).slice(0, 5) }));
  expect(
    foreignLists(
      lists,
      live((query) => `Another query ${query}`),
    ).foreign,
  ).toBe(6);
  expect(
    foreignLists(
      lists,
      live((query) => `query ${query}`),
    ).foreign,
  ).toBe(0);
});

it('compares a longer list of a live query down to the depth of the golden list', () => {
  const lists = queries.map((query) => ({
    text: `q${query}`,
    old: listOf(query).slice(0, 5),
    now: query < 6 ? listOf(100 + query).slice(0, 5) : listOf(query).slice(0, query < 8 ? 3 : 5),
  }));
  const live = (ids: (query: number) => string[]) =>
    queries.map((query) => ({ text: `another ${query}`, documentIds: ids(query) }));
  expect(
    foreignLists(
      lists,
      live((query) => listOf(100 + query)),
    ).foreign,
  ).toBe(6);
  // A list that only begins in the same way is a different list.
  const sameBeginning = live((query) => [...listOf(100 + query).slice(0, 3), 'x', 'y']);
  expect(foreignLists(lists, sameBeginning).foreign).toBe(0);
});

it('treats a different order as a different list, and ignores lists of two documents', () => {
  const reversed = queries.map((query) => ({ text: `q${query}`, old: listOf(query), now: listOf(query).toReversed() }));
  expect(foreignLists(reversed, [])).toMatchObject({ foreign: 0 });
  expect(
    foreignLists(
      [
        { text: 'q1', old: ['a', 'b'], now: ['c', 'd'] },
        { text: 'q2', old: ['c', 'd'], now: ['c', 'd'] },
      ],
      [],
    ),
  ).toMatchObject({ compared: 0, foreign: 0, usual: 0 });
});

it('counts the queries that return the same new document, and the usual number of such queries', () => {
  const lists = queries.map((query) => ({
    old: listOf(query),
    now: query < 5 ? ['hub', ...listOf(query)] : listOf(query),
  }));
  expect(commonNewcomer(lists)).toEqual({ queries: 5, usual: 5 / 200 });
  const gaining = lists.map(({ old }, query) => ({
    old: query < 20 ? ['hub', ...old] : old,
    now: query < 24 ? ['hub', ...old] : old,
  }));
  expect(commonNewcomer(gaining).queries).toBe(0);
  expect(commonNewcomer([])).toEqual({ queries: 0, usual: 0 });
});
