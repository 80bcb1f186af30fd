/** Replays exports of real tracing programs, which `npm run test:interop` recorded, against a running daemon. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRecordings } from '../interop/tracing/recording.ts';
import { configOf, expected, send, stored } from '../interop/tracing/replay.ts';
import { anInstallation, type Installation, type InstalledDaemon } from '../support/installation.ts';

const recordings = readRecordings();
let installed: Installation;
let daemon: InstalledDaemon;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  installed = await anInstallation(
    { 'recalld.yaml': configOf(recordings) },
    { atEnd: (clean) => void cleanups.unshift(clean) },
  );
  daemon = await installed.serve();
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

describe('recalld stores the retrievals of the program:', () => {
  it.each(recordings.map((recording) => [recording.name, recording] as const))('%s', async (_, recording) => {
    const messages = await send(recording, daemon);
    expect(await stored(recording, installed)).toEqual(expected(recording));
    expect(messages.filter((message) => message !== '')).toEqual([]);
  });
});

it('`recalld doctor` explains why recalld stores nothing from a program whose spans contain no search', async () => {
  const { stdout } = await installed.recalld('doctor');
  expect(stdout).toMatch(/openai-otel spans: 1 model call of opentelemetry\.util\.genai\.handler /);
  const silent = new Set(recordings.flatMap(({ reason, name }) => (reason === undefined ? [] : [name])));
  for (const { name } of recordings) expect(stdout.includes(`${name} spans: `), name).toBe(silent.has(name));
});

/** Queries of one agent run in the recordings, in order. */
const steps = ['late parcel lost', 'lost phone recovery codes'];
const asked = 'My parcel is late and I lost my phone.';

describe('recalld groups the retrievals of one agent run into an episode, in the order of the steps:', () => {
  it.each([
    ['langgraph-openinference', 3, asked],
    ['pydantic-ai-logfire', 1, asked],
    ['llamaindex-openinference', 1, null],
    ['langgraph-js-openinference', 2, asked],
    ['ai-sdk', 2, asked],
    // The spans of OpenAI's agents do not contain the user's input.
    ['openai-agents-openinference', 1, null],
  ] as const)('%s', async (name, runs, originalText) => {
    const rows = await installed.query<{ texts: string[]; traces: number; original: string | null }>(
      `select array_agg(text order by occurred_at, id) as texts, count(distinct trace_id)::integer as traces,
              max(original_text) as original
         from live_queries where pipeline = $1 group by episode having count(*) > 1`,
      name,
    );
    expect(rows).toEqual(Array.from({ length: runs }, () => ({ texts: steps, traces: 1, original: originalText })));
  });
});
