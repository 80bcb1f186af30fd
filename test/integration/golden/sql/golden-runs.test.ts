import { createGoldenBaselines } from '../../../../src/golden/sql/golden-baselines.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { describeGoldenBaselines } from '../../../contract/golden-baselines.contract.ts';
import { describeGoldenRuns } from '../../../contract/golden-runs.contract.ts';
import { describeLatestRuns } from '../../../contract/latest-runs.contract.ts';
import { useDatabase } from '../../../support/database.ts';
import type { GoldenStores } from '../../../support/golden-runs.ts';

const database = useDatabase();

const stores = (): GoldenStores => ({
  runs: createGoldenRuns(database.pool),
  sets: createGoldenSets(database.pool),
});

describeGoldenRuns(stores);
describeLatestRuns(stores);
describeGoldenBaselines(() => ({ ...stores(), baselines: createGoldenBaselines(database.pool) }));
