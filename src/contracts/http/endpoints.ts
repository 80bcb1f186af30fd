/** Every endpoint of the HTTP API. /openapi.json and docs/http.md are made from here. */
import { changeEndpoints } from './endpoints/changes.ts';
import { densityEndpoints } from './endpoints/density.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { goldenEndpoints } from './endpoints/golden.ts';
import { ingestEndpoints } from './endpoints/ingest.ts';
import { operationsEndpoints } from './endpoints/operations.ts';
import { statusEndpoints } from './endpoints/status.ts';

export const endpoints: readonly Endpoint[] = [
  ...ingestEndpoints,
  ...statusEndpoints,
  ...goldenEndpoints,
  ...changeEndpoints,
  ...densityEndpoints,
  ...operationsEndpoints,
];
