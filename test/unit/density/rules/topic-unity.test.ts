import { describe, expect, it } from 'vitest';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder } from '../../../../src/demo/rag/hashed-tfidf.ts';
import { subjectsOf } from '../../../../src/density/rules/find-topics.ts';
import { matrixOf, selectRows } from '../../../../src/math/vector/matrix.ts';
import { evenQuestions, queryWorld } from '../../../support/query-world.ts';

const TOPICS = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const FROM = new Date('2026-03-02T00:00:00Z');

describe('queries of a cluster, by dense vectors', () => {
  const world = queryWorld(21, TOPICS.length, TOPICS.length);
  const ask = (topics: readonly number[], count = 60) =>
    world.ask(evenQuestions(count, topics, FROM, 3_600_000)).vectors;
  const sample = ask(TOPICS, 600);

  it('are a topic if they have one subject, whatever it is', () => {
    expect(TOPICS.map((topic) => subjectsOf(ask([topic]), sample, 1))).toEqual(TOPICS.map(() => 'one'));
  });

  it('are a topic if a tenth of them are unrelated', () => {
    const mixed = ask([4, 4, 4, 4, 4, 4, 4, 4, 4, 7]);
    expect(subjectsOf(mixed, sample, 1)).toBe('one');
  });

  it('are not a topic if they have four subjects in equal parts', () => {
    expect(subjectsOf(ask([0, 2, 4, 6]), sample, 1)).toBe('several');
    expect(subjectsOf(ask([1, 3, 5, 7]), sample, 1)).toBe('several');
  });

  it('are a topic if all of them repeat one query', () => {
    const one = selectRows(
      ask([3]),
      Array.from({ length: 50 }, () => 0),
    );
    expect(subjectsOf(one, sample, 1)).toBe('one');
  });
});

describe('queries of a cluster, by their words', () => {
  const subjects = [
    'parental leave',
    'office printer',
    'supplier invoice',
    'forgotten password',
    'train travel',
    'canteen menu',
    'parking permit',
    'health insurance',
  ];
  const wordings = ['apply for', 'cancel', 'pay', 'share', 'change', 'extend', 'find', 'report', 'renew', 'compare'];
  const asked = subjects.flatMap((subject) =>
    wordings.map((wording, i) => ({
      subject,
      text: `How do I ${wording} ${i % 3 === 0 ? 'another ' : ''}${subject}?`,
    })),
  );
  const embedder = hashedTfidfEmbedder(fitInverseDocumentFrequencies(asked.map(({ text }) => text)), {
    dimensions: 256,
    seed: 1,
  });
  const sample = matrixOf(asked.map(({ text }) => embedder.embed(text)));
  const of = (...chosen: readonly string[]) =>
    selectRows(
      sample,
      asked.flatMap(({ subject }, row) => (chosen.includes(subject) ? [row] : [])),
    );

  it('are not a topic if each subject has its own words', () => {
    expect(subjectsOf(of(...subjects.slice(0, 4)), sample, 1)).toBe('several');
  });

  it('are a topic if they share words', () => {
    expect(subjects.map((subject) => subjectsOf(of(subject), sample, 1))).toEqual(subjects.map(() => 'one'));
  });

  it('are unclear if no two of them have much in common', () => {
    const far = matrixOf(
      Array.from({ length: 40 }, (_, row) => Array.from({ length: sample.columns }, (_, i) => Number(i === row))),
    );
    expect(subjectsOf(far, sample, 1)).toBe('unclear');
  });
});
