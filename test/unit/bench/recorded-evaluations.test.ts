import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readEvaluations } from '../../../bench/diagnosis/fit/evaluation.ts';
import { rankedBy, reliabilityOf } from '../../../bench/diagnosis/fit/reliability.ts';
import { evaluationsOf } from '../../../bench/faults/evaluations.ts';
import type { IncidentRecord, WorldRecord } from '../../../bench/faults/record.ts';
import { judgedEstimates } from '../../../src/incidents/diagnosis/rules/estimates.ts';
import { fittedEstimates } from '../../../src/incidents/diagnosis/rules/fitted-weights.ts';

/** Two worlds for each kind of fault; no weight was fitted to worlds of these shapes. */
const recorded = path.resolve(import.meta.dirname, '../../fixtures/diagnosis/evaluations.jsonl');

describe('recorded worlds that the fit did not see', () => {
  const evaluations = readEvaluations([recorded]);
  const [judged, fitted] = [judgedEstimates, fittedEstimates].map((by) =>
    reliabilityOf(evaluations.map((one) => rankedBy(one, by))),
  );

  it('are mostly diagnosed correctly by the fitted weights, and almost never wrongly with high confidence', () => {
    expect(fitted?.worlds).toBeGreaterThanOrEqual(90);
    expect((fitted?.right ?? 0) / (fitted?.worlds ?? 0)).toBeGreaterThanOrEqual(0.85);
    expect((fitted?.wrong ?? 1) / (fitted?.worlds ?? 1)).toBeLessThanOrEqual(0.05);
    expect((fitted?.wrongWithHighConfidence ?? 1) / (fitted?.worlds ?? 1)).toBeLessThanOrEqual(0.02);
  });

  it('are more likely under the fitted weights than under the expert weights', () => {
    expect(fitted?.logLoss).toBeLessThan(judged?.logLoss ?? 0);
  });
});

const incident: IncidentRecord = {
  opened_at: '2026-03-01T00:00:00Z',
  closed_at: null,
  severity: 'critical',
  diagnosed_at: '2026-03-01T00:00:00Z',
  cause: 'index_lost_documents',
  confidence: 'high',
  probability: 0.95,
  alternatives: [],
  also: [],
  alerts: ['ndcg@10 below 0.7 on golden'],
  causes: [],
  signs: [
    { sign: 'labels', state: 'some_gone', from: null, n: 80, weighed: true },
    { sign: 'index_documents', state: 'whole', from: '2026-02-28T00:00:00Z', n: 200, weighed: false },
  ],
  effects: [{ kind: 'score', size: 0.1, parts: { stale: 0.1 } }],
  failed_share: 0,
  summary: 'Likely cause: documents missing from the index.',
};

const world: WorldRecord = {
  id: 'w1',
  shape: {
    corpus: 'xquad-en',
    encoder: 'use',
    retriever: 'dense',
    store: 'pgvector',
    golden: 120,
    traffic: 60,
    rated: 0.2,
  } as unknown as WorldRecord['shape'],
  faults: [{ kind: 'lost-topic', size: 'medium', causes: ['index_lost_documents'] }],
  healthy: 0.8,
  drop: 0.1,
  incidentsBefore: 0,
  messagesBefore: 0,
  evaluations: [
    { run: 1, ndcg: 0.8, firing: [], incidents: [] },
    { run: 2, ndcg: 0.7, firing: ['ndcg'], incidents: [incident] },
  ],
  messages: [],
  resolvedAfter: 1,
  firingAtEnd: [],
  failedJobs: [],
  seconds: 1,
  processSeconds: 1,
};

describe('a world of the fault benchmark', () => {
  it('contributes the evidence of each evaluation with an incident to the fit', () => {
    expect(evaluationsOf(world)).toEqual([
      {
        world: 'w1 2',
        source: 'daemon',
        shape: 'xquad-en use dense pgvector 120 60',
        fault: 'lost-topic',
        causes: ['index_lost_documents'],
        signs: [{ name: 'labels', state: 'some_gone', n: 80 }],
        effects: incident.effects,
        failedShare: 0,
      },
    ]);
  });

  it('has an unknown cause if an incident opened without a fault', () => {
    const quiet = { ...world, faults: [{ kind: 'quiet', size: 'small', causes: [] }] } as const;
    expect(evaluationsOf(quiet).map(({ causes }) => causes)).toEqual([['unknown']]);
  });
});
