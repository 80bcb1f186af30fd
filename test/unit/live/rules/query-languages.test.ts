import { expect, it } from 'vitest';
import { languageOrScript, languageShare } from '../../../../src/live/rules/query-languages.ts';
import { NOON } from '../../../support/builders.ts';

const asked = (english: number, german: number) => [
  ...Array.from({ length: english }, () => ({ language: 'English', probability: 1 })),
  ...Array.from({ length: german }, () => ({ language: 'German', probability: 1 })),
];
const days = (count: number) => new Date(NOON.getTime() + count * 86_400_000);

it('takes the most frequent language as the usual language, and keeps it when another becomes more frequent', () => {
  const first = languageShare(asked(90, 10), null, NOON);
  expect(first).toMatchObject({ value: 0.9, n: 100, usual: { language: 'English', lastMajorityAt: NOON } });
  expect(languageShare(asked(20, 80), first?.usual ?? null, days(1))).toMatchObject({
    value: 0.2,
    usual: { language: 'English' },
  });
});

it('replaces a usual language after two weeks in the minority', () => {
  const usual = { language: 'English', lastMajorityAt: NOON };
  expect(languageShare(asked(20, 80), usual, days(15))).toMatchObject({ value: 0.8, usual: { language: 'German' } });
  const kept = languageShare(asked(60, 40), usual, days(15));
  expect(kept).toMatchObject({ value: 0.6, usual: { language: 'English', lastMajorityAt: days(15) } });
  const minority = languageShare(asked(20, 80), kept?.usual ?? null, days(16));
  expect(minority).toMatchObject({ value: 0.2, usual: { language: 'English', lastMajorityAt: days(15) } });
});

it('ignores rare languages, which are often misdetected', () => {
  const scattered = ['Dutch', 'French', 'Italian', 'Polish', 'Danish'].flatMap((language) =>
    Array.from({ length: 4 }, () => ({ language, probability: 1 })),
  );
  expect(languageShare([...asked(36, 4), ...scattered], null, NOON)).toMatchObject({ value: 0.9, n: 40 });
});

it('weights texts by inclusion probability, and needs 30 texts of known language', () => {
  const weighed = asked(50, 50).map((one) => ({ ...one, probability: one.language === 'German' ? 0.25 : 1 }));
  expect(languageShare(weighed, null, NOON)).toMatchObject({ value: 0.8, usual: { language: 'German' } });
  const undetected = Array.from({ length: 100 }, () => ({ language: null, probability: 1 }));
  expect(languageShare([...asked(29, 0), ...undetected], null, NOON)).toBeNull();
});

it('assigns a few words that look like a related language to the usual language', () => {
  const words = 'account deletion consequences invoices';
  expect(languageOrScript(words, null)).toBe('French');
  expect(languageOrScript(words, 'English')).toBe('English');
  expect(languageOrScript('wie kann ich die Adresse von meinem Konto ändern', 'English')).toBe('German');
});

it('distinguishes texts in Latin script by language, and others by script', () => {
  expect(languageOrScript('how do I change the address of my account', null)).toBe('English');
  expect(languageOrScript('wie kann ich die Adresse von meinem Konto ändern', null)).toBe('German');
  expect(languageOrScript('как изменить адрес', null)).toBe('Cyrillic');
  expect(languageOrScript('refund', null)).toBeNull();
});
