/** Accepted data is stored exactly once, whichever process dies during ingest. */
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { urlOf } from '../support/database.ts';
import { anInstallation } from '../support/installation.ts';
import { aDatabase, aFolder, startRecalld } from '../support/recalld.ts';
import { describeWithRedis, useRedis } from '../support/redis.ts';
import { startTcpGate } from '../support/tcp-gate.ts';
import { waitFor } from '../support/wait-for.ts';

const config = `server: {port: 0}
pipelines:
  - {name: docs, retriever: {kind: http, url: "http://127.0.0.1:9/search"}, sampling: {rate: 1, max_per_minute: 10000000}}
`;

interface Load {
  /** Ids that recalld accepted with 202. */
  readonly accepted: ReadonlySet<string>;
  /** Statuses of other responses. */
  readonly refusals: ReadonlySet<number>;
  /** Waits until every client has delivered its last batch. */
  stop(): Promise<void>;
}

/**
 * Starts four clients that, like the recalld client, retry each batch until it is accepted. The number of batches and
 * the number of attempts are limited.
 */
function startLoad(send: (queries: readonly object[]) => Promise<{ status: number }>): Load {
  const accepted = new Set<string>();
  const refusals = new Set<number>();
  let isOver = false;
  const deliver = async (queries: readonly { id: string }[]): Promise<void> => {
    for (let tries = 0; tries < 5000; tries++) {
      const answer = await send(queries).catch(() => null);
      if (answer?.status === 202) {
        for (const { id } of queries) accepted.add(id);
        return;
      }
      if (answer !== null) refusals.add(answer.status);
      await setTimeout(20);
    }
  };
  const clients = ['a', 'b', 'c', 'd'].map(async (name) => {
    for (let batch = 0; !isOver && batch < 2000; batch++) {
      await deliver(Array.from({ length: 20 }, (_, i) => aQuery(`${name}-${batch}-${i}`)));
    }
  });
  return {
    accepted,
    refusals,
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}

const storedIds = 'select count(*)::integer as stored, count(distinct id)::integer as ids from live_queries' as const;
const once = ({ accepted }: Load) => [{ stored: accepted.size, ids: accepted.size }];

const aQuery = (id: string) => ({
  id,
  pipeline: 'docs',
  text: `what is ${id}`,
  results: [{ id: 'd1', score: 0.5 }],
});

describe('accepted data', () => {
  it('is stored exactly once through retries and kill -9 under load', async () => {
    const folder = await aFolder({ 'recalld.yaml': config });
    let daemon = await startRecalld(['serve'], folder);
    const load = startLoad((queries) =>
      fetch(`${daemon.url}/v1/queries`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(queries),
      }),
    );
    for (const atLeast of [400, 1200]) {
      await waitFor(() => load.accepted.size >= atLeast);
      daemon.child.kill('SIGKILL');
      await daemon.finished;
      daemon = await startRecalld(['serve'], folder);
    }
    await waitFor(() => load.accepted.size >= 2000);
    await load.stop();
    expect((await (await aDatabase(folder)).query(storedIds)).rows).toEqual(once(load));
    expect((await daemon.stop()).code).toBe(0);
  });

  it('is stored exactly once when the database goes down, or hangs, under load', async () => {
    const gates: Awaited<ReturnType<typeof startTcpGate>>[] = [];
    const { query, serve } = await anInstallation(
      { 'recalld.yaml': config },
      {
        async wayTo(connection) {
          const gate = await startTcpGate(connection);
          onTestFinished(() => gate.close());
          gates.push(gate);
          return urlOf({ ...connection, host: gate.host, port: gate.port });
        },
      },
    );
    const [gate] = gates;
    const daemon = await serve();
    const load = startLoad((queries) => daemon.post('/v1/queries', queries));
    const takesMore = async (): Promise<void> => {
      const before = load.accepted.size;
      await waitFor(() => load.accepted.size >= before + 400);
    };
    await takesMore();
    await gate?.shut();
    await waitFor(() => load.refusals.has(503));
    expect((await daemon.fetch('/livez')).status).toBe(200);
    expect((await daemon.fetch('/readyz')).status).toBe(503);
    await gate?.open();
    await takesMore();
    gate?.hold();
    await waitFor(async () => (await daemon.fetch('/readyz')).status === 503);
    await gate?.open();
    await takesMore();
    await load.stop();
    expect(await query(storedIds)).toEqual(once(load));
    expect((await daemon.stop()).code).toBe(0);
  });

  describeWithRedis('while the job queue is unavailable', () => {
    const redis = useRedis();

    it('is stored exactly once, and no request is refused', async () => {
      const { query, serve } = await anInstallation({
        'recalld.yaml': `${config}queue: {backend: redis, url: "${redis.url}"}\n`,
      });
      const daemon = await serve();
      const load = startLoad((queries) => daemon.post('/v1/queries', queries));
      const isReady = async () => (await daemon.fetch('/readyz')).status === 200;
      const takesMore = async () => {
        const before = load.accepted.size;
        await waitFor(() => load.accepted.size >= before + 800);
      };
      await takesMore();
      redis.freeze();
      await waitFor(async () => !(await isReady()));
      await takesMore();
      await redis.start();
      await waitFor(isReady);
      await redis.stop();
      await waitFor(async () => !(await isReady()));
      await takesMore();
      await redis.start();
      await waitFor(isReady);
      await takesMore();
      await load.stop();
      expect([...load.refusals]).toEqual([]);
      expect(await query(storedIds)).toEqual(once(load));
      expect((await daemon.stop()).code).toBe(0);
    });
  });
});
