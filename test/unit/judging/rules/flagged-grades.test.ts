import { expect, it } from 'vitest';
import { flaggedSentence } from '../../../../src/judging/rules/flagged-grades.ts';

it.each([
  [{ graded: 1, flagged: 0 }, '0 of 1 model grade in'],
  [{ graded: 40, flagged: 1 }, '1 of 40 model grades in'],
  [{ graded: 40, flagged: 3 }, 'pipeline=a%20b&flagged=true'],
])('states how many grades are flagged, and where to review them: %j', (counts, words) => {
  expect(flaggedSentence('a b', counts)).toContain(words);
});
