/** A fleet with its jobs in PostgreSQL: processes stop, die and hang, and nothing is lost. */
import { describe } from 'vitest';
import { itLivesThroughFaults } from './fleet-faults.ts';
import { itStopsInOrder } from './fleet-stops.ts';
import { itHasLostNothing, LIMIT, useWatchedFleet } from './watched-fleet.ts';

describe('a fleet with its jobs in PostgreSQL', LIMIT, () => {
  const watched = useWatchedFleet('postgres');
  itStopsInOrder('postgres', watched);
  itLivesThroughFaults('postgres', watched);
  itHasLostNothing(watched);
});
