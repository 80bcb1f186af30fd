import { describe, expect, it } from 'vitest';
import { checkAnswers } from '../../../../src/golden/rules/run-failure.ts';
import { aGoldenQuery, anAnswer, documents } from '../../../support/builders.ts';

const queries = Array.from({ length: 6 }, (_, index) =>
  aGoldenQuery({
    id: `q${index}`,
    judgments: [
      { documentId: `doc-aside-${index}`, grade: 0 },
      { documentId: `doc-reset-${index}`, grade: 2 },
    ],
  }),
);

/** Returns the results of all queries: each query returns these ids, with the query's index appended to each id. */
function answers(...ids: readonly string[]) {
  return queries.map(({ id }, index) =>
    anAnswer({ queryId: id, documents: documents(...ids.map((one) => `${one}-${index}`)) }),
  );
}

describe('warnings about a mistake in the config or the golden set', () => {
  it('are empty if judged documents are returned and the retriever returns as many documents as requested', () => {
    const [first, ...others] = answers('kb-reset', 'kb-aside');
    const one = anAnswer({ queryId: 'q0', documents: documents('x', 'doc-reset-0') });
    expect(first).toBeDefined();
    expect(checkAnswers(queries, [one, ...others], 2)).toEqual({ ids: null, depth: null });
  });

  it('report that no returned document is judged, with an example of a judged and a returned id', () => {
    expect(checkAnswers(queries, answers('kb-reset', 'kb-aside'), 2)).toEqual({
      ids: 'None of the 12 returned documents is judged: the set has "doc-reset-0", and the retriever returned "kb-reset-0"; they differ in the prefix ("doc", "kb"). If both ids name the same document, fix either the ids in the set or the config option retriever.results.id.',
      depth: null,
    });
  });

  it('report judged ids that the retriever returns in a different form, even if it returns others unchanged', () => {
    const others = answers('DOC_RESET', 'doc-aside').slice(1);
    const one = anAnswer({ queryId: 'q0', documents: documents('doc-reset-0') });
    expect(checkAnswers(queries, [...others, one], 2).ids).toBe(
      '5 judged documents were never returned, but documents with similar ids were: the set has "doc-reset-1", and the retriever returned "DOC_RESET-1"; they differ in case and hyphens and underscores. If both ids name the same document, fix either the ids in the set or the config option retriever.results.id.',
    );
    const two = answers('doc-reset').map((one, i) =>
      i < 2 ? { ...one, documents: documents(`DOC-RESET-${i}`) } : one,
    );
    expect(checkAnswers(queries, two, 1).ids).toBeNull();
  });

  it('report a retriever that returns fewer documents than requested, after enough answers', () => {
    const short = answers('doc-reset', 'doc-aside', 'other');
    expect(checkAnswers(queries, short, 10)).toEqual({
      ids: null,
      depth:
        'recalld requested 10 documents, but the retriever never returned more than 3. Check that the request contains {{k}} and that the retriever has no limit of its own, or lower golden[].cutoffs.',
    });
    expect(checkAnswers(queries, short.slice(0, 4), 10).depth).toBeNull();
  });

  it('are empty if all answers are empty or missing, which is reported elsewhere', () => {
    const nothing = queries.map(({ id }) => anAnswer({ queryId: id, outcome: 'empty', documents: [] }));
    expect(checkAnswers(queries, nothing, 10)).toEqual({ ids: null, depth: null });
    expect(checkAnswers(queries, [], 10)).toEqual({ ids: null, depth: null });
  });
});
