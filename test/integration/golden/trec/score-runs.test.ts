/** Runs that are read in many batches get the same scores as if each query were scored separately. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scoreTrecRuns } from '../../../../src/golden/trec/score-runs.ts';
import { evaluateRanking } from '../../../../src/math/ir/evaluate.ts';

const QUERIES = 300;
const RESULTS = 100;
const settings = {
  keys: [
    { measure: 'ndcg', k: 10 },
    { measure: 'map', k: null },
  ],
  relevanceLevel: 1,
  duplicates: 'reject',
} as const;

let folder: string;
let qrels: string;
/** The judged queries, in code-point order. */
let expected: { readonly id: string; readonly values: readonly number[] }[];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'recalld-score-runs-'));
  qrels = path.join(folder, 'qrels.txt');
  const ids = Array.from({ length: QUERIES }, (_, q) => `q${q}`);
  await writeFile(
    qrels,
    ids.flatMap((id, q) => [...judgmentsOf(q)].map(([document, grade]) => `${id} 0 ${document} ${grade}\n`)).join(''),
  );
  expected = ids
    .map((id, q) => ({ id, values: evaluateRanking(rankingOf(q), judgmentsOf(q), [...settings.keys], 1) }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const documentOf = (q: number, place: number): string =>
  `document-${(q * 7919 + place * 104_729) % 1_000_003}-${place}`;
const rankingOf = (q: number): string[] => Array.from({ length: RESULTS }, (_, place) => documentOf(q, place));
const judgmentsOf = (q: number): Map<string, number> =>
  new Map([0, 3, 11, 40].map((place, i) => [documentOf(q, (place * (q + 1)) % RESULTS), i % 4]));
/** The results of one query, best first. */
const linesOf = (q: number): string[] =>
  rankingOf(q).map((id, place) => `q${q} Q0 ${id} ${place + 1} ${RESULTS - place}.5 run\n`);

const numbers = Array.from({ length: QUERIES }, (_, q) => q);
const lines = numbers.map(linesOf);
const judgedDocuments = numbers.reduce((sum, q) => sum + judgmentsOf(q).size, 0);
const [split = [], ...others] = lines;

/** A pseudo-random sort key for a line. */
const orderOf = (line: string): number =>
  Buffer.from(line).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 7);

it.each([
  ['that is grouped by query', lines.flat()],
  ['with a query that reappears at the end', [...split.slice(0, 40), ...others.flat(), ...split.slice(40)]],
  [
    'with a query that reappears in the middle',
    [...split.slice(0, 40), ...others.slice(0, 90).flat(), ...split.slice(40), ...others.slice(90).flat()],
  ],
  ['in random order', lines.flat().toSorted((a, b) => orderOf(a) - orderOf(b))],
  [
    'that is grouped by rank',
    Array.from({ length: RESULTS }, (_, place) => lines.map((own) => own[place] ?? '')).flat(),
  ],
])('a run %s gets the same scores as separately scored queries', async (_, written) => {
  const run = path.join(folder, 'run.txt');
  const unjudged = ['x1 Q0 document 1 1 t\n', 'x2 Q0 document 1 1 t\n'];
  await writeFile(run, [unjudged[0], ...written, unjudged[1]].join(''));
  const { queryIds, scores } = await scoreTrecRuns(qrels, [run], settings);
  const [found] = scores;
  expect(found?.counts).toEqual({
    judgedQueries: QUERIES,
    answered: QUERIES,
    missing: 0,
    queriesWithSteps: 0,
    queriesWithoutRelevant: 0,
    judgedDocuments,
    judgedDocumentsFound: judgedDocuments,
    ignoredUnjudgedQueries: 2,
    duplicateDocuments: 0,
    scoreTies: 0,
  });
  expect(queryIds).toEqual(expected.map(({ id }) => id));
  for (const [i, column] of (found?.columns ?? []).entries())
    expect([...column]).toEqual(expected.map(({ values }) => values[i]));
});

it.each([
  ['first', 10],
  ['last', QUERIES * RESULTS - 10],
])('the line number of an error is reported, even in the %s batch', async (_, line) => {
  const run = path.join(folder, 'wrong.txt');
  const written = lines.flat();
  written[line - 1] = 'q1 Q0 document 1 high run\n';
  await writeFile(run, written.join(''));
  await expect(scoreTrecRuns(qrels, [run], settings)).rejects.toMatchObject({
    code: 'file_malformed',
    message: `${run}, line ${line}: The score "high" in column 5 is not a finite decimal number; write it as 12.5 or 1e-3, or as -1e308 to rank the document last.`,
  });
});

it('a repeated document is reported with its query, even in the last batch', async () => {
  const run = path.join(folder, 'repeated.txt');
  await writeFile(run, [...lines.flat(), lines.at(-1)?.[4] ?? ''].join(''));
  await expect(scoreTrecRuns(qrels, [run], settings)).rejects.toThrow(`${run}: The query "q${QUERIES - 1}"`);
});

it('judgments and a run are read from pipes, which can be read only once', async () => {
  const run = path.join(folder, 'piped.txt');
  await writeFile(run, lines.flat().join(''));
  const program = `
    import { scoreTrecRuns } from ${JSON.stringify(path.resolve('src/golden/trec/score-runs.ts'))};
    const [qrels, run] = process.argv.slice(1);
    const { scores } = await scoreTrecRuns(qrels, [run], ${JSON.stringify(settings)});
    console.log(scores[0].counts.answered, scores[0].columns[0].reduce((sum, value) => sum + value, 0));`;
  const scored = (command: string): string =>
    execFileSync('bash', ['-c', command, 'bash', process.execPath, program, qrels, run], { encoding: 'utf8' });
  const node = '"$1" --import tsx --input-type=module -e "$2" --';
  const expectedSum = scored(`${node} "$3" "$4"`);
  expect(expectedSum).toMatch(/^300 /);
  expect(scored(`${node} <(cat "$3") "$4"`)).toBe(expectedSum);
  expect(scored(`${node} "$3" <(cat "$4")`)).toBe(expectedSum);
});
