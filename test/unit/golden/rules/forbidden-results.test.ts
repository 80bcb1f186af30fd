import { array, assert, constantFrom, property, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import { confirmForbidden, forbiddenResults, forbids } from '../../../../src/golden/rules/forbidden-results.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { parseRules } from '../../../../src/live/rules/isolation.ts';

function query(id: string, forbidden?: readonly string[]): GoldenQuery {
  return { id, text: id, tags: {}, judgments: [], ...(forbidden === undefined ? {} : { forbidden }) };
}

function answer(queryId: string, ids: readonly string[] | 'timeout'): QueryAnswer {
  const common = { queryId, latencyMs: 1, attempts: 1, errorCode: null, errorMessage: null };
  if (ids === 'timeout') return { ...common, outcome: 'timeout', documents: [] };
  return { ...common, outcome: ids.length === 0 ? 'empty' : 'ok', documents: ids.map((id) => ({ id, score: null })) };
}

describe('a forbidden document', () => {
  it('is specified by its id or by a prefix of its id', () => {
    expect(forbids(['d1', 'tenant-b/*'], 'tenant-b/7')).toBe('tenant-b/*');
    expect(forbids(['d1', 'tenant-b/*'], 'd1')).toBe('d1');
    expect(forbids(['d1', 'tenant-b/*'], 'd10')).toBeNull();
    expect(forbids(['a*b'], 'a*b')).toBe('a*b');
    expect(forbids(['a*b'], 'axb')).toBeNull();
  });

  it('is found at its first rank, only in the queries that forbid it', () => {
    const queries = [query('q1', ['b/*']), query('q2'), query('q3', ['a/1'])];
    const answers = [answer('q3', ['b/1', 'a/2']), answer('q2', ['b/1']), answer('q1', ['a/1', 'b/2', 'b/1', 'b/2'])];
    expect(forbiddenResults(queries, answers)).toEqual([
      { queryId: 'q1', documentId: 'b/2', rank: 2 },
      { queryId: 'q1', documentId: 'b/1', rank: 3 },
    ]);
  });
});

describe('a second request', () => {
  const queries = [query('q1', ['bad']), query('q2', ['bad']), query('q3')];

  it('confirms the forbidden documents that are returned again, at any rank, and drops the others', () => {
    const first = [answer('q1', ['good', 'bad']), answer('q2', ['bad'])];
    const again = [answer('q1', ['bad', 'good']), answer('q2', ['good'])];
    expect(confirmForbidden(queries, first, again)).toEqual({
      asked: 2,
      failed: 0,
      confirmed: [{ queryId: 'q1', documentId: 'bad', rank: 2 }],
      unconfirmed: 0,
    });
  });

  it('that fails leaves the forbidden documents of the first request unconfirmed', () => {
    const first = [answer('q1', ['bad']), answer('q2', 'timeout')];
    expect(confirmForbidden(queries, first, [answer('q1', 'timeout')])).toEqual({
      asked: 1,
      failed: 1,
      confirmed: [],
      unconfirmed: 1,
    });
  });

  it('confirms a document only when both answers contain it', () => {
    const ids = uniqueArray(constantFrom('a', 'b', 'c', 'bad'), { maxLength: 4 });
    assert(
      property(array(ids, { minLength: 2, maxLength: 2 }), ([one = [], two = []]) => {
        const { confirmed } = confirmForbidden(queries, [answer('q1', one)], [answer('q1', two)]);
        expect(confirmed.length).toBe(one.includes('bad') && two.includes('bad') ? 1 : 0);
      }),
    );
  });
});

describe('isolation rules of the pipeline', () => {
  const rules = parseRules([{ name: 'tenants', segment: 'tenant', field: null, allow: ['{{tenant}}/*', 'public/*'] }]);
  const ofTenant = (id: string, tags: GoldenQuery['tags']): GoldenQuery => ({ id, text: id, tags, judgments: [] });

  it('forbid documents for golden queries that have the tag of the segment, and for no others', () => {
    const queries = [ofTenant('q1', { tenant: 'a' }), ofTenant('q2', {}), ofTenant('q3', { tenant: '' })];
    const answers = queries.map(({ id }) => answer(id, ['a/1', 'b/1', 'public/1']));
    expect(forbiddenResults(queries, answers, rules)).toEqual([{ queryId: 'q1', documentId: 'b/1', rank: 2 }]);
    expect(confirmForbidden(queries, answers, answers, rules)).toMatchObject({ asked: 1, unconfirmed: 0 });
  });
});

describe('a forbidden pattern with a tag', () => {
  it('matches the tag value of the query, and matches nothing if the query lacks the tag', () => {
    expect(forbids(['{{tenant}}/secret/*'], 'a/secret/1', { tenant: 'a' })).toBe('{{tenant}}/secret/*');
    expect(forbids(['{{tenant}}/secret/*'], 'b/secret/1', { tenant: 'a' })).toBeNull();
    expect(forbids(['{{tenant}}*'], 'b/secret/1', {})).toBeNull();
  });
});
