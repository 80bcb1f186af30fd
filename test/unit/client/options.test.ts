import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFlushTimeout, readOptions, version } from '../../../src/client/options.ts';
import { junk } from './junk.ts';

const url = 'http://127.0.0.1:8321';

it('the client has the version of the package', () => {
  const file = path.resolve(import.meta.dirname, '../../../package.json');
  expect(version).toBe((JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version);
});

it('the client requires only a URL', () => {
  expect(readOptions({ url })).toMatchObject({
    maxQueue: 10_000,
    maxQueueBytes: 16 * 1024 * 1024,
    batchSize: 100,
    flushIntervalMs: 1000,
    timeoutMs: 5000,
    sampleRate: 1,
    problems: [],
  });
});

it('the client trims the line feed of an API key that was read from a file', () => {
  expect(readOptions({ url, apiKey: 'rk_123\n' }).headers).toMatchObject({ authorization: 'Bearer rk_123' });
});

describe('an invalid option', () => {
  it.each<{ option: string; value: unknown; used: unknown }>([
    { option: 'maxQueue', value: 0, used: 10_000 },
    { option: 'maxQueue', value: 1e9, used: 10_000 },
    { option: 'batchSize', value: '100', used: 100 },
    { option: 'batchSize', value: 5000, used: 100 },
    { option: 'flushIntervalMs', value: -1, used: 1000 },
    { option: 'timeoutMs', value: Number.NaN, used: 5000 },
    { option: 'sampleRate', value: 10, used: 1 },
    { option: 'pipeline', value: {}, used: undefined },
    { option: 'onDrop', value: 'log', used: undefined },
    { option: 'url', value: undefined, used: null },
    { option: 'url', value: 'localhost:8321', used: null },
    { option: 'url', value: 'ftp://127.0.0.1', used: null },
    { option: 'url', value: 'http://user:secret@127.0.0.1', used: null },
  ])('is reported and replaced: $option $value', ({ option, value, used }) => {
    const settings = readOptions({ url, [option]: value });
    expect(settings[option as keyof typeof settings]).toBe(used);
    expect(settings.problems).toHaveLength(1);
    expect(settings.problems[0]).toMatch(new RegExp(`^${option} must be .*; .*\\.$`));
  });

  it('disables the client if the option is an API key that no HTTP header can contain', () => {
    const settings = readOptions({ url, apiKey: 'rk_\u00e9' });
    expect(settings.url).toBeNull();
    expect(settings.problems[0]).toMatch(/^apiKey must be /);
    expect(settings.problems[0]).not.toContain('rk_');
  });
});

it('the client never throws, whatever its options', () => {
  expect(() => fc.assert(fc.property(junk, (make) => void readOptions(make())))).not.toThrow();
});

it('a flush waits between 0 and 60 s, whatever its timeout option', () => {
  expect(readFlushTimeout(undefined)).toBe(5000);
  expect(readFlushTimeout({ timeoutMs: 250 })).toBe(250);
  fc.assert(
    fc.property(
      fc.oneof(
        junk,
        fc.double().map((timeoutMs) => () => ({ timeoutMs })),
      ),
      (make) => {
        const timeoutMs = readFlushTimeout(make());
        expect(timeoutMs).toBeGreaterThanOrEqual(0);
        expect(timeoutMs).toBeLessThanOrEqual(60_000);
      },
    ),
  );
});
