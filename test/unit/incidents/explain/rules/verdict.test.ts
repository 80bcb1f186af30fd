import { assert, constantFrom, integer, nat, property, subarray, uniqueArray } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankedDocument, Ranking } from '../../../../../src/incidents/explain/rules/outranked.ts';
import {
  explain,
  type SeenDocument,
  type SeenQuestion,
  verdicts,
} from '../../../../../src/incidents/explain/rules/verdict.ts';
import { NOON } from '../../../../support/builders.ts';

const words = ['apple', 'birch', 'cedar', 'daisy', 'elder', 'fern', 'grass', 'hazel', 'iris', 'juniper'];

/** A unique text for each id. */
const textOf = (id: string): string => words.map((word, place) => `${word}${id}${place}`).join(' ');

const documents = (...ids: readonly string[]): RankedDocument[] =>
  ids.map((id, index) => ({ id, score: 1 - index / 100, text: textOf(id) }));

const ranking = (...ids: readonly string[]): Ranking => ({ documents: documents(...ids), problem: null });
const none = (problem: string): Ranking => ({ documents: [], problem });

const numbered = (count: number, prefix = 'o'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);

const noStore: SeenQuestion['store'] = {
  kind: null,
  nearest: none('no store'),
  broad: none('no store'),
  isBroadExact: false,
  shared: null,
  breadth: null,
};

const aStore = (changes: Partial<SeenQuestion['store']> = {}): SeenQuestion['store'] => ({
  kind: 'pgvector',
  nearest: ranking(...numbered(3)),
  broad: ranking(...numbered(50)),
  isBroadExact: true,
  shared: { found: 3, of: 3 },
  breadth: 'hnsw.ef_search',
  ...changes,
});

/** A query for which the retriever returns three documents, none of which is `d`. */
const aQuestion = (changes: Partial<SeenQuestion> = {}): SeenQuestion => ({
  k: 3,
  asked: ranking(...numbered(3)),
  deeper: ranking(...numbered(30)),
  stages: [],
  untagged: null,
  filters: [],
  hubs: new Map(),
  store: aStore(),
  ...changes,
});

const aDocument = (changes: Partial<SeenDocument> = {}): SeenDocument => ({
  id: 'd',
  isStored: true,
  storedAt: null,
  text: null,
  returned: null,
  vector: null,
  changes: [],
  ...changes,
});

