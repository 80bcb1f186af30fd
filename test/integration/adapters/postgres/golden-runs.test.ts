import { createGoldenRuns } from '../../../../src/adapters/postgres/golden-runs.ts';
import { createGoldenSets } from '../../../../src/adapters/postgres/golden-sets.ts';
import { describeGoldenRuns } from '../../../contract/golden-runs.contract.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();

describeGoldenRuns(() => ({ runs: createGoldenRuns(database.pool), sets: createGoldenSets(database.pool) }));
