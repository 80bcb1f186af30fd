/** Composes what looks for the causes of alarms. */
import { createUncoveredTopics } from '../adapters/postgres/density/uncovered-topics.ts';
import type { DiagnoseDeps } from '../pipeline/diagnosis/diagnose-pipeline.ts';
import type { Dependencies } from './dependencies.ts';

export function createDiagnoseDeps(dependencies: Dependencies): DiagnoseDeps {
  const { sets, runs, baselines, measurements, history, deployments, diagnoses, clock, logger } =
    dependencies;
  const { storage, densityPlans, densityStates, intervalSeconds } = dependencies;
  const topics = createUncoveredTopics(storage.pool);
  const stored = { sets, runs, baselines, measurements, history, deployments, diagnoses };
  return { ...stored, densityStates, topics, densityPlans, intervalSeconds, clock, logger };
}
