import { describe, expect, it } from 'vitest';
import type { RecalldError } from '../../../../src/core/errors.ts';
import { allows, apiScopes, createAttempts, createCheck } from '../../../../src/platform/access/credentials.ts';

const HERE = '198.51.100.7';

/**
 * Checks keys against a database that contains the keys `good-...`; `asked` lists the keys that were looked up there.
 */
function aCheck(believedMs = 60_000) {
  const asked: string[] = [];
  const reported: string[] = [];
  let isAway = false;
  const attempts = createAttempts((address) => reported.push(address));
  const check = createCheck(
    async (text) => {
      asked.push(text);
      await Promise.resolve();
      if (isAway) throw new Error('the database is away');
      return text.startsWith('good') ? { name: text } : null;
    },
    believedMs,
    attempts,
  );
  /** Returns the name of the key, `unknown` if the key does not exist, or the error code. */
  const outcome = (text: string, address = HERE): Promise<string | undefined> =>
    check(text, address).then(
      (found) => found?.name ?? 'unknown',
      (error: RecalldError) => error.code ?? error.message,
    );
  return {
    asked,
    reported,
    outcome,
    lose: () => (isAway = true),
    restore: () => (isAway = false),
    all: (count: number, address?: string) =>
      Promise.all(Array.from({ length: count }, (_, i) => outcome(`wrong-${i}`, address))),
  };
}

describe('presented API keys', () => {
  it('are looked up a few times if they are wrong; then the address is rejected, and logged once', async () => {
    const { all, asked, reported } = aCheck();
    const outcomes = await all(1000);
    expect(outcomes.filter((one) => one === 'unknown')).toHaveLength(20);
    expect(outcomes.filter((one) => one === 'attempts_limited')).toHaveLength(980);
    expect(asked).toHaveLength(20);
    expect(reported).toEqual([HERE]);
  });

  it('are still accepted from other addresses while one address is rejected', async () => {
    const { all, outcome } = aCheck();
    await all(1000);
    expect(await outcome('good', '203.0.113.9')).toBe('good');
    expect(await outcome('wrong-1000', '203.0.113.9')).toBe('unknown');
  });

  it('are still accepted from the same address if they were valid before, and are looked up again after they expire from the cache', async () => {
    const { all, asked, outcome } = aCheck(0);
    expect(await outcome('good')).toBe('good');
    await all(1000);
    expect(await outcome('good')).toBe('good');
    expect(asked.filter((text) => text === 'good')).toHaveLength(2);
  });

  it('stay cached if they are valid, however many wrong keys arrive from however many addresses', async () => {
    const { asked, outcome } = aCheck();
    await outcome('good');
    for (let i = 0; i < 25_000; i += 1) await outcome(`wrong-${i}`, `10.0.${i >> 8}.${i & 255}`);
    expect(await outcome('good')).toBe('good');
    expect(asked.filter((text) => text === 'good')).toHaveLength(1);
  });

  it('count as one attempt if a service keeps presenting the same wrong key', async () => {
    const { asked, outcome } = aCheck();
    for (let i = 0; i < 500; i += 1) expect(await outcome('wrong')).toBe('unknown');
    expect(asked).toEqual(['wrong']);
    expect(await outcome('good')).toBe('good');
  });

  it('are looked up once if many concurrent requests present the same key', async () => {
    const { asked, outcome } = aCheck();
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => outcome('good')));
    expect(new Set(outcomes)).toEqual(new Set(['good']));
    expect(asked).toEqual(['good']);
  });

  it('do not use up attempts if they are valid, or if the database is unavailable', async () => {
    const { all, lose, restore, outcome } = aCheck();
    for (let i = 0; i < 100; i += 1) expect(await outcome(`good-${i}`)).toBe(`good-${i}`);
    lose();
    for (let i = 0; i < 100; i += 1) expect(await outcome(`late-${i}`)).toBe('the database is away');
    restore();
    expect((await all(21)).filter((one) => one === 'unknown')).toHaveLength(20);
  });
});

it.each(apiScopes)('a key with the scope %s may do what requires this scope', (scope) => {
  expect(allows([scope], scope)).toBe(true);
});

it('an admin key may do everything; another key may do only what its scopes allow', () => {
  expect(apiScopes.every((scope) => allows(['admin'], scope))).toBe(true);
  expect(allows(['ingest'], 'read')).toBe(false);
  expect(allows(['ingest', 'read'], 'admin')).toBe(false);
  expect(allows([], 'read')).toBe(false);
});
