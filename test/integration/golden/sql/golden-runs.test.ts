import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunStatus } from '../../../../src/core/model.ts';
import type { NewRun, QueryAnswer } from '../../../../src/golden/rules/run.ts';
import { createGoldenRuns, type GoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { aFailedAnswer, anAnswer, noLabels } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import {
  aDifference,
  anEnd,
  aRun,
  createRun,
  floor,
  type GoldenStores,
  importSet,
  minutes,
  ndcg,
  nine,
} from '../../../support/golden-runs.ts';

const database = useDatabase();
const open = (): GoldenStores => ({
  runs: createGoldenRuns(database.pool),
  sets: createGoldenSets(database.pool),
});
const runs = (): GoldenRuns => open().runs;
const create = (run: Partial<NewRun> = {}): Promise<NewRun> => createRun(open(), run);
const idsOf = async (filter: Parameters<GoldenRuns['list']>[0]): Promise<string[]> =>
  (await runs().list(filter)).map(({ id }) => id);

describe('a new run', () => {
  it('is running and has the settings with which it was created', async () => {
    const run = await create({ trigger: 'schedule', scheduledFor: minutes(-1) });
    expect(await runs().find(run.id)).toEqual({
      ...run,
      status: 'running',
      reason: null,
      warnings: [],
      finishedAt: null,
      queriesTotal: 1,
      fingerprints: {},
      labels: noLabels,
      forbidden: null,
      noAnswer: null,
      stages: null,
      answersDeletedAt: null,
    });
  });

  it('is not found by an id that does not exist', async () => {
    expect(await runs().find('no-such-run')).toBeNull();
  });

  it('is created once per tick, however many schedulers tick at once', async () => {
    await importSet(open(), 'faq');
    const tick = { pipeline: 'ticking', trigger: 'schedule', scheduledFor: nine } as const;
    const created = await Promise.all(Array.from({ length: 20 }, () => runs().create(aRun(tick))));
    expect(created.filter(Boolean)).toHaveLength(1);
    expect(await runs().list({ pipeline: 'ticking', limit: 100 })).toHaveLength(1);
  });

  it('is created for each tick, each pipeline and each set', async () => {
    const tick = { pipeline: 'several', trigger: 'schedule', scheduledFor: nine } as const;
    await create(tick);
    await create({ ...tick, scheduledFor: minutes(60) });
    await create({ ...tick, goldenSet: 'other' });
    await create({ ...tick, pipeline: 'several-more' });
    expect(await runs().create(aRun(tick))).toBe(false);
  });

  it('is created manually any number of times', async () => {
    await importSet(open(), 'faq');
    const created = await Promise.all(Array.from({ length: 5 }, () => runs().create(aRun({ pipeline: 'by-hand' }))));
    expect(created).toEqual([true, true, true, true, true]);
  });
});

describe('the lease of a run', () => {
  it('is held by one worker, which may renew it, and refused to another', async () => {
    const { id } = await create();
    expect(await runs().hold(id, 'worker-a', 60)).toBe(true);
    expect(await runs().hold(id, 'worker-b', 60)).toBe(false);
    expect(await runs().hold(id, 'worker-a', 60)).toBe(true);
  });

  it('is claimed by exactly one of many concurrent workers', async () => {
    const { id } = await create();
    const held = await Promise.all(Array.from({ length: 10 }, (_, index) => runs().hold(id, `worker-${index}`, 60)));
    expect(held.filter(Boolean)).toHaveLength(1);
  });

  it('is taken over when it has expired, and then refused to the previous holder', async () => {
    const { id } = await create();
    await runs().hold(id, 'worker-a', -1);
    expect(await runs().hold(id, 'worker-b', 60)).toBe(true);
    expect(await runs().hold(id, 'worker-a', 60)).toBe(false);
  });

  it('is free at once when its holder releases it', async () => {
    const { id } = await create();
    await runs().hold(id, 'worker-a', 60);
    await runs().release(id, 'worker-a');
    expect(await runs().hold(id, 'worker-b', 60)).toBe(true);
  });

  it('is not released by another worker', async () => {
    const { id } = await create();
    await runs().hold(id, 'worker-a', 60);
    await runs().release(id, 'worker-b');
    expect(await runs().hold(id, 'worker-b', 60)).toBe(false);
  });

  it('is refused when the run has ended or does not exist', async () => {
    const { id } = await create();
    await runs().finish(id, anEnd());
    expect(await runs().hold(id, 'worker-a', 60)).toBe(false);
    expect(await runs().hold('no-such-run', 'worker-a', 60)).toBe(false);
  });
});

describe('the answers of a run', () => {
  it('are stored unchanged, including missing scores and failures', async () => {
    const { id } = await create();
    const answers = [
      anAnswer({
        queryId: 'q1',
        documents: [
          { id: 'a', score: 1 },
          { id: 'b', score: null },
          { id: 'c', score: -0.5 },
        ],
      }),
      anAnswer({ queryId: 'q2', documents: [{ id: 'a', score: null }] }),
      anAnswer({ queryId: 'q3', outcome: 'empty', documents: [] }),
      anAnswer({ queryId: 'q4', outcome: 'timeout', documents: [], latencyMs: 2000, attempts: 3 }),
      anAnswer({
        queryId: 'q5',
        outcome: 'error',
        documents: [],
        latencyMs: null,
        attempts: 0,
        errorCode: 'http_500',
        errorMessage: `it said "no", and 'why'?\n\\`,
      }),
    ];
    await runs().saveAnswers(id, answers);
    expect(byQuery(await runs().answers(id))).toEqual(byQuery(answers));
    expect(await runs().outcomes(id)).toEqual({ ok: 2, empty: 1, error: 1, timeout: 1 });
  });

  it('are returned in the order in which they were stored, with a summary of the failures', async () => {
    const { id } = await create();
    expect(await runs().failure(id)).toBeNull();
    const reset = aFailedAnswer({ queryId: 'q9', errorCode: 'connection_reset', errorMessage: 'It hung up.' });
    await runs().saveAnswers(id, [anAnswer({ queryId: 'q5' }), reset, aFailedAnswer({ queryId: 'q8' })]);
    await runs().saveAnswers(id, [aFailedAnswer({ queryId: 'q1' })]);
    expect((await runs().answers(id)).map(({ queryId }) => queryId)).toEqual(['q5', 'q9', 'q8', 'q1']);
    expect(await runs().failure(id)).toEqual({
      message: 'It hung up.',
      code: 'connection_reset',
      queries: 1,
      others: 2,
      notAsked: 0,
      total: 4,
    });
  });

  it('are stored with exact text and numbers, including duplicates of a document', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anyAnswer, { selector: (answer) => answer.queryId }), async (answers) => {
        const { id } = await create();
        await runs().saveAnswers(id, answers);
        expect(byQuery(await runs().answers(id))).toEqual(byQuery(answers));
      }),
      { numRuns: 40 },
    );
  });

  it('are stored when a text is truncated within a character', async () => {
    const { id } = await create();
    const answer = anAnswer({ documents: [{ id: 'half \uD83D', score: 1 }], errorMessage: '\uDE00' });
    await runs().saveAnswers(id, [answer]);
    expect(await runs().answers(id)).toEqual([
      { ...answer, documents: [{ id: 'half \uFFFD', score: 1 }], errorMessage: '\uFFFD' },
    ]);
  });

  it('never replace an earlier answer to the same query', async () => {
    const { id } = await create();
    const first = anAnswer({ documents: [{ id: 'first', score: 1 }] });
    await runs().saveAnswers(id, [first]);
    await runs().saveAnswers(id, [anAnswer({ documents: [{ id: 'second', score: 1 }] }), anAnswer({ queryId: 'q2' })]);
    expect(byQuery(await runs().answers(id))).toEqual(byQuery([first, anAnswer({ queryId: 'q2' })]));
    expect(await runs().outcomes(id)).toEqual({ ok: 2, empty: 0, error: 0, timeout: 0 });
  });

  it('are counted once when several workers save the same answers at once', async () => {
    const { id } = await create();
    const answers = Array.from({ length: 200 }, (_, index) => anAnswer({ queryId: `q${index}` }));
    const orders = [answers, answers.toReversed(), answers, answers.toReversed()];
    await Promise.all(orders.map((order) => runs().saveAnswers(id, order)));
    expect(await runs().outcomes(id)).toEqual({ ok: 200, empty: 0, error: 0, timeout: 0 });
  });

  it('may be empty', async () => {
    const { id } = await create();
    await runs().saveAnswers(id, []);
    expect(await runs().answers(id)).toEqual([]);
    expect(await runs().outcomes(id)).toEqual({ ok: 0, empty: 0, error: 0, timeout: 0 });
  });
});

