/** A fleet with its jobs in Redis: processes stop, die and hang, and nothing is lost. */
import { describeWithRedis } from '../support/redis.ts';
import { itLivesThroughFaults } from './fleet-faults.ts';
import { itStopsInOrder } from './fleet-stops.ts';
import { itHasLostNothing, LIMIT, useWatchedFleet } from './watched-fleet.ts';

describeWithRedis('a fleet with its jobs in Redis', LIMIT, () => {
  const watched = useWatchedFleet('redis');
  itStopsInOrder('redis', watched);
  itLivesThroughFaults('redis', watched);
  itHasLostNothing(watched);
});