describe('the reason why a document was not returned', () => {
  it.each<[what: string, verdict: string, question: Partial<SeenQuestion>, document?: Partial<SeenDocument>]>([
    ['the retriever failed', 'unknown', { asked: none('it returned 500.') }],
    ['the document is returned after all', 'returned', { asked: ranking('o1', 'd') }],
    [
      'a later stage ranks the document lower',
      'reranked_away',
      { stages: [{ name: 'candidates', isSide: false, documents: documents('o9', 'd') }] },
    ],
    [
      'the first stage ranks the document low, and no later stage raises it',
      'below_k',
      { stages: [{ name: 'candidates', isSide: false, documents: documents(...numbered(7), 'd') }] },
    ],
    [
      'a filter stage drops the document',
      'filtered',
      {
        stages: [
          { name: 'candidates', isSide: false, documents: documents('d', 'o1') },
          { name: 'acl_filter', isSide: false, documents: documents('o1') },
        ],
      },
    ],
    [
      'one of two parallel stages ranks the document first, and their fusion ranks it lower',
      'reranked_away',
      {
        stages: [
          { name: 'words', isSide: true, documents: documents('d', 'o1') },
          { name: 'vectors', isSide: true, documents: documents(...numbered(9), 'd') },
        ],
      },
    ],
    ['the tags of the query exclude the document', 'filtered', { untagged: ranking('o1', 'd') }],
    [
      'a retriever that ignores k returns the document below rank k',
      'below_k',
      { asked: ranking(...numbered(5), 'd') },
    ],
    ['a deeper search returns the document', 'below_k', { deeper: ranking(...numbered(12), 'd') }],
    [
      'copies of one text rank above the document',
      'outranked',
      {
        deeper: {
          problem: null,
          documents: [
            ...documents('o1'),
            ...numbered(4, 'copy').map((id) => ({ id, score: 0.9, text: textOf('o1') })),
            ...documents('d'),
          ],
        },
      },
    ],
    [
      'a copy of the document ranks above it',
      'outranked',
      {
        deeper: {
          problem: null,
          documents: [...documents(...numbered(8)), { id: 'twin', score: 0.5, text: textOf('d') }, ...documents('d')],
        },
      },
    ],
    ['no store is configured', 'unknown', { store: noStore }],
    [
      'the retriever uses a different store',
      'unknown',
      { store: aStore({ shared: { found: 0, of: 3 } }) },
      { isStored: false },
    ],
    ['neither the store nor a run ever contained the document', 'not_indexed', {}, { isStored: false }],
    ['the store once contained the document', 'gone', {}, { isStored: false, storedAt: NOON }],
    ['a golden run once returned the document', 'gone', {}, { isStored: false, returned: { runId: 'r1', at: NOON } }],
    ['the index misses the document', 'index_miss', { store: aStore({ broad: ranking('d', ...numbered(50)) }) }],
    [
      'the index misses the document, as a broader search shows',
      'index_miss',
      { store: aStore({ broad: ranking('d', ...numbered(50)), isBroadExact: false }) },
    ],
    [
      'a configured filter may exclude the document',
      'filtered',
      {
        store: aStore({ nearest: ranking('d', 'o1', 'o2'), broad: ranking('d', ...numbered(50)) }),
        filters: ['tenant'],
      },
    ],
    [
      'an unknown step after the store excludes the document',
      'unknown',
      { store: aStore({ nearest: ranking('d', 'o1', 'o2'), broad: ranking('d', ...numbered(50)) }) },
    ],
    ['the document is far from the query', 'below_k', {}],
    ['the document has no vector', 'not_indexed', {}, { vector: 'none' }],
    [
      'a document with a wrong vector comes last in a short result list',
      'not_indexed',
      { deeper: ranking('o1', 'o2', 'o3', 'd') },
      { vector: 'unfit' },
    ],
    [
      'its vector is wrong, and the retriever does not rank by the vectors of the store',
      'below_k',
      { deeper: ranking('o1', 'o2', 'o3', 'd'), store: aStore({ nearest: ranking(...numbered(3, 'x')) }) },
      { vector: 'unfit' },
    ],
    [
      'its vector is right, but it ranks below k',
      'below_k',
      { deeper: ranking('o1', 'o2', 'o3', 'd') },
      { vector: 'fits' },
    ],
    ['other documents are nearer', 'below_k', { store: aStore({ broad: ranking(...numbered(20), 'd') }) }],
    [
      'the retriever does not rank by the vectors of the store',
      'unknown',
      { store: aStore({ nearest: ranking(...numbered(3, 'x')), broad: ranking('d', ...numbered(50, 'x')) }) },
    ],
    ['the store cannot be searched', 'unknown', { store: aStore({ nearest: none('There is no embedder.') }) }],
  ])('is found if %s: %s', (_, verdict, question, document = {}) => {
    const explained = explain(aQuestion(question), aDocument(document));
    expect(explained.verdict).toBe(verdict);
    expect(explained.evidence.every((sentence) => /^\S.*\.$/.test(sentence))).toBe(true);
  });

  it('names the last run that returned the document, and the changes since then', () => {
    const { evidence } = explain(
      aQuestion(),
      aDocument({
        isStored: false,
        returned: { runId: 'run-7', at: NOON },
        changes: [{ kind: 'index', version: 'v12', at: NOON }],
      }),
    );
    expect(evidence.join(' ')).toMatch(/run-7 still returned the document\. Deployments since then: index v12 at /);
  });

  it('names possible chunks of the document under other ids, but not documents with similar ids', () => {
    const { evidence } = explain(
      aQuestion({ asked: ranking('kb-17#1', 'kb-17#2', 'kb-170') }),
      aDocument({ id: 'kb-17', isStored: false }),
    );
    expect(evidence).toContain('Chunks of the document may be stored under other ids: kb-17#1, kb-17#2.');
  });

  it('states the rank in each stage, and counts each document once', () => {
    const { stages } = explain(
      aQuestion({ stages: [{ name: 'candidates', isSide: false, documents: documents('o1', 'o1', 'd') }] }),
      aDocument(),
    );
    expect(stages).toEqual([{ name: 'candidates', rank: 2, score: 0.98 }]);
  });

  it('states that the document is returned if and only if it is, whatever the other evidence', () => {
    const pool = [...numbered(12), 'd'];
    const lists = uniqueArray(constantFrom(...pool), { maxLength: 13 }).map((ids) => ranking(...ids));
    assert(
      property(
        lists,
        lists,
        lists,
        lists,
        subarray(pool),
        integer({ min: 1, max: 5 }),
        nat(1),
        (a, b, c, d, e, k, stored) => {
          const question = aQuestion({
            k,
            asked: a,
            deeper: b,
            store: aStore({ nearest: c, broad: d }),
            stages: [{ name: 'candidates', isSide: false, documents: documents(...e) }],
          });
          const { verdict, rank } = explain(question, aDocument({ isStored: stored === 1 }));
          const place = a.documents.findIndex(({ id }) => id === 'd');
          expect(verdicts).toContain(verdict);
          expect(verdict === 'returned').toBe(place >= 0 && place < k);
          if (place >= 0) expect(rank).toBe(place + 1);
        },
      ),
    );
  });
});

