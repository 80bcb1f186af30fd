import { assert, constantFrom, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causes, causeTexts, namedCauses } from '../../../../../src/incidents/diagnosis/rules/cause.ts';
import { effectKinds, reaches } from '../../../../../src/incidents/diagnosis/rules/effects.ts';
import { judgedWeightOf } from '../../../../../src/incidents/diagnosis/rules/estimates.ts';
import { fittedEstimates } from '../../../../../src/incidents/diagnosis/rules/fitted-weights.ts';
import { besideOf, rankCauses } from '../../../../../src/incidents/diagnosis/rules/rank-causes.ts';
import { type Sign, signNames, signStates } from '../../../../../src/incidents/diagnosis/rules/signs.ts';
import { judgedWeights } from '../../../../../src/incidents/diagnosis/rules/weights.ts';

const aSign = (name: Sign['name'], state: string): Sign =>
  ({ name, state, sentence: 'It was so.', from: null, n: null }) as Sign;

/** Any signs that can be observed together. */
const anySigns = record(
  Object.fromEntries(signNames.map((name) => [name, constantFrom<string>(...signStates[name])])),
  {
    requiredKeys: [],
  },
).map((states) => Object.entries(states).map(([name, state]) => aSign(name as Sign['name'], String(state))));

describe('causes ranked by signs', () => {
  it('are unknown without a sign', () => {
    expect(rankCauses([])).toMatchObject({ cause: 'unknown', confidence: 'low' });
  });

  it('name index parameters with low confidence unless the index itself misses neighbors or its settings changed', () => {
    const signs = [
      aSign('score', 'fell'),
      aSign('results', 'disturbed'),
      aSign('documents', 'same'),
      aSign('labels', 'alive'),
      aSign('store_agreement', 'fell_near'),
      aSign('surviving_documents', 'move'),
      aSign('failures', 'none'),
    ];
    const named = (...others: readonly Sign[]) => rankCauses([...signs, ...others]);
    expect(named()).toMatchObject({ cause: 'index_parameters', confidence: 'low' });
    expect(named().probability).toBeLessThan(0.7);
    expect(named(aSign('ann_recall', 'fell'))).toMatchObject({ cause: 'index_parameters', confidence: 'high' });
    expect(named(aSign('index_settings', 'changed'))).toMatchObject({ cause: 'index_parameters', confidence: 'high' });
  });

  it('name the generator with medium confidence only if users get what the retriever returns and coverage was measured', () => {
    const signs = [
      aSign('feedback', 'fell'),
      aSign('score', 'steady'),
      aSign('results', 'intact'),
      aSign('failures', 'none'),
    ];
    const effects = [{ kind: 'feedback', size: 1, parts: null } as const];
    const replayed = [...signs, aSign('live_replay', 'as_before')];
    const generator = (confidence: string) => ({ cause: 'generator', confidence });
    expect(rankCauses(signs, effects, 0)).toMatchObject(generator('low'));
    expect(rankCauses(replayed, effects, 0)).toMatchObject(generator('low'));
    expect(rankCauses([...signs, aSign('density', 'steady')], effects, 0)).toMatchObject(generator('low'));
    expect(rankCauses([...signs, aSign('live_relevance', 'as_before')], effects, 0)).toMatchObject(generator('medium'));
    expect(rankCauses([...replayed, aSign('density', 'steady')], effects, 0)).toMatchObject(generator('medium'));
    const other = rankCauses([...signs, aSign('live_replay', 'live_differs')], effects, 0);
    expect(other).toMatchObject({ cause: 'live_traffic', confidence: 'high' });
  });

  it('have low confidence for a drop in feedback if the queries of users changed too', () => {
    const signs = [
      aSign('feedback', 'fell'),
      aSign('score', 'steady'),
      aSign('results', 'intact'),
      aSign('density', 'steady'),
      aSign('live_replay', 'as_before'),
    ];
    const effects = [{ kind: 'feedback', size: 1, parts: null } as const];
    expect(rankCauses(signs, effects, 0)).toMatchObject({ cause: 'generator', confidence: 'medium' });
    expect(rankCauses([...signs, aSign('query_length', 'rose')], effects, 0).confidence).toBe('low');
  });

  it('name missing documents with at most low confidence if most of them were deleted or replaced on purpose', () => {
    const signs = [aSign('labels', 'some_gone'), aSign('store_size', 'fell'), aSign('documents', 'vanished')];
    const named = (...others: readonly Sign[]) => rankCauses([...signs, ...others]);
    expect(named(aSign('gone_documents', 'lost'))).toMatchObject({ cause: 'index_lost_documents', confidence: 'high' });
    for (const state of ['superseded', 'deleted'] as const)
      expect(named(aSign('gone_documents', state))).not.toMatchObject({
        cause: 'index_lost_documents',
        confidence: expect.not.stringMatching('low'),
      });
  });

  it('have probabilities that sum to 1, likeliest first, for any signs', () => {
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

  it('are never named without a sign that supports them, nor with more confidence than their probability allows', () => {
    assert(
      property(anySigns, (signs) => {
        const ranking = rankCauses(signs);
        const { cause, confidence, probability } = ranking;
        if (cause === 'unknown') {
          expect(confidence).toBe('low');
          return;
        }
        const strongest = Math.max(...signs.map((sign) => judgedWeightOf(sign, cause)));
        expect(strongest).toBeGreaterThanOrEqual(2);
        const together = probability + (besideOf({ ...ranking, effects: [], failedShare: null })?.probability ?? 0);
        expect(together).toBeGreaterThan({ high: 0.9, medium: 0.6, low: 0.5 }[confidence] - 1e-12);
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

  it('are not named for signs that are merely compatible with them', () => {
    const fitting = [aSign('score', 'steady'), aSign('results', 'intact'), aSign('documents', 'same')];
    expect(rankCauses(fitting)).toMatchObject({ cause: 'unknown' });
  });

  it('list evidence for them separately from evidence against them', () => {
    const { ranked } = rankCauses([aSign('ann_recall', 'fell'), aSign('labels', 'many_gone')]);
    expect(ranked.find(({ cause }) => cause === 'index_parameters')).toMatchObject({
      supporting: [{ name: 'ann_recall' }],
      opposing: [{ name: 'labels' }],
    });
  });

  it('have low confidence exactly if their probability is below 0.7', () => {
    assert(
      property(anySigns, (signs) => {
        const { cause, confidence, probability } = rankCauses(signs);
        if (cause === 'unknown') return;
        expect(confidence === 'low').toBe(probability < 0.7);
      }),
    );
  });

  it('are named together if the evidence does not distinguish them', () => {
    const signs = [aSign('empty_answers', 'most'), aSign('store_size', 'steady'), aSign('labels', 'alive')];
    const ranking = rankCauses(signs);
    const { cause, confidence } = ranking;
    expect(new Set([cause, besideOf({ ...ranking, effects: [], failedShare: null })?.cause])).toEqual(
      new Set(['empty_lists', 'filter']),
    );
    expect(confidence).not.toBe('high');
  });

  it('reject a sign that was read twice', () => {
    expect(() => rankCauses([aSign('canary', 'same'), aSign('canary', 'changed')])).toThrow(RangeError);
  });
});

const effect = (kind: (typeof effectKinds)[number], parts: Record<string, number> | null, size = 1) =>
  ({ kind, size, parts }) as const;

describe('a cause that cannot explain a firing alert', () => {
  const slow = [aSign('latency', 'rose'), aSign('warming', 'stays'), aSign('failures', 'none')];
  const offered = (signs: readonly Sign[], effects: Parameters<typeof rankCauses>[1], failed: number) =>
    rankCauses(signs, effects, failed).cause;

  it('is not offered: late answers do not change scores', () => {
    expect(offered(slow, [], 0)).toBe('retriever_slow');
    expect(offered(slow, [effect('score', { answers: 0.96 }, 0.96)], 0)).toBe('unknown');
    expect(offered(slow, [effect('latency', null)], 0)).toBe('retriever_slow');
  });

  it('is not offered: failed queries only lower their own scores', () => {
    const failing = [aSign('failures', 'some'), aSign('failure_kind', 'errors')];
    expect(offered(failing, [effect('score', { failed: 0.14, answers: 0.02 }, 0.16)], 0.14)).toBe('retriever_failing');
    expect(offered(failing, [effect('score', { failed: 0.14, answers: 0.8 }, 0.94)], 0.14)).toBe('unknown');
  });

  it('is not offered: a retriever that answers most calls is not down', () => {
    const { ranked } = rankCauses([aSign('failures', 'some')], [effect('failures', { failed: 14 }, 14)], 0.14);
    expect(ranked.find(({ cause }) => cause === 'retriever_outage')?.probability).toBe(0);
  });

  it('is never named if the failing measure has recovered', () => {
    const signs = [aSign('deployment', 'retriever'), aSign('latency', 'rose')];
    expect(rankCauses(signs, [effect('score', null, 0)], 0)).toMatchObject({ cause: 'unknown', probability: 1 });
  });
});

describe('the weight table', () => {
  const weightsOf = (cause: (typeof namedCauses)[number]): readonly number[] =>
    Object.values(judgedWeights[cause]).flatMap((states) => Object.values(states));

  it.each(namedCauses)('has a sign that speaks for %s', (cause) => {
    expect(Math.max(...weightsOf(cause))).toBeGreaterThanOrEqual(3);
  });

  it('stays within 5 nats', () => {
    for (const weight of namedCauses.flatMap(weightsOf)) expect(Math.abs(weight)).toBeLessThanOrEqual(5);
  });

  it('keeps the direction of each weight when fitted, and gains no weight', () => {
    for (const cause of namedCauses) {
      const signs = Object.entries(fittedEstimates.weights[cause] ?? {});
      const edges = signs.flatMap(([name, states]) =>
        Object.entries(states).map(([state, weight]) => ({ name, state, weight })),
      );
      for (const { name, state, weight } of edges) {
        const judged = judgedWeightOf(aSign(name as Sign['name'], state), cause);
        expect(Math.sign(weight), `${name} ${state} for ${cause}`).toBe(Math.sign(judged));
        expect(Math.abs(weight)).toBeLessThanOrEqual(5);
      }
    }
  });

  it('has a cause for each effect', () => {
    const explained = new Set(namedCauses.flatMap((cause) => reaches[cause].moves));
    expect(explained).toEqual(new Set(effectKinds));
  });

  it('has an action for each cause', () => {
    for (const cause of causes) expect(causeTexts[cause].action).toMatch(/\.$/);
  });
});
