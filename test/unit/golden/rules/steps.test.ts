import { describe, expect, it } from 'vitest';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import { noStatistics } from '../../../../src/golden/rules/compare-golden-runs.ts';
import { forbiddenResults } from '../../../../src/golden/rules/forbidden-results.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { askInSteps, rankingsOf, returnedWithin } from '../../../../src/golden/rules/steps.ts';
import { aFailedAnswer, aGoldenQuery, anAnswer, aRunSettings, documents } from '../../../support/builders.ts';

const never = new AbortController().signal;
const none = new Set<string>();

const query = aGoldenQuery({
  text: 'Who founded the company that made the PET?',
  steps: ['Which company made the PET?', 'Who founded Commodore?'],
  judgments: [
    { documentId: 'pet', grade: 1 },
    { documentId: 'tramiel', grade: 1 },
  ],
});

/** Returns the results for each text from the table `found`; null or no entry means a failure. */
async function ask(found: Readonly<Record<string, readonly string[] | null>>, of = query) {
  const asked: string[] = [];
  const answer = await askInSteps(of, async ({ text }): Promise<QueryAnswer> => {
    asked.push(text);
    const ids = found[text] ?? null;
    if (ids === null) return aFailedAnswer({ latencyMs: 40 });
    return anAnswer({
      outcome: ids.length === 0 ? 'empty' : 'ok',
      documents: documents(...ids),
      latencyMs: 10 * (ids.length + 1),
      context: { characters: 100 * ids.length, repeated: 0.1 },
    });
  });
  return { asked, answer };
}

const [first = '', second = ''] = query.steps ?? [];

describe('a golden query with steps', () => {
  it('sends its steps in order instead of its text, and records the step of each document', async () => {
    const { asked, answer } = await ask({ [first]: ['pet', 'x'], [second]: ['tramiel'] });
    expect(asked).toEqual([first, second]);
    expect(answer.documents.map(({ id, step }) => [id, step])).toEqual([
      ['pet', 1],
      ['tramiel', 2],
      ['x', 1],
    ]);
    expect(rankingsOf(answer.documents).map((ranking) => ranking.map(({ id }) => id))).toEqual([
      ['pet', 'x'],
      ['tramiel'],
    ]);
    expect(answer).toMatchObject({ outcome: 'ok', latencyMs: 30, attempts: 2, context: { characters: 300 } });
  });

  it('fails with the step and its error as soon as one step fails, and sends no further step', async () => {
    const { asked, answer } = await ask({ [first]: null, [second]: ['tramiel'] });
    expect(asked).toEqual([first]);
    expect(answer).toMatchObject({ outcome: 'error', documents: [], errorCode: 'http_500' });
    expect(answer.errorMessage).toBe('Step 1 of 2: it returned 500');
  });

  it('is empty only if every step is empty', async () => {
    expect((await ask({ [first]: [], [second]: [] })).answer.outcome).toBe('empty');
    const half = await ask({ [first]: [], [second]: ['tramiel'] });
    expect(half.answer.outcome).toBe('ok');
    expect(rankingsOf(half.answer.documents)).toHaveLength(2);
  });

  it('sends its text, and leaves the answer unchanged, if its steps are removed', async () => {
    const { steps: _, ...plain } = query;
    const { asked, answer } = await ask({ [plain.text]: ['pet'] }, plain);
    expect(asked).toEqual([plain.text]);
    expect(answer.documents).toEqual(documents('pet'));
  });

  it('adds union_recall and all_found to the scores of all queries of its set', async () => {
    const { answer } = await ask({ [first]: ['pet', 'x'], [second]: ['y', 'tramiel'] });
    const single = aGoldenQuery({ id: 'q2', judgments: [{ documentId: 'd2', grade: 1 }] });
    const answers = [answer, anAnswer({ queryId: 'q2', documents: documents('x', 'd2') })];
    const { scores } = await statistics.scoreRun(
      [query, single],
      answers,
      aRunSettings({ cutoffs: [1, 2] }),
      none,
      never,
    );
    const mean = (measure: string, k: number) => scores.find((one) => one.measure === measure && one.k === k);
    expect(mean('union_recall', 1)).toMatchObject({ mean: 0.25, n: 2 });
    expect(mean('union_recall', 2)).toMatchObject({ mean: 1 });
    expect(mean('all_found', 1)).toMatchObject({ mean: 0, n: 2, ciMethod: 'wilson' });
    expect(mean('all_found', 2)).toMatchObject({ mean: 1 });
  });

  it('is required for union measures, which would repeat recall in a set without steps', async () => {
    const { scores } = await statistics.scoreRun([aGoldenQuery()], [anAnswer()], aRunSettings(), none, never);
    expect(scores.map(({ measure }) => measure)).not.toContain('union_recall');
  });

  it('is compared by the union of its results, and only with a query that has the same steps', async () => {
    const queries = Array.from({ length: 12 }, (_, i) => ({ ...query, id: `q${i}` }));
    const answersOf = (...found: (readonly [string, number])[]) =>
      queries.map(({ id }) =>
        anAnswer({ queryId: id, documents: found.map(([name, step]) => ({ id: name, score: 1, step })) }),
      );
    const settings = aRunSettings({ cutoffs: [5] });
    const before = { queries, answers: answersOf(['pet', 1], ['tramiel', 2]), settings };
    const after = { queries, answers: answersOf(['pet', 1], ['pet', 2]), settings };
    const differences = await statistics.compareRuns(before, after, none, noStatistics, never);
    expect(differences?.find(({ key }) => key.measure === 'all_found')).toMatchObject({
      difference: -1,
      verdict: 'regression',
      mcnemarP: expect.any(Number),
    });
    const others = queries.map((one) => ({ ...one, steps: ['another question'] }));
    const incomparable = { ...after, queries: others };
    expect(await statistics.compareRuns(before, incomparable, none, noStatistics, never)).toBeNull();
  });

  it('reports a forbidden document at its best rank in any step', async () => {
    const { answer } = await ask({ [first]: ['pet', 'x', 'secret'], [second]: ['secret'] });
    expect(forbiddenResults([{ ...query, forbidden: ['secret'] }], [answer])).toEqual([
      { queryId: 'q1', documentId: 'secret', rank: 1 },
    ]);
  });

  it('counts a document as returned within k if any step returns the document in its first k', async () => {
    const { answer } = await ask({ [first]: ['pet', 'x'], [second]: ['y', 'tramiel'] });
    expect([...returnedWithin(answer.documents, 1)].toSorted()).toEqual(['pet', 'y']);
  });
});
