import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../../src/app/config/parse.ts';
import { examineManifests } from '../../../src/app/doctor/examine.ts';
import type { Report, Result } from '../../../src/app/doctor/foundations.ts';

async function examined(
  manifest: string | null,
  statuses: Parameters<typeof examineManifests>[1] = null,
): Promise<readonly (Result & { service: string })[]> {
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
  const findings: (Result & { service: string })[] = [];
  const report: Report = (service, status, message) => void findings.push({ service, status, message });
  await examineManifests(config, statuses, new Date('2026-03-02T12:00:00Z'), report, new AbortController().signal);
  return findings;
}

it.each([
  [
    'is readable',
    '{"id": "a", "hash": "v1", "segment": "tenant=a"}\n{"id": "b"}\n',
    'ok',
    /^recalld read the first 2 documents of the manifest\. Fields of the first document: id, hash, segment\.$/,
  ],
  ['has only ids', '{"id": "a"}\n', 'ok', /: id\.$/],
  ['is empty', '\n', 'wrong', /is empty/],
  ['has an invalid line', '{"id": "a"}\nhello\n', 'wrong', /Line 2/],
  ['does not exist', null, 'wrong', /manifest\.jsonl/],
] as const)('the doctor reports that a manifest %s', async (_, manifest, status, message) => {
  const [finding, ...others] = await examined(manifest);
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    service: 'docs manifest',
    status,
    message: expect.stringMatching(message) as string,
  });
});

it('the doctor reports when recalld last read the whole manifest, and how many documents the manifest lists', async () => {
  const readAt = new Date('2026-03-02T11:48:00Z');
  const [known] = await examined('{"id": "a"}\n', [{ pipeline: 'docs', endedAt: readAt, readAt, documents: 412 }]);
  expect(known?.message).toMatch(
    /recalld last read the whole manifest 12 min ago; the manifest lists 412 documents that should be in the store\.$/,
  );
  const [fresh] = await examined('{"id": "a"}\n', []);
  expect(fresh?.message).toMatch(/recalld has not read the whole manifest yet\.$/);
});
