import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import { createReceivers, type NotifyConfig } from '../../../../src/connectors/receivers/registry.ts';
import type { Context } from '../../../../src/core/context.ts';
import { DAY_MS } from '../../../../src/core/time.ts';
import { createIncidents } from '../../../../src/incidents/diagnosis/incidents.ts';
import { notify } from '../../../../src/incidents/notifications/notify.ts';
import { aDiagnosis, anAlert } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { type FaultServer, inTurn, json, startFaultServer, status } from '../../../support/fault-server.ts';
import { MemoryLogger } from '../../../support/memory-telemetry.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();
const never = new AbortController().signal;

let server: FaultServer;
let clock: SteerableClock;
let logger: MemoryLogger;
let counted: string[];
let pipeline: string;
let pipelines = 0;

beforeEach(async () => {
  server = await startFaultServer(json({ ok: true }));
  onTestFinished(() => server.close());
  await database.pool.query('delete from incidents');
  clock = new SteerableClock();
  logger = new MemoryLogger();
  counted = [];
  pipeline = `told-${(pipelines += 1)}`;
});

const incidents = () => createIncidents(database.pool);

function depsFor(...receivers: readonly (Partial<NotifyConfig> & Pick<NotifyConfig, 'kind'>)[]): Context {
  const configs = receivers.map((one) => ({ url: server.url, headers: {}, min_severity: 'critical', ...one }));
  const made = createReceivers(configs as NotifyConfig[]);
  onTestFinished(() => made.forEach((one) => one.close()));
  return contextOf({
    db: createDb(database.pool),
    receivers: made,
    config: { alerts: { console_base_url: null } },
    hashKey: 'secret',
    meter: { increment: (_name, labels) => void counted.push(Object.values(labels).join(' ')) },
    clock,
    logger,
  });
}

const recordDiagnosis = (parts: Parameters<typeof aDiagnosis>[0] = {}, severity: 'critical' | 'warning' = 'critical') =>
  incidents().record([anAlert({ severity })], aDiagnosis({ pipeline, ...parts }), clock.now());
/** Opens an incident whose cause is confirmed. */
async function open(...of: Parameters<typeof recordDiagnosis>): Promise<void> {
  await recordDiagnosis(...of);
  await clock.advance(12_000);
  await recordDiagnosis(...of);
}
const receivedEvents = (): string[] =>
  server.requests.map(({ body }) => {
    const { event, event_action: action } = JSON.parse(body) as Record<string, string>;
    return event ?? action ?? 'text';
  });

