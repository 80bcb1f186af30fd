import { around, bySize, type FaultKind, type LiveAsk } from '../fault.ts';

export const kind: FaultKind = {
  name: 'agent-repeats-calls',
  title: 'the agent does not notice that it has the results, and sends the same retrieval call again and again',
  causes: ['agent_loop', 'repeated_query'],
  begin({ size, random }) {
    const share = around(random, bySize(size, 0.15, 0.3, 0.5));
    /** Number of steps after which the framework stops the agent. */
    const most = bySize(size, 5, 9, 14);
    return {
      volume: 1 + share * most,
      traffic: (draw) => {
        let again: LiveAsk | undefined;
        let left = 0;
        return () => {
          if (again !== undefined && left > 0) {
            left--;
            return again;
          }
          again = draw();
          left = random.uniform() < share ? most : 0;
          return again;
        };
      },
    };
  },
};
