/** The stores in memory that the tests of this folder stand on keep to the contracts of the real ones. */
import { describe } from 'vitest';
import { describeGoldenBaselines } from '../../contract/golden-baselines.contract.ts';
import { describeGoldenRuns } from '../../contract/golden-runs.contract.ts';
import { describeGoldenSets } from '../../contract/golden-sets.contract.ts';
import { MemoryGoldenBaselines } from '../../support/memory-golden-baselines.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { MemoryGoldenSets } from '../../support/memory-golden-sets.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

describe('golden sets in memory', () => {
  const sets = new MemoryGoldenSets();
  describeGoldenSets(() => sets);
});

describe('golden runs in memory', () => {
  const sets = new MemoryGoldenSets();
  const runs = new MemoryGoldenRuns(new SteerableClock(), sets);
  describeGoldenRuns(() => ({ runs, sets }));
  const baselines = new MemoryGoldenBaselines();
  describeGoldenBaselines(() => ({ runs, sets, baselines }));
});
