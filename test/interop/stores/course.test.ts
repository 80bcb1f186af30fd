/**
 * A public course published the hit rate and MRR of a search in Elasticsearch. RECALLD_TEST_COURSE names the folder with
 * its files. RECALLD_TEST_RECORD=1 also replaces the published results.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { createEvaluator } from '../../../src/math/ir/evaluate.ts';
import { parseMetricKey } from '../../../src/math/ir/metric-key.ts';
import { mean } from '../../../src/math/stats/descriptive.ts';
import { never, openRetriever } from '../../support/connectors.ts';
import { prepare } from '../../support/fake-vector-index.ts';
import { courseFiles, courseVariable, published, writeCourseResult } from './course.ts';
import { realStores } from './real-stores.ts';

const folder = process.env[courseVariable] ?? '';
const K = 5;
/** Deep enough to see which documents tie with one of the first five. */
const DEPTH = 20;
const AT_ONCE = 8;
const evaluate = createEvaluator([parseMetricKey(`hit_rate@${K}`), parseMetricKey(`mrr@${K}`)], 1);
const reciprocal = (rank: number) => (rank <= K ? 1 / rank : 0);

const engines = realStores.flatMap((store) =>
  store.retriever === undefined ? [] : [{ ...store, kind: store.retriever }],
);

describe.runIf(folder !== '').each(engines)('the retriever of $product', ({ product, kind, start }) => {
  it('has the hit rate that the course published, and its MRR up to the order of equal scores', async () => {
    const documents = JSON.parse(readFileSync(path.join(folder, courseFiles.documents), 'utf8')) as object[];
    const rows = readFileSync(path.join(folder, courseFiles.queries), 'utf8');
    const queries = parse(rows, { columns: true }) as { question: string; course: string; document: string }[];
    const { url, versions, stop } = await start();
    try {
      const keyword = { type: 'keyword' };
      const text = { type: 'text' };
      const properties = { question: text, text, section: text, course: keyword, id: keyword };
      const settings = { number_of_shards: 1, number_of_replicas: 0 };
      await prepare(url, 'PUT', '/course', { settings, mappings: { properties } });
      const lines = documents.map((document) => `{"index":{}}\n${JSON.stringify(document)}\n`).join('');
      await prepare(url, 'POST', '/course/_bulk?refresh=true', lines, { 'content-type': 'application/x-ndjson' });
      const fields = ['question^3', 'text', 'section'];
      const query = { multi_match: { query: '{{text}}', fields, type: 'best_fields' } };
      const filter = { course: '{{tags.course}}' };
      const retriever = openRetriever({ kind, url, index: 'course', id: 'id', query, filter, timeout_ms: 60_000 });
      const scores: { readonly hit: number; readonly rr: number; readonly bounds: readonly [number, number] }[] = [];
      const left = queries.values();
      const ask = async () => {
        for (const { question, course, document } of left) {
          const answer = await retriever.retrieve({ text: question, k: DEPTH, tags: { course } }, never);
          if (answer.kind !== 'documents') throw new Error(answer.message);
          const found = answer.documents;
          const [hit = 0, rr = 0] = evaluate(
            found.map(({ id }) => id),
            new Map([[document, 1]]),
          );
          const score = found.find(({ id }) => id === document)?.score;
          const tied = found.flatMap((one, place) => (score !== undefined && one.score === score ? [place + 1] : []));
          scores.push({ hit, rr, bounds: [reciprocal(tied.at(-1) ?? Infinity), reciprocal(tied[0] ?? Infinity)] });
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
      await retriever.close?.();
      const result = {
        engine: product,
        versions,
        date: new Date().toISOString().slice(0, 10),
        queries: scores.length,
        hitRate: mean(scores.map(({ hit }) => hit)),
        mrr: mean(scores.map(({ rr }) => rr)),
        ties: scores.filter(({ bounds: [low, high] }) => low < high).length,
        mrrBounds: [mean(scores.map(({ bounds }) => bounds[0])), mean(scores.map(({ bounds }) => bounds[1]))] as const,
      };
      console.log(JSON.stringify(result));
      expect(result.hitRate).toBeCloseTo(published.hitRate, 12);
      expect(result.mrrBounds[0]).toBeLessThanOrEqual(published.mrr);
      expect(result.mrrBounds[1]).toBeGreaterThanOrEqual(published.mrr);
      if (process.env['RECALLD_TEST_RECORD'] === '1') writeCourseResult(result);
    } finally {
      await stop();
    }
  });
});
