import { beforeEach, describe, expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import type { TimeSpan } from '../../../../src/core/time.ts';
import type { ClosedWindow } from '../../../../src/density/rules/watch-state.ts';
import type { StoredDensityState } from '../../../../src/density/watch-table.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import type { RunEnd } from '../../../../src/golden/sql/run-results.ts';
import { observeDensity } from '../../../../src/incidents/diagnosis/observe.ts';
import { findReferenceRun, latestEnded, observeRun } from '../../../../src/incidents/diagnosis/reference-run.ts';
import { createLiveTraffic } from '../../../../src/live/sql/live-traffic.ts';
import {
  aFailedAnswer,
  aGoldenQuery,
  aNewGoldenSet,
  anAlert,
  anAnswer,
  aSchedule,
  aWatchedPipeline,
  documents,
  NOON,
} from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, floor, putRun } from '../../../support/golden-runs.ts';
import { liveSamples } from '../../../support/live-rows.ts';
import { aMeasurement, hours, latestAt } from '../../../support/measurements.ts';

/** A window of one hour with 100 sessions, of which `sumUncovered` are uncovered. */
const anHour = (hour: number, sumUncovered: number) =>
  ({
    startMs: hours(hour).getTime(),
    endMs: hours(hour + 1).getTime(),
    baselineVersion: 3,
    segments: { all: { sessions: 100, sumUncovered } },
  }) as unknown as ClosedWindow;

async function observed(value: number, windows: readonly ClosedWindow[] = [], isOpen = true) {
  const tables = {
    events: async () => [],
    windows: async (_: string, from: Date) => windows.filter(({ startMs }) => startMs >= from.getTime()),
  };
  const incident = { openedMs: NOON.getTime(), raisedMs: NOON.getTime(), raisedHigh: 0.9, hasReturned: false };
  const alerts = isOpen ? { page: { incident } } : {};
  const phase = { kind: 'watching', baselineVersion: 3, alerts };
  const stored = { state: { phase }, revision: 1, updatedAt: NOON } as unknown as StoredDensityState;
  const density = { measure: 'query_density', value, ciLow: value - 0.1, ciHigh: value + 0.1 };
  return observeDensity(tables, 'docs', stored, latestAt(NOON, aMeasurement(density)), hours(-2), NOON);
}

it('a drop in density is reported while the density alert is open', async () => {
  expect(await observed(0.8)).toMatchObject({ value: 0.8, hasFallen: true });
});

it('recovered density is reported although the density alert is still open', async () => {
  expect(await observed(1.02)).toMatchObject({ value: 1.02, hasFallen: false, questions: null });
});

it('a drop in coverage since the onset is reported before the density alert can fire', async () => {
  const since = async (...windows: readonly ClosedWindow[]) => (await observed(0.98, windows, false))?.since;
  expect(await since(anHour(-3, 60), anHour(-2, 5))).toMatchObject({
    sessions: 100,
    uncovered: 0.05,
    hasFallen: false,
  });
  expect(await since(anHour(-2, 20), anHour(-1, 24))).toMatchObject({
    from: hours(-2),
    sessions: 200,
    uncovered: 0.22,
    hasFallen: true,
  });
  // If 12 of 100 sessions are uncovered, between 2 % and 16 % of traffic lost its coverage: inconclusive.
  expect(await since(anHour(-2, 12))).toBeNull();
  expect(await since(anHour(-3, 60))).toBeNull();
  // The onset is two hours before noon; this window began 24 minutes earlier.
  expect(await since(anHour(-2.4, 40))).toMatchObject({ from: hours(-2), sessions: 100, hasFallen: true });
  expect(await since(anHour(-2.6, 40))).toBeNull();
  expect(await since({ ...anHour(-2, 40), baselineVersion: 2 })).toBeNull();
});

const database = useDatabase();

beforeEach(async () => {
  await database.pool.query('truncate golden_runs, golden_baselines cascade');
});

const stores = () => createDb(database.pool).golden;
const context = () => contextOf({ db: { golden: stores() } });

/**
 * Stores a run that started `hour` hours after noon and ended at once; if `verdict` is null, the run is still in
 * progress.
 */
async function ran(
  hour: number,
  verdict: Verdict | null,
  { status = 'completed', set = 'faq', failed = 0 }: { status?: RunEnd['status']; set?: string; failed?: number } = {},
): Promise<string> {
  const answers = Array.from({ length: 10 }, (_, i) => {
    const queryId = `q${i}`;
    return i < failed ? aFailedAnswer({ queryId }) : anAnswer({ queryId });
  });
  const startedAt = hours(hour);
  const end =
    verdict === null ? null : anEnd({ status, finishedAt: startedAt, scores: [], checks: [{ ...floor, verdict }] });
  return (await putRun(stores(), { id: `run-${hour}`, goldenSet: set, startedAt }, { answers, end })).id;
}

const around = async (id: string, known: string | null = null, firstBad: TimeSpan | null = null) => {
  const run = await stores().runs.find(id);
  if (run === null) throw new Error(`there is no ${id}`);
  return findReferenceRun(context(), run, { regressions: [], firstBad, known });
};
const goodBefore = async (...of: Parameters<typeof around>): Promise<string | null> =>
  (await around(...of)).reference?.id ?? null;

