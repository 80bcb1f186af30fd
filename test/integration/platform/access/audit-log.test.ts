/** Tests that the transaction of a user's action also records the user and the states before and after the action. */
import { expect, it } from 'vitest';
import { erase } from '../../../../src/app/erasure/erase.ts';
import { createGoldenBaselines } from '../../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { createAuditLog, recordActs } from '../../../../src/platform/access/audit-log.ts';
import { createApiKeys } from '../../../../src/platform/access/credentials.ts';
import { inTransaction } from '../../../../src/platform/postgres/transaction.ts';
import { useDatabase } from '../../../support/database.ts';
import { createRun } from '../../../support/golden-runs.ts';

const database = useDatabase();
const NOON = new Date('2026-11-20T12:00:00Z');
const later = (minutes: number) => new Date(NOON.getTime() + minutes * 60_000);

it('the audit log records who did what, when, and what changed, newest first', async () => {
  const log = createAuditLog(database.pool);
  const keys = createApiKeys(database.pool);
  const baselines = createGoldenBaselines(database.pool);
  const { key, text } = await keys.create('ops', ['read'], 'ann', NOON);
  expect(await keys.revoke(key.id, 'bob', later(1))).toBe(true);
  expect(await keys.revoke(key.id, 'eve', later(2))).toBe(true);
  expect(await keys.revoke('nothing', 'eve', later(2))).toBe(false);
  const stores = { sets: createGoldenSets(database.pool), runs: createGoldenRuns(database.pool) };
  const [one, two] = [await createRun(stores, { pipeline: 'docs' }), await createRun(stores, { pipeline: 'docs' })];
  const pin = { pipeline: 'docs', goldenSet: 'faq', noise: {} };
  await baselines.pin({ ...pin, runId: one.id, note: null, pinnedAt: later(3) }, 'ann');
  await baselines.pin({ ...pin, runId: two.id, note: 'release \ud800 7', pinnedAt: later(4) }, 'ann');
  expect(await baselines.unpin('docs', 'faq', 'bob', later(5))).toBe(true);
  expect(await baselines.unpin('docs', 'faq', 'bob', later(6))).toBe(false);
  await erase(database.pool, { kind: 'user', userHash: 'hash of bob' }, 'ann', later(7));

  const nothing = { queries: 0, feedback: 0, golden_queries: 0 };
  const acts = await log.list({ since: NOON, limit: 10 });
  expect(acts.map(({ at, by, act, subject, before, after }) => [at, by, act, subject, before, after])).toEqual([
    [later(7), 'ann', 'erase', 'user', nothing, null],
    [later(5), 'bob', 'unpin_baseline', 'faq', { run_id: two.id }, null],
    [later(4), 'ann', 'pin_baseline', 'faq', { run_id: one.id }, { run_id: two.id }],
    [later(3), 'ann', 'pin_baseline', 'faq', null, { run_id: one.id }],
    [later(1), 'bob', 'revoke_key', key.id, { name: 'ops', scopes: ['read'], pipelines: null }, null],
    [NOON, 'ann', 'create_key', key.id, null, { name: 'ops', scopes: ['read'], pipelines: null }],
  ]);
  expect(JSON.stringify(acts)).not.toContain(text);
  expect(await log.list({ pipeline: 'docs', since: later(4), limit: 10 })).toHaveLength(2);
  expect(await log.list({ beforeId: acts[1]?.id, limit: 1 })).toEqual([acts[2]]);

  await log.prune(later(5));
  expect(await log.list({ limit: 10 })).toEqual(acts.slice(0, 2));
});

it('the audit log shows a scope only the changes of its pipelines and of its own golden sets', async () => {
  await createAuditLog(database.pool).prune(later(1000));
  const act = { at: NOON, by: 'ann', before: null, after: null } as const;
  await inTransaction(database.pool, (client) =>
    recordActs(client, [
      { ...act, act: 'add_note', pipeline: 'docs', subject: 'run 1' },
      { ...act, act: 'add_note', pipeline: 'wiki', subject: 'run 2' },
      { ...act, act: 'import_golden_set', pipeline: null, subject: 'docs-set' },
      { ...act, act: 'import_golden_set', pipeline: null, subject: 'shared-set' },
      { ...act, act: 'create_key', pipeline: null, subject: 'docs-set' },
    ]),
  );
  const scope = { pipelines: ['docs'], goldenSets: ['docs-set', 'shared-set'], ownGoldenSets: ['docs-set'] };
  const seen = await createAuditLog(database.pool, scope).list({ limit: 10 });
  expect(seen.map(({ act: done, subject }) => `${done} ${subject}`).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'add_note run 1',
    'import_golden_set docs-set',
  ]);
  expect(await createAuditLog(database.pool, scope).list({ pipeline: 'wiki', limit: 10 })).toEqual([]);
});
