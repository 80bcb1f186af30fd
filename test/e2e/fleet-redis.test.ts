/** A fleet with its jobs in Redis: its processes stop, its parts die and hang, and in the end nothing is lost. */
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
