import { expect, it } from 'vitest';
import { queryKinds, scriptOf } from '../../../../src/core/text/query-kinds.ts';

const texts = [
  'how do I change the address that my invoices are sent to every month?',
  'reset password',
  'wie kann ich die Adresse ändern, an die meine Rechnungen jeden Monat gehen?',
  'как изменить адрес',
  'error E4012 in sync_job',
  'refund',
];
const membersOf = (name: string) => queryKinds(texts).find((kind) => kind.name === name)?.members;

it('groups queries by script, language, length and traits of their texts', () => {
  expect(membersOf('in Cyrillic script')).toEqual([3]);
  expect(membersOf('in German')).toEqual([2]);
  expect(membersOf('in English')).toEqual([0]);
  expect(membersOf('with a question mark')).toEqual([0, 2]);
  expect(membersOf('with digits')).toEqual([4]);
  expect(membersOf('with a capitalized word other than the first')).toEqual([2]);
  expect(membersOf('with an identifier')).toEqual([4]);
  expect(membersOf('with accents')).toEqual([2]);
});

it('splits queries at each length that occurs, unless all have the same length', () => {
  expect(membersOf('of 1 words or fewer')).toEqual([5]);
  expect(membersOf('of 2 words or more')).toEqual([0, 1, 2, 3, 4]);
  expect(membersOf('of 3 words or fewer')).toEqual([1, 3, 5]);
  expect(membersOf('of 13 words or more')).toEqual([0, 2]);
  expect(queryKinds(['a b', 'c d', 'e f']).filter(({ name }) => name.includes('words'))).toEqual([]);
});

it('detects a script by the first letter, and distinguishes Japanese from Chinese', () => {
  expect(['123', 'abc', 'Привет', '東京タワー', '北京', '안녕'].map(scriptOf)).toEqual([
    null,
    'Latin',
    'Cyrillic',
    'Japanese',
    'Chinese',
    'Korean',
  ]);
});
