/**
 * Summarizes the worlds of a split: how often causes were right at each confidence level, and which messages were false
 * alarms.
 */
import type { Cause, Confidence } from '../../src/incidents/diagnosis/rules/cause.ts';
import type { Evaluation, IncidentRecord, WorldRecord } from './record.ts';

/** A share with its numerator and denominator. */
export interface Share {
  readonly right: number;
  readonly of: number;
}

export interface CalibrationBin {
  /** Lower limit of the bin, which extends to the lower limit of the next bin. */
  readonly from: number;
  readonly n: number;
  /** Mean stated probability; null if the bin contains no diagnoses. */
  readonly stated: number | null;
  readonly right: number;
}

export interface Summary {
  readonly worlds: number;
  /** Number of worlds that are excluded because a daemon job failed. */
  readonly disturbed: number;
  readonly faulty: number;
  /** Share of right diagnoses by confidence, counted after every golden run under a single fault. */
  readonly byConfidence: Readonly<Record<Confidence, Share>>;
  /** Share of single faults whose cause was named within three golden runs. */
  readonly namedWithinThree: Share;
  /** Share of single faults whose cause is named in the diagnosis that applies after the last golden run. */
  readonly namedAtEnd: Share;
  /** Share of single faults for which a wrong cause was ever named with high confidence. */
  readonly wrongWithHigh: Share;
  /** Share of single faults with an incident whose cause is still unknown after the last golden run. */
  readonly unknownAtEnd: Share;
  /** Share of single faults that caused no incident. */
  readonly silent: Share;
  /**
   * Number of single faults, keyed by the number of golden runs until the cause was right; omits faults whose cause was
   * never right.
   */
  readonly runsToRight: Readonly<Record<string, number>>;
  /**
   * Share of single faults with a critical incident in the first golden run in which nDCG@10 has dropped by 0.05 or
   * more, or in the next run. Only faults that cause such a drop are counted. A slow loss causes such a drop only after
   * several runs.
   */
  readonly pagedWithinTwo: Share;
  /** Of the single faults that lose documents, the share that was diagnosed as a loss within two golden runs. */
  readonly lossesWithinTwo: Share;
  readonly pairsBothNamed: Share;
  readonly pairsOneNamed: Share;
  /** Totals for worlds without a fault: worlds, observed days, incidents and pages. */
  readonly quiet: {
    readonly worlds: number;
    readonly days: number;
    readonly incidents: number;
    readonly pages: number;
  };
  /** Number of worlds whose healthy history ended with an open incident. */
  readonly unhealthyHistories: number;
  /** Number of messages after the repair that do not report the recovery. */
  readonly messagesAfterRepair: number;
  /** Number of worlds with incidents that did not end. */
  readonly unresolved: number;
  readonly calibration: readonly CalibrationBin[];
  /**
   * For each true cause, how often the diagnosis after the last golden run names each cause; `none` counts worlds
   * without an incident.
   */
  readonly confusion: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly byKind: Readonly<Record<string, KindSummary>>;
}

export interface KindSummary {
  readonly worlds: number;
  readonly named: number;
  readonly incidents: number;
  /** For each cause, the number of worlds in which the diagnosis after the last golden run names it. */
  readonly said: Readonly<Record<string, number>>;
}

const BINS = [0, 0.5, 0.7, 0.85, 0.95];
const LOSS: Cause = 'index_lost_documents';
const LARGE_DROP = 0.05;

type Accepted = readonly Cause[];

/** Returns the main incident: the most severe one or, if several are equally severe, the newest of them. */
export function mainIncident({ incidents }: Pick<Evaluation, 'incidents'>): IncidentRecord | null {
  const [first = null] = incidents.toSorted(
    (a, b) =>
      Number(b.severity === 'critical') - Number(a.severity === 'critical') || (a.opened_at < b.opened_at ? 1 : -1),
  );
  return first;
}

function isRight(incident: IncidentRecord | null, accepted: Accepted): boolean {
  return incident !== null && accepted.includes(incident.cause);
}

/** Returns all causes named in an evaluation: main causes, and causes of alerts that no main cause explains. */
function allNamed({ incidents }: Evaluation): Cause[] {
  return incidents.flatMap(({ cause, also }) => [cause, ...also.map((one) => one.cause)]);
}

/** Returns the faults of a world, without harmless changes. */
function faultsOf({ faults }: WorldRecord): WorldRecord['faults'] {
  return faults.filter(({ causes }) => causes.length > 0);
}

function accepted(world: WorldRecord): Accepted {
  return faultsOf(world)[0]?.causes ?? [];
}

function atEnd({ evaluations }: WorldRecord): IncidentRecord | null {
  const last = evaluations.at(-1);
  return last === undefined ? null : mainIncident(last);
}

function isNamedBy({ evaluations }: WorldRecord, causes: Accepted): boolean {
  return evaluations.some((one) => allNamed(one).some((cause) => causes.includes(cause)));
}

/** Number of golden runs until the main incident has a right cause; null if its cause is never right. */
function firstRight(world: WorldRecord): number | null {
  return world.evaluations.find((one) => isRight(mainIncident(one), accepted(world)))?.run ?? null;
}

function share<Item>(items: readonly Item[], isCounted: (item: Item) => boolean): Share {
  return { right: items.filter(isCounted).length, of: items.length };
}

