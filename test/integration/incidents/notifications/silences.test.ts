import { beforeEach, describe, expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import { addSilence, endSilence, readSilenceGauges } from '../../../../src/incidents/notifications/silences.ts';
import { aWatchedPipeline } from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { hours } from '../../../support/measurements.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const database = useDatabase();
const ann = { name: 'ann', by: 'key ann (1)' };

beforeEach(async () => {
  await database.pool.query('truncate silences, audit_log');
});

const at = (hour: number) => {
  const clock = new SteerableClock(hours(hour));
  return contextOf({ db: createDb(database.pool), clock, pipelines: [aWatchedPipeline({ name: 'docs' })] });
};
const rebuild = { pipeline: 'docs', startsAt: hours(1), endsAt: hours(3), reason: 'index rebuild' };

async function gauge(hour: number): Promise<number | undefined> {
  const gauges = await readSilenceGauges(at(hour));
  return gauges(hours(hour)).find(({ labels }) => labels['pipeline'] === 'docs')?.value;
}

describe('a silence', () => {
  it('sets the gauge that the alert rules read, from its start to its end', async () => {
    await addSilence(at(0), rebuild, ann);
    expect(await Promise.all([0, 1, 2.9, 3].map(gauge))).toEqual([0, 1, 1, 0]);
  });

  it('is listed until it ends, and a user can end it early, which the audit log records', async () => {
    const { id } = await addSilence(at(0), rebuild, ann);
    const { silences, platform } = createDb(database.pool);
    expect(await silences.endingAfter(hours(2), 'docs')).toMatchObject([{ ...rebuild, createdBy: 'ann' }]);
    expect(await silences.endingAfter(hours(2), 'another')).toEqual([]);
    await endSilence(at(2), id, ann);
    expect(await gauge(2)).toBe(0);
    const acts = await platform.auditLog.list({ limit: 10 });
    expect(acts.map(({ act, subject }) => `${act} ${subject}`)).toEqual([
      `end_silence silence ${id}`,
      `add_silence silence ${id}`,
    ]);
  });

  it('never starts if a user ends it before its start', async () => {
    const { id } = await addSilence(at(0), rebuild, ann);
    await endSilence(at(0.5), id, ann);
    expect(await gauge(1)).toBe(0);
  });

  it.each([
    ['no reason', { reason: ' ' }, 'silence_invalid'],
    ['an end before its start', { endsAt: hours(0.5) }, 'silence_invalid'],
    ['an end in the past', { startsAt: hours(-2), endsAt: hours(-1) }, 'silence_invalid'],
    ['a length of months', { endsAt: hours(24 * 100) }, 'silence_invalid'],
    ['an unknown pipeline', { pipeline: 'another' }, 'pipeline_unknown'],
  ])('is refused with %s', async (_what, parts, code) => {
    await expect(addSilence(at(0), { ...rebuild, ...parts }, ann)).rejects.toMatchObject({ code });
    expect(await createDb(database.pool).silences.endingAfter(hours(-100))).toEqual([]);
  });

  it('that is unknown cannot be ended', async () => {
    await expect(endSilence(at(0), '12345', ann)).rejects.toMatchObject({ code: 'silence_unknown' });
    await expect(endSilence(at(0), 'x', ann)).rejects.toMatchObject({ code: 'silence_unknown' });
  });
});
