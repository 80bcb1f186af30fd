/** Tests the index checks as users see them: command line, scheduled checks, metrics and the console page. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { Pool } from 'pg';
import { expect, it } from 'vitest';
import { startPglite } from '../../../src/demo/rag/store.ts';
import { accessibilityProblems, clippedParts, describeWithBrowser, useBrowser } from '../../support/browser.ts';
import { documents, startFaultServer, when } from '../../support/fault-server.ts';
import { anInstallation } from '../../support/installation.ts';
import { waitFor } from '../../support/wait-for.ts';

const config = (store: string, retriever: string): string => `
server: {port: 0}
pipelines:
  - name: docs
    retriever: {kind: http, url: "${retriever}", timeout_ms: 60000, results: {list: results, id: id}}
    vector_store: {kind: pgvector, url: "${store}", table: chunks, id: doc, content: body, version: version}
    index:
      manifest: {kind: command, command: [cat, manifest.jsonl]}
      cron: "* * * * * *"
      calls_per_second: 1000
      late_after: 1m
    golden: [{set: probes, cron: "0 0 1 1 *"}]
    sampling: {rate: 1}
    checks: [{measure: index_missing_ratio, above: 0.005, severity: critical}]
`;

/** Golden queries of one tenant that must not return another tenant's documents. */
const probes = `{"id": "price-of-the-contract", "text": "What does the contract cost?", "forbidden": ["tenant-b/*"]}
{"id": "who-signed", "text": "Who signed the contract?", "forbidden": ["tenant-b/*"]}
`;
const leaked = ['tenant-b/contracts/2026/master-service-agreement-signed.pdf#3', 'tenant-b/prices'];

interface Check {
  readonly documents: number;
  readonly measures: readonly { readonly measure: string; readonly segment: string; readonly value: number | null }[];
  readonly found: readonly {
    readonly kind: string;
    readonly count: number;
    readonly documents: readonly { id: string }[];
  }[];
}

interface Hubs {
  readonly queries: number;
  readonly hubs: readonly { readonly id: string; readonly share: number }[];
  readonly never_returned: { readonly ids: readonly string[] } | null;
  readonly why: string | null;
}

