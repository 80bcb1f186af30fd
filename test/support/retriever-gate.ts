/** The way to a retriever that nobody else asks. */

import type { RunSettings } from '../../src/golden/rules/run.ts';
import { openRetrieverGate, type RetrieverGate } from '../../src/golden/runs/retriever-gate.ts';
import type { Clock } from '../../src/time.ts';
import { aRunSettings } from './builders.ts';
import { silentLogger } from './log.ts';
import { MemoryRetrieverLimits } from './memory-retriever-limits.ts';

export function aGate(
  clock: Clock,
  settings: Partial<RunSettings> = {},
  limits = new MemoryRetrieverLimits(clock),
  holder = 'me',
): Promise<RetrieverGate> {
  const { concurrency, maxPerSecond } = aRunSettings(settings);
  return openRetrieverGate(
    { limits, clock, logger: silentLogger },
    { pipeline: 'docs', holder, concurrency, maxPerSecond, usualLatencyMs: null },
  );
}
