import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from '@commander-js/extra-typings';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { compareCommand } from '../../../../../src/golden/edge/commands/compare.ts';
import type { ComparisonJson } from '../../../../../src/golden/run-summary-schema.ts';
import { CollectedOutput } from './eval-output.ts';

const cases = fileURLToPath(new URL('../../../../fixtures/conformance/ir/cases', import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-compare-'));
});

afterEach(() => {
  process.exitCode = undefined;
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

interface Compared {
  readonly text: string;
  readonly exitCode: typeof process.exitCode;
}

async function runFiles(qrels: string, baseline: string, candidate: string, options: readonly string[]) {
  const output = new CollectedOutput();
  process.exitCode = undefined;
  await compareCommand(new Command('compare'), new AbortController().signal, output).parseAsync(
    ['--qrels', qrels, '--baseline', baseline, '--candidate', candidate, ...options],
    { from: 'user' },
  );
  return { text: output.text, exitCode: process.exitCode } satisfies Compared;
}

async function compare(qrels: string, baseline: string, candidate: string, ...options: string[]) {
  const files = { qrels, baseline, candidate };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.txt`), text);
  const [qrelsPath = '', baselinePath = '', candidatePath = ''] = Object.keys(files).map((name) =>
    join(folder, `${name}.txt`),
  );
  return runFiles(qrelsPath, baselinePath, candidatePath, options);
}

async function compareJson(qrels: string, baseline: string, candidate: string, ...options: string[]) {
  const { text, exitCode } = await compare(qrels, baseline, candidate, '--json', ...options);
  const report: ComparisonJson = JSON.parse(text);
  return { report, exitCode };
}

/** Returns judgments for the queries q0, q1, ..., with one relevant document each. */
function qrelsOf(n: number): string {
  return Array.from({ length: n }, (_, i) => `q${i} 0 right 1\n`).join('');
}

/** Returns a run with the relevant document of query i at rank `ranks[i]`; rank 0 means no results for the query. */
function runOf(ranks: readonly number[]): string {
  return ranks
    .flatMap((rank, i) =>
      Array.from({ length: rank }, (_, place) => {
        const document = place + 1 === rank ? 'right' : `wrong-${place}`;
        return `q${i} Q0 ${document} ${place + 1} ${100 - place} tag\n`;
      }),
    )
    .join('');
}

/** Ranks of the relevant documents of 120 queries; in `fallen`, every fourth document drops to the second rank. */
const steady = Array.from({ length: 120 }, () => 1);
const fallen = steady.map((rank, i) => (i % 4 === 0 ? 2 : rank));

describe('recalld compare --json', () => {
  it('prints one JSON document in the documented format, and exits with 1 on a regression', async () => {
    const { report, exitCode } = await compareJson(
      qrelsOf(120),
      runOf(steady),
      runOf(fallen),
      '--metrics',
      'mrr,hit_rate@1',
    );
    expect(report).toEqual({
      counts: { baseline: expect.anything(), candidate: expect.anything() },
      mismatch: null,
      notes: [],
      n: 120,
      primary: 'mrr',
      metrics: {
        mrr: {
          baseline: 1,
          candidate: 0.875,
          difference: -0.125,
          ci_low: expect.closeTo(-0.16429924946, 9),
          ci_high: expect.closeTo(-0.08570075053, 9),
          ci_method: 't',
          t: expect.closeTo(-6.298148, 5),
          df: 119,
          p_t: expect.closeTo(5.2e-9, 9),
          p_randomization: expect.closeTo(2 / 2 ** 30, 15),
          p_method: 'exact',
          wins: 0,
          losses: 30,
          ties: 90,
          verdict: 'regression',
        },
        'hit_rate@1': {
          baseline: 1,
          candidate: 0.75,
          difference: -0.25,
          ci_low: expect.any(Number),
          ci_high: expect.any(Number),
          ci_method: 'newcombe',
          t: expect.closeTo(-6.298148, 5),
          df: 119,
          p_t: expect.closeTo(5.2e-9, 9),
          p_randomization: expect.closeTo(2 / 2 ** 30, 15),
          p_method: 'exact',
          mcnemar_p: expect.closeTo(2 / 2 ** 30, 15),
          wins: 0,
          losses: 30,
          ties: 90,
          verdict: 'regression',
        },
      },
      verdict: 'regression',
      smallest_detectable_difference: {
        mrr: expect.closeTo(0.0561, 4),
        'hit_rate@1': expect.closeTo(0.1121, 4),
      },
    });
    expect(exitCode).toBe(1);
  });

  it('exits with 0 on an improvement', async () => {
    const { report, exitCode } = await compareJson(qrelsOf(120), runOf(fallen), runOf(steady));
    expect(report.verdict).toBe('improvement');
    expect(exitCode).toBeUndefined();
  });

  it('always reports no change for a run compared with itself', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(12), { minLength: 1, maxLength: 30 }), async (ranks) => {
        const run = runOf([1, ...ranks]);
        const { report, exitCode } = await compareJson(
          qrelsOf(ranks.length + 1),
          run,
          run,
          '--metrics',
          'ndcg@10,mrr,map,hit_rate@3,dcg,unjudged@5',
        );
        for (const metric of Object.values(report.metrics)) {
          expect(metric).toMatchObject({
            difference: 0,
            t: 0,
            p_t: 1,
            p_randomization: 1,
            wins: 0,
            losses: 0,
          });
          expect(metric.verdict).toBe('no_change');
        }
        expect(report.verdict).toBe('no_change');
        expect(exitCode).toBeUndefined();
      }),
      { numRuns: 15 },
    );
  });

  it.each(['trec-sample', 'graded', 'ties', 'edge', 'negative'])(
    'reports no change for the conformance case %s compared with itself',
    async (name) => {
      const run = join(cases, name, 'run.txt');
      const { text } = await runFiles(join(cases, name, 'qrels.txt'), run, run, ['--json']);
      const report: ComparisonJson = JSON.parse(text);
      expect(report.verdict).toBe('no_change');
      expect(Object.values(report.metrics).map(({ verdict }) => verdict)).toEqual(
        Object.keys(report.metrics).map(() => 'no_change'),
      );
    },
  );

  it('compares all judged queries: a query without results scores 0, and a query without judgments is skipped', async () => {
    const { report } = await compareJson(
      qrelsOf(4),
      runOf([1, 1, 0, 2]),
      `${runOf([1, 0, 0, 2])}extra Q0 right 1 9 tag\n`,
      '--metrics',
      'mrr',
    );
    expect(report.n).toBe(4);
    expect(report.metrics['mrr']).toMatchObject({
      baseline: 0.625,
      candidate: 0.375,
      difference: -0.25,
      losses: 1,
      ties: 3,
    });
  });

  it('writes null for statistics that are undefined for a single query', async () => {
    const { report } = await compareJson(qrelsOf(1), runOf([1]), runOf([2]), '--metrics', 'dcg');
    expect(report.metrics['dcg']).toMatchObject({ ci_low: null, ci_high: null, t: null, df: 0, p_t: 1 });
    expect(report.smallest_detectable_difference).toEqual({ dcg: null });
  });

  it('applies the requested significance level and minimum effect', async () => {
    const ranks = steady.map((rank, i) => (i % 15 === 0 ? 2 : rank));
    const verdictWith = async (...options: string[]) =>
      (await compareJson(qrelsOf(120), runOf(steady), runOf(ranks), '--metrics', 'mrr', ...options)).report.verdict;
    // MRR drops by 1/30, with p = 2 / 2^8.
    expect(await verdictWith()).toBe('regression');
    expect(await verdictWith('--alpha', '0.001')).toBe('inconclusive');
    expect(await verdictWith('--min-effect', '0.05')).toBe('inconclusive');
    // All eight queries that changed have lower scores, so at the default alpha the verdict is not "no change".
    expect(await verdictWith('--min-effect', '0.1')).toBe('inconclusive');
    expect(await verdictWith('--min-effect', '0.1', '--alpha', '0.001')).toBe('no_change');
    expect(await verdictWith('--min-effect', '0')).toBe('regression');
  });

  it('takes the verdict from the first metric, whatever the others show', async () => {
    // With six losses and no win, p = 2 / 2^6 = 0.03125. Recall at 5 cannot change.
    const ranks = steady.map((rank, i) => (i % 20 === 0 ? 2 : rank));
    const compareBy = (metrics: string) => compareJson(qrelsOf(120), runOf(steady), runOf(ranks), '--metrics', metrics);
    const first = await compareBy('hit_rate@1,recall@5');
    expect(first.report).toMatchObject({ primary: 'hit_rate@1', verdict: 'regression' });
    expect(first.exitCode).toBe(1);
    process.exitCode = undefined;
    const second = await compareBy('recall@5,hit_rate@1');
    expect(second.report).toMatchObject({ primary: 'recall@5', verdict: 'no_change' });
    expect(second.report.metrics['hit_rate@1']?.verdict).toBe('regression');
    expect(second.exitCode).toBeUndefined();
  });

  it('reports a regression of a metric that does not decide the verdict', async () => {
    const ranks = steady.map((rank, i) => (i % 20 === 0 ? 2 : rank));
    const { text } = await compare(qrelsOf(120), runOf(steady), runOf(ranks), '--metrics', 'recall@5,hit_rate@1');
    expect(text).toContain('hit_rate@1 also regressed, but this does not affect the verdict.');
  });

  it('accepts the same relevance levels and duplicate policies as recalld eval', async () => {
    const qrels = 'q 0 good 2\nq 0 fair 1\n';
    const baseline = 'q Q0 good 1 9 t\n';
    const candidate = 'q Q0 fair 1 9 t\nq Q0 fair 2 8 t\nq Q0 good 3 7 t\n';
    const mrrWith = async (...options: string[]) =>
      (await compareJson(qrels, baseline, candidate, '--metrics', 'mrr', ...options)).report.metrics['mrr']?.candidate;
    expect(await mrrWith()).toBe(1);
    expect(await mrrWith('--relevance-level', '2')).toBe(0.5);
    expect(await mrrWith('--relevance-level', '2', '--duplicates', 'occupy')).toBe(1 / 3);
    await expect(mrrWith('--duplicates', 'reject')).rejects.toMatchObject({ code: 'file_malformed' });
  });
});

describe('recalld compare in a terminal', () => {
  it('prints a table, the verdict with its rule, and the queries with the largest drops', async () => {
    const worse = fallen.map((rank, i) => (i === 8 ? 0 : rank));
    const { text, exitCode } = await compare(qrelsOf(120), runOf(steady), runOf(worse));
    expect(text).toMatch(
      /^mrr@10 +regression +1 +0\.871 +−0\.129 +−0\.\d+ to −0\.\d+ +below 0\.001 +0 +30 +90 +0\.\d+$/m,
    );
    expect(text).toContain('Verdict on ndcg@10: regression.\n');
    expect(text).toContain('The first metric in --metrics decides');
    expect(text).toContain('Judged queries: 120. Without results: 0 in the baseline, 1 in the candidate.\n');
    expect(text).toMatch(/^1 judged query has no results in .*candidate\.txt; it scores 0 and counts in the means\.$/m);
    expect(text).toMatch(/^Queries with the largest drops in ndcg@10 \(showing 10 of 30\):\nquery .*\nq8 +1 +0 +−1$/m);
    expect(text).not.toContain('\u001b');
    expect(exitCode).toBe(1);
  });

  it('does not state which metric decides if there is only one', async () => {
    const { text } = await compare(qrelsOf(120), runOf(steady), runOf(fallen), '--metrics', 'mrr');
    expect(text).toContain('Verdict on mrr: regression.\n');
    expect(text).not.toContain('The first metric in --metrics');
  });

  it('warns if the set has too few queries', async () => {
    const { text } = await compare(qrelsOf(8), runOf(steady.slice(0, 8)), runOf(fallen.slice(0, 8)));
    expect(text).toContain('8 queries: use at least 100');
    expect(text).toMatch(/mrr@10: with 8 queries, differences below 0\.\d{3} may be chance; about [\d\s]+ /);
  });

  it('lists no regressed queries, no detectable difference and no signed zero when nothing changed', async () => {
    const { text } = await compare(qrelsOf(120), runOf(steady), runOf(steady));
    expect(text).not.toMatch(/[-+]0\.0000/);
    expect(text).toMatch(/^ndcg@10 +no_change .* -$/m);
    expect(text).not.toContain('Queries with the largest drops');
  });

  it('explains its rules and shows an example in its help', () => {
    const help: string[] = [];
    compareCommand(new Command('compare'), new AbortController().signal)
      .configureOutput({ writeOut: (text) => help.push(text) })
      .outputHelp();
    const text = help.join('');
    for (const part of [
      '--alpha',
      '--min-effect',
      'The first metric in --metrics',
      'recalld compare --qrels qrels.txt',
    ]) {
      expect(text).toContain(part);
    }
  });
});

describe('recalld compare refuses', () => {
  it.each([
    ['a significance level above 1', ['--alpha', '1.5'], 'usage', '--alpha must be a number between 0 and 1'],
    ['a significance level that is not a number', ['--alpha', ''], 'usage', 'not "".'],
    ['a negative minimum effect', ['--min-effect', '-0.02'], 'usage', '--min-effect must be a number of at least 0'],
    ['an infinite minimum effect', ['--min-effect', 'Infinity'], 'usage', 'not "Infinity".'],
    ['an unknown metric', ['--metrics', 'err@5'], 'metric_unknown', 'There is no metric "err@5".'],
    ['an empty list of metrics', ['--metrics', ','], 'usage', '--metrics contains no metric'],
    [
      'a file that does not exist',
      ['--candidate', '/nowhere/run.txt'],
      'file_unreadable',
      '/nowhere/run.txt does not exist',
    ],
  ])('%s', async (_what, options, code, message) => {
    await expect(compare(qrelsOf(2), runOf([1, 1]), runOf([1, 1]), ...options)).rejects.toMatchObject({
      code,
      kind: 'input',
      message: expect.stringContaining(message),
    });
  });
});

it('recalld compare with several candidates reports every pair, and exits with 1 if one is worse than the baseline', async () => {
  const runOf = (n: number) =>
    Array.from({ length: 40 }, (_, i) => `q${i} Q0 ${i < n ? 'right' : 'wrong'} 1 1 x\n`).join('');
  const files = { qrels: qrelsOf(40), a: runOf(30), b: runOf(32), c: runOf(5) };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.many`), text);
  const at = (name: string) => join(folder, `${name}.many`);
  const output = new CollectedOutput();
  await compareCommand(new Command('compare'), new AbortController().signal, output).parseAsync(
    [
      '--qrels',
      at('qrels'),
      '--baseline',
      at('a'),
      '--candidate',
      at('b'),
      at('c'),
      '--metrics',
      'hit_rate@1',
      '--json',
    ],
    { from: 'user' },
  );
  expect(process.exitCode).toBe(1);
  expect(JSON.parse(output.text)).toMatchObject({
    n: 40,
    primary: 'hit_rate@1',
    unbeaten: [at('a'), at('b')],
    configurations: [{ name: at('a'), metrics: { 'hit_rate@1': 0.75 } }, {}, { metrics: { 'hit_rate@1': 0.125 } }],
    pairs: [{ verdict: 'inconclusive' }, { baseline: at('a'), candidate: at('c'), verdict: 'regression' }, {}],
  });
});
