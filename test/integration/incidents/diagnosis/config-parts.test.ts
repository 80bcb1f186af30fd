/**
 * Pipelines, golden sets and checks that are removed from the config, in a fleet whose replicas receive the new config
 * one by one.
 */

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createReceivers, type NotifyConfig } from '../../../../src/connectors/receivers/registry.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import type { WatchedPipeline } from '../../../../src/golden/watched-pipeline.ts';
import { followConfig } from '../../../../src/incidents/diagnosis/config-parts.ts';
import { createIncidents } from '../../../../src/incidents/diagnosis/incidents.ts';
import { createNotifications, notify } from '../../../../src/incidents/notifications/notify.ts';
import { createSilences } from '../../../../src/incidents/notifications/silences.ts';
import { createConfiguredItems } from '../../../../src/live/deployments/configured-items.ts';
import { aDiagnosis, anAlert, aSchedule, aWatchedPipeline } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { json, startFaultServer } from '../../../support/fault-server.ts';
import { createRun } from '../../../support/golden-runs.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';

const database = useDatabase();
const START = new Date('2026-11-20T12:00:00Z');
const minutes = (count: number): Date => new Date(START.getTime() + count * 60_000);

let pipelines = 0;
let docs: WatchedPipeline;
let other: WatchedPipeline;

beforeEach(async () => {
  await database.pool.query('delete from configured_items');
  await database.pool.query('delete from incidents');
  docs = aWatchedPipeline({ name: `ends-${(pipelines += 1)}`, golden: [aSchedule({ set: 'faq' })] });
  other = aWatchedPipeline({ name: `stays-${pipelines}` });
});

const incidents = () => createIncidents(database.pool);
const parts = () => createConfiguredItems(database.pool);

/** Runs one minute of a scheduler that has been running since `since` with these pipelines in its config. */
const follow = (at: Date, watched: readonly WatchedPipeline[], since = START) =>
  followConfig(
    {
      pipelines: watched,
      densityPlans: [],
      parts: parts(),
      pool: database.pool,
      retentionDays: new Map(watched.map(({ name }) => [name, 30])),
      clock: { now: () => at } as Parameters<typeof followConfig>[0]['clock'],
      logger: new MemoryLogger(),
    },
    since,
  );
const record = (at: Date) => incidents().record([anAlert()], aDiagnosis({ pipeline: docs.name }), at);

describe('a pipeline that is removed from the config', () => {
  it('has its incident closed five minutes later, with one message that states why', async () => {
    const server = await startFaultServer(json({ ok: true }));
    const receivers = createReceivers([
      { kind: 'webhook', url: server.url, headers: {}, min_severity: 'critical' },
    ] as NotifyConfig[]);
    onTestFinished(async () => {
      for (const one of receivers) one.close();
      await server.close();
    });
    const notifyAt = (at: Date) =>
      notify(
        contextOf({
          db: {
            incidents: incidents(),
            notifications: createNotifications(database.pool),
            silences: createSilences(database.pool),
          },
          receivers,
          config: { alerts: { console_base_url: null } },
          meter: { increment: () => undefined },
          clock: { now: () => at },
          logger: new MemoryLogger(),
        }),
        new AbortController().signal,
      );
    await follow(START, [docs, other]);
    await record(minutes(1));
    await notifyAt(minutes(2));
    await follow(minutes(4), [other]);
    expect(await incidents().current(docs.name)).not.toBeNull();
    await follow(minutes(6), [other]);
    await follow(minutes(7), [other]);
    for (const at of [7, 8]) await notifyAt(minutes(at));
    expect(await incidents().list({ pipeline: docs.name, limit: 10 })).toMatchObject([
      { closedAt: minutes(6), closedBecause: 'left_config' },
    ]);
    const bodies = server.requests.map(
      ({ body }) => JSON.parse(body) as { event: string; summary: string; incident: object },
    );
    expect(bodies.map(({ event }) => event)).toEqual(['incident.opened', 'incident.closed']);
    expect(bodies[1]).toMatchObject({
      incident: { closed_because: 'left_config' },
      summary: expect.stringContaining('removed from the config') as string,
    });
  });

  it('keeps its incident while replicas of a rolling deployment have both configs', async () => {
    await record(minutes(1));
    for (let minute = 0; minute <= 20; minute += 1) await follow(minutes(minute), minute % 2 === 0 ? [docs] : [other]);
    expect(await incidents().list({ pipeline: docs.name, limit: 10 })).toMatchObject([{ closedAt: null }]);
  });

  it('keeps its incident if a scheduler has just started after a time without schedulers', async () => {
    await follow(START, [docs]);
    await record(minutes(1));
    await follow(minutes(60), [other], minutes(60));
    await follow(minutes(61), [docs], minutes(61));
    await follow(minutes(66), [other], minutes(60));
    expect(await incidents().current(docs.name)).not.toBeNull();
  });

  it('has no incident reopened by a worker that still has the old config', async () => {
    await follow(START, [docs, other]);
    await record(minutes(1));
    await follow(minutes(6), [other]);
    expect(await record(minutes(7))).toBe('outdated');
    expect(await incidents().current(docs.name)).toBeNull();
    await follow(minutes(8), [docs, other]);
    expect(await record(minutes(9))).toBe('opened');
  });

  it('loses its status rows, and keeps the retention of its queries until these are deleted', async () => {
    const { pool } = database;
    await follow(START, [docs, other]);
    const named = [docs.name];
    await pool.query(
      `insert into latest_measurements (pipeline, measure, segment, window_start, window_end, measured_at, value, n, details)
       values ($1, 'error_ratio', 'all', now(), now(), now(), 0.5, 10, '{}')`,
      named,
    );
    await follow(minutes(6), [other]);
    const { rows } = await pool.query('select from latest_measurements where pipeline = $1', named);
    expect(rows).toEqual([]);
    expect(await parts().retentionDays()).toEqual(new Map([docs, other].map(({ name }) => [name, 30])));
    await parts().prune(minutes(31 * 24 * 60));
    expect((await parts().retentionDays()).has(docs.name)).toBe(true);
    await parts().prune(minutes(33 * 24 * 60));
    expect(await parts().retentionDays()).toEqual(new Map([[other.name, 30]]));
  });
});

describe('a golden set that is removed from the config', () => {
  it('no longer has a latest run, from which gauges and status are derived', async () => {
    const runs = createGoldenRuns(database.pool);
    const stores = { sets: createGoldenSets(database.pool), runs };
    await createRun(stores, { pipeline: docs.name, goldenSet: 'faq' });
    const shown = async () => (await runs.latest()).filter(({ pipeline }) => pipeline === docs.name).length;
    await follow(START, [docs]);
    expect(await shown()).toBe(1);
    await follow(minutes(6), [{ ...docs, golden: [] }]);
    expect(await shown()).toBe(0);
    await follow(minutes(7), [docs]);
    expect(await shown()).toBe(1);
  });
});
