/**
 * Tests pinned baselines, stale judgments and `recalld doctor` against the RAG service of the demo and its real vector
 * store.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { type DemoRagService, startDemoRagService } from '../../src/demo/rag/spawn.ts';
import type { RunSummaryJson } from '../../src/golden/run-summary-schema.ts';
import { demoQuestions, goldenCsv } from '../support/demo-golden-set.ts';
import { anInstallation } from '../support/installation.ts';

const QUESTIONS = 120;

let rag: DemoRagService;
let questionsCsv = '';

beforeAll(async () => {
  questionsCsv = goldenCsv(await demoQuestions(QUESTIONS));
  rag = await startDemoRagService();
});
afterAll(() => rag?.stop());

const checks = [
  { regression: 'ndcg@10', drop: 0.02, severity: 'critical', runs: 2 },
  { stale_labels_above: 0.02, severity: 'warning' },
];

async function aMonitor(parts: object = {}) {
  const pipeline = {
    name: 'docs',
    retriever: { kind: 'vector_store', timeout_ms: 60_000 },
    vector_store: { kind: 'pgvector', url: rag.storeUrl, table: 'chunks', content: 'body' },
    embedder: {
      kind: 'openai',
      base_url: `${rag.url}/v1`,
      model: 'universal-sentence-encoder-lite',
      max_per_second: 1000,
    },
    golden: [{ set: 'faq', max_per_second: 1000 }],
    checks,
    ...parts,
  };
  const { recalld } = await anInstallation({
    'recalld.yaml': stringify({ server: { port: 0 }, pipelines: [pipeline] }),
    'faq.csv': questionsCsv,
  });
  const run = async (): Promise<RunSummaryJson & { readonly code: number | null }> => {
    const { code, stdout } = await recalld('golden run --pipeline docs --set faq --json');
    return { code, ...(JSON.parse(stdout) as RunSummaryJson) };
  };
  expect(await recalld('golden import faq.csv --set faq')).toMatchObject({ code: 0 });
  return { recalld, run };
}

const verdictOf = (run: RunSummaryJson, name: string) => run.checks.find((check) => check.name.includes(name))?.verdict;

async function withFault(fault: 'index' | 'stale' | 'embedding'): Promise<void> {
  onTestFinished(async () => {
    await rag.setFault('none');
  });
  await rag.setFault(fault);
}

describe('a pinned baseline', () => {
  it('exists only after a run is pinned, shows no difference while nothing changes, and confirms a regression in the second run', async () => {
    const { recalld, run } = await aMonitor();
    const first = await run();
    expect(first.baseline).toBeNull();
    expect(verdictOf(first, 'regression')).toBe('no_data');
    expect(await recalld('golden import faq.csv --set faq')).toMatchObject({
      stderr: expect.stringContaining('ndcg@10: the detectable drop is unknown until a run is pinned') as string,
    });
    expect(await recalld(`baselines pin ${first.run_id} --reruns 2`)).toMatchObject({
      code: 0,
      stdout: `Pinned ${first.run_id} as the baseline for faq on docs.\n`,
      stderr: expect.stringMatching(
        /The retriever returned the same results in 3 runs(.|\n)*ndcg@10: the check reports every drop of at least 0\.\d+ within 2 runs/,
      ) as string,
    });
    expect(await recalld('golden check --pipeline docs --set faq')).toMatchObject({
      stdout: expect.stringContaining('Power: ndcg@10: the check reports every drop of at least') as string,
    });

    const same = await run();
    expect(same.code).toBe(0);
    expect(same.baseline).toMatchObject({
      run_id: first.run_id,
      n: QUESTIONS,
      verdict: 'no_change',
      excluded: 0,
    });
    expect(same.baseline?.metrics['ndcg@10']).toMatchObject({
      difference: 0,
      p_randomization: 1,
      verdict: 'no_change',
    });

    await withFault('embedding');
    const once = await run();
    expect(once.baseline?.metrics['ndcg@10']).toMatchObject({ verdict: 'regression' });
    expect(verdictOf(once, 'regression')).toBe('ok');
    const twice = await run();
    expect(verdictOf(twice, 'regression')).toBe('critical');
    expect(twice.code).toBe(1);

    const compared = await recalld(`runs compare ${first.run_id} ${twice.run_id} --limit 3 --json`);
    expect(compared.code).toBe(1);
    const json = JSON.parse(compared.stdout) as { verdict: string; queries: { difference: number }[] };
    expect(json.verdict).toBe('regression');
    expect(json.queries.map(({ difference }) => difference)).toEqual([-1, -1, -1]);
  });

  it('counts documents that vanished without a replacement as a regression, and excludes no query', async () => {
    const { recalld, run } = await aMonitor();
    const before = await run();
    await recalld(`baselines pin ${before.run_id}`);
    await withFault('index');
    const after = await run();
    const again = await run();
    expect(after.labels).toMatchObject({ reason: null, stale: 0 });
    expect(after.labels.lost).toBeGreaterThan(20);
    expect(verdictOf(again, 'stale labels')).toBe('ok');
    expect(verdictOf(again, 'regression')).toBe('critical');
    expect(again.baseline?.excluded).toBe(0);
    expect(again.code).toBe(1);
  });

  it('excludes queries whose documents were re-chunked, because their judgments are stale, and reports no regression', async () => {
    const { recalld, run } = await aMonitor();
    const before = await run();
    await recalld(`baselines pin ${before.run_id}`);
    await withFault('stale');
    await run();
    const again = await run();
    expect(again.labels.stale).toBeGreaterThan(20);
    expect(again.labels.lost).toBe(0);
    expect(verdictOf(again, 'stale labels')).toBe('warning');
    expect(verdictOf(again, 'regression')).not.toBe('critical');
    expect(again.baseline?.excluded ?? again.queries.total).toBeGreaterThan(20);
  });

  it('cannot be pinned for an unknown run, and can be unpinned once by pipeline and golden set', async () => {
    const { recalld, run } = await aMonitor();
    expect(await recalld('baselines pin nothing')).toMatchObject({ code: 2 });
    const { run_id: id } = await run();
    await recalld(`baselines pin ${id} --note first`);
    expect((await recalld('baselines list')).stdout).toContain(id);
    expect(await recalld('baselines unpin --pipeline docs --set faq')).toMatchObject({
      code: 0,
    });
    expect(await recalld('baselines unpin --pipeline docs --set faq')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No baseline is pinned for faq on docs') as string,
    });
  });
});

describe('the doctor', () => {
  it('finds no problem in a working installation', async () => {
    const { recalld } = await aMonitor();
    const { code, stdout } = await recalld('doctor --json');
    const { findings, verdict } = JSON.parse(stdout) as {
      verdict: string;
      findings: { service: string; status: string; message: string }[];
    };
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect({ code, verdict }).toEqual({ code: 0, verdict: 'ok' });
    expect(new Set(findings.map(({ service }) => service))).toEqual(
      new Set(['queue', 'database', 'docs retriever', 'docs embedder', 'docs vector store', 'docs golden set']),
    );
  });

  it('reports a retriever that refuses connections as down, and the vector store as OK', async () => {
    const { recalld } = await aMonitor({
      retriever: { kind: 'http', url: 'http://127.0.0.1:9/search', retries: 0 },
    });
    const { code, stdout } = await recalld('doctor');
    expect(code).toBe(3);
    expect(stdout).toContain('DOWN     docs retriever: http://127.0.0.1:9/search refused the connection');
    expect(stdout).toContain('ok       docs vector store');
  });

  it('reports document ids that differ between the retriever and the store, and a golden set that was never imported', async () => {
    const { recalld } = await aMonitor({
      vector_store: { kind: 'pgvector', url: rag.storeUrl, table: 'chunks', id: 'title' },
      retriever: { kind: 'http', url: `${rag.url}/search`, timeout_ms: 60_000 },
      golden: [{ set: 'other' }],
      checks: [],
    });
    const { code, stdout } = await recalld('doctor');
    expect(code).toBe(1);
    expect(stdout).toContain('set vector_store.id to the field that contains these ids');
    expect(stdout).toContain('The golden set "other" was never imported');
  });
});
