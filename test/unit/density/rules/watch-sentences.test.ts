import { describe, expect, it } from 'vitest';
import { type RaisedAlert, raisedSentence, resolvedSentence } from '../../../../src/density/rules/watch-sentences.ts';

const size = {
  startMs: Date.UTC(2026, 10, 20, 12),
  endMs: Date.UTC(2026, 10, 20, 15),
  sessions: 412,
  density: 0.8,
  low: 0.73,
  high: 0.88,
};

const alert: RaisedAlert = {
  pipeline: 'docs',
  level: 'page',
  renewed: false,
  scope: 'global',
  size,
  uncovered: {
    threshold: 0.05,
    share: 0.131,
    ciLow: 0.1,
    ciHigh: 0.16,
    excess: 0.085,
    excessLow: 0.05,
    excessHigh: 0.12,
  },
  evidenceRatio: 1.72,
  region: { region: 3, share: 0.12, baselineShare: 0.04, density: 0.41, explained: 0.1 },
  reading: { cause: 'content_gap', confidence: 'high', confirmed: true },
};

describe('an alarm', () => {
  it('says how much, since when, where, why and how sure', () => {
    expect(raisedSentence(alert)).toBe(
      'Query density of docs fell to 0.8 (95 % CI 0.73-0.88, 412 sessions since 2026-11-20 12:00 UTC), where 1 is as in the baseline. ' +
        '13 % of all traffic is badly covered, where the baseline has 5 %: at least 8.5 % of it lost its coverage. ' +
        'Most of the fall lies in one group of similar queries, which has 12 % of the traffic at a density of 0.41 and had 4 %. ' +
        'The questions are new: people ask what the store does not hold. ' +
        'The golden queries bear it out. ' +
        'The confidence in this reading is high. ' +
        'The evidence is 1.73 times what a page takes.',
    );
  });

  it('of one region that is raised again says so without its number, which nobody could look up, and leaves out what nobody knows', () => {
    const sentence = raisedSentence({
      ...alert,
      level: 'ticket',
      renewed: true,
      scope: 3,
      region: null,
      reading: { cause: 'lost_content', confidence: 'medium', confirmed: null },
    });
    expect(sentence).toContain('Query density of one group of similar queries of docs is still 0.8');
    expect(sentence).toContain('the store or its index lost something');
    expect(sentence).toContain('what a ticket takes');
    expect(sentence).not.toContain('golden');
    expect(sentence).not.toContain('Most of the fall');
  });

  it('of questions like the old ones, that the golden queries do not show, is read as a gap with its doubt', () => {
    const sentence = raisedSentence({
      ...alert,
      reading: { cause: 'content_gap', confidence: 'low', confirmed: true },
    });
    expect(sentence).toContain('The questions are like the old ones, but the golden queries are covered as before');
    expect(sentence).toContain('probably people ask what the store does not hold');
    expect(sentence).toContain('The confidence in this reading is low.');
    expect(sentence).not.toContain('lost something');
  });

  it('that is over says what it came back to', () => {
    expect(resolvedSentence('docs', 'page', 'global', { ...size, density: 1.02, low: 0.97, high: 1.07 })).toBe(
      'Query density of docs is back at 1.02 (95 % CI 0.97-1.07, 412 sessions since 2026-11-20 12:00 UTC); the page is resolved.',
    );
  });
});
