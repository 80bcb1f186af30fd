/** Access to a retriever that no other process calls. */

import type { ThrottleLimits } from '../../src/connectors/throttle/limits.ts';
import { openThrottle, type Throttle } from '../../src/connectors/throttle/throttle.ts';
import type { Clock } from '../../src/core/time.ts';
import type { RunSettings } from '../../src/golden/rules/run.ts';
import { aRunSettings } from './builders.ts';
import { contextOf } from './context.ts';
import { silentLogger } from './log.ts';

/**
 * The limits that PostgreSQL would return to a single caller. PostgreSQL is replaced because tests cannot control its
 * clock.
 */
export function limitsOfOne(clock: Clock): ThrottleLimits {
  let next = 0;
  return {
    share: async (_pipeline, _holder, { concurrency }) => ({ slots: concurrency, failuresElsewhere: 0 }),
    leave: async () => undefined,
    async reserve(_pipeline, turns, perSecond) {
      const start = Math.max(clock.monotonicMs(), next);
      next = start + (turns * 1000) / perSecond;
      return start - clock.monotonicMs();
    },
  };
}

export function aGate(clock: Clock, settings: Partial<RunSettings> = {}): Promise<Throttle> {
  const { concurrency, maxPerSecond } = aRunSettings(settings);
  return openThrottle(contextOf({ db: { limits: limitsOfOne(clock) }, clock, logger: silentLogger }), {
    pipeline: 'docs',
    holder: 'me',
    concurrency,
    maxPerSecond,
    usualLatencyMs: null,
  });
}
