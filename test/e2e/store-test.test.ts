/** Output and exit codes of `recalld store-test`. The tests that this command runs are tested in test/contract. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jsonDocuments } from '../../docs/build/json-documents.ts';
import { startFakeQdrant } from '../support/fake-qdrant.ts';
import { prepare } from '../support/fake-vector-index.ts';
import type { FaultServer } from '../support/fault-server.ts';
import { anInstallation, type Installation } from '../support/installation.ts';
import { topicByTopic } from '../support/vector-documents.ts';

let qdrant: FaultServer;
let installed: Installation;
const cleanups: (() => Promise<void>)[] = [];

beforeAll(async () => {
  qdrant = await startFakeQdrant();
  cleanups.push(() => qdrant.close());
  await prepare(qdrant.url, 'PUT', '/collections/chunks', { vectors: { size: 16, distance: 'Cosine' } });
  const points = topicByTopic({ count: 200, dimensions: 16, topics: 4 }).map(
    ({ id, vector, content, fields }, place) => ({
      id: `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`,
      vector: [...vector],
      payload: { doc_id: id, text: content, ...fields },
    }),
  );
  await prepare(qdrant.url, 'PUT', '/collections/chunks/points?wait=true', { points });
  const pipeline = (name: string, store: string) =>
    `  - {name: ${name}, retriever: {kind: http, url: "http://127.0.0.1:9/"}${store}}\n`;
  const store = (collection: string, url: string) =>
    `, vector_store: {kind: qdrant, url: "${url}", collection: ${collection}, id: doc_id, content: text, retries: 0, max_per_second: 1000}`;
  const config = [
    'pipelines:\n',
    pipeline('docs', store('chunks', qdrant.url)),
    pipeline('lost', store('nowhere', qdrant.url)),
    pipeline('away', store('chunks', 'http://127.0.0.1:9')),
    pipeline('none', ''),
  ];
  installed = await anInstallation(
    { 'recalld.yaml': config.join('') },
    { database: 'none', atEnd: (clean) => void cleanups.unshift(clean) },
  );
});

afterAll(async () => {
  for (const clean of cleanups) await clean();
});

it('`recalld store-test` reports the finding of each test, and exits with 0 if all supported features work', async () => {
  const { code, stdout } = await installed.recalld('store-test --pipeline docs --filter topic=topic-2');
  expect(stdout).toMatch(/^docs: qdrant, .*version 1\.18\.2/m);
  expect(stdout).toMatch(
    /^ok +search\.exact +For 12 queries, the results equal those of a brute-force search of 200 vectors/m,
  );
  expect(stdout).toMatch(/^ok +search\.filter +5 neighbors for the value of topic/m);
  expect(stdout).toMatch(/^ok +sample\.uniform +20 samples of 50/m);
  expect(code).toBe(0);
});

it('`recalld store-test --json` prints one document without document texts', async () => {
  const { code, stdout } = await installed.recalld('store-test --pipeline docs --json');
  const document = JSON.parse(stdout) as { stores: { findings: { test: string; verdict: string }[] }[] };
  expect(Object.keys(document)).toEqual(jsonDocuments['store-test']?.keys);
  expect(document).toMatchObject({ verdict: 'passed', stores: [{ kind: 'qdrant', description: { count: 200 } }] });
  const untried = document.stores[0]?.findings.filter(({ verdict }) => verdict !== 'passed').map(({ test }) => test);
  expect(untried).toEqual(['search.filter']);
  expect(stdout).not.toContain('Text 1');
  expect(code).toBe(0);
});

it.each([
  ['lost', 1, /no collection nowhere; check pipelines\[1\]\.vector_store|no collection nowhere; check vector_store/],
  ['away', 3, /refused the connection/],
  ['none', 2, /The pipeline "none" has no `vector_store` to test; add it to the config\./],
  ['nobody', 2, /nobody/],
])('`recalld store-test` for the pipeline %s exits with %d and names the problem', async (pipeline, code, says) => {
  const finished = await installed.recalld(`store-test --pipeline ${pipeline}`);
  expect(finished.stdout + finished.stderr).toMatch(says);
  expect(finished.code).toBe(code);
});
