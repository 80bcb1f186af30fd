import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { driftCommand } from '../../../../src/density/edge/drift-command.ts';
import { npyBytes } from '../../../support/npy.ts';
import { uniforms } from '../../../support/uniforms.ts';
import { CollectedOutput } from '../../golden/edge/commands/eval-output.ts';

type Rows = readonly (readonly number[])[];

interface Report {
  readonly query_density: Readonly<Record<string, number>>;
  readonly score: Readonly<Record<string, number>>;
  readonly embedding: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly verdict: string;
  readonly test: Readonly<Record<string, number>>;
  readonly regions: number;
  readonly sessions: number;
  readonly subsample: unknown;
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recalld-drift-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

afterEach(() => {
  process.exitCode = undefined;
});

/** Float32 vectors of 8 dimensions around the topics, which are the axes. */
function aboutTopics(count: number, topics: readonly number[], seed: number): number[][] {
  const uniform = uniforms(seed);
  return Array.from({ length: count }, (_, i) => {
    const topic = topics[i % topics.length] ?? 0;
    return Array.from({ length: 8 }, (_, axis) => Math.fround((axis === topic ? 2 : 0) + uniform() - 0.5));
  });
}

const STORE = aboutTopics(120, [0, 1, 2], 1);
const REFERENCE = aboutTopics(400, [0, 1, 2], 2);
const SAME = aboutTopics(300, [0, 1, 2], 3);
/** A quarter of the traffic asks for content that the store does not contain. */
const WITH_NEW_TOPIC = aboutTopics(300, [0, 1, 2, 7], 4);

async function files(store: Rows, reference: Rows, current: Rows): Promise<string[]> {
  await writeFile(join(folder, 'store.npy'), npyBytes(store));
  await writeFile(join(folder, 'reference.npy'), npyBytes(reference, '<f8'));
  await writeFile(join(folder, 'current.jsonl'), current.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const of = (name: string): string => join(folder, name);
  return ['--store', of('store.npy'), '--reference', of('reference.npy'), '--current', of('current.jsonl')];
}

async function run(rows: readonly [Rows, Rows, Rows], ...options: string[]): Promise<string> {
  const output = new CollectedOutput();
  const args = [...(await files(...rows)), ...options];
  await driftCommand(new Command('drift'), new AbortController().signal, output).parseAsync(args, { from: 'user' });
  return output.text;
}

async function report(rows: readonly [Rows, Rows, Rows], ...options: string[]): Promise<Report> {
  return JSON.parse(await run(rows, ...options, '--json')) as Report;
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
const unit = (row: readonly number[]): number[] => row.map((value) => value / Math.sqrt(dot(row, row)));
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const apart = (a: readonly number[], b: readonly number[]): number =>
  Math.sqrt(a.reduce((sum, value, i) => sum + (value - (b[i] ?? 0)) ** 2, 0));

/** Naive reference: cosine to the nearest row of the store minus half of the mean cosine to all rows. */
const coverageOf = (queries: Rows, store: Rows): number[] =>
  queries.map((query) => {
    const cosines = store.map((row) => dot(unit(query), unit(row)));
    return Math.max(...cosines) - mean(cosines) / 2;
  });

/** Naive reference: mean cosine to the five nearest rows of the store. */
const scoresOf = (queries: Rows, store: Rows): number[] =>
  queries.map((query) =>
    mean(
      store
        .map((row) => dot(unit(query), unit(row)))
        .toSorted((a, b) => b - a)
        .slice(0, 5),
    ),
  );

/**
 * Naive reference: blocks of ten baseline rows alternate between two halves. The excess of a baseline query is its
 * surprise minus the mean surprise of the five most similar queries in the other half. A current query has two
 * excesses, one for each half.
 */
function matchedDensityOf(
  reference: Rows,
  current: Rows,
  baseline: readonly number[],
  scores: readonly number[],
): number {
  const surprise = (score: number): number => {
    const below = baseline.filter((other) => other < score).length;
    const last = baseline.filter((other) => other <= score).length + 1;
    const ranks = Array.from({ length: last - below }, (_, i) => (below + 1 + i) / (baseline.length + 1));
    return mean(ranks.map((u) => Math.min(-Math.log(u), Math.log(100))));
  };
  const known = reference.map((row, i) => ({
    row: unit(row),
    half: Math.floor(i / 10) % 2,
    x: surprise(baseline[i] ?? 0),
  }));
  const excess = (row: readonly number[], score: number, half: number): number =>
    surprise(score) -
    mean(
      known
        .filter((other) => other.half === half)
        .toSorted((a, b) => dot(b.row, unit(row)) - dot(a.row, unit(row)))
        .slice(0, 5)
        .map(({ x }) => x),
    );
  const ofReference = known.map(({ row, half }, i) => excess(row, baseline[i] ?? 0, 1 - half));
  const ofCurrent = current.flatMap((row, i) => [0, 1].map((half) => excess(row, scores[i] ?? 0, half)));
  return Math.exp(mean(ofReference) - mean(ofCurrent));
}

describe('recalld drift --json', () => {
  it.each([
    ['top-1-less-mean', 1, coverageOf, []],
    ['mean-top-k', 5, scoresOf, ['--score', 'mean-top-k']],
  ])(
    'prints one JSON document with every measure, equal to a naive computation: %s',
    async (name, k, scoring, options) => {
      const reference = REFERENCE.slice(0, 200);
      const current = WITH_NEW_TOPIC.slice(0, 150);
      const text = await run([STORE, reference, current], '--regions', '0', '--json', ...options);
      const baseline = scoring(reference, STORE);
      const scores = scoring(current, STORE);
      const u = scores.map((score) => (1 + baseline.filter((other) => other <= score).length) / 201);
      const meanX = mean(u.map((value) => Math.min(-Math.log(value), Math.log(100))));
      const share = u.filter((value) => value <= 0.05).length / u.length;
      const wins = scores.map((score) => baseline.map((other) => (score > other ? 1 : score === other ? 0.5 : 0)));
      const gaps = [...scores, ...baseline].map((at) =>
        Math.abs(scores.filter((s) => s <= at).length / 150 - baseline.filter((s) => s <= at).length / 200),
      );
      const x = reference.map(unit);
      const y = current.map(unit);
      const pooled = [...x, ...y];
      const squares = pooled
        .flatMap((a, i) => pooled.slice(i + 1).map((b) => apart(a, b) ** 2))
        .toSorted((a, b) => a - b);
      const median = squares[(squares.length - 1) / 2] ?? 0;
      const between = (a: Rows, b: Rows, of: (distance: number) => number): number[] =>
        a.flatMap((p) => b.map((q) => of(apart(p, q))));
      const within = (a: Rows, of: (distance: number) => number): number =>
        (between(a, a, of).reduce((sum, value) => sum + value, 0) - a.length * of(0)) / (a.length * (a.length - 1));
      const kernel = (distance: number): number => Math.exp(-(distance ** 2) / median);
      const self = (distance: number): number => distance;
      const centroid = (rows: Rows): number[] =>
        Array.from({ length: 8 }, (_, i) => mean(rows.map((row) => row[i] ?? 0)));
      const near = (value: number): unknown => expect.closeTo(value, 9);
      expect(JSON.parse(text)).toEqual({
        score_name: name,
        k,
        counts: { store: 120, reference: 200, current: 150 },
        query_density: {
          value: near(Math.exp(0.99 - meanX)),
          mean_x: near(meanX),
          uncovered_share: near(share),
          uncovered_ci_low: expect.any(Number),
          uncovered_ci_high: expect.any(Number),
          excess_traffic: near((share - 0.05) / 0.95),
        },
        score: {
          mann_whitney_a: near(mean(wins.flat())),
          wasserstein_1d: expect.any(Number),
          ks_d: near(Math.max(...gaps)),
          ks_p: expect.any(Number),
          psi: expect.any(Number),
        },
        embedding: {
          mmd2_unbiased: near(within(x, kernel) + within(y, kernel) - 2 * mean(between(x, y, kernel))),
          mmd2_p: 1 / 200,
          energy_distance: near(2 * mean(between(x, y, self)) - within(x, self) - within(y, self)),
          centroid_distance: near(apart(centroid(x), centroid(y))),
          centroid_cosine_distance: near(1 - dot(unit(centroid(x)), unit(centroid(y)))),
        },
        verdict: 'worse_covered',
        test: {
          alpha: 0.05,
          density_upper_limit: expect.any(Number),
          matched_density: near(matchedDensityOf(reference, current, baseline, scores)),
          matched_density_upper_limit: expect.any(Number),
          density_threshold: 0.97,
        },
        distinct_chunks: 120,
        regions: 1,
        sessions: 150,
        seed: 1,
        subsample: null,
      });
      expect(text.endsWith('}\n')).toBe(true);
    },
  );

  it('exits with 1 if the current queries are covered worse, and with 0 if they are not', async () => {
    expect((await report([STORE, REFERENCE, WITH_NEW_TOPIC])).verdict).toBe('worse_covered');
    expect(process.exitCode).toBe(1);
    process.exitCode = undefined;
    expect((await report([STORE, REFERENCE, SAME])).verdict).toBe('not_worse');
    expect(process.exitCode).toBeUndefined();
  });

  it('reports a density near 1 and no other difference if the current queries are the reference queries', async () => {
    const { query_density, score, embedding } = await report([STORE, REFERENCE, REFERENCE]);
    expect(query_density['value']).toBeCloseTo(1, 1);
    expect(query_density['excess_traffic']).toBe(0);
    expect(score).toEqual({ mann_whitney_a: 0.5, wasserstein_1d: 0, ks_d: 0, ks_p: 1, psi: 0 });
    expect(embedding['mmd2_p']).toBeGreaterThan(0.9);
    expect(embedding['centroid_distance']).toBe(0);
  });

  it('does not report a different mix of covered topics as a loss of coverage, although the embeddings drifted', async () => {
    const reference = aboutTopics(1200, [0, 1, 2], 21);
    const { verdict, embedding, regions } = await report([STORE, reference, aboutTopics(300, [0, 0, 0, 1], 22)]);
    expect(regions).toBe(4);
    expect(embedding['mmd2_p']).toBe(1 / 200);
    expect(verdict).toBe('not_worse');
  });

  describe('has two limits', () => {
    const limits = async (reference: Rows, current: Rows): Promise<readonly [string, boolean, boolean]> => {
      const { verdict, test } = await report([STORE, reference, current], '--regions', '0');
      const { density_upper_limit: whole = Number.NaN, matched_density_upper_limit: matched = Number.NaN } = test;
      return [verdict, whole < 0.97, matched < 0.97];
    };
    const mostly = (rest: number): number[] => [...Array.from({ length: 29 }, (_, i) => i % 3), rest];

    it('of which one detects more traffic on a topic that was never covered', async () => {
      const reference = aboutTopics(1200, mostly(7), 31);
      expect(await limits(reference, WITH_NEW_TOPIC)).toEqual(['worse_covered', true, false]);
    });

    it('of which the other detects a new uncovered topic that replaces an old one', async () => {
      const reference = aboutTopics(1200, [0, 1, 2, 7], 32);
      expect(await limits(reference, aboutTopics(300, [0, 1, 2, 6], 33))).toEqual(['worse_covered', false, true]);
    });
  });

  it('does not change if chunks are stored more than once', async () => {
    const plain = await report([STORE, REFERENCE, SAME]);
    const tripled = await report([[...STORE, ...STORE.slice(0, 40), ...STORE.slice(0, 40)], REFERENCE, SAME]);
    expect(tripled).toEqual({ ...plain, counts: { ...plain.counts, store: 200 } });
  });

  it('does not depend on the order of the chunks or of the current queries', async () => {
    const plain = await report([STORE, REFERENCE, SAME]);
    const turned = await report([STORE.toReversed(), REFERENCE, SAME.toReversed()]);
    for (const [name, value] of Object.entries({ ...plain.query_density, ...plain.score })) {
      expect({ ...turned.query_density, ...turned.score }[name]).toBeCloseTo(value, 12);
    }
  });

  it('gives all queries of a session one vote together', async () => {
    // One client repeats a query that the store does not cover.
    const [first = []] = aboutTopics(1, [7], 5);
    const current = [...SAME, ...Array.from({ length: 60 }, () => first)];
    const sessions = current.map((_, i) => `client-${Math.min(i, 300)}\n`);
    await writeFile(join(folder, 'sessions.txt'), sessions.join(''));
    const separately = await report([STORE, REFERENCE, current]);
    const together = await report([STORE, REFERENCE, current], '--sessions', join(folder, 'sessions.txt'));
    expect(separately).toMatchObject({ verdict: 'worse_covered', sessions: 360 });
    expect(together).toMatchObject({ verdict: 'not_worse', sessions: 301 });
  });

  it('is the same for the same seed, and uses other permutations for another seed', async () => {
    const rows = [STORE, REFERENCE, aboutTopics(40, [0, 1, 2, 2], 9)] as const;
    const first = await run(rows, '--json');
    expect(await run(rows, '--json')).toBe(first);
    const other = await report(rows, '--seed', '2');
    const { embedding, score } = JSON.parse(first) as Report;
    expect(other.embedding['mmd2_p']).not.toBe(embedding['mmd2_p']);
    expect(other.score).toEqual(score);
  });

  it('states the sizes of its subsamples', async () => {
    const many = aboutTopics(2050, [0, 1, 2], 6);
    expect(await report([STORE, many, SAME.slice(0, 50)])).toMatchObject({
      regions: 6,
      subsample: { reference: 2000, current: 50 },
    });
  });

  it('uses all chunks if the store has fewer than k', async () => {
    const small = STORE.slice(0, 4);
    const top = ['--score', 'mean-top-k', '--k'];
    const { score } = await report([small, REFERENCE, SAME], ...top, '9');
    expect(score).toEqual((await report([small, REFERENCE, SAME], ...top, '4')).score);
  });
});

describe('recalld drift in a terminal', () => {
  it('prints the verdict first, then the measures in a table', async () => {
    const text = await run([STORE, REFERENCE, WITH_NEW_TOPIC]);
    expect(text).toMatch(
      /^Coverage is worse\. Query density 0\.\d+ \(at most 0\.\d+ with 97\.5 % confidence\), below the threshold of 0\.97\.\n\n/,
    );
    expect(text).toMatch(/^query density +0\.\d+ +1$/m);
    expect(text).toMatch(/^uncovered share +28 % +5 %$/m);
    expect(text).toContain(
      'Store: 120 chunks; reference: 400 queries; current: 300 queries of 300 sessions; top-1-less-mean, one region, seed 1.\n',
    );
    expect(text).not.toContain('\u001b');
  });

  it('prints a tiny probability as "below 0.001" instead of zeros', async () => {
    const text = await run([STORE, REFERENCE, WITH_NEW_TOPIC]);
    expect(text).toMatch(/^ {2}p +below 0\.001$/m);
    expect(text).not.toMatch(/0\.000|e-\d/);
  });

  it('mentions duplicate chunks, subsamples and too few sessions', async () => {
    const text = await run([[...STORE, ...STORE], aboutTopics(2050, [0, 1], 7), SAME.slice(0, 20)], '--alpha', '0.01');
    expect(text).toContain('No loss of coverage detected.');
    expect(text).toMatch(
      /\(at most \d\.\d+ with 99\.5 % confidence\); density against similar reference queries \d\.\d+ \(at most \d\.\d+ with 99\.5 % /,
    );
    expect(text).toContain('Store: 240 chunks, of which 120 duplicates;');
    expect(text).toContain('MMD and energy distance use a random sample of 2000 reference and 20 current queries');
    expect(text).toContain('With fewer than 200 current sessions, only a large loss of coverage can be detected.');
  });

  it('explains the verdict and shows an example in its help', () => {
    const help: string[] = [];
    driftCommand(new Command('drift'), new AbortController().signal)
      .configureOutput({ writeOut: (text) => help.push(text) })
      .outputHelp();
    for (const part of ['--store <file>', 'is below 0.97', 'exit code 1', 'recalld drift --store chunks.npy']) {
      expect(help.join('')).toContain(part);
    }
  });
});

describe('recalld drift rejects', () => {
  it.each([
    ['--k', '0', '--k must be a whole number of at least 1, not "0".'],
    ['--k', '2.5', 'not "2.5".'],
    ['--k', '5', '--k requires --score mean-top-k. Remove --k, or add --score mean-top-k.'],
    ['--regions', '-1', '--regions must be a whole number of at least 0, not "-1".'],
    ['--seed', 'x', '--seed must be a whole number of at least 0, not "x".'],
    ['--alpha', '0', '--alpha must be above 0 and at most 0.5, not "0".'],
    ['--alpha', '0.6', 'not "0.6".'],
    ['--alpha', ' ', 'not " ".'],
  ])('%s %s', async (option, value, message) => {
    await expect(run([STORE, REFERENCE, SAME], option, value)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(message),
    });
  });

  it('vectors of another model', async () => {
    const short = SAME.map((row) => row.slice(1));
    await expect(run([STORE, REFERENCE, short])).rejects.toMatchObject({
      code: 'file_malformed',
      message:
        `${join(folder, 'current.jsonl')} has 7-dimensional vectors, but those in ${join(folder, 'store.npy')} have 8 dimensions; ` +
        'use vectors from the same embedding model.',
    });
  });

  it('a single query', async () => {
    await expect(run([STORE, REFERENCE, SAME.slice(0, 1)])).rejects.toMatchObject({
      code: 'file_malformed',
      message: `${join(folder, 'current.jsonl')} has a single vector; at least two are needed.`,
    });
  });

  it('a sessions file whose length differs from the number of queries', async () => {
    await writeFile(join(folder, 'few.txt'), 'a\nb\n');
    await expect(run([STORE, REFERENCE, SAME], '--sessions', join(folder, 'few.txt'))).rejects.toMatchObject({
      code: 'file_malformed',
      message: expect.stringContaining('few.txt has 2 lines, but '),
    });
  });

  it('further work once it is interrupted', async () => {
    const controller = new AbortController();
    controller.abort(new Error('stopped'));
    const args = await files(STORE, REFERENCE, SAME);
    await expect(
      driftCommand(new Command('drift'), controller.signal, new CollectedOutput()).parseAsync(args, { from: 'user' }),
    ).rejects.toThrow('stopped');
  });
});
