/**
 * All retrievals of an agent's turn are graded together against the user's original request, and rewritten queries are
 * compared with the original text.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { rewritingScores } from '../../../src/judging/rules/episode-scores.ts';
import type { LiveSample } from '../../../src/live/sql/record-arrivals.ts';
import { useDatabase } from '../../support/database.ts';
import { status } from '../../support/fault-server.ts';
import { documentOf, JudgingWorld, promptOf } from '../../support/judging-world.ts';

const database = useDatabase();
let world: JudgingWorld;

beforeEach(async () => {
  world = await JudgingWorld.start(database.pool, { episodeShare: 1 });
});
afterEach(() => world.close());

const DEPTH = 3;
const [NEED, FIRST, SECOND] = ['what the user asked', 'rewritten', 'follow-up'];
const documentsOf = (text: string) => Array.from({ length: DEPTH }, (_, at) => documentOf(text, at + 1));

/** Episodes of two retrievals, each in a separate session. */
function episodes(count: number, parts: Partial<LiveSample> = {}): LiveSample[] {
  return Array.from({ length: count }, (_, i) =>
    [FIRST, SECOND].flatMap((text, step) =>
      world.samples(1, { text }).map((sample) => ({
        ...sample,
        id: `q${i}-${step}`,
        sessionHash: `session ${i}`,
        unitHash: i / (2 * count),
        episode: `turn ${i}`,
        originalText: NEED,
        occurredAt: new Date(sample.occurredAt.getTime() + step * 5000),
        ...parts,
      })),
    ),
  ).flat();
}

const later = (minutes: number) => world.clock.set(new Date(world.clock.now().getTime() + minutes * 60_000));

it('all retrievals of a turn, and both texts, are graded against what the user asked', async () => {
  await world.hourOf(episodes(60));
  await world.round();
  const graded = await world.count("judged_episodes where state = 'graded'");
  expect(graded).toBeGreaterThan(20);
  // Only the first retrieval represents its turn.
  expect(await world.count("judged_episodes where query_id like '%-1'")).toBe(0);
  const returned = [FIRST, SECOND].flatMap(documentsOf);
  const hit = (await world.latest('episode_hit_rate'))?.newest;
  expect(hit).toMatchObject({ value: Number(returned.some(({ quality }) => quality >= 2)), n: graded });
  const all = new Map([...documentsOf(FIRST), ...documentsOf(NEED)].map(({ id, quality }) => [id, quality]));
  const ids = (text: string) => documentsOf(text).map(({ id }) => id);
  const { rewritten, original } = rewritingScores(ids(FIRST), ids(NEED), (id) => all.get(id) ?? 0, DEPTH);
  expect(rewritten).not.toBe(original);
  const gain = (await world.latest('rewrite_gain'))?.newest;
  expect(gain?.value).toBeCloseTo(rewritten - original, 9);
  expect(gain).toMatchObject({ n: graded, ciMethod: 'jackknife', details: { k: DEPTH, graded } });
  // The original text is graded once with each of nine documents: three documents for each of three texts.
  const against = world.judge.requests.filter((request) => promptOf(request).includes(NEED));
  expect(against).toHaveLength(9);
});

it('turns whose text was not rewritten have no rewrite gain', async () => {
  await world.hourOf(episodes(40, { text: NEED, results: documentsOf(NEED).map(({ id }) => ({ id, score: 1 })) }));
  await world.round();
  expect((await world.latest('episode_hit_rate'))?.newest?.n).toBeGreaterThan(10);
  expect((await world.latest('rewrite_gain'))?.gap?.reason).toBe('too_few_episodes');
});

it('traffic without agent turns has no episode measures', async () => {
  await world.hourOf(world.samples(80));
  await world.round();
  expect(await world.count('judged_episodes')).toBe(0);
  expect(await world.latest('episode_hit_rate')).toBeNull();
});

it('a random share of the turns is graded, with a known probability', async () => {
  await world.hourOf(episodes(300));
  await world.round(undefined, { episodeShare: 0.3 });
  const drawn = await world.count("judged_queries where query_id like '%-0'");
  const part = await world.count('judged_episodes');
  expect(part).toBeGreaterThan(0.12 * drawn);
  expect(part).toBeLessThan(0.5 * drawn);
  const { rows } = await database.pool.query<{ ratio: number }>(
    'select e.probability / j.probability as ratio from judged_episodes e join judged_queries j using (pipeline, query_id)',
  );
  for (const { ratio } of rows) expect(ratio).toBeCloseTo(0.3, 12);
});

it('turns stay ungraded while the budget is spent or the judge is down, and expire after a day', async () => {
  await world.hourOf(episodes(40));
  await world.round(undefined, { maxCostPerDay: 0 });
  expect(await world.count("judged_episodes where state = 'graded'")).toBe(0);
  world.judge.respondWith(status(503));
  later(5);
  await world.round();
  const open = await world.count("judged_episodes where state = 'open'");
  expect(open).toBe(await world.count('judged_episodes'));
  later(25 * 60);
  await world.round();
  expect(await world.count("judged_episodes where state = 'expired'")).toBe(open);
});

it('an erasure of the first query of a turn deletes the scores of the turn', async () => {
  await world.hourOf(episodes(40));
  await world.round();
  const { rows } = await database.pool.query<{ id: string }>('select query_id as id from judged_episodes limit 1');
  const id = rows[0]?.id ?? '';
  await world.eraseQuery(id);
  expect(await world.count(`judged_episodes where query_id = '${id}'`)).toBe(0);
  expect(await world.count(`pool_judgments where query_id = '${id}'`)).toBe(0);
});
