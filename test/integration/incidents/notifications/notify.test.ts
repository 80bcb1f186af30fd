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

const look = (parts: Parameters<typeof aDiagnosis>[0] = {}, severity: 'critical' | 'warning' = 'critical') =>
  incidents().record([anAlert({ severity })], aDiagnosis({ pipeline, ...parts }), clock.now());
/** Opens an incident whose cause is confirmed. */
async function open(...of: Parameters<typeof look>): Promise<void> {
  await look(...of);
  await clock.advance(12_000);
  await look(...of);
}
const heard = (): string[] =>
  server.requests.map(({ body }) => {
    const { event, event_action: action } = JSON.parse(body) as Record<string, string>;
    return event ?? action ?? 'text';
  });

describe('the receivers of notifications', () => {
  it('get one message to open and one to close, however many replicas look', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await Promise.all([1, 2, 3, 4].map(() => notify(deps, never)));
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened']);
    await incidents().close(pipeline, clock.now());
    await Promise.all([1, 2, 3, 4].map(() => notify(deps, never)));
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened', 'incident.closed']);
    expect(counted).toEqual(['webhook sent', 'webhook sent']);
  });

  it('get what was due although the process that had taken it died, once its lease is over', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    const [incident] = await incidents().open();
    await deps.db.notifications.add(incident?.id ?? '', deps.receivers[0]?.id ?? '', 'opened', clock.now());
    expect(await deps.db.notifications.take(clock.now())).toHaveLength(1);
    await notify(deps, never);
    expect(heard()).toEqual([]);
    await clock.advance(61_000);
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened']);
  });

  it('are tried again while they fail, and hear the beginning before the end', async () => {
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
    expect(heard()).toEqual(['incident.opened', 'incident.opened', 'incident.opened', 'incident.closed']);
    expect(counted).toEqual(['webhook failed', 'webhook failed', 'webhook sent', 'webhook sent']);
  });

  it('are abandoned after an hour, which is counted and said without the address', async () => {
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

  it('hear of no fault that is over, but of its end alone, when they took nothing while it lasted', async () => {
    const deps = depsFor({ kind: 'webhook' });
    server.respondWith(inTurn(status(500), json({})));
    await open();
    await notify(deps, never);
    await incidents().close(pipeline, clock.now());
    await clock.advance(20_000);
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened', 'incident.closed']);
    await clock.advance(60 * 60_000);
    await notify(deps, never);
    expect(server.requests).toHaveLength(2);
  });

  it('hear of the end alone of an incident that opened and closed between two rounds', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await incidents().close(pipeline, clock.now());
    await notify(deps, never);
    await notify(deps, never);
    expect(heard()).toEqual(['incident.closed']);
  });

  it('wait for the cause, and get it in the first message, over a restart', async () => {
    await look({ cause: 'unknown', confidence: 'low' });
    await clock.advance(10_000);
    await notify(depsFor({ kind: 'webhook' }), never);
    expect(heard()).toEqual([]);
    await look();
    await notify(depsFor({ kind: 'webhook' }), never);
    expect(heard()).toEqual(['incident.opened']);
    expect(server.requests[0]?.body).toContain('Likely cause: the retriever is down');
  });

  it('get a first message without a cause after 15 seconds, and one follow-up when it becomes known', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await look();
    await clock.advance(15_000);
    await notify(deps, never);
    expect(server.requests[0]?.body).toContain('Cause not yet known.');
    await look();
    await notify(deps, never);
    await clock.advance(15_000);
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened', 'incident.updated']);
    expect(server.requests[1]?.body).toContain('Likely cause: the retriever is down');
  });

  it('read at the end what it recovered to, and nothing of the fault in the present tense', async () => {
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

  it('hear of an incident that a silence held back once the silence has ended', async () => {
    const deps = depsFor({ kind: 'webhook' });
    const startsAt = clock.now();
    const endsAt = new Date(startsAt.getTime() + 3_600_000);
    const silence = { pipeline, startsAt, endsAt, reason: 'index rebuild' };
    await deps.db.silences.add(silence, { name: 'ann', by: 'ann' }, startsAt);
    await open();
    await notify(deps, never);
    expect(heard()).toEqual([]);
    await clock.advance(3_600_000);
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened']);
  });

  it('hear of a recovery whose message failed for days', async () => {
    const deps = depsFor({ kind: 'webhook' });
    await open();
    await notify(deps, never);
    await incidents().close(pipeline, clock.now());
    await clock.advance(8 * DAY_MS);
    await notify(deps, never);
    expect(heard()).toEqual(['incident.opened', 'incident.closed']);
  });

  it('are told as much as they asked for', async () => {
    const deps = depsFor({ kind: 'webhook' }, { kind: 'slack', min_severity: 'warning' });
    await open({}, 'warning');
    await notify(deps, never);
    expect(heard()).toEqual(['text']);
  });

  it('hear a guess at another cause only where that makes no sound', async () => {
    const deps = depsFor({ kind: 'webhook' }, { kind: 'pagerduty' });
    await open();
    await notify(deps, never);
    await clock.advance(60_000);
    await look({ cause: 'index_lost_documents', confidence: 'low', runId: 'run-2' });
    await notify(deps, never);
    await notify(deps, never);
    expect(heard().toSorted()).toEqual(['incident.opened', 'trigger', 'trigger']);
    expect(server.requests.at(-1)?.body).toContain('Likely cause: documents missing from the index');
  });
});

describe('a receiver that answers 200 and has delivered nothing', () => {
  it('has not got the message, by the code of its refusal', async () => {
    const refusing = await startFaultServer(json({ ok: false, error: 'channel_not_found' }));
    onTestFinished(() => refusing.close());
    const deps = depsFor({ kind: 'slack', url: refusing.url });
    await open();
    await notify(deps, never);
    expect(refusing.requests).toHaveLength(1);
    expect(counted).toEqual(['slack failed']);
  });
});
