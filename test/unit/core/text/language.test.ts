import { expect, it } from 'vitest';
import { languageName, languageOf, languagesOf } from '../../../../src/core/text/language.ts';

it.each([
  ['eng', 'You can reset your password on the account page. We send a link that is valid for one hour.'],
  ['deu', 'Sie können Ihr Passwort auf der Kontoseite zurücksetzen. Wir senden einen Link, der eine Stunde gilt.'],
  ['fra', 'Rembourser une commande : le montant est versé sous quatorze jours sur la carte débitée.'],
  [
    'jpn',
    'パスワードはアカウントページでリセットできます。リンクを送ります。一時間有効ですので、早めに開いてください。',
  ],
])('detects %s by its trigrams', (code, text) => {
  expect(languageOf(text)).toBe(code);
});

it.each([
  ['few letters', 'Reset your password'],
  ['code', 'w1x0 w1x1 w1x2 w1x3 w1x4 w1x5 w1x6 w1x7 w1x8 w1x9 w1x10 w1x11 w1x12 w1x13 w1x14 w1x15'],
  ['numbers', '10:40 2026-11-24 4711 0815 99.95 10:40 2026-11-24 4711 0815 99.95'],
])('detects no language in %s', (_, text) => {
  expect(languageOf(text)).toBeNull();
});

it('detects a language only in texts with the minimum number of letters', () => {
  const text = 'Wir senden einen Link, der gilt';
  expect([languagesOf(text, 10)[0], languageOf(text), languagesOf(text, 10)[0]]).toEqual(['deu', null, 'deu']);
});

it('names a language in English, or by its code if the name is unknown', () => {
  expect([languageName('deu'), languageName('hms')]).toEqual(['German', 'hms']);
});
