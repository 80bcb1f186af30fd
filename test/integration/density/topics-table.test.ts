import { describe, expect, it } from 'vitest';
import type { SeenTopic } from '../../../src/density/rules/uncovered-topic.ts';
import { type TopicSearch, topicsTable } from '../../../src/density/topics-table.ts';
import { useDatabase } from '../../support/database.ts';
import { hours } from '../../support/measurements.ts';
import { aTopic } from '../../support/uncovered-topics.ts';

const database = useDatabase();
const topics = () => topicsTable(database.pool);

/** A search over the 24 hours before `until`. */
function aSearch(pipeline: string, until: number, parts: Partial<TopicSearch> = {}): TopicSearch {
  const from = hours(until - 24);
  return { pipeline, from, until: hours(until), baselineVersion: 1, sessions: 400, lacking: null, ...parts };
}

const showing = (seen: readonly SeenTopic[]) => ({ seen, parts: new Map<string, string>() });

describe('an uncovered topic', () => {
  it('is returned as it was found, and tracked from window to window', async () => {
    const pipeline = 'followed';
    const first = aTopic({ id: 'followed', pipeline });
    await topics().record(aSearch(pipeline, 0), showing([first]), null);
    const second = { ...first, windowEnd: hours(1), excessPoints: 12, label: ['leave'] };
    await topics().record(aSearch(pipeline, 1), showing([second]), hours(0));
    expect(await topics().find('followed')).toEqual({
      ...first,
      windowEnd: hours(1),
      excessPoints: 12,
      label: ['leave'],
      state: 'open',
      firstSeen: hours(0),
      changedAt: null,
      note: null,
    });
    expect((await topics().windows('followed')).map(({ excessPoints }) => excessPoints)).toEqual([9.5, 12]);
    expect(await topics().known(pipeline)).toEqual([{ id: 'followed', centroid: first.centroid }]);
  });

  it('is recorded by only one of the replicas that search the same window', async () => {
    const pipeline = 'raced';
    const search = aSearch(pipeline, 2, { lacking: 'window_tail' });
    expect(await topics().record(search, showing([]), null)).toBe(true);
    const [found, other] = ['t-a', 't-b'].map((id) => aTopic({ id, pipeline, windowEnd: hours(3) }));
    if (found === undefined || other === undefined) throw new Error('There are two.');
    const taken = await Promise.all([
      topics().record(aSearch(pipeline, 3), showing([found]), hours(2)),
      topics().record(aSearch(pipeline, 3), showing([other]), hours(2)),
    ]);
    expect(taken.toSorted()).toEqual([false, true]);
    expect(await topics().record(aSearch(pipeline, 9), showing([{ ...found, windowEnd: hours(9) }]), null)).toBe(false);
    expect(await topics().known(pipeline)).toHaveLength(1);
    const latest = (await topics().latestSearches()).find((one) => one.pipeline === pipeline);
    expect(latest).toEqual({ ...aSearch(pipeline, 3), unclosed: 1 });
  });

  it('stays acknowledged while it is found, closes if it is not, and reopens when it is found again', async () => {
    const pipeline = 'states';
    const topic = aTopic({ id: 'state', pipeline });
    await topics().record(aSearch(pipeline, 0), showing([topic]), null);
    expect(await topics().setState('state', 'acknowledged', 'The handbook is being written.', 'test', hours(1))).toBe(
      true,
    );
    await topics().record(aSearch(pipeline, 2), showing([{ ...topic, windowEnd: hours(2) }]), hours(0));
    expect(await topics().find('state')).toMatchObject({
      state: 'acknowledged',
      note: 'The handbook is being written.',
    });
    expect(await topics().closeUnseen(pipeline, hours(2), hours(3))).toBe(0);
    expect(await topics().closeUnseen(pipeline, hours(3), hours(4))).toBe(1);
    expect(await topics().find('state')).toMatchObject({ state: 'closed', note: 'No longer seen.' });
    await topics().record(aSearch(pipeline, 30), showing([{ ...topic, windowEnd: hours(30) }]), hours(2));
    expect(await topics().find('state')).toMatchObject({ state: 'open', note: 'Seen again.' });
    expect(await topics().setState('nothing', 'closed', null, 'test', hours(6))).toBe(false);
  });

  it('closes permanently when it is merged into another, unless it is acknowledged', async () => {
    const pipeline = 'parts';
    const [whole, part, cared] = ['whole', 'part', 'cared'].map((id) => aTopic({ id, pipeline }));
    if (whole === undefined || part === undefined || cared === undefined) throw new Error('There are three.');
    await topics().record(aSearch(pipeline, 0), showing([whole, part, cared]), null);
    await topics().setState('cared', 'acknowledged', null, 'test', hours(0));
    const parts = new Map([
      ['part', 'whole'],
      ['cared', 'whole'],
    ]);
    const seen = [{ ...whole, windowEnd: hours(1) }];
    await topics().record(aSearch(pipeline, 1), { seen, parts }, hours(0));
    expect(await topics().find('part')).toMatchObject({ state: 'closed', note: 'Part of whole.' });
    expect(await topics().find('cared')).toMatchObject({ state: 'acknowledged', note: null });
    expect((await topics().known(pipeline)).map(({ id }) => id).toSorted()).toEqual(['cared', 'whole']);
  });

  it('that a user closed stays closed while only queries from before the closing are found', async () => {
    const pipeline = 'closed';
    const topic = aTopic({ id: 'mended', pipeline });
    await topics().record(aSearch(pipeline, 0), showing([topic]), null);
    await topics().setState('mended', 'closed', 'The page is written.', 'test', hours(1));
    await topics().record(aSearch(pipeline, 2), showing([{ ...topic, windowEnd: hours(2) }]), hours(0));
    expect(await topics().find('mended')).toMatchObject({ state: 'closed', note: 'The page is written.' });
    await topics().record(aSearch(pipeline, 26), showing([{ ...topic, windowEnd: hours(26) }]), hours(2));
    expect(await topics().find('mended')).toMatchObject({ state: 'open', changedAt: hours(26) });
  });

  it('is listed in order of excess, and filtered by pipeline and state', async () => {
    const pipeline = 'listed';
    const seen = [
      aTopic({ id: 'small', pipeline, excessPoints: 1 }),
      aTopic({ id: 'large', pipeline, excessPoints: 8 }),
      aTopic({ id: 'done', pipeline, excessPoints: 20 }),
    ];
    await topics().record(aSearch(pipeline, 0), showing(seen), null);
    await topics().setState('done', 'closed', null, 'test', hours(1));
    const ids = async (states: Parameters<ReturnType<typeof topics>['list']>[0]['states'], limit = 10) =>
      (await topics().list({ pipeline, states, limit })).map(({ id }) => id);
    expect(await ids(['open', 'acknowledged'])).toEqual(['large', 'small']);
    expect(await ids(['open', 'closed'], 1)).toEqual(['done']);
  });
});
