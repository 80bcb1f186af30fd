import { describe, expect, it } from 'vitest';
import { describesRepair, replacesLast } from '../../../../../src/incidents/diagnosis/rules/next-diagnosis.ts';
import { sign } from '../../../../../src/incidents/diagnosis/rules/signs.ts';
import { aDiagnosis } from '../../../../support/builders.ts';

const outage = aDiagnosis({ alerts: ['floor', 'drift'] });
const nobodyKnows = { ...outage, cause: 'unknown', confidence: 'low' } as const;
const slow = { ...outage, cause: 'retriever_slow', confidence: 'medium' } as const;

describe('the next recorded diagnosis', () => {
  it('replaces a guess with a more certain diagnosis', () => {
    expect(replacesLast(nobodyKnows, outage, 'steady')).toBe(true);
    expect(replacesLast(outage, { ...outage, confidence: 'medium' }, 'steady')).toBe(true);
  });

  it('changes the cause only if another run points to it or another alert fires', () => {
    expect(replacesLast(slow, { ...outage, runId: 'run-2' }, 'steady')).toBe(true);
    expect(replacesLast(slow, outage, 'steady')).toBe(false);
    expect(replacesLast(slow, { ...outage, alerts: [...outage.alerts, 'stale labels'] }, 'steady')).toBe(true);
    expect(replacesLast(slow, { ...nobodyKnows, runId: 'run-2' }, 'steady')).toBe(false);
    expect(replacesLast(slow, { ...nobodyKnows, alerts: [...slow.alerts, 'a measure changed'] }, 'steady')).toBe(false);
  });

  it('keeps a trusted cause if another run only suggests another cause with low confidence', () => {
    const guess = { ...outage, confidence: 'low', runId: 'run-2' } as const;
    expect(replacesLast(slow, guess, 'steady')).toBe(false);
    expect(replacesLast({ ...slow, confidence: 'low' }, guess, 'steady', true)).toBe(false);
    expect(replacesLast(slow, { ...guess, confidence: 'medium' }, 'steady')).toBe(true);
    expect(replacesLast(slow, { ...guess, alerts: [...slow.alerts, 'stale labels'] }, 'steady')).toBe(true);
  });

  it('changes the cause of the same run if the manifest now lists the missing documents as deleted', () => {
    const gone = (state: 'lost' | 'deleted') => [sign('gone_documents', state, '')];
    const lost = { ...slow, cause: 'index_lost_documents', signs: gone('lost') } as const;
    expect(replacesLast(lost, { ...lost, cause: 'golden_labels', signs: gone('deleted') }, 'steady')).toBe(true);
    expect(replacesLast(lost, { ...lost, cause: 'golden_labels' }, 'steady')).toBe(false);
    expect(replacesLast(lost, { ...lost, cause: 'unknown', signs: gone('deleted') }, 'steady')).toBe(true);
  });

  it('keeps the cause once users again get what a replay of their queries returns, unless another alert fires', () => {
    const replay = (state: 'live_differs' | 'as_before') => [sign('live_replay', state, '')];
    const live = aDiagnosis({ cause: 'live_traffic', runId: 'run-1', signs: replay('live_differs') });
    const after = aDiagnosis({ cause: 'generator', runId: 'run-2', signs: replay('as_before') });
    expect(replacesLast(live, after, 'steady')).toBe(false);
    expect(replacesLast(live, { ...after, signs: [] }, 'steady')).toBe(true);
    expect(replacesLast(live, { ...after, alerts: [...live.alerts, 'ndcg@10 below 0.7'] }, 'worse')).toBe(true);
  });

  it('keeps a cause that was trusted before, even if later signs leave little of it', () => {
    const guess = { ...slow, confidence: 'low' } as const;
    expect(replacesLast(guess, { ...nobodyKnows, runId: 'run-2' }, 'steady', true)).toBe(false);
    expect(replacesLast(guess, { ...nobodyKnows, runId: 'run-2' }, 'steady', false)).toBe(true);
    expect(replacesLast(guess, { ...outage, runId: 'run-2' }, 'steady', true)).toBe(true);
  });

  it('is not recorded if only digits differ', () => {
    expect(replacesLast(outage, aDiagnosis({ ...outage, summary: 'The same in other numbers.' }), 'steady')).toBe(
      false,
    );
    expect(replacesLast(outage, { ...outage, runId: 'run-2' }, 'steady')).toBe(false);
  });

  it('does not change the cause once an alert has ended and no other is worse, because this shows the repair', () => {
    const half = { ...slow, alerts: slow.alerts.slice(1), runId: 'run-2' };
    expect(slow.alerts.length).toBeGreaterThan(half.alerts.length);
    expect(replacesLast(slow, { ...half, cause: outage.cause }, 'steady')).toBe(false);
    expect(
      replacesLast(slow, { ...half, cause: outage.cause, alerts: [...half.alerts, 'stale labels'] }, 'steady'),
    ).toBe(true);
    expect(replacesLast(outage, { ...outage, alerts: outage.alerts.slice(1) }, 'steady')).toBe(false);
    const busy = [...half.alerts, 'latencies of faq are not evaluated'];
    expect(replacesLast(slow, { ...half, cause: outage.cause, alerts: busy }, 'steady')).toBe(false);
  });

  it('repeats the diagnosis with the numbers of a run that is worse than all before', () => {
    expect(replacesLast(outage, { ...outage, runId: 'run-2' }, 'worse')).toBe(true);
    expect(replacesLast(outage, outage, 'worse')).toBe(false);
  });

  it('is not recorded during recovery, except for the run that a guess was based on', () => {
    expect(replacesLast(outage, { ...outage, runId: 'run-2' }, 'recovering')).toBe(false);
    expect(replacesLast(nobodyKnows, { ...outage, runId: 'run-2' }, 'recovering')).toBe(false);
    expect(replacesLast(nobodyKnows, outage, 'recovering')).toBe(true);
  });
});

it('a later diagnosis without a new run that only lowers the confidence describes the repair', () => {
  const minutes = (n: number) => new Date(n * 60_000);
  const last = { cause: 'index_lost_documents', confidence: 'high', alerts: [], runId: 'run-1', signs: [] } as const;
  const weaker = { ...last, confidence: 'low' } as const;
  expect(describesRepair(last, weaker, minutes(0), minutes(60))).toBe(true);
  expect(describesRepair(last, weaker, minutes(0), minutes(1))).toBe(false);
  expect(describesRepair(weaker, last, minutes(0), minutes(60))).toBe(false);
  expect(describesRepair(last, { ...weaker, runId: 'run-2' }, minutes(0), minutes(60))).toBe(false);
  expect(describesRepair(last, { ...weaker, cause: 'ranking' }, minutes(0), minutes(60))).toBe(false);
  const live = { ...last, runId: null };
  expect(describesRepair(live, { ...live, confidence: 'medium' }, minutes(0), minutes(60))).toBe(true);
});
