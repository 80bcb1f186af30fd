import { array, assert, constantFrom, infiniteStream, integer, option, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type EpisodeRetrieval,
  type EpisodeTally,
  episodeMeasures,
  episodeSteps,
  estimateEpisodeMeasure,
  type SampledEpisode,
  splitByPause,
  tallyEpisode,
} from '../../../../src/live/rules/episodes.ts';
import { createRandom } from '../../../../src/math/stats/random.ts';

const ten = (prefix: string) => Array.from({ length: 10 }, (_, rank) => `${prefix}${rank}`);

function retrieval(id: string, documentIds: readonly string[], parts: Partial<EpisodeRetrieval> = {}) {
  const outcome = documentIds.length === 0 ? ('empty' as const) : ('ok' as const);
  return {
    id,
    text: id,
    originalText: null,
    documentIds,
    outcome,
    occurredAt: new Date(Number(id)),
    step: null,
    ...parts,
  };
}

describe('the steps of an episode', () => {
  it('are ordered by start time, whatever the order of arrival', () => {
    const steps = episodeSteps([retrieval('3', ['c']), retrieval('1', ['a']), retrieval('2', ['b'])]);
    expect(steps.map(({ id }) => id)).toEqual(['1', '2', '3']);
  });

  it('are ordered by the reported step numbers if every retrieval has one', () => {
    const steps = episodeSteps([retrieval('1', ['a'], { step: 2 }), retrieval('2', ['b'], { step: 1 })]);
    expect(steps.map(({ id }) => id)).toEqual(['2', '1']);
    const partly = episodeSteps([retrieval('1', ['a'], { step: 2 }), retrieval('2', ['b'])]);
    expect(partly.map(({ id }) => id)).toEqual(['1', '2']);
  });

  it('repeat any earlier step with nearly the same ranking, not only the previous step', () => {
    const [a0 = '', a1 = '', ...rest] = ten('a');
    const steps = episodeSteps([
      retrieval('1', ten('a')),
      retrieval('2', ten('b')),
      retrieval('3', [a0, a1, ...rest.slice(0, 7), 'new']),
      retrieval('4', ten('a').toReversed()),
    ]);
    expect(steps.map(({ repeats }) => repeats)).toEqual([null, null, 0, null]);
    expect(steps.map(({ newDocumentIds }) => newDocumentIds.length)).toEqual([10, 10, 1, 0]);
    expect(tallyEpisode(steps)).toEqual({
      retrievals: 4,
      empty: 0,
      later: 3,
      repeated: 1,
      laterDocuments: 30,
      newDocuments: 11,
      rewritten: 0,
      answers: 0,
    });
  });

  it('do not repeat a step that found nothing or failed', () => {
    const steps = episodeSteps([
      retrieval('1', [], { outcome: 'timeout' }),
      retrieval('2', []),
      retrieval('3', []),
      retrieval('4', ['a']),
    ]);
    expect(steps.map(({ repeats }) => repeats)).toEqual([null, null, null, null]);
    expect(tallyEpisode(steps)).toMatchObject({ empty: 2, repeated: 0, laterDocuments: 1, newDocuments: 1 });
  });

  it('count a document once per step, even if the retriever returned it twice', () => {
    expect(tallyEpisode(episodeSteps([retrieval('1', ['a']), retrieval('2', ['a', 'b', 'b'])]))).toMatchObject({
      laterDocuments: 2,
      newDocuments: 1,
    });
  });
});

describe('the rewritten queries of an episode', () => {
  const originalText = 'How many points did the Panthers defense surrender?';
  const answer = 'They allowed 308 points in total, which ranked sixth in the league.';

  it('are those whose text differs from a known original text, including those that look like answers', () => {
    const steps = episodeSteps([
      retrieval('1', ['a'], { text: originalText, originalText }),
      retrieval('2', ['b'], { text: 'points Panthers defense', originalText }),
      retrieval('3', ['c'], { text: answer, originalText }),
      retrieval('4', ['d'], { text: answer, originalText: null }),
      retrieval('5', ['e'], { text: null, originalText }),
    ]);
    expect(tallyEpisode(steps)).toMatchObject({ rewritten: 2, answers: 1 });
  });
});

const anyEpisode = array(
  record({
    documentIds: array(constantFrom(...ten('d')), { maxLength: 12 }),
    occurredAt: integer({ min: 0, max: 20 }).map((ms) => new Date(ms)),
    step: option(integer({ min: 0, max: 5 })),
  }),
  { minLength: 1, maxLength: 12 },
);

const asRetrievals = (parts: readonly Partial<EpisodeRetrieval>[]) =>
  parts.map((part, index) => retrieval(String(index), part.documentIds ?? [], part));

