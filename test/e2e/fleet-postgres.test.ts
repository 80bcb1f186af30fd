/** A fleet with its jobs in PostgreSQL: its processes stop, its parts die and hang, and in the end nothing is lost. */
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
