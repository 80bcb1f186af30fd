import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evalCommand } from '../../../../../src/golden/edge/commands/eval.ts';
import { CollectedOutput } from './eval-output.ts';

const QRELS = 'q10 0 a 1\nq10 0 b 2\nq9 0 c 1\nq8 0 d 1\n';
const RUN = 'q9 Q0 x 1 2 t\nq9 Q0 c 2 1 t\nq10 Q0 a 1 5 t\nq10 Q0 b 2 5 t\nq10 Q0 a 3 4 t\nzz Q0 a 1 1 t\n';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-eval-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function run(qrels: string, results: string, ...options: string[]): Promise<string> {
  await writeFile(join(folder, 'qrels.txt'), qrels);
  await writeFile(join(folder, 'run.txt'), results);
  const output = new CollectedOutput();
  const files = ['--qrels', join(folder, 'qrels.txt'), '--run', join(folder, 'run.txt')];
  await evalCommand(new Command('eval'), new AbortController().signal, output).parseAsync([...files, ...options], {
    from: 'user',
  });
  return output.text;
}

/** Returns the lines of a file in random order. */
function shuffled(lines: string): fc.Arbitrary<string> {
  const rows = lines.trimEnd().split('\n');
  return fc.shuffledSubarray(rows, { minLength: rows.length }).map((order) => `${order.join('\n')}\n`);
}

