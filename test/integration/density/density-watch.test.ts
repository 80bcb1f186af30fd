/** Sends weeks of live traffic through the jobs that monitor query density, and tests which changes cause a page. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import { readCheckGauges } from '../../../src/checks/check-store.ts';
import { evaluateChecks } from '../../../src/checks/evaluate-checks.ts';
import { readDensityGauges } from '../../../src/density/gauges.ts';
import { requestRebaseline } from '../../../src/density/learn-baseline.ts';
import { aWatchedPipeline } from '../../support/builders.ts';
import { contextOf } from '../../support/context.ts';
import { useDatabase } from '../../support/database.ts';
import { DAY, evenly, HOUR, WatchedStream, withTopic } from '../../support/watched-stream.ts';

const COVERED = evenly([0, 1, 2, 3, 4, 5]);
const FOUR_HOURS = { windowMs: 4 * HOUR } as const;
/** Pages are possible after three days, so that a test need not simulate two weeks. */
const SOON = { ...FOUR_HOURS, needs: { days: 3, sessions: 600 } } as const;

function useStream(make: (pool: ReturnType<typeof useDatabase>['pool']) => WatchedStream) {
  const database = useDatabase();
  let stream: WatchedStream | undefined;
  beforeAll(() => {
    stream = make(database.pool);
  });
  afterAll(() => stream?.close());
  return {
    get stream(): WatchedStream {
      if (stream === undefined) throw new Error('the stream is there only while tests run');
      return stream;
    },
    database,
  };
}

async function gauges({ stream, database }: ReturnType<typeof useStream>): Promise<Record<string, number>> {
  const checks = contextOf(stream.deps, {
    pipelines: [aWatchedPipeline({ name: stream.plan.pipeline, golden: [] })],
    db: { golden: createDb(database.pool).golden },
    intervalSeconds: () => null,
    liveIntervalSeconds: 300,
  });
  await evaluateChecks(checks);
  const now = stream.deps.clock.now();
  const measurements = await stream.deps.db.measurements.latest(now);
  const density = await readDensityGauges(stream.deps, { measurements });
  const samples = [...density(now), ...(await readCheckGauges(checks))(now)];
  return Object.fromEntries(
    samples.map(({ name, labels, value }) => [
      `${name}{${Object.entries(labels)
        .map(([label, text]) => `${label}=${text}`)
        .join(',')}}`,
      value,
    ]),
  );
}

const kinds = async (stream: WatchedStream) => (await stream.events()).map(({ kind }) => kind);

describe('a topic that the store does not cover', () => {
  const used = useStream((pool) => new WatchedStream(pool, FOUR_HOURS));

  it('is preceded by a provisional baseline after three days, and a page-grade one after two weeks', async () => {
    const { stream } = used;
    await stream.run(24, 8, COVERED, 4);
    expect(await gauges(used)).toMatchObject({
      'recalld_check_state{pipeline=docs,check=density drift,state=no_data}': 1,
      'recalld_density_baseline_span_seconds{pipeline=docs}': 86_400,
    });
    await stream.run(13 * 24, 8, COVERED, 4);
    const [provisional, full] = await stream.events();
    expect(provisional).toMatchObject({ kind: 'rebaseline', details: { grade: 'provisional', days: 3 } });
    expect(full).toMatchObject({ kind: 'rebaseline', details: { grade: 'page', days: 14 } });
    expect(await gauges(used)).toMatchObject({
      'recalld_density_baseline_info{pipeline=docs,version=2,grade=page}': 1,
      'recalld_check_state{pipeline=docs,check=density drift,state=ok}': 1,
    });
  }, 120_000);

  it('pages once users ask about it, with the numbers and the cause', async () => {
    const { stream } = used;
    await stream.run(24, 20, COVERED, 4);
    expect(await kinds(stream)).toEqual(['rebaseline', 'rebaseline']);
    const quiet = await gauges(used);
    expect(quiet['recalld_query_density_ci_high{pipeline=docs,segment=all}']).toBeGreaterThan(0.95);

    await stream.run(36, 20, withTopic(6, 0.2, COVERED), 4);
    const page = (await stream.events()).find(({ kind }) => kind === 'page');
    expect(page?.details).toMatchObject({ level: 'page', cause: 'content_gap', golden_confirms: null });
    const { density, sessions, uncovered_excess_ratio: excess } = page?.details ?? {};
    expect(density).toBeLessThan(0.85);
    expect(density).toBeGreaterThan(0.4);
    expect(sessions).toBeGreaterThanOrEqual(200);
    // A fifth of the traffic changed; the counted share is a lower bound.
    expect(excess).toBeGreaterThan(0.08);
    expect(excess).toBeLessThan(0.25);
    expect(page?.sentence).toContain('users are asking about content that the store does not have');
    expect(await gauges(used)).toMatchObject({
      'recalld_check_state{pipeline=docs,check=density drift,state=critical}': 1,
      'recalld_density_incident{pipeline=docs,level=page}': 1,
    });
  }, 120_000);

  it('resolves when the topic is added to the store', async () => {
    const { stream } = used;
    stream.store.hold(stream.chunksOf([0, 1, 2, 3, 4, 5, 6]));
    await stream.run(60, 20, withTopic(6, 0.2, COVERED), 4);
    const resolved = (await stream.events()).filter(({ kind }) => kind === 'resolve');
    expect(resolved.map(({ details }) => details['level'])).toContain('page');
    expect(await gauges(used)).toMatchObject({ 'recalld_density_incident{pipeline=docs,level=page}': 0 });
  }, 120_000);

  it('omits values that are too old', async () => {
    const { stream } = used;
    stream.clock.set(new Date(stream.clock.now().getTime() + 2 * DAY));
    const late = await gauges(used);
    expect(late).toMatchObject({ 'recalld_check_state{pipeline=docs,check=density drift,state=no_data}': 1 });
    expect(Object.keys(late).filter((name) => name.startsWith('recalld_query_density'))).toEqual([]);
  });
});

