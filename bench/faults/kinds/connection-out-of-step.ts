import { bySize, type FaultKind } from '../fault.ts';
import type { Asked } from '../search.ts';

/** Number of connections in the pool of the client. */
const CONNECTIONS = 12;

export const kind: FaultKind = {
  name: 'connection-out-of-step',
  title: 'after a timeout, connections of the pool return to each request the response to the previous request',
  causes: ['foreign_answers', 'random_answers'],
  begin({ size, random }) {
    // The client puts a connection back into the pool before it has read the late response.
    const hurt = bySize(size, 1, 4, 10);
    const unread = new Map<number, Asked>();
    return {
      search: (search) => (asked) => {
        const connection = random.below(CONNECTIONS);
        if (connection >= hurt) return search(asked);
        // The first request on the connection times out, and the client repeats it on a new connection.
        const answered = unread.get(connection) ?? asked;
        unread.set(connection, asked);
        return search(answered);
      },
    };
  },
};
