import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bench, openBench } from '../../bench/faults/bench.ts';
import { readKinds } from '../../bench/faults/kinds.ts';
import { runWorld } from '../../bench/faults/run-world.ts';
import type { Shape } from '../../bench/faults/shape.ts';
import { summarise } from '../../bench/faults/summary.ts';

const shape: Shape = {
  corpus: 'limit-small',
  encoder: 'minilm',
  retriever: 'lexical',
  store: 'pgvector',
  golden: 40,
  traffic: 40,
  rated: 0.5,
};

let bench: Bench;

beforeAll(async () => {
  bench = await openBench(new AbortController().signal, 6);
}, 180_000);

afterAll(() => bench.stop(), 180_000);

it('the fault benchmark distinguishes a world with a failing service from one without a fault', {
  timeout: 600_000,
}, async () => {
  const kinds = await readKinds();
  const run = (kind: string) => runWorld(bench, { id: kind, seed: 1, shape, faults: [{ kind, size: 'large' }] }, kinds);
  const [failing, harmless] = [await run('retriever-down'), await run('empty-deployment')];
  expect(failing.drop).toBe(failing.healthy);
  expect(failing.evaluations).toHaveLength(3);
  expect(failing.evaluations[2]?.incidents[0]?.signs.length).toBeGreaterThan(0);
  expect(failing.messages.map(({ event }) => event)).toContain('incident.opened');
  expect(harmless.drop).toBe(0);
  const summary = summarise([failing, harmless]);
  expect(summary.pagedWithinTwo).toEqual({ right: 1, of: 1 });
  expect(summary.quiet.pages).toBe(0);
});
