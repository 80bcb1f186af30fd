import { assert, constantFrom, nat, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostNats, sinceOnset } from '../../../../../src/incidents/diagnosis/rules/samples.ts';
import { isHealthy, type Sign, signNames, signStates } from '../../../../../src/incidents/diagnosis/rules/signs.ts';

const onset = new Date('2026-11-20T12:00:00Z');
const before = '2026-11-20T11:59:59.000Z';
const after = '2026-11-20T12:00:01.000Z';

const aSign = (name: Sign['name'], state: string, from: string | null, n: number | null = null): Sign =>
  ({ name, state, sentence: 'It was so.', from, n }) as Sign;

const anyState = constantFrom(...signNames.flatMap((name) => signStates[name].map((state) => [name, state] as const)));

describe('a sign measured before the onset', () => {
  it('is ignored if it is healthy, because the fault may have come later', () => {
    const whole = aSign('index_documents', 'whole', before);
    expect(sinceOnset([whole], onset)).toEqual([]);
  });

  it('is used if it shows a difference, which may be the cause', () => {
    const changed = aSign('canary', 'changed', before);
    expect(sinceOnset([changed], onset)).toEqual([changed]);
  });

  it('is used while the onset is unknown', () => {
    const whole = aSign('index_documents', 'whole', before);
    expect(sinceOnset([whole], null)).toEqual([whole]);
  });
});

it('does not affect signs measured since the onset or in the golden run', () => {
  assert(
    property(anyState, constantFrom(after, null), ([name, state], from) => {
      const signs = [aSign(name, state, from)];
      expect(sinceOnset(signs, onset)).toEqual(signs);
    }),
  );
});

describe('a healthy sample', () => {
  it('of 8 probes is limited to less than 1 nat, and one of 100 probes to more than any weight', () => {
    const found = (n: number) => mostNats(aSign('index_retrieval', 'found', after, n));
    expect(found(8)).toBeCloseTo(0.84, 2);
    expect(found(100)).toBeGreaterThan(5);
  });

  it('may weigh more the larger it is, while the weight of a difference is never limited', () => {
    assert(
      property(anyState, nat(1000), ([name, state], n) => {
        const [sign, larger] = [aSign(name, state, after, n), aSign(name, state, after, n + 1)];
        if (isHealthy(sign)) expect(mostNats(larger)).toBeGreaterThan(mostNats(sign));
        else expect(mostNats(sign)).toBe(Number.POSITIVE_INFINITY);
      }),
    );
  });
});
