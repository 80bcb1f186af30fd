/** What other subjects and the composition root take of query density. Pure rules are imported where they are. */
export type { BaselinesTable } from './baselines-table.ts';
export { type DensityTables, densityTables } from './dependencies.ts';
export { readDensityGauges, readTopicGauges } from './gauges.ts';
export { createDensityPlans, type DensityPlan } from './plan.ts';