describeWithBrowser('the index check', () => {
  const browser = useBrowser();

  it('reports missing, orphaned and superseded documents by id on the command line, in Prometheus and on the console', async () => {
    const pglite = await startPglite();
    const leaking = documents([{ id: 'd20' }, ...leaked.map((id) => ({ id }))]);
    const retriever = await startFaultServer(
      when(({ body }) => body.includes('the contract cost'), leaking, documents([])),
    );
    const pool = new Pool({ connectionString: pglite.url, max: 1 });
    pool.on('error', () => undefined);
    const { folder, recalld, json, serve } = await anInstallation({
      'recalld.yaml': config(pglite.url, retriever.url),
      'probes.jsonl': probes,
    });
    try {
      await pool.query('create extension vector');
      await pool.query('create table chunks (doc text, version text, body text, embedding vector(2))');
      await pool.query(
        `insert into chunks select 'd' || i, 'v1', 'Text of d' || i, '[1,2]' from generate_series(1, 400) i where i > 12`,
      );
      await pool.query(
        `insert into chunks select 'd' || i, 'v0', 'Old text', '[1,2]' from generate_series(100, 139) i`,
      );
      await pool.query(`insert into chunks values ('withdrawn', 'v1', 'Secret', '[1,2]')`);
      const lines = Array.from(
        { length: 400 },
        (_, i) => `{"id": "d${i + 1}", "updated_at": "2025-01-01T00:00:00Z"}\n`,
      );
      await writeFile(path.join(folder, 'manifest.jsonl'), lines.join(''));

      const checked = await json<Check>('index check --pipeline docs --json');
      expect(checked.documents).toBe(400);
      const value = (measure: string) => checked.measures.find((one) => one.measure === measure)?.value;
      expect(value('index_missing_ratio')).toBeCloseTo(0.03, 9);
      expect(value('index_orphaned_ratio')).toBeCloseTo(1 / 389, 9);
      expect(value('index_not_retrievable_ratio')).toBe(1);
      const found = new Map(checked.found.map((one) => [one.kind, one]));
      expect(found.get('missing')?.count).toBe(12);
      expect(found.get('orphaned')?.documents).toEqual([expect.objectContaining({ id: 'withdrawn' })]);
      expect(found.get('superseded')?.count).toBeGreaterThan(0);
      const text = await recalld('index check --pipeline docs --stored');
      expect(text.stdout).toContain('Missing: 12');
      expect(text.stdout).toMatch(/^withdrawn +\d{4}-/m);

      const few = await recalld('index hubs --pipeline docs');
      expect(few).toMatchObject({ code: 2 });
      expect(few.stderr).toContain('Only 0 distinct queries returned documents in 7 days; at least 100 are required');

      expect(await recalld('golden import probes.jsonl --set probes')).toMatchObject({ code: 0 });
      expect((await recalld('golden run --pipeline docs --set probes')).stdout).toContain(leaked[0]);

      const daemon = await serve();
      await waitFor(async () =>
        /^recalld_index_missing_ratio\{[^}]*segment="all"[^}]*\} 0\.03$/m.test(await daemon.metrics()),
      );
      expect(await daemon.metrics()).not.toContain('withdrawn');
      const updatedAt = new Date(Date.now() - 600_000).toISOString();
      await writeFile(
        path.join(folder, 'manifest.jsonl'),
        `${lines.join('')}{"id": "d401", "updated_at": "${updatedAt}"}\n`,
      );
      await waitFor(async () => {
        const { found: named } = await json<Check>('index check --pipeline docs --stored --json');
        return named.find(({ kind }) => kind === 'late')?.documents[0]?.id === 'd401';
      });
      // Every query returns d20 and one unique document.
      const queries = Array.from({ length: 200 }, (_, i) => ({
        id: `q${i}`,
        pipeline: 'docs',
        text: `question ${i}`,
        results: [{ id: 'd20' }, { id: `d${100 + i}` }],
      }));
      expect((await daemon.post('/v1/queries', queries)).status).toBe(202);
      const hubs = await json<Hubs>('index hubs --pipeline docs --json');
      // The 201 queries include one golden query, which returned forbidden documents.
      expect(hubs).toMatchObject({ queries: 201, hubs: [{ id: 'd20', share: 1 }], why: null });
      expect(hubs.never_returned?.ids).toContain('withdrawn');
      expect((await recalld('index hubs --pipeline docs')).stdout).toContain('d20');
      const { page } = await browser.page(new URL(daemon.url).host, { viewport: { width: 1280, height: 900 } });
      await page.goto(`${daemon.url}/sign-in`);
      await page.fill('input[name=key]', daemon.apiKey);
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname === '/');
      await page.goto(`${daemon.url}/pipelines/docs/index`);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        const shown = await page.innerText('main');
        expect(shown).toContain('Missing: 13');
        expect(shown).toMatch(/Late: 1[\s\S]+d401/);
        expect(shown).toContain('withdrawn');
        expect(shown).toMatch(/Leaked: 2[\s\S]+price-of-the-contract/);
        for (const id of leaked) expect(shown).toContain(id);
        expect(shown).toMatch(/Hub documents: 1[\s\S]+201 distinct queries[\s\S]+d20[\s\S]+question \d/);
        expect(await accessibilityProblems(page)).toEqual([]);
        expect(await clippedParts(page)).toEqual([]);
        const shots = process.env['RECALLD_TEST_SHOTS'];
        if (shots !== undefined)
          await page.screenshot({ path: path.join(shots, `index-${width}.png`), fullPage: true });
      }
      await page.click('text=Find chunks that are never retrieved');
      await page.click('text=The first 50 of');
      expect(await page.innerText('main')).toMatch(
        /chunks sampled from the store were not retrieved for any of the 201 queries \(95 %/,
      );
    } finally {
      await retriever.close();
      await pool.end();
      await pglite.stop();
    }
  });
});
