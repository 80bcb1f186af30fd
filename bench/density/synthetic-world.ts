/** Creates a store with groups of topics, and queries at some distance from their chunks, as in real traffic. */
import { matrixOf } from '../../src/math/vector/matrix.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import type { World } from './world.ts';

export interface SyntheticSize {
  readonly groups: number;
  readonly topicsPerGroup: number;
  readonly chunksPerTopic: number;
  readonly questionsPerTopic: number;
}

const COLUMNS = 64;
/** Weight of the component that all vectors share: two topics have a cosine of about 0.4, as with dense embedders. */
const COMMON_WEIGHT = 0.65;
const GROUP_WEIGHT = 0.6;
const CHUNK_SPREAD = 0.45;
const QUESTION_SPREAD = 0.9;
/**
 * Distance by which the queries of a topic are offset from it in one direction, because queries are worded differently
 * from documents.
 */
const QUESTION_OFFSET = 0.45;
const EASIEST = 0.75;
const HARDEST = 1.25;
/** Share of greetings and similar queries, which no store covers. */
const CHIT_CHAT = 0.03;
const POPULARITY_SPREAD = 0.8;

export function syntheticWorld(
  seed: number,
  { groups, topicsPerGroup, chunksPerTopic, questionsPerTopic }: SyntheticSize,
): World {
  const random = randomNumbers(seed);
  const groupCentres = Array.from({ length: groups + 1 }, () => direction(random));
  const common = direction(random);
  const ownWeight = Math.sqrt(1 - COMMON_WEIGHT ** 2 - GROUP_WEIGHT ** 2);
  const topicIn = (group: number): number[] =>
    added(added(common, COMMON_WEIGHT, groupCentres[group] ?? [], GROUP_WEIGHT), 1, direction(random), ownWeight);
  const held = Array.from({ length: groups * topicsPerGroup }, (_, i) => Math.floor(i / topicsPerGroup));
  // Adds the centers of three uncovered topics: one in a group that the store contains, one in a separate group, and
  // the greetings.
  const centres = [...held.map(topicIn), topicIn(0), topicIn(groups), direction(random)];
  const [near, far, chitChat] = [held.length, held.length + 1, held.length + 2];
  const offset = direction(random);
  // Uncovered topics have medium difficulty, so that only their absence from the store sets them apart.
  const difficulty = held.map(() => EASIEST + (HARDEST - EASIEST) * random.uniform());
  const around = (centre: readonly number[], spread: number): number[] => added(centre, 1, direction(random), spread);
  const popularity = held.map(() => Math.exp(POPULARITY_SPREAD * random.normal()));
  const total = popularity.reduce((sum, value) => sum + value, 0);
  return {
    name: 'synthetic',
    vectors: matrixOf(
      centres.flatMap((centre, topic) =>
        Array.from({ length: questionsPerTopic }, () =>
          around(added(centre, 1, offset, QUESTION_OFFSET), QUESTION_SPREAD * (difficulty[topic] ?? 1)),
        ),
      ),
    ),
    topics: Int32Array.from({ length: centres.length * questionsPerTopic }, (_, i) =>
      Math.floor(i / questionsPerTopic),
    ),
    asked: [
      ...held.map((group, topic) => ({
        topic,
        group,
        share: ((1 - CHIT_CHAT) * (popularity[topic] ?? 0)) / total,
      })),
      { topic: chitChat, group: groups, share: CHIT_CHAT },
    ],
    unasked: [],
    uncovered: [
      { topic: near, kind: 'near' },
      { topic: far, kind: 'far' },
    ],
    store: matrixOf(
      held.flatMap((_, topic) =>
        Array.from({ length: chunksPerTopic }, () => around(centres[topic] ?? [], CHUNK_SPREAD)),
      ),
    ),
    chunkTopics: Int32Array.from({ length: held.length * chunksPerTopic }, (_, i) => Math.floor(i / chunksPerTopic)),
  };
}

function direction(random: RandomNumbers): number[] {
  const vector = Array.from({ length: COLUMNS }, () => random.normal());
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function added(a: readonly number[], weightA: number, b: readonly number[], weightB: number): number[] {
  return a.map((value, i) => weightA * value + weightB * (b[i] ?? 0));
}
