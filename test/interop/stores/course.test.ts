/**
 * A public course published the hit rate and MRR of a search in Elasticsearch. RECALLD_TEST_COURSE names the folder
 * with the course's files. RECALLD_TEST_RECORD=1 also replaces the published results.
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
/** Number of results per query: enough to show which documents tie with one of the first five. */
const DEPTH = 20;
const AT_ONCE = 8;
const evaluate = createEvaluator([parseMetricKey(`hit_rate@${K}`), parseMetricKey(`mrr@${K}`)], 1);
/** Factor for reciprocal ranks, which turns 1, 1/2, 1/3, 1/4 and 1/5 into integers, so that sums are exact. */
const UNIT = 60;
/**
 * Amount that a hit adds to an encoded score; it exceeds any sum of reciprocal ranks, so that one number can contain
 * both the sum and the number of hits.
 */
const HIT = 1_000_000;

/**
 * Encodes the hit and the sum of reciprocal ranks in one number. Like the course, counts every rank of a document that
 * occurs twice in the data.
 */
function courseScore(ids: readonly string[], document: string): number {
  const ranks = ids.slice(0, K).flatMap((id, place) => (id === document ? [UNIT / (place + 1)] : []));
  return ranks.length === 0 ? 0 : ranks.reduce((sum, rank) => sum + rank, HIT);
}

/** Returns all sums that are possible if each change is either made or not. */
function reachable(start: number, changes: Iterable<number>): ReadonlySet<number> {
  let sums = new Set([start]);
  for (const change of changes) sums = new Set([...sums, ...[...sums].map((sum) => sum + change)]);
  return sums;
}

const engines = realStores.flatMap((store) =>
  store.retriever === undefined ? [] : [{ ...store, kind: store.retriever }],
);

describe.runIf(folder !== '').each(engines)('the retriever of $product', ({ product, kind, start }) => {
  it('has the hit rate that the course published, and the published MRR for some order of documents with equal scores', async () => {
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
      const scores: { readonly hit: number; readonly rr: number; readonly course: number }[] = [];
      /** Change in the score if documents with equal scores swap places, keyed by the ids of these documents. */
      const changes = new Map<string, number>();
      let ties = 0;
      const left = queries.values();
      const ask = async () => {
        for (const { question, course, document } of left) {
          const answer = await retriever.retrieve({ text: question, k: DEPTH, tags: { course } }, never);
          if (answer.kind !== 'documents') throw new Error(answer.message);
          const found = answer.documents;
          const ids = found.map(({ id }) => id);
          const [hit = 0, rr = 0] = evaluate(ids, new Map([[document, 1]]));
          const own = courseScore(ids, document);
          scores.push({ hit, rr, course: own });
          const score = found.find(({ id }) => id === document)?.score;
          const tied = found.filter((one) => one.score === score).map(({ id }) => id);
          const before = found.findIndex((one) => one.score === score);
          const swapped = ids.toSpliced(Math.max(before, 0), tied.length, ...tied.toReversed());
          const change = courseScore(swapped, document) - own;
          if (change === 0) continue;
          ties += 1;
          const key = tied.toSorted().join(' ');
          changes.set(key, (changes.get(key) ?? 0) + change);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
      await retriever.close?.();
      const mrrOf = (sum: number) => (sum % HIT) / UNIT / scores.length;
      const sum = scores.reduce((total, { course }) => total + course, 0);
      const sums = reachable(sum, changes.values());
      const result = {
        engine: product,
        versions,
        date: new Date().toISOString().slice(0, 10),
        queries: scores.length,
        hitRate: mean(scores.map(({ hit }) => hit)),
        mrr: mean(scores.map(({ rr }) => rr)),
        courseMrr: mrrOf(sum),
        ties,
        courseMrrBounds: [Math.min(...[...sums].map(mrrOf)), Math.max(...[...sums].map(mrrOf))] as const,
      };
      console.log(JSON.stringify(result));
      const publishedSums = [published.hitRate * HIT, published.mrr * UNIT].map((one) =>
        Math.round(one * scores.length),
      );
      expect(result.hitRate).toBe(published.hitRate);
      // At least one order of the documents with equal scores yields exactly the published numbers.
      expect(sums).toContain((publishedSums[0] ?? 0) + (publishedSums[1] ?? 0));
      if (process.env['RECALLD_TEST_RECORD'] === '1') writeCourseResult(result);
    } finally {
      await stop();
    }
  });
});