describe('the run that shows the fault', () => {
  const pipeline = aWatchedPipeline({ golden: [aSchedule(), aSchedule({ set: 'other' })] });
  const shown = async (goldenSet: string | null) => {
    const alert = anAlert({ goldenSet });
    return (await latestEnded(context(), pipeline, [alert]))?.id ?? null;
  };

  it('is the latest completed run of the failing golden set, however many runs wait behind it, and never a cancelled run', async () => {
    await ran(1, 'critical', { set: 'other' });
    await ran(2, 'ok');
    await ran(3, 'critical', { set: 'other', status: 'cancelled' });
    for (let n = 0; n < 20; n += 1) await ran(4 + n, null, { set: 'other' });
    expect(await shown('other')).toBe('run-1');
  });

  it('may be void', async () => {
    await ran(1, 'ok');
    await ran(2, 'no_data', { status: 'void' });
    expect(await shown(null)).toBe('run-2');
  });

  it('is a run of the first golden set if the alert concerns no set', async () => {
    await ran(1, 'ok');
    await ran(2, 'ok', { set: 'other' });
    expect(await shown(null)).toBe('run-1');
  });

  it('is absent before the first run', async () => {
    expect(await shown(null)).toBeNull();
  });
});

describe('the reference run', () => {
  it('is the last earlier run without a firing alert', async () => {
    await ran(1, 'ok');
    await ran(2, 'no_data');
    await ran(3, 'critical');
    await ran(4, 'ok', { status: 'void' });
    expect(await goodBefore(await ran(5, 'critical'))).toBe('run-2');
  });

  it('is never a run in which the retriever failed, even if its checks passed', async () => {
    await ran(1, 'ok');
    await ran(2, 'ok', { failed: 1 });
    expect(await goodBefore(await ran(3, 'critical'))).toBe('run-1');
  });

  it('is never a run after the first bad measurement, which may be long before the verdict', async () => {
    await ran(1, 'ok');
    await ran(2, 'ok');
    await ran(3, 'ok');
    const last = await ran(4, 'critical');
    const { reference, bad, earlier } = await around(last, null, { from: hours(1.5), until: hours(2) });
    expect(reference?.id).toBe('run-1');
    expect(bad.map(({ id }) => id)).toEqual(['run-3', 'run-2']);
    expect(earlier).toEqual([]);
  });

  it('stays the same during an incident, even if a later run would qualify', async () => {
    await ran(1, 'ok');
    await ran(2, 'ok');
    expect(await goodBefore(await ran(3, 'critical'), 'run-1')).toBe('run-1');
  });

  it('is the pinned baseline if no run was good', async () => {
    await ran(1, 'critical');
    await ran(2, 'critical');
    const pin = {
      pipeline: 'docs',
      goldenSet: 'faq',
      runId: 'run-1',
      note: null,
      noise: {},
      pinnedAt: hours(1),
    };
    await stores().baselines.pin(pin, 'somebody');
    expect(await goodBefore(await ran(3, 'critical'))).toBe('run-1');
  });

  it('is absent if there is neither a good run nor a pinned baseline', async () => {
    expect(await goodBefore(await ran(1, 'critical'))).toBeNull();
  });
});

it('golden results that belonged to other live queries before the fault are counted', async () => {
  const set = 'lists';
  const ids = Array.from({ length: 12 }, (_, at) => `q${at}`);
  await stores().sets.add(aNewGoldenSet({ name: set, queries: ids.map((id) => aGoldenQuery({ id, text: id })) }), NOON);
  const listOf = (name: string) => documents(`${name}-a`, `${name}-b`, `${name}-c`);
  const runAt = (hour: number, answers: readonly QueryAnswer[]) =>
    putRun(stores(), { goldenSet: set, startedAt: hours(hour) }, { answers, end: anEnd({ finishedAt: hours(hour) }) });
  const reference = await runAt(
    2,
    ids.map((queryId) => anAnswer({ queryId, documents: listOf(queryId) })),
  );
  const run = await runAt(
    3,
    ids.map((queryId) => anAnswer({ queryId, documents: listOf(`live-${queryId}`) })),
  );
  const live = createDb(database.pool).live;
  const traffic = createLiveTraffic(database.pool, 'a');
  await traffic.createPartitions(hours(0));
  const asked = liveSamples(12, (at) => ({
    id: `l${at}`,
    text: `another query ${at}`,
    results: listOf(`live-q${at}`),
  }));
  const samples = asked.map((sample) => ({ ...sample, receivedAt: hours(1) }));
  await traffic.record({ samples, counts: [], levels: [] });
  const seen = await observeRun(
    contextOf({ db: { golden: stores(), live } }),
    run,
    { reference, bad: [], earlier: [] },
    null,
    null,
  );
  expect(seen.reference?.answers.foreign).toEqual({ compared: 12, foreign: 12, usual: 0 });
});

it('a document counts as deleted even if recalld read its deletion in the manifest only after the run', async () => {
  const label = (documentId: string) => ({ queryId: documentId, documentId, grade: 1, fate: 'lost' }) as const;
  const labels = {
    kind: 'probed',
    probed: 9,
    stale: 0,
    deleted: 0,
    lost: 2,
    labels: [label('withdrawn'), label('gone')],
    touched: new Set<string>(),
    dead: new Set<string>(),
  } as const;
  const run = await putRun(stores(), { id: 'run-withdrawn' }, { answers: [], end: anEnd({ labels }) });
  await database.pool.query(
    `insert into index_documents (pipeline, id, place, deleted, since) values ($1, 'withdrawn', 1, true, now())`,
    [run.pipeline],
  );
  const { labels: seen } = await observeRun(context(), run, { reference: null, bad: [], earlier: [] }, null, null);
  expect(seen).toEqual({ probed: 9, stale: 1, deleted: 1, lost: 1 });
});
