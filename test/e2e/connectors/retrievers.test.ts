/** Golden runs through two retriever kinds of recalld: a vector store with an embedder, and an external program. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { demoDataPath } from '../../../src/demo/rag/corpus.ts';
import { type DemoRagService, startDemoRagService } from '../../../src/demo/rag/spawn.ts';
import type { RunSummaryJson } from '../../../src/golden/run-summary-schema.ts';
import { demoQuestions, goldenCsv } from '../../support/demo-golden-set.ts';
import { anInstallation } from '../../support/installation.ts';

const QUESTIONS = 30;
const examples = path.resolve(import.meta.dirname, '../../../examples');
const corpus = path.join(demoDataPath, 'corpus.jsonl');

let rag: DemoRagService;
let questionsCsv = '';

beforeAll(async () => {
  questionsCsv = goldenCsv(await demoQuestions(QUESTIONS));
  rag = await startDemoRagService();
});
afterAll(() => rag?.stop());

/**
 * Imports the queries as a golden set, and runs the set against a pipeline with the given retriever, store or embedder.
 */
async function goldenRun(parts: object): Promise<RunSummaryJson> {
  const pipeline = { name: 'docs', golden: [{ set: 'faq', max_per_second: 1000 }], ...parts };
  const { recalld } = await anInstallation({
    'recalld.yaml': stringify({ server: { port: 0 }, pipelines: [pipeline] }),
    'faq.csv': questionsCsv,
  });
  const imported = await recalld('golden import faq.csv --set faq');
  expect(imported.stderr).not.toContain('recalld:');
  const run = await recalld('golden run --pipeline docs --set faq --json');
  expect(run, run.stderr).toMatchObject({ code: 0 });
  return JSON.parse(run.stdout) as RunSummaryJson;
}

const meanOf = (run: RunSummaryJson, metric: string): number => run.metrics[metric]?.mean ?? Number.NaN;

const embedderAndStore = () => ({
  vector_store: { kind: 'pgvector', url: rag.storeUrl, table: 'chunks', content: 'body' },
  embedder: {
    kind: 'openai',
    base_url: `${rag.url}/v1`,
    model: 'universal-sentence-encoder-lite',
    max_per_second: 1000,
  },
});

describe('a golden run', () => {
  it('through a vector store and an embedder has the same nDCG as through a service that uses both', async () => {
    const service = await goldenRun({ retriever: { kind: 'http', url: `${rag.url}/search`, timeout_ms: 60_000 } });
    const parts = await goldenRun({ retriever: { kind: 'vector_store', timeout_ms: 60_000 }, ...embedderAndStore() });
    expect(parts.queries).toMatchObject({ total: QUESTIONS, ok: QUESTIONS });
    expect(meanOf(parts, 'ndcg@10')).toBeGreaterThan(0.7);
    expect(meanOf(parts, 'ndcg@10')).toBeCloseTo(meanOf(service, 'ndcg@10'), 10);
  });

  it('scores much lower after the model behind the embedder is replaced', async () => {
    await rag.setFault('embedding');
    try {
      const run = await goldenRun({ retriever: { kind: 'vector_store', timeout_ms: 60_000 }, ...embedderAndStore() });
      expect(meanOf(run, 'ndcg@10')).toBeLessThan(0.3);
    } finally {
      await rag.setFault('none');
    }
  });

  const programs = [
    { name: 'Node.js', program: process.execPath, file: 'command-retriever.mjs' },
    { name: 'Python', program: 'python3', file: 'command_retriever.py' },
  ];
  for (const { name, program, file } of programs) {
    it.skipIf(spawnSync(program, ['--version']).status !== 0)(
      `through the example program for ${name} completes every query, and has a hit rate above 0.7`,
      async () => {
        const command = [program, path.join(examples, file), corpus];
        const run = await goldenRun({
          retriever: { kind: 'command', command, timeout_ms: 60_000, start_timeout_ms: 60_000 },
        });
        expect(run.queries).toMatchObject({ total: QUESTIONS, ok: QUESTIONS });
        expect(meanOf(run, 'hit_rate@10')).toBeGreaterThan(0.7);
      },
    );
  }
});
