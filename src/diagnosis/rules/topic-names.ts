/**
 * Topics in what was said of an incident. It is kept with their ids, and read with their names: so that a topic is called
 * what it is called now, and an erasure that takes its words away takes them from the records too.
 */
import type { Diagnosis } from './incident.ts';
import type { Sign } from './signs.ts';

const topicId = /\bt-[0-9a-f]{10}\b/g;

type Told = Pick<Diagnosis, 'summary' | 'ranked' | 'signs'>;

export function topicIdsIn({ summary, signs }: Told): string[] {
  return [summary, ...signs.map(({ sentence }) => sentence)].flatMap((text) => text.match(topicId) ?? []);
}

/** @param names by id; a topic without one keeps its id */
export function withTopicNames<Said extends Told>(said: Said, names: ReadonlyMap<string, string>): Said {
  if (names.size === 0) return said;
  const named = (text: string): string =>
    text.replaceAll(topicId, (id) => {
      const name = names.get(id);
      return name === undefined || name === id ? id : `"${name}"`;
    });
  const read = (signs: readonly Sign[]): Sign[] => signs.map((sign) => ({ ...sign, sentence: named(sign.sentence) }));
  return {
    ...said,
    summary: named(said.summary),
    signs: read(said.signs),
    ranked: said.ranked.map((one) => ({
      ...one,
      supporting: read(one.supporting),
      opposing: read(one.opposing),
    })),
  };
}
