/** What the API tells of query density. */
import type { DensityDeps } from '../../http/density.ts';
import { describeDensity } from '../../pipeline/density/describe-density.ts';
import { requestRebaseline } from '../../pipeline/density/request-rebaseline.ts';
import type { Dependencies } from '../dependencies.ts';
import { densityJson } from './density-json.ts';

export function createDensityApi(
  dependencies: Dependencies,
): Pick<DensityDeps, 'describeDensity' | 'rebaselineDensity'> {
  const { measurements, clock, densityPlans: plans, densityStates: states } = dependencies;
  return {
    describeDensity: async (request) =>
      densityJson(await describeDensity({ states, measurements, clock, plans }, request)),
    rebaselineDensity: (request) => requestRebaseline({ states, clock }, request),
  };
}