describe('any episode', () => {
  it('has the same steps in whatever order its retrievals arrive', () => {
    assert(
      property(anyEpisode, infiniteStream(integer()), (parts, order) => {
        const retrievals = asRetrievals(parts);
        const shuffled = retrievals
          .map((one) => ({ one, place: order.next().value ?? 0 }))
          .toSorted((a, b) => a.place - b.place)
          .map(({ one }) => one);
        expect(episodeSteps(shuffled)).toEqual(episodeSteps(retrievals));
      }),
    );
  });

  it('reports each document as new exactly once', () => {
    assert(
      property(anyEpisode, (parts) => {
        const news = episodeSteps(asRetrievals(parts)).flatMap(({ newDocumentIds }) => newDocumentIds);
        expect(news.length).toBe(new Set(news).size);
        expect(new Set(news)).toEqual(new Set(parts.flatMap(({ documentIds }) => documentIds)));
      }),
    );
  });

  it('has no count above its total', () => {
    assert(
      property(anyEpisode, (parts) => {
        const tally = tallyEpisode(episodeSteps(asRetrievals(parts)));
        expect(tally.later).toBe(tally.retrievals - 1);
        expect(tally.repeated).toBeLessThanOrEqual(tally.later);
        expect(tally.newDocuments).toBeLessThanOrEqual(tally.laterDocuments);
        expect(tally.empty).toBeLessThanOrEqual(tally.retrievals);
      }),
    );
  });

  it('in which every retrieval is sent twice marks each duplicate that found documents as a repeat', () => {
    assert(
      property(array(array(constantFrom(...ten('d')), { maxLength: 8 }), { minLength: 1 }), (lists) => {
        const twice = lists.flatMap((ids, index) => [
          retrieval(String(2 * index), ids),
          retrieval(String(2 * index + 1), ids),
        ]);
        const repeats = episodeSteps(twice).filter((_, place) => place % 2 === 1);
        for (const [place, { repeats: earlier, newDocumentIds }] of repeats.entries()) {
          expect(earlier === null).toBe(lists[place]?.length === 0);
          expect(newDocumentIds).toEqual([]);
        }
      }),
    );
  });
});

describe('an episode id', () => {
  it('starts a new episode when it is used again after a pause', () => {
    const at = (ms: number) => ({ occurredAt: new Date(ms) });
    expect(splitByPause([at(700), at(0), at(100)], 500)).toEqual([[at(0), at(100)], [at(700)]]);
  });
});

const tally = (parts: Partial<EpisodeTally>): EpisodeTally => ({
  retrievals: 1,
  empty: 0,
  later: 0,
  repeated: 0,
  laterDocuments: 0,
  newDocuments: 0,
  rewritten: 0,
  answers: 0,
  ...parts,
});

const estimates = (episodes: readonly SampledEpisode[]) =>
  Object.fromEntries(episodeMeasures.map((measure) => [measure, estimateEpisodeMeasure(measure, episodes)]));

describe('the measures of episodes', () => {
  it('weight each episode by its inclusion probability', () => {
    const often = tally({ retrievals: 4, later: 3, repeated: 3, laterDocuments: 30, newDocuments: 0, empty: 1 });
    const found = estimates([
      ...Array.from({ length: 10 }, (_, index) => ({ cluster: index, probability: 0.1, tally: tally({}) })),
      ...Array.from({ length: 100 }, (_, index) => ({ cluster: 100 + index, probability: 1, tally: often })),
    ]);
    expect(found['episode_retrievals']).toMatchObject({ value: (100 + 400) / 200, n: 110 });
    expect(found['episode_empty_ratio']).toMatchObject({ value: 100 / 500 });
    expect(found['episode_repeat_ratio']).toMatchObject({ value: 1, high: 1, n: 100 });
    expect(found['episode_new_documents_ratio']).toMatchObject({ value: 0, low: 0, n: 100 });
    expect(found['episode_repeats']).toMatchObject({ value: 300 / 200, n: 110 });
    expect(found['rewrite_answer_ratio']).toMatchObject({ kind: 'insufficient_data', have: 0 });
  });

  it('have no ratio of repeats or new documents if every episode has one retrieval', () => {
    const found = estimates(
      Array.from({ length: 50 }, (_, index) => ({ cluster: index, probability: 1, tally: tally({}) })),
    );
    expect(found['episode_retrievals']).toMatchObject({ kind: 'rate', value: 1, low: 1, high: 1 });
    expect(found['episode_repeat_ratio']).toMatchObject({ kind: 'insufficient_data', have: 0 });
    expect(found['episode_new_documents_ratio']).toMatchObject({ kind: 'insufficient_data', have: 0 });
  });

  it('have confidence intervals that contain the true value in at least 93 % of samples of 60 episodes', () => {
    const source = createRandom(7);
    const draw = new Uint32Array(1);
    const random = (): number => {
      source(draw);
      return (draw[0] ?? 0) / 2 ** 32;
    };
    const trials = 400;
    let [repeats, calls] = [0, 0];
    for (let trial = 0; trial < trials; trial += 1) {
      const episodes = Array.from({ length: 60 }, (_, cluster) => {
        // 30 % of the agents loop: all their calls after the first are repeats, so calls within an episode depend on
        // each other.
        const later = 1 + Math.floor(random() * 5);
        const repeated = random() < 0.3 ? later : 0;
        return { cluster, probability: 1, tally: tally({ retrievals: later + 1, later, repeated }) };
      });
      const found = estimates(episodes);
      const [repeat, mean] = [found['episode_repeat_ratio'], found['episode_retrievals']];
      if (repeat?.kind !== 'rate' || mean?.kind !== 'rate') throw new Error('expected an estimate');
      if (repeat.low <= 0.3 && repeat.high >= 0.3) repeats += 1;
      if (mean.low <= 4 && mean.high >= 4) calls += 1;
    }
    expect(repeats / trials).toBeGreaterThanOrEqual(0.93);
    expect(calls / trials).toBeGreaterThanOrEqual(0.93);
  });
});