describe('deleted chunks of a topic', () => {
  const used = useStream((pool) => new WatchedStream(pool, SOON));

  it('page once and are counted as missing, although three workers run concurrently', async () => {
    const { stream, database } = used;
    stream.workers = 3;
    await stream.run(3 * 24 + 8, 12, COVERED, 4);
    expect(await kinds(stream)).toEqual(['rebaseline']);
    stream.store.hold(stream.chunksOf([0, 1, 2, 3, 4]));
    await stream.run(32, 20, COVERED, 4);

    const events = await stream.events();
    const pages = events.filter(({ kind }) => kind === 'page');
    expect(pages.length).toBe(1);
    expect(pages[0]?.details).toMatchObject({ cause: 'lost_content' });
    expect(pages[0]?.details['lost_chunks']).toMatchObject({ missing: expect.any(Number) });
    expect(events.filter(({ kind }) => kind === 'reset')).toEqual([]);
    // Each window is stored once, in sequence.
    const windows = await stream.deps.db.density.watch.windows('docs', new Date(0));
    const starts = windows.map(({ startMs }) => startMs);
    expect(new Set(starts).size).toBe(starts.length);
    expect(starts.every((start, i) => i === 0 || start - (starts[i - 1] ?? 0) === 4 * HOUR)).toBe(true);
    const { rows } = await database.pool.query<{ attempts: number; n: number }>(
      `select max(attempts) as attempts, count(*)::integer as n from query_coverage`,
    );
    expect(rows).toEqual([{ attempts: 1, n: (3 * 24 + 8) * 12 + 32 * 20 }]);
    expect(stream.store.searches).toBe((3 * 24 + 8) * 12 + 32 * 20);
  }, 120_000);

  it('stop paging once a user requests a new baseline', async () => {
    const { stream } = used;
    const since = stream.clock.now();
    await requestRebaseline(stream.deps, {
      pipeline: 'docs',
      reason: 'the product is gone',
      since,
      by: 'ann',
    });
    expect(await gauges(used)).toMatchObject({
      'recalld_check_state{pipeline=docs,check=density drift,state=no_data}': 1,
    });
    const before = (await stream.events()).length;
    await stream.run(4 * 24, 12, COVERED, 4);
    const later = (await stream.events()).slice(before);
    expect(later.map(({ kind, details }) => [kind, details['grade']])).toEqual([['rebaseline', 'page']]);
  }, 120_000);
});

describe('a shift of traffic to other covered topics', () => {
  const used = useStream((pool) => new WatchedStream(pool, SOON));

  it('does not page', async () => {
    const { stream } = used;
    await stream.run(3 * 24 + 8, 12, COVERED, 4);
    await stream.run(3 * 24, 20, evenly([0, 0, 0, 1]), 4);
    expect(await kinds(stream)).toEqual(['rebaseline']);
  }, 120_000);
});

describe('a late sample', () => {
  const used = useStream((pool) => new WatchedStream(pool, SOON));

  it('changes neither the evidence of a closed window nor an alert', async () => {
    const { stream } = used;
    await stream.run(3 * 24 + 8, 12, COVERED, 4);
    const start = stream.clock.now();
    await stream.run(8, 12, COVERED, 4);
    const windows = await stream.deps.db.density.watch.windows('docs', new Date(0));
    const state = await stream.deps.db.density.watch.find('docs');
    const late = stream
      .samples(start, 50, evenly([7]))
      .map((sample) => ({ ...sample, receivedAt: stream.clock.now() }));
    await stream.ask(late);
    await stream.work();
    expect(await stream.deps.db.density.watch.windows('docs', new Date(0))).toEqual(windows);
    expect((await stream.deps.db.density.watch.find('docs'))?.revision).toBe(state?.revision);
  }, 120_000);
});
