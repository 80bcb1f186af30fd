/** A million result lists of tenants with adversarial names, and ten thousand injected violations. */
import { expect, it } from 'vitest';
import { measureIsolation } from '../../bench/isolation.ts';
import { injectViolations } from '../support/injected-violations.ts';

it('an isolation rule reports none of a million valid result lists, and every list with a document of another tenant', {
  timeout: 120_000,
}, () => {
  const { leaks, ...result } = measureIsolation(1_000_000);
  expect(leaks).toBe(1000);
  expect(result).toMatchObject({ clean_answers_reported: 0, leaks_found: leaks });
});

it.each(['postgres', 'redis'] as const)(
  'recalld stores each of 10,002 isolation violations while the daemon is killed repeatedly, with the queue in %s',
  { timeout: 1_800_000 },
  async (queue) => {
    expect(await injectViolations(queue, 3334)).toBe(10_002);
  },
);