describe('what outranks a document', () => {
  const english = (id: string) =>
    `You can change the address of your order on the account page before it has been sent to you by us, number ${textOf(id)}`;
  const german = (id: string) =>
    `Sie können die Anschrift Ihrer Bestellung auf der Seite Ihres Kontos ändern, bevor sie verschickt wurde: ${id} ${id}a ${id}b ${id}c ${id}d ${id}e ${id}f ${id}g ${id}h`;
  const listed = (id: string, text: string | null): RankedDocument => ({ id, score: null, text });
  const explained = (above: readonly RankedDocument[], own: RankedDocument, hubs: ReadonlyMap<string, number>) =>
    explain(
      aQuestion({ deeper: { documents: [...above, own], problem: null }, hubs }),
      aDocument({ id: own.id, text: own.text }),
    );

  it.each<[by: string | null, above: readonly RankedDocument[], own: RankedDocument, hubs?: readonly string[]]>([
    ['version', [...documents('o1', 'o2'), listed('d-v3', null), ...documents('o4')], listed('d-v2', textOf('d'))],
    ['near_duplicates', [...documents('o1', 'o2', 'o3'), listed('copy', textOf('d'))], listed('d', textOf('d'))],
    ['hubs', documents('o1', 'h1', 'o3', 'h2'), listed('d', textOf('d')), ['h1', 'h2']],
    [null, documents('o1', 'h1', 'o3', 'o4', 'o5'), listed('d', textOf('d')), ['h1']],
    ['language', numbered(4).map((id) => listed(id, german(id))), listed('d', english('d'))],
    [null, numbered(4).map((id) => listed(id, english(id))), listed('d', english('d'))],
    [null, [...documents('o1', 'o2'), listed('d-v3', textOf('x')), ...documents('o4')], listed('d-v2', textOf('d'))],
  ])('is %s', (by, above, own, hubs = []) => {
    const found = explained(above, own, new Map(hubs.map((id) => [id, 0.4])));
    expect(found).toMatchObject({ verdict: by === null ? 'below_k' : 'outranked', outrankedBy: by });
  });
});
