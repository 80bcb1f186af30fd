/**
 * A result list with another tenant's document is stored before the 202 response, whichever API receives the list. The
 * violation causes a page, even if the daemon is killed.
 */
import { expect, it } from 'vitest';
import { injectViolations } from '../../support/injected-violations.ts';
import { missing } from '../../support/missing.ts';

const backends = missing('redis-server') ? (['postgres'] as const) : (['postgres', 'redis'] as const);

it.each(backends)(
  'recalld stores every isolation violation despite kills of the daemon, and pages within a minute (queue: %s)',
  async (backend) => expect(await injectViolations(backend, 120)).toBe(360),
  300_000,
);
