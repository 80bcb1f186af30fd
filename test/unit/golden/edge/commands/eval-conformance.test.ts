/**
 * Compares `recalld eval --json` with values that trec_eval 10.0 printed. The README next to the cases states where the
 * cases come from.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../../src/core/errors.ts';
import { evalCommand } from '../../../../../src/golden/edge/commands/eval.ts';
import { CollectedOutput } from './eval-output.ts';

type Columns = Readonly<Record<string, readonly number[]>>;

interface Expected {
  readonly qids: readonly string[];
  readonly per_query: Columns;
  readonly mean_complete: Readonly<Record<string, number>>;
}

interface Case extends Expected {
  readonly inputs: { readonly qrels: string; readonly run: string };
  readonly relevance_level: number;
  readonly in_run: readonly boolean[];
  readonly run_qids_not_judged: readonly string[];
  readonly policy_collapse?: Expected;
  readonly policy_occupy?: Expected;
}

interface Report {
  readonly counts: Readonly<Record<string, number>>;
  readonly metrics: Readonly<Record<string, { readonly mean: number; readonly n: number }>>;
  readonly per_query: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const folder = fileURLToPath(new URL('../../../../fixtures/conformance/ir/cases', import.meta.url));
const names = readdirSync(folder);
const ours = /^(hit_rate|precision|recall|f1|mrr|map|dcg|ndcg|ndcg_exp|unjudged)(@\d+)?$/;

function caseOf(name: string): Case {
  return JSON.parse(readFileSync(join(folder, name, 'expected.json'), 'utf8'));
}

async function evaluate(name: string, { inputs }: Case, ...options: string[]): Promise<Report> {
  const output = new CollectedOutput();
  const files = ['--qrels', join(folder, name, inputs.qrels), '--run', join(folder, name, inputs.run)];
  await evalCommand(new Command('eval'), new AbortController().signal, output)
    .parseAsync([...files, '--per-query', '--json', ...options], { from: 'user' })
    .catch((error: unknown) => {
      // The command prints the report before it throws this error.
      if (!(error instanceof RecalldError && error.code === 'nothing_matches')) throw error;
    });
  return JSON.parse(output.text);
}

/** Returns the differences between the report and the expected values, except those within rounding error. */
function differences(report: Report, expected: Expected): string[] {
  const metrics = Object.keys(expected.mean_complete).filter((metric) => ours.test(metric));
  const wrong = metrics.flatMap((metric) => [
    ...(isSame(report.metrics[metric]?.mean, expected.mean_complete[metric]) ? [] : [`mean of ${metric}`]),
    ...(report.metrics[metric]?.n === expected.qids.length ? [] : [`n of ${metric}`]),
    ...expected.qids
      .filter((qid, i) => !isSame(report.per_query[qid]?.[metric], expected.per_query[metric]?.[i]))
      .map((qid) => `${metric} of ${qid}`),
  ]);
  const extra = Object.keys(report.per_query).filter((qid) => !expected.qids.includes(qid));
  return [...wrong, ...extra.map((qid) => `there should be no query ${qid}`)];
}

function isSame(actual = Number.NaN, expected = Number.NaN): boolean {
  return Math.abs(actual - expected) <= 1e-12 * Math.max(1, Math.abs(expected));
}

function metricOption(expected: Expected): string[] {
  return [
    '--metrics',
    Object.keys(expected.mean_complete)
      .filter((metric) => ours.test(metric))
      .join(','),
  ];
}

describe('recalld eval', () => {
  it('is tested with 15 conformance cases', () => {
    expect(names).toHaveLength(15);
  });

  it.each(names.filter((name) => name !== 'duplicates'))(
    'returns the values of trec_eval for the case %s',
    async (name) => {
      const expected = caseOf(name);
      const level = String(expected.relevance_level);
      const report = await evaluate(name, expected, '--relevance-level', level, ...metricOption(expected));
      expect(differences(report, expected)).toEqual([]);
      const answered = expected.in_run.filter(Boolean).length;
      expect(report.counts).toMatchObject({
        judged_queries: expected.qids.length,
        answered,
        missing: expected.qids.length - answered,
        ignored_unjudged_queries: expected.run_qids_not_judged.length,
        duplicate_documents: 0,
      });
    },
  );

  it.each(['collapse', 'occupy'] as const)('handles repeated documents according to the policy %s', async (policy) => {
    const expected = caseOf('duplicates');
    const values = policy === 'collapse' ? expected.policy_collapse : expected.policy_occupy;
    if (values === undefined) throw new Error('The case has no values for the policy.');
    const report = await evaluate('duplicates', expected, '--duplicates', policy, ...metricOption(values));
    expect(differences(report, values)).toEqual([]);
    expect(report.counts).toMatchObject({ judged_queries: 5, answered: 5, duplicate_documents: 5 });
  });

  it('refuses repeated documents under the policy reject, as trec_eval does', async () => {
    await expect(evaluate('duplicates', caseOf('duplicates'), '--duplicates', 'reject')).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringMatching(
        /run\.txt: The query "dup-\w+" contains the document "\w+" twice; remove the duplicate/,
      ),
    });
  });

  it('counts the 10 score ties of the sample run', async () => {
    expect((await evaluate('trec-sample', caseOf('trec-sample'))).counts['score_ties']).toBe(10);
  });
});
