/**
 * Runs one world in three phases: healthy, then with its faults for at least three golden runs, then repaired until all
 * incidents are resolved.
 */
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.ts';
import { randomNumbers } from '../random-numbers.ts';
import type { Bench } from './bench.ts';
import { PIPELINE } from './config.ts';
import type { FaultKind, Size } from './fault.ts';
import type { Evaluation, IncidentRecord, MessageRecord, WorldRecord } from './record.ts';
import type { Material, Shape } from './shape.ts';
import type { World } from './world.ts';

/** A world in a split file. */
export interface WorldPlan {
  readonly id: string;
  readonly seed: number;
  readonly shape: Shape;
  readonly faults: readonly { readonly kind: string; readonly size: Size }[];
}

const EVALUATED_RUNS = 3;
/** Maximum number of hours to wait for the end of an incident. */
const RECOVERY_HOURS = 3;
const HALF_HOUR_MS = 30 * MINUTE_MS;
/** Maximum number of incidents in a world. */
const LIMIT = 50;

interface IncidentJson extends Omit<IncidentRecord, 'supporting'> {
  readonly id: string;
}

interface CheckJson {
  readonly name: string;
  readonly severity: 'critical' | 'warning';
  readonly verdict: string;
}

export async function runWorld(
  bench: Bench,
  plan: WorldPlan,
  kinds: ReadonlyMap<string, FaultKind>,
): Promise<WorldRecord> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const faults = plan.faults.map(({ kind, size }) => {
    const known = kinds.get(kind);
    if (known === undefined) throw new Error(`The world ${plan.id} has the fault ${kind}, which has no file in kinds.`);
    return { ...known, size };
  });
  const record = await bench.inWorld(plan.shape, plan.seed, (world, material) =>
    passWorld(plan, faults, world, material),
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    ...record,
    seconds: (performance.now() - startedAt) / 1000,
    processSeconds: (user + system) / 1e6,
  };
}

type SizedFault = FaultKind & { readonly size: Size };

async function passWorld(
  plan: WorldPlan,
  faults: readonly SizedFault[],
  world: World,
  material: Material,
): Promise<Omit<WorldRecord, 'seconds' | 'processSeconds'>> {
  const random = randomNumbers(plan.seed + 1);
  const start = world.start.getTime();
  const at = (hours: number): Date => new Date(start + hours * HOUR_MS);
  const onset = new Date(start + Math.round(15 + 30 * random.uniform()) * MINUTE_MS);
  const runs = EVALUATED_RUNS + Math.max(0, ...faults.map(({ lateRuns = 0 }) => lateRuns));
  const before = await openIncidents(world);
  const healthy = world.service.trueNdcg();

  await world.passUntil(onset);
  const early = world.messages();
  await world.change(faults.map((fault) => fault.begin({ size: fault.size, random, material })));
  const messages: MessageRecord[] = [];
  const listen = (phase: MessageRecord['phase']): void => {
    const minutes = Math.round((world.now().getTime() - onset.getTime()) / MINUTE_MS);
    for (const message of world.messages()) messages.push({ phase, minutes, ...message });
  };
  const evaluations: Evaluation[] = [];
  for (let run = 1; run <= runs; run++) {
    if (run > 1) await world.passUntil(new Date(at(run).getTime() - HALF_HOUR_MS));
    await world.goldenRun(at(run), true);
    listen('fault');
    evaluations.push({ run, ndcg: world.service.trueNdcg(), ...(await evaluated(world, before)) });
  }
  const firstOfRecovery = new Date(at(runs).getTime() + 15 * MINUTE_MS);
  await world.passUntil(firstOfRecovery);
  listen('fault');
  await world.change([]);
  let resolvedAfter: number | null = null;
  const anyIncident = async (): Promise<boolean> => (await openIncidents(world)).some((id) => !before.includes(id));
  if (!(await anyIncident())) resolvedAfter = 0;
  for (let hour = 1; hour <= RECOVERY_HOURS; hour++) {
    if (resolvedAfter !== null && hour > 1) break;
    await world.passUntil(new Date(at(runs + hour).getTime() - HALF_HOUR_MS));
    await world.goldenRun(at(runs + hour), true);
    listen('recovery');
    if (resolvedAfter === null && !(await anyIncident())) resolvedAfter = hour;
  }
  const { firing, incidents: left } = await evaluated(world, before);
  const faulty = evaluations.map(({ ndcg }) => ndcg);
  return {
    id: plan.id,
    shape: plan.shape,
    faults: faults.map(({ name, size, causes }) => ({ kind: name, size, causes })),
    healthy,
    drop: healthy - Math.min(...faulty),
    incidentsBefore: before.length,
    messagesBefore: early.length,
    evaluations,
    messages,
    resolvedAfter,
    firingAtEnd: [...new Set([...firing, ...left.flatMap(({ alerts }) => alerts)])],
    failedJobs: world.failedJobs(),
  };
}

async function incidents(world: World): Promise<IncidentJson[]> {
  return (await world.read<{ items: IncidentJson[] }>(`/v1/incidents?pipeline=${PIPELINE}&limit=${LIMIT}`)).items;
}

async function openIncidents(world: World): Promise<string[]> {
  return (await incidents(world)).filter(({ closed_at }) => closed_at === null).map(({ id }) => id);
}

async function evaluated(world: World, before: readonly string[]): Promise<Pick<Evaluation, 'firing' | 'incidents'>> {
  const { items } = await world.read<{ items: CheckJson[] }>(`/v1/checks?pipeline=${PIPELINE}&limit=${LIMIT}`);
  const known = (await incidents(world)).filter(({ id, closed_at }) => closed_at === null && !before.includes(id));
  return {
    firing: items.filter(({ verdict }) => verdict === 'critical' || verdict === 'warning').map(({ name }) => name),
    incidents: known.map(toRecord),
  };
}

function toRecord(incident: IncidentJson): IncidentRecord {
  const { opened_at, closed_at, severity, diagnosed_at, cause, confidence, probability, alternatives, also, alerts } =
    incident;
  const { causes, signs, effects, failed_share, summary } = incident;
  return {
    opened_at,
    closed_at,
    severity,
    diagnosed_at,
    cause,
    confidence,
    probability,
    alternatives,
    also: also.map((one) => ({ ...one })),
    alerts,
    causes: causes.map((one) => ({ cause: one.cause, probability: one.probability })),
    signs: signs.map(({ sign, state, from, n, weighed }) => ({ sign, state, from, n, weighed })),
    effects,
    failed_share,
    summary,
  };
}