function count(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values.toSorted()) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/**
 * Summarizes the worlds. Worlds with a failed daemon job are only counted, because their jobs failed while other
 * processes kept the machine busy.
 */
export function summarise(all: readonly WorldRecord[]): Summary {
  const records = all.filter(({ failedJobs }) => failedJobs.length === 0);
  const single = records.filter((world) => faultsOf(world).length === 1);
  const pairs = records.filter((world) => faultsOf(world).length > 1);
  const quiet = records.filter((world) => faultsOf(world).length === 0);
  const statements = single.flatMap((world) =>
    world.evaluations.flatMap((one) => {
      const incident = mainIncident(one);
      return incident === null ? [] : [{ incident, isRight: isRight(incident, accepted(world)) }];
    }),
  );
  const named = statements.filter(({ incident }) => incident.cause !== 'unknown');
  const said = (confidence: Confidence): Share =>
    share(
      named.filter(({ incident }) => incident.confidence === confidence),
      (one) => one.isRight,
    );
  const losses = single.filter((world) => accepted(world)[0] === LOSS);
  const quietHours = quiet.reduce((sum, { evaluations }) => sum + evaluations.length, 0);
  const quietIncidents = quiet.flatMap((world) => openedIn(world));
  const kinds = [...new Set(single.flatMap((world) => faultsOf(world).map(({ kind }) => kind)))].toSorted();
  return {
    worlds: records.length,
    disturbed: all.length - records.length,
    faulty: single.length + pairs.length,
    byConfidence: { high: said('high'), medium: said('medium'), low: said('low') },
    namedWithinThree: share(single, (world) => firstRight(world) !== null),
    namedAtEnd: share(single, (world) => isRight(atEnd(world), accepted(world))),
    wrongWithHigh: share(single, (world) =>
      world.evaluations.some((one) => {
        const incident = mainIncident(one);
        if (incident === null || incident.cause === 'unknown' || incident.confidence !== 'high') return false;
        return !accepted(world).includes(incident.cause);
      }),
    ),
    unknownAtEnd: share(single, (world) => atEnd(world)?.cause === 'unknown'),
    silent: share(single, (world) => world.evaluations.every(({ incidents }) => incidents.length === 0)),
    runsToRight: count(single.flatMap((world) => firstRight(world)?.toString() ?? [])),
    pagedWithinTwo: share(
      single.filter(({ drop }) => drop >= LARGE_DROP),
      ({ healthy, evaluations }) => {
        const first = evaluations.find(({ ndcg }) => healthy - ndcg >= LARGE_DROP)?.run ?? 1;
        return evaluations.some((one) => one.run <= first + 1 && mainIncident(one)?.severity === 'critical');
      },
    ),
    lossesWithinTwo: share(losses, (world) =>
      world.evaluations.some((one) => one.run <= 2 && isRight(mainIncident(one), [LOSS])),
    ),
    pairsBothNamed: share(pairs, (world) => faultsOf(world).every(({ causes }) => isNamedBy(world, causes))),
    pairsOneNamed: share(pairs, (world) => faultsOf(world).some(({ causes }) => isNamedBy(world, causes))),
    quiet: {
      worlds: quiet.length,
      days: Math.round((10 * quietHours) / 24) / 10,
      incidents: quietIncidents.length,
      pages: quietIncidents.filter(({ severity }) => severity === 'critical').length,
    },
    unhealthyHistories: records.filter(({ incidentsBefore }) => incidentsBefore > 0).length,
    messagesAfterRepair: records
      .flatMap(({ messages }) => messages)
      .filter(({ phase, event }) => phase === 'recovery' && event !== 'incident.closed').length,
    unresolved: records.filter(({ resolvedAfter }) => resolvedAfter === null).length,
    calibration: BINS.map((from, at) => {
      const until = BINS[at + 1] ?? 2;
      const own = named.filter(({ incident }) => incident.probability >= from && incident.probability < until);
      const sum = own.reduce((total, { incident }) => total + incident.probability, 0);
      return {
        from,
        n: own.length,
        stated: own.length === 0 ? null : sum / own.length,
        right: own.filter((one) => one.isRight).length,
      };
    }),
    confusion: Object.fromEntries(
      [...new Set(single.map((world) => accepted(world)[0] ?? ''))]
        .toSorted()
        .map((cause) => [
          cause,
          count(single.filter((world) => accepted(world)[0] === cause).map((world) => atEnd(world)?.cause ?? 'none')),
        ]),
    ),
    byKind: Object.fromEntries(
      kinds.map((kind) => {
        const own = single.filter((world) => faultsOf(world)[0]?.kind === kind);
        return [
          kind,
          {
            worlds: own.length,
            named: own.filter((world) => firstRight(world) !== null).length,
            incidents: own.filter((world) => world.evaluations.some(({ incidents }) => incidents.length > 0)).length,
            said: count(own.map((world) => atEnd(world)?.cause ?? 'none')),
          },
        ];
      }),
    ),
  };
}

/** Returns each incident of a world once, in its last observed state. */
function openedIn({ evaluations }: WorldRecord): IncidentRecord[] {
  const seen = new Map<string, IncidentRecord>();
  for (const { incidents } of evaluations) for (const one of incidents) seen.set(one.opened_at, one);
  return [...seen.values()];
}
