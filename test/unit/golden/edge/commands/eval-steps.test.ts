import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareCommand } from '../../../../../src/golden/edge/commands/compare.ts';
import { evalCommand } from '../../../../../src/golden/edge/commands/eval.ts';
import { CollectedOutput } from './eval-output.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-eval-steps-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

const lines = (rows: readonly string[]): string => rows.map((row) => `${row}\n`).join('');
const result = (query: string, document: string, rank: number): string =>
  `${query} Q0 ${document} ${rank} ${100 - rank} t`;

const QRELS = ['q1 0 pet 1', 'q1 0 tramiel 1', 'q2 0 d2 1'];
const STEPS = [result('q1#1', 'pet', 1), result('q1#1', 'x', 2), result('q1#2', 'y', 1), result('q1#2', 'tramiel', 2)];
const METRICS = ['--metrics', 'union_recall@1,union_recall@2,all_found@2,mrr@5', '--json', '--per-query'];

interface Report {
  readonly counts: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  readonly per_query: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

async function evaluate(qrels: readonly string[], run: readonly string[]): Promise<Report> {
  const [qrelsPath, runPath] = [join(folder, 'qrels.txt'), join(folder, 'run.txt')];
  await Promise.all([writeFile(qrelsPath, lines(qrels)), writeFile(runPath, lines(run))]);
  const output = new CollectedOutput();
  const arguments_ = ['--qrels', qrelsPath, '--run', runPath, ...METRICS];
  await evalCommand(new Command('eval'), new AbortController().signal, output).parseAsync(arguments_, { from: 'user' });
  return JSON.parse(output.text) as Report;
}

describe('recalld eval of a run with steps', () => {
  it('scores the union of the top k documents of each step of a judged query', async () => {
    const report = await evaluate(QRELS, [...STEPS, result('q2', 'd2', 1)]);
    expect(report.per_query).toEqual({
      q1: { 'union_recall@1': 0.5, 'union_recall@2': 1, 'all_found@2': 1, 'mrr@5': 1 },
      q2: { 'union_recall@1': 1, 'union_recall@2': 1, 'all_found@2': 1, 'mrr@5': 1 },
    });
    expect(report.counts).toMatchObject({
      judged_queries: 2,
      answered: 2,
      queries_with_steps: 1,
      judged_documents_found: 3,
      ignored_unjudged_queries: 0,
    });
    expect(report.notes[0]).toMatch(/^1 query in .*run\.txt has 2 steps/);
  });

  it('returns the same scores whatever the order of the lines', async () => {
    const expected = await evaluate(QRELS, [...STEPS, result('q2', 'd2', 1)]);
    const [a = '', b = '', c = '', d = ''] = STEPS;
    expect((await evaluate(QRELS, [d, a, result('q2', 'd2', 1), c, b])).per_query).toEqual(expected.per_query);
  });

  it('treats an id with # that has judgments as a query, never as a step', async () => {
    const report = await evaluate(['q1 0 a 1', 'q1#2 0 b 1'], [result('q1', 'a', 1), result('q1#2', 'b', 1)]);
    expect(report.counts).toMatchObject({ judged_queries: 2, answered: 2, queries_with_steps: 0 });
    expect(report.per_query['q1#2']).toMatchObject({ 'mrr@5': 1 });
  });

  it.each(['q1#0', 'q1#01', 'q1#b', 'q1#'])(
    'ignores the query id %s, which is not a valid step id, and names it in a note',
    async (id) => {
      const report = await evaluate(QRELS, [result('q1', 'pet', 1), result(id, 'tramiel', 1)]);
      expect(report.counts).toMatchObject({ queries_with_steps: 0, ignored_unjudged_queries: 1 });
      expect(report.per_query['q1']).toMatchObject({ 'union_recall@2': 0.5 });
      expect(report.notes.join(' ')).toContain(`The query id ${JSON.stringify(id)}`);
    },
  );

  it('ignores a step of an unjudged query, like any query without judgments', async () => {
    const report = await evaluate(QRELS, [...STEPS, result('other#1', 'a', 1)]);
    expect(report.counts).toMatchObject({ queries_with_steps: 1, ignored_unjudged_queries: 1 });
  });

  it('refuses results for both a query and one of its steps', async () => {
    await expect(evaluate(QRELS, [...STEPS, result('q1', 'pet', 1)])).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining('Both the query "q1" and its step "q1#1" have results'),
    });
  });

  it('refuses the steps of a query if the qrels judge another of its step ids as a separate query', async () => {
    await expect(evaluate([...QRELS, 'q1#2 0 b 1'], STEPS)).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining('has judgments for "q1#2" as a separate query'),
    });
  });

  it('scores thousands of queries whose steps are in different parts of the file', async () => {
    const queries = Array.from({ length: 1500 }, (_, i) => `q${i}`);
    const qrels = queries.flatMap((id) => [`${id} 0 ${id}-a 1`, `${id} 0 ${id}-b 1`]);
    const stepsOf = (step: number, found: string) =>
      queries.flatMap((id) => [result(`${id}#${step}`, `${id}-${found}`, 1), result(`${id}#${step}`, 'x', 2)]);
    const report = await evaluate(qrels, [...stepsOf(1, 'a'), ...stepsOf(2, 'b')]);
    expect(report.counts).toMatchObject({ answered: 1500, queries_with_steps: 1500, judged_documents_found: 3000 });
    expect(Object.values(report.per_query).every((scores) => scores['all_found@2'] === 1)).toBe(true);
  });
});

it('recalld compare scores each query by the union of the results of its steps', async () => {
  const queries = Array.from({ length: 20 }, (_, i) => `q${i}`);
  const files = {
    'qrels.txt': queries.flatMap((id) => [`${id} 0 a 1`, `${id} 0 b 1`]),
    'before.txt': queries.flatMap((id) => [result(`${id}#1`, 'a', 1), result(`${id}#2`, 'b', 1)]),
    'after.txt': queries.flatMap((id) => [result(`${id}#1`, 'a', 1), result(`${id}#2`, 'a', 1)]),
  };
  for (const [name, rows] of Object.entries(files)) await writeFile(join(folder, name), lines(rows));
  const output = new CollectedOutput();
  const options = ['--qrels', 'qrels.txt', '--baseline', 'before.txt', '--candidate', 'after.txt'];
  await compareCommand(new Command('compare'), new AbortController().signal, output).parseAsync(
    [...options.map((one) => (one.startsWith('--') ? one : join(folder, one))), '--metrics', 'all_found@5', '--json'],
    { from: 'user' },
  );
  process.exitCode = undefined;
  expect(JSON.parse(output.text)).toMatchObject({
    metrics: { 'all_found@5': { baseline: 1, candidate: 0, difference: -1, verdict: 'regression' } },
  });
});
