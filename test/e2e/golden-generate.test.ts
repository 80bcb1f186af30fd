/** Questions of a chat model that misbehaves, about the chunks of a real store, from the command line. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { type DemoRagService, startDemoRagService } from '../../src/demo/rag/spawn.ts';
import {
  type FaultServer,
  json,
  type ReceivedRequest,
  type Responder,
  startFaultServer,
  tooManyRequests,
} from '../support/fault-server.ts';
import { anInstallation } from '../support/installation.ts';
import { waitFor } from '../support/wait-for.ts';

let rag: DemoRagService;
let llm: FaultServer;
let responder: Responder;

beforeAll(async () => {
  rag = await startDemoRagService();
});
afterAll(() => rag?.stop());
beforeEach(async () => {
  llm = await startFaultServer((request, response) => responder(request, response));
});
afterEach(() => llm.close());

const said = (content: string, reason = 'stop', message: object = {}) =>
  json({
    choices: [{ message: { content, ...message }, finish_reason: reason }],
    usage: { prompt_tokens: 500, completion_tokens: 20 },
  });

/** The source that a request is about. */
function sourceOf({ body }: ReceivedRequest): string {
  const { messages } = JSON.parse(body) as { messages: { content: string }[] };
  const data = messages[1]?.content.split('\n').at(-1) ?? '{}';
  return (JSON.parse(data) as { source?: string }).source ?? '';
}

/** Every fifth word of the source, so that it is found by them and nothing is quoted. */
const goodAnswer: Responder = (request, response) => {
  const words = sourceOf(request)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 3);
  const question = words
    .filter((_, index) => index % 5 === 0)
    .slice(0, 9)
    .join(' ');
  said(JSON.stringify({ answerable: true, question }))(request, response);
};

/** Answers well only now and then. */
function moody(): Responder {
  let calls = 0;
  const moods: Responder[] = [
    goodAnswer,
    tooManyRequests('0'),
    said('{"answerable": true, "quest', 'length'),
    goodAnswer,
    said('', 'stop', { refusal: 'I cannot help with that.' }),
    said('{"questions": ["wrong", "shape"]}'),
    goodAnswer,
    said(JSON.stringify({ answerable: true, question: 'What does the passage describe?' })),
    said('{"answerable": false, "question": ""}'),
  ];
  return (request, response) => (moods[calls++ % moods.length] ?? goodAnswer)(request, response);
}

const aStore = () =>
  anInstallation({
    'human.csv': 'question,document\nWhat?,d1\n',
    'recalld.yaml': stringify({
      server: { port: 0 },
      llm: {
        base_url: llm.url,
        model: 'moody-1',
        api_key: 'secret',
        max_per_second: 1000,
        price_per_million_tokens: { input: 1, output: 2 },
      },
      pipelines: [
        {
          name: 'docs',
          retriever: { kind: 'http', url: `${rag.url}/search` },
          vector_store: { kind: 'pgvector', url: rag.storeUrl, table: 'chunks', content: 'body' },
          embedder: {
            kind: 'openai',
            base_url: `${rag.url}/v1`,
            model: 'universal-sentence-encoder-lite',
            max_per_second: 1000,
          },
        },
      ],
    }),
  });

const generate = (questions: number, set = 'made') =>
  `golden generate --pipeline docs --set ${set} --queries ${questions} --json`;

interface Report {
  readonly end: string;
  readonly kept: number;
  readonly cost: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly set: { version: number; query_count: number; origin: string } | null;
  readonly state: string | null;
}
const reportOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as Report;

describe('golden generate', () => {
  it('makes a set of its own, with provenance, from a model that misbehaves', async () => {
    responder = moody();
    const { recalld, json } = await aStore();
    const ran = await recalld(generate(15));
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(ran.stderr).toMatch(/^Estimate: \d+ tokens sent, \d+ answered, about \$/m);
    const report = reportOf(ran);
    expect(report).toMatchObject({
      end: 'complete',
      kept: 15,
      set: { version: 1, query_count: 15, origin: 'generated' },
    });
    expect(report.outcomes).toMatchObject({ points_at_text: expect.any(Number) as number });
    expect(await json('golden run --pipeline docs --set made')).toMatchObject({ queries: { ok: 15 } });
    const mixed = await recalld('golden import human.csv --set made');
    expect(mixed.code).toBe(2);
    expect(mixed.stderr).toMatch(/holds questions of a model, which are not to be mixed/);
  });

  it('stops at its cap with what it has, and goes on from there when there is more money', async () => {
    responder = goodAnswer;
    const { folder, recalld, json } = await aStore();
    const intoFile = `${generate(12)} --out review.jsonl`;
    const capped = await recalld(`${intoFile} --max-cost 0.005`);
    expect(capped.code).toBe(1);
    const first = reportOf(capped);
    expect(first.end).toBe('cost_cap');
    expect(first.cost).toBeLessThanOrEqual(0.005);
    const before = llm.requests.length;
    const asked = new Set(llm.requests.map(sourceOf));
    expect((await recalld(intoFile)).stderr).toMatch(/add --resume/);
    const resumed = await recalld(`${intoFile} --resume`);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    const again = llm.requests.slice(before).map(sourceOf);
    expect(again.filter((source) => asked.has(source))).toEqual([]);
    const lines = (await readFile(path.join(folder, 'review.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(12);
    expect(await json('golden import review.jsonl --set made --format review')).toMatchObject({
      query_count: 12,
      origin: 'generated',
    });
  });

  it('loses nothing when it is killed in the middle', async () => {
    responder = (request, response) => {
      // From the tenth on nothing is answered.
      if (llm.requests.length < 10) goodAnswer(request, response);
    };
    const { folder, recalld, spawn } = await aStore();
    const running = spawn(generate(20));
    await waitFor(() => llm.requests.length >= 10, { timeoutMs: 60_000 });
    running.child.kill('SIGKILL');
    await running.finished;
    const state = (await readFile(path.join(folder, 'made.generated.state.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(state.length).toBeGreaterThanOrEqual(5);
    const settled = new Set(llm.requests.slice(0, 8).map(sourceOf));
    const before = llm.requests.length;
    responder = goodAnswer;
    const resumed = await recalld(`${generate(20)} --resume`);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    expect(reportOf(resumed)).toMatchObject({ kept: 20, set: { query_count: 20 } });
    const again = llm.requests.slice(before).map(sourceOf);
    expect(again.filter((source) => settled.has(source))).toEqual([]);
  });

  it('says what is missing, and stores nothing when the model is down', async () => {
    responder = (_, response) => response.destroy();
    const { recalld } = await aStore();
    const failed = await recalld(generate(5));
    expect(failed.code).toBe(3);
    expect(failed.stderr).toMatch(/The chat model .*--resume to go on/);
    expect(failed.stderr).not.toContain('secret');
    await recalld('golden import human.csv --set human');
    const human = await recalld(generate(5, 'human'));
    expect(human).toMatchObject({ code: 2 });
    expect(human.stderr).toMatch(/holds questions of people/);
  });
});
