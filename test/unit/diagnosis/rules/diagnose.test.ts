import { assert, constantFrom, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Deployment } from '../../../../src/deployments/rules/deployment.ts';
import { causes, causeTexts } from '../../../../src/diagnosis/rules/cause.ts';
import type { ChangedAnswers } from '../../../../src/diagnosis/rules/changed-answers.ts';
import { diagnose, MAX_SUMMARY_LENGTH, rankCauses } from '../../../../src/diagnosis/rules/diagnose.ts';
import type { Observations, ObservedRun } from '../../../../src/diagnosis/rules/observations.ts';
import { type Sign, signNames, signStates, weightOf, weights } from '../../../../src/diagnosis/rules/weights.ts';

const aSign = (name: Sign['name'], state: string): Sign => ({ name, state, sentence: 'It was so.' }) as Sign;

/** Any signs that can be read together. */
const anySigns = record(
  Object.fromEntries(signNames.map((name) => [name, constantFrom<string>(...signStates[name])])),
  {
    requiredKeys: [],
  },
).map((states) => Object.entries(states).map(([name, state]) => aSign(name as Sign['name'], String(state))));

describe('causes that are ranked by signs', () => {
  it('are unknown without a sign', () => {
    expect(rankCauses([])).toMatchObject({ cause: 'unknown', confidence: 'low' });
  });

  it('have probabilities that sum to 1, the likeliest first, whatever is seen', () => {
    assert(
      property(anySigns, (signs) => {
        const { ranked } = rankCauses(signs);
        const probabilities = ranked.map(({ probability }) => probability);
        expect(probabilities.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
        expect(probabilities).toEqual(probabilities.toSorted((a, b) => b - a));
        expect(new Set(ranked.map(({ cause }) => cause))).toEqual(new Set(causes));
      }),
    );
  });

  it('are never named with trust unless a strong sign of their own was seen', () => {
    assert(
      property(anySigns, (signs) => {
        const { cause, confidence, probability } = rankCauses(signs);
        if (cause === 'unknown') {
          expect(confidence).toBe('low');
          return;
        }
        const strongest = Math.max(...signs.map((sign) => weightOf(sign, cause)));
        expect(strongest).toBeGreaterThanOrEqual({ high: 3, medium: 2.5, low: 2 }[confidence]);
        expect(probability).toBeGreaterThan(confidence === 'high' ? 0.9 - 1e-12 : 0.5);
      }),
    );
  });

  it('do not depend on the order of the signs', () => {
    assert(
      property(anySigns, (signs) => {
        const [one, other] = [rankCauses(signs), rankCauses(signs.toReversed())];
        expect(other.cause).toBe(one.cause);
        expect(other.probability).toBeCloseTo(one.probability, 12);
      }),
    );
  });

  it('are not told by what merely fits them', () => {
    const fitting = [aSign('score', 'steady'), aSign('results', 'intact'), aSign('documents', 'same')];
    expect(rankCauses(fitting)).toMatchObject({ cause: 'unknown' });
  });

  it('keep what speaks for and against them apart', () => {
    const { ranked } = rankCauses([aSign('ann_recall', 'fell'), aSign('labels', 'many_gone')]);
    expect(ranked.find(({ cause }) => cause === 'index_parameters')).toMatchObject({
      supporting: [{ name: 'ann_recall' }],
      opposing: [{ name: 'labels' }],
    });
  });

  it('refuse a sign that was read twice', () => {
    expect(() => rankCauses([aSign('canary', 'same'), aSign('canary', 'changed')])).toThrow(RangeError);
  });
});

describe('the table of weights', () => {
  it('has a state of each sign that speaks for each cause', () => {
    const spokenFor = new Set(
      Object.values(weights).flatMap((states) =>
        Object.values(states).flatMap((row: Readonly<Record<string, number>>) =>
          Object.entries(row).flatMap(([cause, weight]) => (weight >= 3 ? [cause] : [])),
        ),
      ),
    );
    expect(spokenFor).toEqual(new Set(causes.filter((cause) => cause !== 'unknown')));
  });

  it('stays within 5 nats', () => {
    const all = Object.values(weights).flatMap((states) => Object.values(states).flatMap((row) => Object.values(row)));
    for (const weight of all) expect(Math.abs(weight)).toBeLessThanOrEqual(5);
  });

  it('leads to causes that have something to do', () => {
    for (const cause of causes) expect(causeTexts[cause].action).toMatch(/\.$/);
  });
});

const unchanged: ChangedAnswers = {
  answered: 100,
  score: { measure: 'ndcg@10', n: 100, difference: 0, ciLow: 0, ciHigh: 0, verdict: 'no_change' },
  kept: 1,
  documentsBefore: 200,
  vanished: 0,
  appeared: 0,
  emptyBefore: 0,
  empty: 0,
};
const fallen: Partial<ChangedAnswers> = {
  score: { measure: 'ndcg@10', n: 100, difference: -0.2, ciLow: -0.25, ciHigh: -0.15, verdict: 'regression' },
};

interface Parts extends Partial<Omit<Observations, 'run'>> {
  readonly run?: Partial<ObservedRun>;
  readonly answers?: Partial<ChangedAnswers>;
}

/** All is well and everything is measured, but for the parts. */
function observing({ run, answers, ...parts }: Parts): Observations {
  return {
    run: {
      goldenSet: 'faq',
      outcomes: { ok: 100, empty: 0, error: 0, timeout: 0 },
      commonError: null,
      latency95Ms: 30,
      labels: { probed: 100, stale: 0 },
      reference: {
        latency95Ms: 30,
        staleBefore: 0,
        version: 1,
        isSameVersion: true,
        answers: { ...unchanged, ...answers },
      },
      ...run,
    },
    live: null,
    store: { before: 1000, now: 1000 },
    annRecall: { before: 0.98, value: 0.98, ciHigh: 0.99, k: 10 },
    canary: { median: 1, least: 1, verdict: 'same' },
    deployments: [],
    density: { value: 1, ciLow: 0.97, ciHigh: 1.03, hasFallen: false, questions: null },
    topics: [],
    sentinel: { hasFallen: false },
    ownWork: { kind: 'done' },
    ...parts,
  };
}

function aDeployment(parts: Partial<Deployment>): Deployment {
  return {
    id: '1',
    pipeline: 'docs',
    kind: 'retriever',
    version: 'v8',
    note: null,
    occurredAt: new Date('2026-11-20T12:00:00Z'),
    source: 'annotated',
    changes: [],
    ...parts,
  };
}

const outcomes = (error: number, timeout: number) => ({
  ok: 100 - error - timeout,
  empty: 0,
  error,
  timeout,
});

describe('a diagnosis', () => {
  it.each<[string, Parts]>([
    ['retriever_outage', { run: { outcomes: outcomes(100, 0), commonError: 'http_503' } }],
    ['retriever_outage', { run: { outcomes: outcomes(20, 2) } }],
    ['retriever_slow', { run: { outcomes: outcomes(0, 60), latency95Ms: 1900 } }],
    ['retriever_slow', { run: { latency95Ms: 900 } }],
    [
      'index_lost_documents',
      {
        run: { labels: { probed: 100, stale: 33 } },
        answers: { vanished: 66, kept: 0.7 },
        store: { before: 1000, now: 670 },
      },
    ],
    [
      'corpus_changed',
      { run: { labels: { probed: 100, stale: 90 } }, answers: { vanished: 180, appeared: 300, kept: 0.1 } },
    ],
    [
      'index_parameters',
      { annRecall: { before: 0.98, value: 0.6, ciHigh: 0.66, k: 10 }, answers: { ...fallen, kept: 0.7 } },
    ],
    [
      'embedding_model',
      { canary: { median: 0.02, least: -0.1, verdict: 'changed' }, answers: { ...fallen, kept: 0.05 } },
    ],
    ['deployment', { deployments: [aDeployment({})], answers: { ...fallen, kept: 0.8 } }],
    [
      'uncovered_topic',
      {
        density: { value: 0.8, ciLow: 0.76, ciHigh: 0.84, hasFallen: true, questions: 'new' },
        topics: [{ id: 't-1', trafficShare: 0.1, cause: 'new_demand' }],
      },
    ],
    ['golden_labels', { run: { labels: { probed: 100, stale: 3 } } }],
    ['recalld', { ownWork: { kind: 'overdue', goldenSet: 'faq', intervals: 5 } }],
    ['unknown', { answers: { ...fallen, kept: 0.8 } }],
    ['unknown', {}],
  ])('says %s', (cause, parts) => {
    const found = diagnose(observing(parts));
    expect(found).toMatchObject({ cause });
    if (cause !== 'unknown') expect(found.confidence).not.toBe('low');
  });

  it('takes no small topic for the cause of something else, before density has fallen for it', () => {
    const topics = [{ id: 't-1', trafficShare: 0.02, cause: 'new_demand' }] as const;
    const slow = { run: { latency95Ms: 500 }, topics };
    expect(diagnose(observing(slow)).cause).toBe('retriever_slow');
    expect(diagnose(observing({ ...slow, density: null })).cause).toBe('retriever_slow');
  });

  it('names what broke, not the harmless deployment beside it', () => {
    const parts = {
      deployments: [aDeployment({})],
      canary: { median: 0.02, least: 0, verdict: 'changed' } as const,
    };
    expect(diagnose(observing({ ...parts, answers: { ...fallen, kept: 0.05 } }))).toMatchObject({
      cause: 'embedding_model',
    });
  });

  it('does not take what was so before for news', () => {
    const parts: Parts = { annRecall: { before: 0.8, value: 0.8, ciHigh: 0.85, k: 10 } };
    expect(diagnose(observing(parts)).signs).toContainEqual(
      expect.objectContaining({ name: 'ann_recall', state: 'steady' }),
    );
  });

  it('reads the traits that a probe saw to change, but not the size of the store', () => {
    const detected = (trait: string) =>
      aDeployment({ kind: 'index', source: 'detected', changes: [{ trait, before: '40', after: '10' }] });
    const signsOf = (trait: string) =>
      diagnose(observing({ deployments: [detected(trait)] })).signs.map(({ name }) => name);
    expect(signsOf('ef_search')).toContain('index_settings');
    expect(signsOf('size_class')).not.toContain('index_settings');
    expect(signsOf('dimensions')).toContain('embedder');
  });

  it('takes the errors of live queries where there is no golden run', () => {
    const nothing: Observations = {
      ...observing({}),
      run: null,
      live: { errorRatio: 0.9, ciLow: 0.8, n: 50 },
    };
    expect(diagnose(nothing)).toMatchObject({ cause: 'retriever_outage' });
    expect(diagnose({ ...nothing, live: null })).toMatchObject({ cause: 'unknown' });
  });

  it('fits into an annotation, with numbers and what to do', () => {
    const { summary } = diagnose(observing({ run: { outcomes: outcomes(100, 0), commonError: 'http_503' } }));
    expect(summary.length).toBeLessThanOrEqual(MAX_SUMMARY_LENGTH);
    expect(summary).toContain('100 of 100 golden queries failed, most of them with http_503.');
    expect(summary).toContain('Look at the retriever');
  });
});
