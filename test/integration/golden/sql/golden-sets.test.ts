import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { describeGoldenSets } from '../../../contract/golden-sets.contract.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();

describeGoldenSets(() => createGoldenSets(database.pool));
