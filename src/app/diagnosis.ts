/** Composes what looks for the causes of alarms. */
import type { DiagnoseDeps } from '../diagnosis/diagnose-pipeline.ts';
import type { Dependencies } from './dependencies.ts';

export function createDiagnoseDeps(dependencies: Dependencies): DiagnoseDeps {
  const { sets, runs, baselines, measurements, checkStore, deployments, diagnoses, clock, logger } =
    dependencies;
  const { pipelines, densityPlans, densityStates, topics, intervalSeconds } = dependencies;
  const stored = { sets, runs, baselines, measurements, checkStore, deployments, diagnoses };
  return { ...stored, densityStates, topics, pipelines, densityPlans, intervalSeconds, clock, logger };
}
