import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { examineManifests } from '../../../src/app/doctor/examine.ts';
import type { Finding } from '../../../src/app/doctor/foundations.ts';

async function examined(
  manifest: string | null,
  statuses: Parameters<typeof examineManifests>[1] = null,
): Promise<readonly Finding[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'recalld-manifest-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'manifest.jsonl');
  if (manifest !== null) await writeFile(file, manifest);
  const config = parseConfig(
    `
pipelines:
  - name: docs
    retriever: {kind: http, url: "http://127.0.0.1:9/search", results: {list: results, id: id}}
    vector_store: {kind: pgvector, url: "postgres://127.0.0.1:9/x", table: chunks, id: id, embedding: embedding, metric: cosine}
    index: {manifest: {kind: file, path: ${JSON.stringify(file)}}}
`,
    'recalld.yaml',
    {},
    () => '',
  );
  const findings: Finding[] = [];
  const report = (finding: Finding) => void findings.push(finding);
  await examineManifests(config, statuses, new Date('2026-03-02T12:00:00Z'), report, new AbortController().signal);
  return findings;
}

it.each([
  [
    'can be read',
    '{"id": "a", "hash": "v1", "segment": "tenant=a"}\n{"id": "b"}\n',
    'ok',
    /^Its first 2 documents read, the first has its hash, its segment\.$/,
  ],
  ['says ids alone', '{"id": "a"}\n', 'ok', /says only ids/],
  ['names no document', '\n', 'wrong', /names no document/],
  ['has a line that is none', '{"id": "a"}\nhello\n', 'wrong', /Line 2/],
  ['is not there', null, 'wrong', /manifest\.jsonl/],
] as const)('the doctor says of a manifest that it %s', async (_, manifest, status, message) => {
  const [finding, ...others] = await examined(manifest);
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    service: 'docs manifest',
    status,
    message: expect.stringMatching(message) as string,
  });
});

it('the doctor says when a round last read all of a manifest, and how much that was', async () => {
  const readAt = new Date('2026-03-02T11:48:00Z');
  const [known] = await examined('{"id": "a"}\n', [{ pipeline: 'docs', endedAt: readAt, readAt, documents: 412 }]);
  expect(known?.message).toMatch(
    /A round last read the whole manifest 12 min ago: 412 documents should be in the store\.$/,
  );
  const [fresh] = await examined('{"id": "a"}\n', []);
  expect(fresh?.message).toMatch(/No round has read the whole manifest yet\.$/);
});
