/** Every endpoint of the HTTP API. /openapi.json and docs/http.md are made from here. */
import { densityEndpoints } from '../../density/http-contract.ts';
import { goldenEndpoints } from '../../golden/endpoints.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { operationsEndpoints } from '../../http/operations.ts';
import { ingestEndpoints } from '../../live/endpoints.ts';
import { changeEndpoints, statusEndpoints } from '../../status/endpoints.ts';

export const endpoints: readonly Endpoint[] = [
  ...ingestEndpoints,
  ...statusEndpoints,
  ...goldenEndpoints,
  ...changeEndpoints,
  ...densityEndpoints,
  ...operationsEndpoints,
];
