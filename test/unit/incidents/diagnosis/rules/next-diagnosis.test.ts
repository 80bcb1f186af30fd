import { describe, expect, it } from 'vitest';
import { describesRepair, replacesLast } from '../../../../../src/incidents/diagnosis/rules/next-diagnosis.ts';
import { sign } from '../../../../../src/incidents/diagnosis/rules/signs.ts';
import { aDiagnosis } from '../../../../support/builders.ts';

const outage = aDiagnosis({ alerts: ['floor', 'drift'] });
const unknownCause = { ...outage, cause: 'unknown', confidence: 'low' } as const;
const slow = { ...outage, cause: 'retriever_slow', confidence: 'medium' } as const;

describe('the next recorded diagnosis', () => {
  it('replaces a guess with a more certain diagnosis', () => {
    expect(replacesLast(unknownCause, outage, 'steady')).toBe(true);
    expect(replacesLast(outage, { ...outage, confidence: 'medium' }, 'steady')).toBe(true);
  });

  it('changes the cause only if another run supports the new cause or another alert fires', () => {
    expect(replacesLast(slow, { ...outage, runId: 'run-2' }, 'steady')).toBe(true);
    expect(replacesLast(slow, outage, 'steady')).toBe(false);
    expect(replacesLast(slow, { ...outage, alerts: [...outage.alerts, 'stale labels'] }, 'steady')).toBe(true);
    expect(replacesLast(slow, { ...unknownCause, runId: 'run-2' }, 'steady')).toBe(false);
    expect(replacesLast(slow, { ...unknownCause, alerts: [...slow.alerts, 'a measure changed'] }, 'steady')).toBe(
      false,
    );
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

  it('keeps the cause once live results match a replay again, unless another alert fires', () => {
    const replay = (state: 'live_differs' | 'as_before') => [sign('live_replay', state, '')];
    const live = aDiagnosis({ cause: 'live_traffic', runId: 'run-1', signs: replay('live_differs') });
    const after = aDiagnosis({ cause: 'generator', runId: 'run-2', signs: replay('as_before') });
    expect(replacesLast(live, after, 'steady')).toBe(false);
    expect(replacesLast(live, { ...after, signs: [] }, 'steady')).toBe(true);
    expect(replacesLast(live, { ...after, alerts: [...live.alerts, 'ndcg@10 below 0.7'] }, 'worse')).toBe(true);
  });

  it('keeps a previously trusted cause if a later diagnosis names no cause', () => {
    const guess = { ...slow, confidence: 'low' } as const;
    expect(replacesLast(guess, { ...unknownCause, runId: 'run-2' }, 'steady', true)).toBe(false);
    expect(replacesLast(guess, { ...unknownCause, runId: 'run-2' }, 'steady', false)).toBe(true);
    expect(replacesLast(guess, { ...outage, runId: 'run-2' }, 'steady', true)).toBe(true);
  });

  it('is not recorded if only the numbers or the run differ', () => {
    expect(replacesLast(outage, aDiagnosis({ ...outage, summary: 'The same in other numbers.' }), 'steady')).toBe(
      false,
    );
    expect(replacesLast(outage, { ...outage, runId: 'run-2' }, 'steady')).toBe(false);
  });

  it('keeps the cause once an alert has ended and no other alert is new, because the evidence then shows the repair', () => {
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

  it('repeats the diagnosis with the numbers of the worst run so far', () => {
    expect(replacesLast(outage, { ...outage, runId: 'run-2' }, 'worse')).toBe(true);
    expect(replacesLast(outage, outage, 'worse')).toBe(false);
  });

  it('is not recorded during recovery, unless it refines a guess about the same run', () => {
    expect(replacesLast(outage, { ...outage, runId: 'run-2' }, 'recovering')).toBe(false);
    expect(replacesLast(unknownCause, { ...outage, runId: 'run-2' }, 'recovering')).toBe(false);
    expect(replacesLast(unknownCause, outage, 'recovering')).toBe(true);
  });
});

it('a later diagnosis of the same run that only lowers the confidence describes the repair', () => {
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
