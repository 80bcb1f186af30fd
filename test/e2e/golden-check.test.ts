/**
 * Maintains a golden set while the store changes: checks the set, re-chunks documents, and repairs and exports
 * judgments.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type DemoRagService, startDemoRagService } from '../../src/demo/rag/spawn.ts';
import { demoQuestions, goldenCsv, type JudgedQuestion } from '../support/demo-golden-set.ts';
import { anInstallation } from '../support/installation.ts';

const QUESTIONS = 12;

let rag: DemoRagService;
let lines: JudgedQuestion[] = [];

beforeAll(async () => {
  lines = await demoQuestions(QUESTIONS);
  rag = await startDemoRagService();
});
afterAll(() => rag?.stop());

const config = () =>
  stringify({
    server: { port: 0 },
    pipelines: [
      {
        name: 'docs',
        retriever: { kind: 'http', url: `${rag.url}/search`, timeout_ms: 60_000 },
        vector_store: { kind: 'pgvector', url: rag.storeUrl, table: 'chunks', content: 'body' },
        embedder: {
          kind: 'openai',
          base_url: `${rag.url}/v1`,
          model: 'universal-sentence-encoder-lite',
          max_per_second: 1000,
        },
        golden: [{ set: 'faq', max_per_second: 1000 }],
        index: { manifest: { kind: 'command', command: ['cat', 'manifest.jsonl'] }, late_after: '1m', probe: 20 },
      },
    ],
  });

const IMPORT = 'golden import faq.csv --set faq';
const CHECK = 'golden check --pipeline docs --set faq';

const anInstalledSet = () => anInstallation({ 'recalld.yaml': config(), 'faq.csv': goldenCsv(lines) });

interface CheckJson {
  readonly verdict: string;
  readonly labels: { readonly probed: number; readonly stale: number };
  readonly proposals: readonly {
    query_id: string;
    from: string;
    to: { document_id: string; evidence: string }[];
  }[];
}

/** Re-chunks documents: `moved` gets another id, and `merged` becomes part of a larger chunk. */
async function rechunk(moved: string, merged: string): Promise<void> {
  const client = new Client({ connectionString: rag.storeUrl });
  await client.connect();
  await client.query("insert into chunks select id || '-v2', title, body, embedding from chunks where id = $1", [
    moved,
  ]);
  await client.query(
    "insert into chunks select id || '-v2', title, 'Preface of the new edition. ' || body, embedding from chunks where id = $1",
    [merged],
  );
  await client.query('delete from chunks where id = any($1)', [[moved, merged]]);
  await client.end();
}

/** Removes a document from the store. Returns the ids of the other documents. */
async function withdraw(document: string): Promise<string[]> {
  const client = new Client({ connectionString: rag.storeUrl });
  await client.connect();
  await client.query('delete from chunks where id = $1', [document]);
  const { rows } = await client.query<{ id: string }>('select id from chunks');
  await client.end();
  return rows.map(({ id }) => id);
}

describe('golden check', () => {
  it('finds no stale judgments at first, then those of re-chunked documents, and repairs the accepted ones', async () => {
    const { recalld, json } = await anInstalledSet();
    const check = async (...args: string[]) => {
      const ran = await recalld(CHECK, '--json', ...args);
      expect(ran.stderr).not.toContain('recalld:');
      return { code: ran.code, report: JSON.parse(ran.stdout) as CheckJson };
    };
    await recalld(IMPORT);
    expect(await check()).toMatchObject({ code: 0, report: { verdict: 'ok', labels: { stale: 0 } } });

    const [moved, merged] = [...new Set(lines.map(({ document }) => document))];
    await rechunk(moved ?? '', merged ?? '');
    const { code, report } = await check();
    expect(code).toBe(1);
    expect(report.labels.stale).toBe(2);
    const found = new Map(report.proposals.map(({ from, to }) => [from, to[0]]));
    expect(found.get(moved ?? '')).toMatchObject({ document_id: `${moved}-v2`, evidence: 'same_content' });
    expect(found.get(merged ?? '')).toMatchObject({ document_id: `${merged}-v2`, evidence: 'whole' });

    expect((await check('--fix', '--accept', 'all')).report).toMatchObject({ repaired: { version: 2 } });
    expect(await check()).toMatchObject({ code: 0, report: { labels: { stale: 0 } } });
    const [latest] = await json<{ note: string | null }[]>('golden list');
    expect(latest?.note).toMatch(/^From version 1: \d+ judgments? (?:was|were) moved/);
  });

  it('removes the judgments of documents marked as deleted in the manifest, and queries left without a relevant document', async () => {
    const { folder, recalld, json } = await anInstalledSet();
    const withdrawn = lines.at(-1)?.document ?? '';
    const judged = lines.filter(({ document }) => document === withdrawn).length;
    const ids = [...(await withdraw(withdrawn)), withdrawn];
    const manifest = ids.map((id) => JSON.stringify({ id, deleted: id === withdrawn }));
    await writeFile(path.join(folder, 'manifest.jsonl'), `${manifest.join('\n')}\n`);
    await recalld(IMPORT);
    await recalld('index check --pipeline docs');
    const checked = await recalld(CHECK);
    expect(checked.code).toBe(1);
    expect(checked.stdout).toContain(`${judged} deleted in the manifest`);
    expect(checked.stdout).toContain(`of ${withdrawn}, which the manifest lists as deleted`);
    const repaired = await recalld(`${CHECK} --fix --accept all`);
    expect(repaired.stdout).toMatch(
      /version 2: From version 1: \d+ judgments? (?:was|were) removed.*removed, because no relevant/,
    );
    const { queries } = await json<{ queries: { id: string }[] }>('golden show faq');
    expect(queries).toHaveLength(QUESTIONS - judged);
    expect((await recalld(CHECK)).stdout).not.toContain('deleted in the manifest');
  });

  it('rejects --fix without a terminal, --accept without --fix, and an unknown golden set', async () => {
    const { recalld } = await anInstalledSet();
    const check = (...args: string[]) => recalld(CHECK, ...args);
    expect(await check('--fix')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--accept all or --accept FILE/) as string,
    });
    expect(await check('--accept', 'all')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--accept requires --fix/) as string,
    });
    expect(await check()).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no golden set "faq"/) as string,
    });
  });
});

describe('golden export', () => {
  it('writes BEIR files that are imported as the same golden set', async () => {
    const { recalld, json } = await anInstalledSet();
    await recalld(IMPORT);
    const exported = 'golden export --set faq --format beir --out';
    expect(await recalld(`${exported} copy`)).toMatchObject({ code: 0 });
    expect(await recalld(`${exported} copy`)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/already exists/) as string,
    });
    await recalld('golden import copy --set copy');
    const queriesOf = async (set: string) => (await json<{ queries: unknown }>(`golden show ${set}`)).queries;
    expect(await queriesOf('copy')).toEqual(await queriesOf('faq'));
    expect(await recalld(`${exported} x --version 7`)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/has no version 7/) as string,
    });
  });
});
