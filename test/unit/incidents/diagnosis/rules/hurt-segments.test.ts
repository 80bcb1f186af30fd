import { expect, it } from 'vitest';
import { hurtSegments } from '../../../../../src/incidents/diagnosis/rules/hurt-groups.ts';

/** Score losses of three queries per topic; `byTopic` maps a topic to the loss of each of its queries. */
const lossesOf = (byTopic: Readonly<Record<string, number>>) =>
  Object.entries(byTopic).flatMap(([topic, loss]) =>
    [0, 1, 2].map((place) => ({
      query: { id: `${topic}-${place}`, text: 'how do I log in', tags: { topic }, judgments: [], forbidden: [] },
      loss,
    })),
  );

it('names the segments that lost all their queries if others lost none', () => {
  expect(hurtSegments(lossesOf({ a: 1, b: 0, c: 1, d: 0, e: 0, f: 1 }), ['topic'])).toEqual({
    names: ['topic=a', 'topic=c', 'topic=f'],
    others: 3,
  });
});

it('names none if only one segment is affected, which is a separate finding', () => {
  expect(hurtSegments(lossesOf({ a: 1, b: 0, c: 0, d: 0 }), ['topic'])).toBeNull();
});

it('names none if a segment lost only some of its queries', () => {
  const mixed = lossesOf({ a: 1, b: 0, c: 1, d: 0 }).map((one, place) => (place % 3 === 0 ? { ...one, loss: 0 } : one));
  expect(hurtSegments(mixed, ['topic'])).toBeNull();
});

it('names none for segments of two queries, which may lose both or neither by chance', () => {
  const few = lossesOf({ a: 1, b: 0, c: 1, d: 0 }).filter((_, place) => place % 3 < 2);
  expect(hurtSegments(few, ['topic'])).toBeNull();
});