describe('the receivers of notifications', () => {
  it('get one message when an incident opens and one when it closes, however many replicas notify', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await Promise.all([1, 2, 3, 4].map(() => notify(deps, never)));
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened']);
    await incidents().close(pipeline, clock.now());
    await Promise.all([1, 2, 3, 4].map(() => notify(deps, never)));
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened', 'incident.closed']);
    expect(counted).toEqual(['webhook sent', 'webhook sent']);
  });

  it('get a message whose worker died once the lease of that worker has expired', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    const [incident] = await incidents().open();
    await deps.db.notifications.add(incident?.id ?? '', deps.receivers[0]?.id ?? '', 'opened', clock.now());
    expect(await deps.db.notifications.take(clock.now())).toHaveLength(1);
    await notify(deps, never);
    expect(receivedEvents()).toEqual([]);
    await clock.advance(61_000);
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened']);
  });

  it('are retried while they fail, and get the opening message before the closing message', async () => {
    const deps = depsFor({ kind: 'webhook' });
    server.respondWith(inTurn(status(503), status(503), json({})));
    await open();
    await notify(deps, never);
    await clock.advance(10_000);
    await notify(deps, never);
    await clock.advance(20_000);
    await notify(deps, never);
    await incidents().close(pipeline, clock.now());
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened', 'incident.opened', 'incident.opened', 'incident.closed']);
    expect(counted).toEqual(['webhook failed', 'webhook failed', 'webhook sent', 'webhook sent']);
  });

  it('get no further attempts after failing for an hour, which is counted and logged without their URL', async () => {
    const deps = depsFor({ kind: 'slack', url: `${server.url}/services/T0/SECRET` });
    server.respondWith(status(500));
    await open();
    for (let minute = 0; minute <= 66; minute += 1) {
      await notify(deps, never);
      await clock.advance(60_000);
    }
    const tries = server.requests.length;
    await incidents().close(pipeline, clock.now());
    await notify(deps, never);
    expect(server.requests).toHaveLength(tries);
    expect(counted.filter((one) => one === 'slack given_up')).toHaveLength(1);
    expect(JSON.stringify(logger.lines)).toContain('a notification was abandoned after an hour');
    expect(JSON.stringify(logger.lines)).not.toContain('SECRET');
  });

  it('get only the closing message of an incident whose opening message failed until it closed', async () => {
    const deps = depsFor({ kind: 'webhook' });
    server.respondWith(inTurn(status(500), json({})));
    await open();
    await notify(deps, never);
    await incidents().close(pipeline, clock.now());
    await clock.advance(20_000);
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened', 'incident.closed']);
    await clock.advance(60 * 60_000);
    await notify(deps, never);
    expect(server.requests).toHaveLength(2);
  });

  it('get only the closing message of an incident that opened and closed between two rounds', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await incidents().close(pipeline, clock.now());
    await notify(deps, never);
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.closed']);
  });

  it('get the cause in the first message if it becomes known in time, even after a restart', async () => {
    await recordDiagnosis({ cause: 'unknown', confidence: 'low' });
    await clock.advance(10_000);
    await notify(depsFor({ kind: 'webhook' }), never);
    expect(receivedEvents()).toEqual([]);
    await recordDiagnosis();
    await notify(depsFor({ kind: 'webhook' }), never);
    expect(receivedEvents()).toEqual(['incident.opened']);
    expect(server.requests[0]?.body).toContain('Likely cause: the retriever is down');
  });

  it('get a first message without a cause after 15 seconds, and one follow-up when the cause becomes known', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await recordDiagnosis();
    await clock.advance(15_000);
    await notify(deps, never);
    expect(server.requests[0]?.body).toContain('Cause not yet known.');
    await recordDiagnosis();
    await notify(deps, never);
    await clock.advance(15_000);
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened', 'incident.updated']);
    expect(server.requests[1]?.body).toContain('Likely cause: the retriever is down');
  });

  it('get a closing message with the recovered value and without the text of the alert', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await notify(deps, never);
    await clock.advance(2 * 3_600_000);
    const recoveries = new Map([[anAlert().name, 'nDCG@10 recovered to 0.82']]);
    await incidents().close(pipeline, clock.now(), 'resolved', recoveries);
    await notify(deps, never);
    expect(JSON.parse(server.requests[1]?.body ?? '')).toMatchObject({
      summary: `${pipeline}: nDCG@10 recovered to 0.82 after 2 h`,
    });
    expect(server.requests[1]?.body).not.toContain(anAlert().text);
  });

  it('get the opening message of a silenced incident when the silence ends', async () => {
    const deps = depsFor({ kind: 'webhook' });
    const startsAt = clock.now();
    const endsAt = new Date(startsAt.getTime() + 3_600_000);
    const silence = { pipeline, startsAt, endsAt, reason: 'index rebuild' };
    await deps.db.silences.add(silence, { name: 'ann', by: 'ann' }, startsAt);
    await open();
    await notify(deps, never);
    expect(receivedEvents()).toEqual([]);
    await clock.advance(3_600_000);
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened']);
  });

  it('get the closing message even if no process sent messages for days', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await notify(deps, never);
    await incidents().close(pipeline, clock.now());
    await clock.advance(8 * DAY_MS);
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['incident.opened', 'incident.closed']);
  });

  it('get only incidents of their minimum severity or above', async () => {
    const deps = depsFor({ kind: 'webhook' }, { kind: 'slack', min_severity: 'warning' });
    await open({}, 'warning');
    await notify(deps, never);
    expect(receivedEvents()).toEqual(['text']);
  });

  it('get a low-confidence change of the cause only if the update does not alert people again', async () => {
    const deps = depsFor({ kind: 'webhook' }, { kind: 'pagerduty' });
    await open({ confidence: 'low' });
    await notify(deps, never);
    await clock.advance(60_000);
    await recordDiagnosis({ cause: 'index_lost_documents', confidence: 'low', runId: 'run-2' });
    await notify(deps, never);
    await notify(deps, never);
    expect(receivedEvents().toSorted()).toEqual(['incident.opened', 'trigger', 'trigger']);
    expect(server.requests.at(-1)?.body).toContain('Likely cause: documents missing from the index');
  });
});

describe('a receiver that returns status 200 with an error in the body', () => {
  it('counts as failed', async () => {
    const refusing = await startFaultServer(json({ ok: false, error: 'channel_not_found' }));
    onTestFinished(() => refusing.close());
    const deps = depsFor({ kind: 'slack', url: refusing.url });
    await open();
    await notify(deps, never);
    expect(refusing.requests).toHaveLength(1);
    expect(counted).toEqual(['slack failed']);
  });
});