describe('recalld eval --json', () => {
  it('prints one JSON document with counts and metrics', async () => {
    const text = await run(QRELS, RUN, '--json', '--metrics', 'mrr,hit_rate@1');
    expect(JSON.parse(text)).toEqual({
      counts: {
        judged_queries: 3,
        matching_queries: 2,
        answered: 2,
        missing: 1,
        queries_with_steps: 0,
        queries_without_relevant: 0,
        judged_documents: 4,
        judged_documents_found: 3,
        ignored_unjudged_queries: 1,
        duplicate_documents: 1,
        score_ties: 1,
      },
      mismatch: null,
      notes: [
        expect.stringMatching(/^1 judged query has no results in .*run\.txt; it scores 0 and counts in the means\.$/),
        expect.stringMatching(/^The document "a" occurs 2 times in the results of the query "q10" in /),
      ],
      metrics: {
        mrr: { mean: 0.5, n: 3, ci_low: 0, ci_high: 1, ci_method: 't' },
        'hit_rate@1': {
          mean: 1 / 3,
          n: 3,
          ci_low: expect.closeTo(0.0614919, 6),
          ci_high: expect.closeTo(0.7923404, 6),
          ci_method: 'wilson',
        },
      },
    });
    expect(text.endsWith('}\n')).toBe(true);
  });

  it('lists every judged query in code-point order when requested, with 0 for queries without results', async () => {
    const text = await run(QRELS, RUN, '--json', '--per-query', '--metrics', 'mrr,ndcg@1');
    expect(JSON.parse(text)).toHaveProperty('per_query', {
      q10: { mrr: 1, 'ndcg@1': 1 },
      q8: { mrr: 0, 'ndcg@1': 0 },
      q9: { mrr: 0.5, 'ndcg@1': 0 },
    });
    expect(text.indexOf('"q10"')).toBeLessThan(text.indexOf('"q8"'));
    expect(text.indexOf('"q8"')).toBeLessThan(text.indexOf('"q9"'));
  });

  it('keeps query ids that a JavaScript object would lose or reorder', async () => {
    const text = await run('__proto__ 0 a 1\n10 0 a 1\n9 0 a 1\n', '10 Q0 a 1 1 t\n', '--json', '--per-query');
    expect([...text.matchAll(/^ {4}"(\w+)": \{"ndcg@10"/gm)].map((match) => match[1])).toEqual([
      '10',
      '9',
      '__proto__',
    ]);
    const report: { per_query: object } = JSON.parse(text);
    expect(Object.keys(report.per_query)).toContain('__proto__');
  });

  it('prints thousands of queries as one valid JSON document', async () => {
    const ids = Array.from({ length: 2501 }, (_, i) => `query-${i}`);
    const qrels = ids.map((id) => `${id} 0 a 1\n`).join('');
    const text = await run(qrels, 'query-7 Q0 a 1 1 t\n', '--json', '--per-query', '--metrics', 'map');
    const report: { per_query: Record<string, { map: number }> } = JSON.parse(text);
    expect(Object.keys(report.per_query).toSorted()).toEqual(ids.toSorted());
    expect(report.per_query['query-7']).toEqual({ map: 1 });
    expect(report.per_query['query-8']).toEqual({ map: 0 });
  });

  it('writes null for the missing upper bound of the DCG of a single query', async () => {
    const report: unknown = JSON.parse(await run('q 0 a 3\n', 'q Q0 a 1 1 t\n', '--json', '--metrics', 'dcg@5'));
    expect(report).toHaveProperty('metrics', {
      'dcg@5': { mean: 3, n: 1, ci_low: 0, ci_high: null, ci_method: 't' },
    });
  });

  it('does not depend on the order of the lines in either file', async () => {
    const expected = await run(QRELS, RUN, '--json', '--per-query');
    await fc.assert(
      fc.asyncProperty(shuffled(QRELS), shuffled(RUN), async (qrels, results) => {
        expect(await run(qrels, results, '--json', '--per-query')).toBe(expected);
      }),
      { numRuns: 20 },
    );
  });

  it('reports a repeated metric once, and ignores spaces in the list of metrics', async () => {
    const report: { metrics: object } = JSON.parse(await run(QRELS, RUN, '--json', '--metrics', ' map, mrr ,map,'));
    expect(Object.keys(report.metrics)).toEqual(['map', 'mrr']);
  });

  it('counts a document as relevant only at or above the requested relevance level', async () => {
    const text = await run(
      QRELS,
      RUN,
      '--json',
      '--per-query',
      '--relevance-level',
      '2',
      '--metrics',
      'recall@5,ndcg@5',
    );
    expect(JSON.parse(text)).toHaveProperty('per_query.q9', { 'recall@5': 0, 'ndcg@5': 1 / Math.log2(3) });
  });
});

describe('recalld eval in a terminal', () => {
  it('prints a table of the default metrics, and reports the queries without results, which score 0', async () => {
    const text = await run(QRELS, RUN);
    for (const metric of ['ndcg@10', 'mrr@10', 'map', 'recall@10', 'precision@10', 'hit_rate@10', 'unjudged@10']) {
      expect(text).toMatch(new RegExp(`^${metric} +0\\.\\d+ +[\\d.]+-[\\d.]+ +3 +(t|wilson)$`, 'm'));
    }
    expect(text).toContain(
      'Judged queries: 3, 2 with results, 1 without. Judged documents: 4, 3 of them in the results. Ignored queries without judgments: 1. Duplicate documents: 1. Score ties: 1.\n',
    );
    expect(text).toMatch(/^1 judged query has no results in .*run\.txt; it scores 0 and counts in the means\.$/m);
    expect(text).not.toContain('\u001b');
  });

  it('does not mention queries without results when there are none', async () => {
    expect((await run('q1 0 a 1\n', 'q1 Q0 a 1 1 t\n')).trimEnd().split('\n').at(-1)).toMatch(/^Judged queries: 1,/);
  });

  it('adds a line of tab-separated values per query when requested', async () => {
    const text = await run(QRELS, RUN, '--per-query', '--metrics', 'mrr,hit_rate@1');
    expect(text.split('\n').slice(-5)).toEqual([
      'query\tmrr\thit_rate@1',
      'q10\t1.0000\t1.0000',
      'q8\t0.0000\t0.0000',
      'q9\t0.5000\t0.0000',
      '',
    ]);
  });

  it('shows its options, the metrics and an example in its help', () => {
    const help: string[] = [];
    evalCommand(new Command('eval'), new AbortController().signal)
      .configureOutput({ writeOut: (text) => help.push(text) })
      .outputHelp();
    const text = help.join('');
    for (const part of ['--qrels <file>', '--per-query', 'unjudged@k', 'recalld eval --qrels qrels.txt']) {
      expect(text).toContain(part);
    }
  });
});

describe('recalld eval refuses', () => {
  it.each([
    ['an unknown metric', ['--metrics', 'map,err@5'], 'metric_unknown', 'There is no metric "err@5".'],
    [
      'an empty list of metrics',
      ['--metrics', ' , '],
      'usage',
      '--metrics contains no metric. Write a list such as ndcg@10,map.',
    ],
    [
      'a relevance level of 0',
      ['--relevance-level', '0'],
      'usage',
      '--relevance-level must be a whole number of at least 1, not "0".',
    ],
    ['a relevance level that is not a whole number', ['--relevance-level', '1.5'], 'usage', 'not "1.5".'],
    ['a file that does not exist', ['--run', '/nowhere/run.txt'], 'file_unreadable', '/nowhere/run.txt does not exist'],
  ])('%s', async (_what, options, code, message) => {
    await expect(run(QRELS, RUN, ...options)).rejects.toMatchObject({
      code,
      kind: 'input',
      message: expect.stringContaining(message),
    });
  });
});
