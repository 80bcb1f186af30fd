import { describe, expect, it } from 'vitest';
import { type CheckStep, createCheckStore } from '../../../src/checks/check-store.ts';
import type { CheckStatus } from '../../../src/checks/rules/check-state.ts';
import { useDatabase } from '../../support/database.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
let pipelines = 0;

function aStatus(pipeline: string, parts: Partial<CheckStatus> = {}): CheckStatus {
  return {
    pipeline,
    name: 'error_ratio above 0.05',
    severity: 'critical',
    threshold: 0.05,
    measure: 'error_ratio',
    verdict: 'ok',
    since: hours(0),
    lastKnown: 'ok',
    candidate: null,
    seen: 0,
    value: 0.01,
    ciLow: 0.004,
    ciHigh: 0.02,
    n: 900,
    smallestDetectableDrop: null,
    before: 0.01,
    breachedSince: null,
    outageUntil: null,
    comparedWith: null,
    segment: 'all',
    explanation: 'It is 0.01.',
    isQuiet: false,
    evidenceAt: hours(0),
    evaluatedAt: hours(0),
    trustedUntil: hours(1),
    updatedAt: hours(0),
    ...parts,
  };
}

const first = (status: CheckStatus): CheckStep => ({ status, previous: null });

describe('the history of checks', () => {
  it('stores the full status of a check, and each change of its verdict', async () => {
    const history = createCheckStore(database.pool);
    const pipeline = `docs-${(pipelines += 1)}`;
    const before = aStatus(pipeline);
    await history.advance([first(before)]);
    const after = aStatus(pipeline, {
      verdict: 'critical',
      since: hours(1),
      lastKnown: 'critical',
      value: 0.2,
      segment: 'tenant=acme',
      explanation: 'It is 0.2.',
      updatedAt: hours(1),
    });
    await history.advance([{ status: after, previous: { revision: 1, verdict: 'ok' } }]);
    const again = { ...after, candidate: 'ok', seen: 1, updatedAt: hours(2) } as const;
    await history.advance([{ status: again, previous: { revision: 2, verdict: 'critical' } }]);
    const own = (await history.statuses()).filter((one) => one.pipeline === pipeline);
    expect(own).toEqual([{ ...again, revision: 3 }]);
    expect(await history.transitions({ pipeline, limit: 10 })).toMatchObject([
      {
        from: 'ok',
        to: 'critical',
        occurredAt: hours(1),
        value: 0.2,
        segment: 'tenant=acme',
        explanation: 'It is 0.2.',
      },
      { from: null, to: 'ok', occurredAt: hours(0), explanation: 'It is 0.01.' },
    ]);
  });

  it('stores only one of the steps that concurrent workers take from the same status', async () => {
    const history = createCheckStore(database.pool);
    const pipeline = `docs-${(pipelines += 1)}`;
    const step = first(aStatus(pipeline, { verdict: 'warning' }));
    const taken = await Promise.all(Array.from({ length: 6 }, () => history.advance([step])));
    expect(taken.flat()).toHaveLength(1);
    expect(await history.transitions({ pipeline, limit: 10 })).toHaveLength(1);
  });

  it('returns the changes in pages, newest first, and filters them by check and time', async () => {
    const history = createCheckStore(database.pool);
    const pipeline = `docs-${(pipelines += 1)}`;
    for (const [hour, verdict] of (['ok', 'warning', 'ok', 'critical'] as const).entries()) {
      const before = (['ok', 'warning', 'ok'] as const)[hour - 1];
      const status = aStatus(pipeline, { verdict, since: hours(hour) });
      await history.advance([{ status, previous: before === undefined ? null : { revision: hour, verdict: before } }]);
    }
    const page = await history.transitions({ pipeline, limit: 3 });
    expect(page.map(({ to }) => to)).toEqual(['critical', 'ok', 'warning']);
    const rest = await history.transitions({ pipeline, limit: 3, before: page.at(-1)?.id ?? '' });
    expect(rest.map(({ to }) => to)).toEqual(['ok']);
    const late = await history.transitions({ pipeline, limit: 10, since: hours(2) });
    expect(late.map(({ to }) => to)).toEqual(['critical', 'ok']);
    const early = await history.transitions({ pipeline, limit: 10, until: hours(2) });
    expect(early.map(({ to }) => to)).toEqual(['warning', 'ok']);
    expect(await history.transitions({ pipeline, check: 'another', limit: 10 })).toEqual([]);
  });

  it('returns the end of each verdict of each check, even if the change that ended it is filtered out', async () => {
    const history = createCheckStore(database.pool);
    const pipeline = `docs-${(pipelines += 1)}`;
    const other = aStatus(pipeline, { name: 'ndcg@10 below 0.8', since: hours(1) });
    await history.advance([first(aStatus(pipeline))]);
    await history.advance([first(other)]);
    const fell = aStatus(pipeline, { verdict: 'warning', since: hours(3) });
    await history.advance([{ status: fell, previous: { revision: 1, verdict: 'ok' } }]);
    const listed = await history.transitions({ pipeline, limit: 10 });
    expect(listed.map(({ check, to, endedAt }) => [check, to, endedAt])).toEqual([
      [fell.name, 'warning', null],
      [other.name, 'ok', null],
      [fell.name, 'ok', hours(3)],
    ]);
    expect(await history.transitions({ pipeline, limit: 10, until: hours(1) })).toMatchObject([{ endedAt: hours(3) }]);
  });
});

it('the history of checks is deleted after its retention period', async () => {
  const history = createCheckStore(database.pool);
  const [old, young] = [`docs-${(pipelines += 1)}`, `docs-${(pipelines += 1)}`];
  await history.advance([first(aStatus(old)), first(aStatus(young, { since: hours(9), updatedAt: hours(9) }))]);
  await history.prune(hours(5));
  expect(await history.transitions({ pipeline: old, limit: 10 })).toEqual([]);
  expect((await history.statuses()).map(({ pipeline }) => pipeline)).not.toContain(old);
  expect(await history.transitions({ pipeline: young, limit: 10 })).toHaveLength(1);
});
