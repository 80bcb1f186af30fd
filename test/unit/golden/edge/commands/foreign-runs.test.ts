/** Runs written by other tools, and runs without any judged document. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { compareCommand } from '../../../../../src/golden/edge/commands/compare.ts';
import { evalCommand } from '../../../../../src/golden/edge/commands/eval.ts';
import { CollectedOutput } from './eval-output.ts';

const fixtures = fileURLToPath(new URL('../../../../fixtures/trec-runs', import.meta.url));

interface Outcome {
  /** Null if there is no report. */
  readonly report: Record<string, unknown> | null;
  readonly error: { readonly code?: string; readonly kind?: string; readonly message: string } | null;
}

async function outcome(
  command: CommandUnknownOpts,
  output: CollectedOutput,
  args: readonly string[],
): Promise<Outcome> {
  const error = await command.parseAsync([...args], { from: 'user' }).then(
    () => null,
    (cause: Outcome['error']) => cause,
  );
  return { report: output.text === '' ? null : (JSON.parse(output.text) as Record<string, unknown>), error };
}

function evaluate(name: string): Promise<Outcome> {
  const folder = path.join(fixtures, name);
  const files = readdirSync(folder);
  const file = (start: string): string => path.join(folder, files.find((one) => one.startsWith(start)) ?? '');
  const output = new CollectedOutput();
  const command = evalCommand(new Command('eval'), new AbortController().signal, output);
  const metrics = 'ndcg@10,mrr,recall@10';
  return outcome(command, output, ['--qrels', file('qrels'), '--run', file('run'), '--json', '--metrics', metrics]);
}

function compare(name: string, files: readonly [string, string], ...options: string[]): Promise<Outcome> {
  const [qrels = '', baseline = '', candidate = ''] = ['qrels.txt', ...files].map((one) =>
    path.join(fixtures, name, one),
  );
  const output = new CollectedOutput();
  const command = compareCommand(new Command('compare'), new AbortController().signal, output);
  const named = ['--qrels', qrels, '--baseline', baseline, '--candidate', candidate, '--json', ...options];
  return outcome(command, output, named);
}

describe('a run file from another tool', () => {
  it.each([
    ['blank-ids-in-tabs', 1],
    ['blank-ids-in-tabs-5', 5],
  ])('may contain spaces inside ids if tabs separate the columns: %s', async (name, n) => {
    const { report, error } = await evaluate(name);
    expect(error).toBeNull();
    expect(report).toMatchObject({
      counts: { duplicate_documents: 0, matching_queries: n },
      metrics: { 'ndcg@10': { mean: 1 }, mrr: { mean: 1 }, 'recall@10': { mean: 1 } },
    });
  });

  it.each([
    ['blank-ids-in-blanks', 'line 1: A result needs the 6 columns', 'the line has 7; if ids contain spaces, separate'],
    ['json', 'line 1: The line is JSON, but each line of a TREC run is', ''],
    ['json-spaced', 'line 1: The line is JSON, but each line of a TREC run is', ''],
    ['three-columns', 'line 1: A line of 3 columns may be', '"query-id document-id rank" (MS MARCO) or'],
    ['minus-infinity', 'line 5: The score "-inf" in column 5', 'or as -1e308 to rank the document last'],
  ])('is refused with the line number: %s', async (name, place, fix) => {
    const { report, error } = await evaluate(name);
    expect(report).toBeNull();
    expect(error).toMatchObject({ code: 'file_malformed', kind: 'input' });
    expect(error?.message).toContain(place);
    expect(error?.message).toContain(fix);
  });

  it('is ranked by its scores in double precision, as in trec_eval 10', async () => {
    expect((await evaluate('float32-tie')).report).toMatchObject({ metrics: { mrr: { mean: 0.5 } } });
  });

  it.each([
    ['distances', 'increase with the rank'],
    ['none-ids', 'The document "None" (perhaps a missing id) occurs 3 times in the results of the query "q1" in '],
    ['no-relevant', '1 judged query has no document at the relevance level'],
  ])('is scored, and the report contains a note: %s', async (name, note) => {
    const { report, error } = await evaluate(name);
    expect(error).toBeNull();
    expect(report).toMatchObject({ notes: [expect.stringContaining(note)] });
  });
});

describe('a run without any judged document', () => {
  it.each([
    ['float-ids', 'document', '12.0', '12', ['a trailing .0']],
    ['leading-zeros', 'query', '007', '7', ['leading zeros']],
    ['query-suffix', 'query', '31.1', '31', ['the suffix ".1"']],
    ['normal-forms', 'document', 'caf\u00e9', 'cafe\u0301', ['their Unicode normal form (NFC, NFD)']],
    ['prefix-and-case', 'document', 'kb/Doc-1', 'doc-1', ['case', 'the prefix "kb/"']],
  ])('scores 0, and the error describes how its ids differ: %s', async (name, ids, judged, returned, differences) => {
    const { report, error } = await evaluate(name);
    expect(report).toMatchObject({
      counts: { judged_documents_found: 0 },
      metrics: { mrr: { mean: 0 } },
      mismatch: { ids, judged, returned, differences },
    });
    expect(error).toMatchObject({ code: 'nothing_matches', kind: 'input' });
    expect(error?.message).toContain('differ in ');
  });

  it('is not compared', async () => {
    const { report, error } = await compare('compare-no-overlap', ['good.run', 'bad.run']);
    expect(error).toMatchObject({ code: 'nothing_matches', kind: 'input' });
    expect(report).not.toHaveProperty('verdict');
    const mismatch = { ids: 'query', judged: 'q0.1', returned: 'q0', differences: ['the suffix ".1"'] };
    const counts = { matching_queries: 0, judged_documents: 60, judged_documents_found: 0 };
    expect(report).toMatchObject({
      counts: { baseline: counts, candidate: counts },
      mismatch: { baseline: mismatch, candidate: mismatch },
    });
  });
});

it('recalld compare counts the queries without a relevant document', async () => {
  const { report, error } = await compare('compare-no-relevant', ['a.run', 'b.run'], '--relevance-level', '5');
  expect(error).toBeNull();
  const counts = { judged_queries: 120, queries_without_relevant: 120, judged_documents_found: 120 };
  expect(report).toMatchObject({ counts: { baseline: counts, candidate: counts } });
});
