/** Endpoints for those who operate the daemon. */
import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';

const named = z.array(z.object({ name: z.string(), reason: z.string() }));

const degraded = named.describe(
  'What keeps the daemon from a part of its work: `replica`, whose reads the primary answers while it is away; `clock`, which differs from that of the database by more than a minute, so that nothing is started by schedule.',
);

export const operationsEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/livez',
    tag: 'operations',
    summary: 'Whether the process lives. Never asks a dependency.',
    scope: null,
    body: null,
    responses: { '200': { description: 'It lives.', body: z.object({ status: z.literal('ok') }) } },
  },
  {
    method: 'get',
    path: '/readyz',
    tag: 'operations',
    summary: 'Whether the daemon can do its work, and what keeps it from it.',
    scope: null,
    body: null,
    responses: {
      '200': {
        description: 'Ready.',
        body: z.object({ ready: z.literal(true), not_ready: z.array(z.unknown()).max(0), degraded }),
      },
      '503': {
        description: 'Not ready.',
        body: z.object({ ready: z.literal(false), not_ready: named, degraded }),
      },
    },
  },
  {
    method: 'get',
    path: '/metrics',
    tag: 'operations',
    summary: 'Prometheus metrics.',
    scope: null,
    body: null,
    responses: { '200': { description: 'Text of the Prometheus exposition format.', body: null } },
  },
];