describe('the end of a run', () => {
  it('stores its status, scores and checks', async () => {
    const { id, ...run } = await create();
    const scores = [ndcg, { ...ndcg, measure: 'mrr' }, { ...ndcg, segment: 'language=de', mean: 0, ciLow: 0 }] as const;
    const checks = [floor, { ...floor, name: 'mrr@10 below 0.5 on faq', verdict: 'no_data', value: null }] as const;
    const warnings = ['None of the 6 returned documents is judged: the set has "d1", {the retriever} kb-1.'];
    expect(await runs().finish(id, anEnd({ warnings, scores, checks, segmentsOverflow: 3 }))).toBe(true);
    expect(await runs().find(id)).toEqual({
      ...run,
      id,
      status: 'completed',
      reason: null,
      warnings,
      finishedAt: minutes(2),
      queriesTotal: 1,
      fingerprints: {},
      labels: noLabels,
      forbidden: null,
      noAnswer: null,
      stages: null,
      answersDeletedAt: null,
    });
    expect(new Set(await runs().scores(id))).toEqual(new Set(scores));
    expect(new Set(await runs().checks(id))).toEqual(new Set(checks));
  });

  it('stores the label report and the comparisons with other runs unchanged', async () => {
    const pipeline = 'compared';
    const before = await create({ pipeline, startedAt: minutes(-10) });
    const { id } = await create({ pipeline });
    const labels = {
      kind: 'probed',
      probed: 3,
      stale: 2,
      deleted: 1,
      lost: 0,
      labels: [
        { queryId: 'q1', documentId: 'd1', grade: 2, fate: 'superseded' },
        { queryId: 'q1', documentId: 'd2', grade: 2, fate: 'deleted' },
      ],
      touched: new Set(['q1']),
      dead: new Set(['q1']),
    } as const;
    const comparisons = [
      {
        kind: 'baseline',
        against: before.id,
        differences: [aDifference(), aDifference({ segment: 'language=de' })],
      },
      { kind: 'deployment', against: before.id, differences: [aDifference({ t: null, mcnemarP: 0.5 })] },
    ] as const;
    const fingerprints = { index: 'abc', embedder: 'def' };
    await runs().finish(before.id, anEnd());
    await runs().finish(id, anEnd({ labels, comparisons, fingerprints }));
    expect(await runs().find(id)).toMatchObject({
      fingerprints,
      labels: { probed: 3, stale: 2, deleted: 1, lost: 0, deadQueries: 1, gap: null },
    });
    expect(await runs().comparisons(id)).toEqual(comparisons);
    expect(await runs().staleLabels(id)).toEqual(labels.labels);
    expect(await runs().comparedWithBaseline(pipeline, 'faq', 1, 5)).toEqual([
      { runId: id, baselineRunId: before.id, metrics: [aDifference()] },
    ]);
    expect(await runs().comparedWithBaseline(pipeline, 'faq', 1, 0)).toEqual([]);
  });

  it('stores the forbidden documents that were returned, by rank', async () => {
    const { id } = await create();
    const confirmed = [
      { queryId: 'q1', documentId: 'tenant-b/7', rank: 1 },
      { queryId: 'q1', documentId: 'withdrawn', rank: 4 },
    ];
    await runs().finish(id, anEnd({ forbidden: { asked: 3, failed: 1, unconfirmed: 2, confirmed } }));
    expect((await runs().find(id))?.forbidden).toEqual({ asked: 3, failed: 1, unconfirmed: 2 });
    expect(await runs().forbidden(id)).toEqual(confirmed);
  });

  it('stores which no-answer queries received results', async () => {
    const { id } = await create();
    const noAnswer = { asked: 4, failed: 1, answered: 1, worst: [{ query: 'q1', documents: 2, score: 0.5 }] };
    await runs().finish(id, anEnd({ noAnswer }));
    expect((await runs().find(id))?.noAnswer).toEqual(noAnswer);
  });

  it('stores the size and the repetition of the context, for the answers that report them', async () => {
    const { id } = await create();
    const context = { characters: 812, repeated: 0.25 };
    await runs().saveAnswers(id, [anAnswer({ queryId: 'q1', context }), anAnswer({ queryId: 'q2' })]);
    expect(await runs().contexts(id)).toEqual([{ queryId: 'q1', ...context }]);
  });

  it('stores which judged documents each stage contained, and their totals', async () => {
    const { id } = await create();
    const reported = [{ name: 'candidates', isSide: false, documents: 50, latencyMs: 3.5, ranks: { 'kb-1': 12 } }];
    await runs().saveAnswers(id, [anAnswer({ queryId: 'q1', stages: reported }), anAnswer({ queryId: 'q2' })]);
    expect(await runs().stages(id)).toEqual(new Map([['q1', reported]]));
    const share = { mean: 0, n: 1, ciLow: 0, ciHigh: 0.8, ciMethod: 'wilson' as const };
    const stages = { k: 10, n: 1, failed: 0, unreported: 1, lostToFailures: share, steps: [] };
    await runs().finish(id, anEnd({ stages }));
    expect((await runs().find(id))?.stages).toEqual(stages);
  });

  it('stores why the labels could not be checked', async () => {
    const { id } = await create();
    await runs().finish(id, anEnd({ labels: { kind: 'unknown', reason: 'The store is down.' } }));
    expect((await runs().find(id))?.labels).toEqual({ ...noLabels, gap: 'The store is down.' });
  });

  it.each(['void', 'failed', 'cancelled'] as const)('may be %s, with the reason and without scores', async (status) => {
    const { id } = await create();
    await runs().finish(id, anEnd({ status, reason: 'Too many queries failed.', scores: [], checks: [] }));
    expect(await runs().find(id)).toMatchObject({ status, reason: 'Too many queries failed.' });
    expect(await runs().scores(id)).toEqual([]);
    expect(await runs().checks(id)).toEqual([]);
  });

  it('is stored once, and the first end is final', async () => {
    const { id } = await create();
    const statuses: readonly Exclude<RunStatus, 'running'>[] = ['completed', 'failed', 'void', 'cancelled'];
    const ended = await Promise.all(
      statuses.map((status) => runs().finish(id, anEnd({ status, scores: status === 'completed' ? [ndcg] : [] }))),
    );
    expect(ended.filter(Boolean)).toHaveLength(1);
    const winner = statuses[ended.indexOf(true)];
    expect(await runs().find(id)).toMatchObject({ status: winner });
    expect(await runs().scores(id)).toHaveLength(winner === 'completed' ? 1 : 0);
    expect(await runs().finish(id, anEnd())).toBe(false);
  });

  it('is stored completely or not at all', async () => {
    const { id } = await create();
    await runs().hold(id, 'worker-a', 60);
    await expect(runs().finish(id, anEnd({ checks: [floor, floor] }))).rejects.toThrow(/duplicate/);
    expect(await runs().find(id)).toMatchObject({ status: 'running', finishedAt: null });
    expect(await runs().scores(id)).toEqual([]);
    expect(await runs().hold(id, 'worker-b', 60)).toBe(false);
    expect(await runs().finish(id, anEnd())).toBe(true);
  });

  it('is refused for a run that does not exist', async () => {
    expect(await runs().finish('no-such-run', anEnd())).toBe(false);
  });
});

