import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { demoDataPath, readDemoQuestions } from '../../../src/demo/rag/corpus.ts';
import { gapOf, type RagFault, SLOW_MS, SLOW_ONE_IN } from '../../../src/demo/rag/fault.ts';
import { type DemoRagService, startDemoRagService } from '../../../src/demo/rag/spawn.ts';

interface SearchAnswer {
  readonly results: readonly { id: string; score: number; title: string; text: string }[];
}

const waitOptions = { timeout: 50_000, interval: 20 };

async function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function search(url: string, query: string, k?: number): Promise<SearchAnswer['results']> {
  const response = await post(`${url}/search`, { query, k });
  const answer: SearchAnswer = JSON.parse(await response.text());
  return answer.results;
}

async function searchIds(url: string, query: string): Promise<string[]> {
  return (await search(url, query)).map((result) => result.id);
}

function readJudgment(line: string): [query: string, document: string] {
  const [query = '', document = ''] = line.split('\t');
  return [query, document];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function storedIds(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('select id from chunks order by id');
  return rows.map((row) => row.id);
}

describe('the demo RAG service', () => {
  let service: DemoRagService;
  let pool: Pool;
  const log: string[] = [];

  beforeAll(async () => {
    service = await startDemoRagService({ onLog: (line) => log.push(line) });
    pool = new Pool({ connectionString: service.storeUrl, max: 2 });
    pool.on('error', () => undefined);
  });

  afterAll(async () => {
    await pool?.end();
    await service?.stop();
  });

  it('serves the whole corpus on loopback', async () => {
    expect(new URL(service.url).hostname).toBe('127.0.0.1');
    expect(service.documents).toBe(240);
    expect(await (await fetch(`${service.url}/healthz`)).json()).toEqual({
      status: 'ok',
      documents: 240,
      fault: 'none',
    });
    expect(log.at(-1)).toContain('Serving 240 documents');
  });

  it('returns the passages most similar to a question, best first', async () => {
    const results = await search(service.url, 'How old was Peyton Manning when he played in Super Bowl 50?', 3);
    expect(results).toHaveLength(3);
    expect(results[0]).toMatchObject({ id: 'Super_Bowl_50/3', title: 'Super Bowl 50' });
    expect(results[0]?.text).toContain('Peyton Manning');
    const scores = results.map((result) => result.score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
  });

  it('returns ten passages by default', async () => {
    expect(await searchIds(service.url, 'Who won Super Bowl 50?')).toHaveLength(10);
  });

  it('omits texts if they are not requested', async () => {
    const answer = await post(`${service.url}/search`, { query: 'Who won Super Bowl 50?', k: 1, with_text: false });
    const { results }: SearchAnswer = JSON.parse(await answer.text());
    expect(results).toEqual([{ id: expect.any(String), score: expect.any(Number), title: 'Super Bowl 50' }]);
  });

  it('returns no results for a question without content words', async () => {
    expect(await searchIds(service.url, 'What is it?')).toEqual([]);
  });

  it.each([
    ['no query', {}],
    ['an empty query', { query: '' }],
    ['k of 0', { query: 'war', k: 0 }],
    ['k over 100', { query: 'war', k: 101 }],
  ])('refuses %s with status 400', async (_what, body) => {
    expect((await post(`${service.url}/search`, body)).status).toBe(400);
  });

  it('stores passages in pgvector, which other PostgreSQL clients can read during searches', async () => {
    const [{ rows }, ids] = await Promise.all([
      pool.query<{ id: string; norm: number }>(
        'select id, vector_norm(embedding) as norm from chunks where id = any($1)',
        [['Super_Bowl_50/1', 'Super_Bowl_50/2']],
      ),
      searchIds(service.url, 'How old was Peyton Manning when he played in Super Bowl 50?'),
    ]);
    expect(rows).toHaveLength(2);
    expect(rows.map((row) => row.norm)).toEqual([expect.closeTo(1, 5), expect.closeTo(1, 5)]);
    expect(ids[0]).toBe('Super_Bowl_50/3');
  });

  describe('as an embedder with the OpenAI API', () => {
    interface EmbeddingsAnswer {
      readonly data: readonly { readonly index: number; readonly embedding: number[] | string }[];
    }

    async function embed(body: object): Promise<EmbeddingsAnswer['data']> {
      const response = await post(`${service.url}/v1/embeddings`, body);
      const answer: EmbeddingsAnswer = JSON.parse(await response.text());
      return answer.data;
    }

    it('returns the stored vector of a passage, as numbers and as base64', async () => {
      const [passage] = await search(service.url, 'How old was Peyton Manning when he played in Super Bowl 50?', 1);
      const { rows } = await pool.query<{ embedding: string }>('select embedding::text from chunks where id = $1', [
        passage?.id,
      ]);
      const stored = Float32Array.from(JSON.parse(rows[0]?.embedding ?? '[]') as number[]);
      const [first, second] = await embed({ input: ['Who won?', passage?.text] });
      expect([first?.index, second?.index]).toEqual([0, 1]);
      expect(Float32Array.from(second?.embedding as number[])).toEqual(stored);
      const [packed] = await embed({ input: passage?.text, encoding_format: 'base64' });
      const bytes = Buffer.from(String(packed?.embedding), 'base64');
      const unpacked = Float32Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
      expect(unpacked).toEqual(stored);
    });

    it('returns other vectors after a model change, and an error during an outage', async () => {
      const healthy = await embed({ input: 'the war' });
      await service.setFault('embedding');
      expect(await embed({ input: 'the war' })).not.toEqual(healthy);
      await service.setFault('outage');
      expect((await post(`${service.url}/v1/embeddings`, { input: 'the war' })).status).toBe(503);
      await service.setFault('none');
      expect(await embed({ input: 'the war' })).toEqual(healthy);
    });

    it.each([
      ['no text', {}],
      ['no texts', { input: [] }],
      ['an empty text', { input: ['a', ''] }],
      ['another encoding', { input: 'a', encoding_format: 'hex' }],
    ])('refuses %s with status 400', async (_what, body) => {
      expect((await post(`${service.url}/v1/embeddings`, body)).status).toBe(400);
    });
  });

  describe('under a fault', () => {
    const qrels = readFileSync(join(demoDataPath, 'qrels.tsv'), 'utf8').trimEnd().split('\n').slice(1);
    const relevant = new Map(qrels.map((line) => readJudgment(line)));

    async function rankSomeQuestions(): Promise<{ rankings: string[][]; hitRate: number }> {
      const questions = (await readDemoQuestions()).filter((_question, at) => at % 10 === 0);
      const rankings = await Promise.all(questions.map(({ text }) => searchIds(service.url, text)));
      const hits = questions.filter(({ id }, at) => rankings[at]?.includes(relevant.get(id) ?? ''));
      return { rankings, hitRate: hits.length / questions.length };
    }

    it.each<[RagFault, number, string, number]>([
      ['index', 160, 'by about a third', 0.75],
      ['stale', 480, 'to nothing, because the ids are new', 0.01],
      ['embedding', 240, 'to almost nothing', 0.15],
    ])(
      '`%s` leaves %d documents and reduces the hit rate %s, until the fault is removed',
      async (fault, left, _how, below) => {
        const healthy = await rankSomeQuestions();
        expect(healthy.hitRate).toBeGreaterThan(0.93);

        await service.setFault(fault);
        const ids = await storedIds(pool);
        const broken = await rankSomeQuestions();
        expect(ids).toHaveLength(left);
        expect(broken.hitRate).toBeLessThan(below);
        expect(broken.rankings.flat().filter((id) => !ids.includes(id))).toEqual([]);
        // Activating the same fault twice drops no further documents.
        await service.setFault(fault);
        expect(await storedIds(pool)).toEqual(ids);

        await service.setFault('none');
        expect(await rankSomeQuestions()).toEqual(healthy);
      },
    );

    it('`outage` answers searches with status 503, until the fault is removed', async () => {
      await service.setFault('outage');
      expect((await post(`${service.url}/search`, { query: 'war' })).status).toBe(503);
      await service.setFault('none');
      expect((await post(`${service.url}/search`, { query: 'war' })).status).toBe(200);
    });

    it('`slow` delays at least one search in eight', async () => {
      const late = async (): Promise<number> => {
        let count = 0;
        for (let asked = 0; asked < 2 * SLOW_ONE_IN; asked += 1) {
          const startedAt = performance.now();
          await search(service.url, 'Who won Super Bowl 50?');
          if (performance.now() - startedAt >= SLOW_MS) count += 1;
        }
        return count;
      };
      await service.setFault('slow');
      expect(await late()).toBeGreaterThanOrEqual(2);
      await service.setFault('none');
      expect((await search(service.url, 'Who won Super Bowl 50?')).length).toBe(10);
    });

    it('omits the documents of gaps until the gaps are filled, with or without a fault', async () => {
      const inGaps = async () => (await storedIds(pool)).flatMap((id) => gapOf(id) ?? []).toSorted();
      expect(await service.setFault('none', [])).toBe(219);
      expect(await inGaps()).toEqual([]);
      expect(await service.setFault('stale', ['answers'])).toBe(470);
      expect((await storedIds(pool)).filter((id) => id.startsWith('Super_Bowl_50/'))).toEqual([]);
      expect(await service.setFault('none')).toBe(240);
      expect(await inGaps()).toEqual([...Array(16).fill('answers'), ...Array(5).fill('article')]);
    });

    it('answers all searches while a fault is activated and removed', async () => {
      const busy = rankSomeQuestions();
      for (const fault of ['index', 'none', 'index', 'none'] as const) await service.setFault(fault);
      expect((await busy).rankings.every((ranking) => ranking.length === 10)).toBe(true);
      expect(await storedIds(pool)).toHaveLength(240);
    });

    it('rejects an unknown fault with status 400', async () => {
      expect((await post(`${service.url}/admin/condition`, { fault: 'flood' })).status).toBe(400);
    });
  });
});

describe('the process of the demo RAG service', () => {
  it('stops with exit code 0 and without output, even with a client in a transaction', async () => {
    const log: string[] = [];
    const service = await startDemoRagService({ onLog: (line) => log.push(line) });
    const pool = new Pool({ connectionString: service.storeUrl });
    pool.on('error', () => undefined);
    const client = await pool.connect();
    client.on('error', () => undefined);
    await client.query('begin');
    await client.query('delete from chunks');
    const linesBefore = log.length;

    await Promise.all([service.stop(), service.stop()]);
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(log.slice(linesBefore)).toEqual([]);
    expect(isRunning(service.pid)).toBe(false);
    await expect(service.setFault('none')).rejects.toMatchObject({
      code: 'demo_failed',
      message: expect.stringContaining(service.url),
    });
    client.release(true);
    await pool.end();
  });

  it('survives Ctrl-C in the terminal of its parent, and ends when the parent is killed', async () => {
    const source = `
      import { startDemoRagService } from './src/demo/rag/spawn.ts';
      process.on('SIGINT', () => console.log('interrupted'));
      const { pid, url } = await startDemoRagService();
      console.log(JSON.stringify({ pid, url }));`;
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', source], {
      // Ctrl-C in a terminal signals the whole process group, so the process gets a separate group.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const group = -(parent.pid ?? Number.NaN);
    try {
      const lines: string[] = [];
      createInterface({ input: parent.stdout }).on('line', (line) => lines.push(line));
      await vi.waitFor(() => expect(lines).toHaveLength(1), waitOptions);
      const service: { pid: number; url: string } = JSON.parse(lines[0] ?? '');

      process.kill(group, 'SIGINT');
      await vi.waitFor(() => expect(lines).toContain('interrupted'), waitOptions);
      expect((await post(`${service.url}/search`, { query: 'war' })).status).toBe(200);

      process.kill(group, 'SIGKILL');
      await vi.waitFor(() => expect(isRunning(service.pid)).toBe(false), waitOptions);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('ends when the parent is killed during startup', async () => {
    const source = `
      import { execFileSync } from 'node:child_process';
      import { startDemoRagService } from './src/demo/rag/spawn.ts';
      const listProcesses = () => execFileSync('ps', ['-A', '-o', 'ppid=,pid=,args='], { encoding: 'utf8' });
      await startDemoRagService({ onLog: () => console.log(listProcesses()) });`;
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const lines: string[] = [];
      createInterface({ input: parent.stdout }).on('line', (line) => lines.push(line));
      const child = await vi.waitFor(() => {
        const line = lines.find((text) => text.trim().startsWith(`${parent.pid} `) && text.includes('main.ts'));
        if (line === undefined) throw new Error('The child is not in the list yet.');
        return Number(line.trim().split(/\s+/)[1]);
      }, waitOptions);
      expect(isRunning(child)).toBe(true);
      parent.kill('SIGKILL');
      await vi.waitFor(() => expect(isRunning(child)).toBe(false), waitOptions);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  it('reports its last output if it does not start before the timeout', async () => {
    await expect(startDemoRagService({ startTimeoutMs: 1 })).rejects.toMatchObject({
      code: 'demo_failed',
      message: expect.stringMatching(/^The demo's RAG service did not start within 0\.001 s\. Its last output was: /),
    });
  });

  it('rejects with the abort reason if its start is aborted', async () => {
    const reason = new Error('enough');
    await expect(startDemoRagService({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const starting = startDemoRagService({
      signal: controller.signal,
      onLog: () => controller.abort(reason),
    });
    await expect(starting).rejects.toBe(reason);
  });
});
