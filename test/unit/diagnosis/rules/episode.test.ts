import { describe, expect, it } from 'vitest';
import { isSameDiagnosis, nextStep } from '../../../../src/diagnosis/rules/episode.ts';
import { aDiagnosis } from '../../../support/builders.ts';

const alarms = ['ndcg@10 below 0.8', 'density drift'];
const outage = { cause: 'retriever_outage', confidence: 'high', alarms, runId: 'run-1' } as const;
const nobodyKnows = { ...outage, cause: 'unknown', confidence: 'low' } as const;

describe('a diagnosis that holds', () => {
  it('is revised while it is a guess, or as long as the cause stays', () => {
    expect(nextStep(nobodyKnows, outage)).toBe('revise');
    expect(nextStep(outage, { ...outage, confidence: 'medium' })).toBe('revise');
  });

  it('gives way to another cause once it was trusted, and stays in the history', () => {
    const slow = { ...outage, cause: 'retriever_slow', confidence: 'medium' } as const;
    expect(nextStep(slow, { ...outage, runId: 'run-2' })).toBe('supersede');
    expect(nextStep(slow, { ...outage, alarms: [...alarms, 'stale labels'] })).toBe('supersede');
    expect(nextStep({ ...slow, runId: null }, { ...outage, runId: null })).toBe('supersede');
  });

  it('stays when the evidence fades before the last alarm is over, as after a repair', () => {
    const fading = { ...nobodyKnows, alarms: ['density drift'], runId: 'run-2' };
    expect(nextStep(outage, fading)).toBe('stay');
    expect(nextStep(outage, { ...fading, alarms: ['stale labels'] })).toBe('supersede');
    expect(nextStep(outage, { ...outage, cause: 'corpus_changed' })).toBe('stay');
  });

  it('is the same when it says the same of the same alarms', () => {
    expect(isSameDiagnosis(aDiagnosis(), aDiagnosis({ runId: 'run-2' }))).toBe(true);
    expect(isSameDiagnosis(aDiagnosis(), aDiagnosis({ alarms: ['another'] }))).toBe(false);
    expect(isSameDiagnosis(aDiagnosis(), aDiagnosis({ summary: 'Something else.' }))).toBe(false);
  });
});
