/** Live queries with feedback become golden queries through a file that a person edits. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CommandSettings, withCommandStore } from '../../../../../src/app/commands/command-store.ts';
import { configSchema } from '../../../../../src/app/config/schema.ts';
import { erase } from '../../../../../src/app/erasure/erase.ts';
import { promoteToFile } from '../../../../../src/golden/edge/commands/golden.ts';
import { importReview } from '../../../../../src/golden/sets/review-file.ts';
import { textHash } from '../../../../../src/live/privacy/rules/redactor.ts';
import type { StoredFeedback } from '../../../../../src/live/sql/feedback-rows.ts';
import { createLiveTraffic } from '../../../../../src/live/sql/live-traffic.ts';
import type { LiveSample } from '../../../../../src/live/sql/record-arrivals.ts';
import { useDatabase } from '../../../../support/database.ts';
import { documents, type FaultServer, startFaultServer, status } from '../../../../support/fault-server.ts';
import { aLiveSample, aStoredClick } from '../../../../support/live-rows.ts';
import { silentLogger } from '../../../../support/log.ts';

const database = useDatabase();
const HASH_KEY = 'key-of-the-hashes-0123456789';
const since = new Date(Date.now() - 86_400_000);

let server: FaultServer;
let isBroken = false;
let folder = '';

beforeEach(async () => {
  isBroken = false;
  const found = documents([
    { id: 'now', score: 0.9 },
    { id: 'd1', score: 0.8 },
  ]);
  server = await startFaultServer((request, response) => (isBroken ? status(500) : found)(request, response));
  folder = await mkdtemp(path.join(tmpdir(), 'recalld-promotion-'));
  await createLiveTraffic(database.pool, 'r1').createPartitions(new Date());
  await database.pool.query(
    'truncate live_queries, feedback, golden_sets, golden_query_origins, erased_subjects cascade',
  );
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

function settings(privacy: 'redact' | 'hash' = 'redact'): CommandSettings {
  const { user, password, host, port, database: name } = database.connection;
  const config = configSchema.parse({
    storage: { url: `postgres://${user}:${password}@${host}:${port}/${name}`, hash_key: HASH_KEY },
    pipelines: [
      {
        name: 'docs',
        retriever: { kind: 'http', url: `${server.url}/search`, retries: 0 },
        privacy: { text: privacy },
      },
    ],
  });
  return { config, logger: silentLogger, signal: new AbortController().signal };
}

async function store(samples: readonly Partial<LiveSample>[], feedback: readonly Partial<StoredFeedback>[]) {
  const traffic = createLiveTraffic(database.pool, 'r1');
  const now = { receivedAt: new Date(), occurredAt: new Date() };
  await traffic.record({
    samples: samples.map((one) => aLiveSample({ ...now, ...one })),
    counts: [],
    levels: [],
  });
  await traffic.recordFeedback(feedback.map((one, i) => aStoredClick({ id: `f${i}`, ...now, ...one })));
}

const file = () => path.join(folder, 'review.jsonl');

const promote = (parts: { privacy?: 'redact' | 'hash' } = {}) =>
  withCommandStore(settings(parts.privacy), (opened) =>
    promoteToFile(
      settings(parts.privacy),
      opened,
      { pipeline: 'docs', set: 'faq', since, out: file(), queries: 10, force: true },
      () => undefined,
    ),
  );

interface Line {
  keep: boolean;
  text: string;
  judgments: { document_id: string; grade: number | null; clicks: number }[];
  origin: { details: Record<string, unknown>; asked_at: string | null };
}

const review = async (): Promise<Line[]> =>
  (await readFile(file(), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
const importEdited = async (edit: (line: Line) => void) => {
  const lines = await review();
  for (const line of lines) edit(line);
  await writeFile(file(), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return withCommandStore(settings(), ({ db }) =>
    importReview(settings().config, db.golden.sets, file(), 'faq', settings().signal),
  );
};

describe('golden promote', () => {
  it('writes live queries with the documents that users saw, the current results, and grades from clicks', async () => {
    await store(
      [
        { id: 'x1', text: 'How do I pay?', probability: 0.1 },
        { id: 'x2', text: 'how do i pay', probability: 0.5 },
        { id: 'x3', text: 'It went unnoticed' },
        { id: 'x4', text: null },
      ],
      [{ queryId: 'x1', documentId: 'd2' }],
    );
    expect(await promote()).toEqual({ candidates: 3, promoted: 1, suggested: 1, open: 2, failed: 0 });
    const [line] = await review();
    expect(line).toMatchObject({
      keep: true,
      text: 'How do I pay?',
      origin: { kind: 'live', pipeline: 'docs', details: { asked: 12, probability: 0.1, clicks: 1 } },
    });
    expect(line?.judgments.map(({ document_id: id, grade }) => [id, grade])).toEqual([
      ['now', null],
      ['d1', null],
      ['d2', 1],
    ]);
  });

  it('still lists what users saw when the retriever is down', async () => {
    await store([{ id: 'x1', text: 'How do I pay?' }], [{ queryId: 'x1', documentId: 'd1' }]);
    isBroken = true;
    expect(await promote()).toMatchObject({ promoted: 1, failed: 1 });
    expect((await review())[0]?.judgments.map(({ document_id: id }) => id)).toEqual(['d1', 'd2']);
  });

  it('states why it cannot propose queries when no texts are stored', async () => {
    await expect(promote({ privacy: 'hash' })).rejects.toMatchObject({
      code: 'text_not_stored',
      message: expect.stringMatching(/privacy\.text: hash/) as string,
    });
    await store([{ id: 'x1', text: null }], []);
    await expect(promote()).rejects.toThrow(/no live query with a text since/);
  });
});

describe('an edited review file', () => {
  beforeEach(async () => {
    await store(
      [
        { id: 'x1', text: 'How do I pay?', userHash: 'hash of ann' },
        { id: 'x2', text: 'Where is my parcel?', userHash: 'hash of bob' },
      ],
      [
        { queryId: 'x1', documentId: 'd1' },
        { queryId: 'x2', documentId: 'd2' },
      ],
    );
    await promote();
  });

  it('adds the kept queries and their grades to the set', async () => {
    const { set, warnings } = await importEdited((line) => {
      line.keep = line.text.includes('pay');
      for (const judgment of line.judgments) if (judgment.document_id === 'now') judgment.grade = 2;
    });
    expect(set).toMatchObject({ version: 1, queries: 1, format: 'review', origin: 'human' });
    expect(warnings).toEqual(['Skipped because keep is false: 1 query.']);
    await withCommandStore(settings(), async ({ db }) => {
      const [query] = await db.golden.sets.queries('faq', 1);
      expect(query).toMatchObject({
        id: `live-${textHash('x1', HASH_KEY).slice(0, 16)}`,
        text: 'How do I pay?',
      });
      expect(new Map(query?.judgments.map(({ documentId, grade }) => [documentId, grade]))).toEqual(
        new Map([
          ['now', 2],
          ['d1', 1],
        ]),
      );
      expect(await db.golden.sets.origins('faq')).toMatchObject([
        { kind: 'live', pipeline: 'docs', userHash: 'hash of ann' },
      ]);
    });
    // Queries of the set are not promoted again.
    expect(await promote()).toMatchObject({ promoted: 1 });
    expect((await review())[0]?.text).toBe('Where is my parcel?');
  });

  it('skips queries erased since the file was written, and an erasure deletes the queries that it added', async () => {
    await erase(database.pool, { kind: 'query', id: 'x1', idHash: textHash('x1', HASH_KEY) }, 'ada', new Date());
    const { set, warnings } = await importEdited(() => undefined);
    expect(set.queries).toBe(1);
    expect(warnings).toContain('Skipped because they were erased on request: 1 query.');
    expect(await erase(database.pool, { kind: 'user', userHash: 'hash of bob' }, 'ada', new Date())).toMatchObject({
      goldenQueries: 1,
    });
    const { rows } = await database.pool.query<{ text: string }>('select text from golden_queries');
    expect(rows).toEqual([{ text: '[erased]' }]);
  });

  it('skips queries older than the retention time of erasures, unless the set already contains them', async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const asked = (days: number) => (line: Line) => {
      if (line.text.includes('pay')) line.origin.asked_at = daysAgo(days);
    };
    const { set, warnings } = await importEdited(asked(31));
    expect(set.queries).toBe(1);
    expect(warnings).toEqual(['Skipped because they are older than 30 days and may have been erased: 1 query.']);
    expect((await importEdited(asked(29))).set.queries).toBe(2);
    expect((await importEdited(asked(31))).warnings).toEqual([]);
  });

  it('is refused with the number of the broken line', async () => {
    await writeFile(file(), '{"keep": "yes"}\n');
    const importing = withCommandStore(settings(), ({ db }) =>
      importReview(settings().config, db.golden.sets, file(), 'faq', settings().signal),
    );
    await expect(importing).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringMatching(/^Line 1 of .*has a bad "keep": must be true or false/) as string,
    });
  });
});
