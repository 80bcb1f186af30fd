import { describe, expect, it } from 'vitest';
import { raisedEvent, resolvedEvent } from '../../../../src/density/rules/watch-sentences.ts';

const size = {
  startMs: Date.UTC(2026, 10, 20, 12),
  endMs: Date.UTC(2026, 10, 20, 15),
  sessions: 412,
  density: 0.8,
  low: 0.73,
  high: 0.88,
};

const raised = { kind: 'raised', renewed: false, size } as const;
const alert = { raised, evidenceRatio: 1.2, baselineVersion: 1, history: [] };
const uncovered = {
  threshold: 0.05,
  share: 0.131,
  ciLow: 0.1,
  ciHigh: 0.16,
  excess: 0.085,
  excessLow: 0.05,
  excessHigh: 0.12,
};
const region = { region: 3, share: 0.12, baselineShare: 0.04, density: 0.41, explained: 0.1 };

describe('the sentence of a density alert', () => {
  it('states size, start, place, cause and confidence', () => {
    const reading = { cause: 'content_gap', confidence: 'high', confirmed: true } as const;
    expect(raisedEvent('docs', { ...alert, level: 'page' }, uncovered, [region], null, reading, null).sentence).toBe(
      'Query density of docs dropped to 0.8 (95 % CI 0.73-0.88, 412 sessions since 2026-11-20 12:00 UTC); the baseline is 1. ' +
        '13 % of traffic is poorly covered, 5 % in the baseline; drift confirmed (page). ' +
        'Most of the drop is in one group of similar queries: 12 % of traffic at a density of 0.41, 4 % in the baseline. ' +
        'The queries are new: users are asking about content that the store does not have. ' +
        'Golden queries confirm this. ' +
        'Confidence: high.',
    );
  });

  it('says that a drop continues and omits what is unknown', () => {
    const reading = { cause: 'lost_content', confidence: 'medium', confirmed: null } as const;
    const still = { ...alert, level: 'ticket', raised: { ...raised, renewed: true } } as const;
    const { sentence } = raisedEvent('docs', still, uncovered, [], null, reading, null);
    expect(sentence).toContain('Query density of docs is still 0.8');
    expect(sentence).toContain('the store or its index lost content');
    expect(sentence).toContain('drift confirmed (ticket)');
    expect(sentence).not.toContain('Golden');
    expect(sentence).not.toContain('Most of the drop');
  });

  it('states the doubt when the queries are familiar and the golden queries have not dropped', () => {
    const reading = { cause: 'content_gap', confidence: 'low', confirmed: true } as const;
    const { sentence } = raisedEvent('docs', { ...alert, level: 'page' }, uncovered, [region], null, reading, null);
    expect(sentence).toContain('The queries resemble earlier queries, but golden scores are unchanged');
    expect(sentence).toContain('Users are probably asking, in familiar words, about content that is not in the store.');
    expect(sentence).toContain('Confidence: low.');
    expect(sentence).not.toContain('lost content');
  });

  it('states the recovered density when the alert is resolved', () => {
    const resolved = { kind: 'resolved', size: { ...size, density: 1.02, low: 0.97, high: 1.07 } } as const;
    expect(resolvedEvent('docs', 'page', resolved, new Date(size.endMs)).sentence).toBe(
      'Query density of docs recovered to 1.02 (95 % CI 0.97-1.07, 412 sessions since 2026-11-20 12:00 UTC); the page is resolved.',
    );
  });
});