describe('abandoned runs', () => {
  it('include only running runs without a valid lease, oldest first', async () => {
    const mine = { pipeline: 'abandoned' };
    const young = await create({ ...mine, startedAt: minutes(5) });
    const old = await create({ ...mine, startedAt: minutes(1) });
    const dead = await create({ ...mine, startedAt: minutes(3) });
    const held = await create(mine);
    const ended = await create(mine);
    await runs().hold(dead.id, 'worker-dead', -1);
    await runs().hold(held.id, 'worker-a', 60);
    await runs().finish(ended.id, anEnd());
    const found = (await runs().abandoned()).filter(({ pipeline }) => pipeline === 'abandoned');
    expect(found.map(({ id }) => id)).toEqual([old.id, dead.id, young.id]);
  });
});

describe('the list of runs', () => {
  it('is sorted newest first, filtered by pipeline and set, and limited', async () => {
    const faq = await create({ pipeline: 'listed', startedAt: minutes(1) });
    const other = await create({ pipeline: 'listed', goldenSet: 'other', startedAt: minutes(3) });
    const newer = await create({ pipeline: 'listed', startedAt: minutes(2) });
    const unrelated = await create({ pipeline: 'listed-too', startedAt: minutes(4) });
    expect(await idsOf({ pipeline: 'listed', limit: 10 })).toEqual([other.id, newer.id, faq.id]);
    expect(await idsOf({ pipeline: 'listed', limit: 2 })).toEqual([other.id, newer.id]);
    expect(await idsOf({ pipeline: 'listed', goldenSet: 'faq', limit: 10 })).toEqual([newer.id, faq.id]);
    expect(await idsOf({ goldenSet: 'other', limit: 1 })).toEqual([other.id]);
    expect(await idsOf({ limit: 1000 })).toEqual(expect.arrayContaining([faq.id, other.id, newer.id, unrelated.id]));
    expect(await idsOf({ pipeline: 'no-such-pipeline', limit: 10 })).toEqual([]);
  });

  it('has a stable order when runs started in the same millisecond', async () => {
    const same = await Promise.all(Array.from({ length: 6 }, () => create({ pipeline: 'same-time' })));
    const listed = (await runs().list({ pipeline: 'same-time', limit: 10 })).map(({ id }) => id);
    expect(listed).toEqual(
      same
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
  });
});

/** Indexes answers by query, because the order of stored answers is irrelevant. */
function byQuery(answers: readonly QueryAnswer[]): Map<string, QueryAnswer> {
  return new Map(answers.map((answer) => [answer.queryId, answer]));
}

/** Any text without NUL, because no reader of results accepts NUL. */
const anyText = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom(`'"\\,{}`, '{"a":1}', 'null', 'NULL', '', '\u{1F600} ñ \u202E'))
  .map((text) => text.replaceAll('\0', ''));

const anyNumber = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number));

const anyAnswer: fc.Arbitrary<QueryAnswer> = fc.record({
  queryId: anyText,
  outcome: fc.constantFrom('ok', 'empty', 'error', 'timeout'),
  documents: fc.array(fc.record({ id: anyText, score: fc.option(anyNumber) })),
  latencyMs: fc.option(anyNumber),
  attempts: fc.nat({ max: 10 }),
  errorCode: fc.option(anyText),
  errorMessage: fc.option(anyText),
});
