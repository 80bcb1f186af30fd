/** How the index of a pipeline stands, for commands and pages. */
import type { Clock } from '../clock.ts';
import type { Deployments } from '../deployments/deployments.ts';
import type { Deployment } from '../deployments/rules/deployment.ts';
import type { LatestMeasurement, Measurements } from '../measures/measurements.ts';
import { indexMeasureNames } from './measure-index.ts';
import type { Finding, RoundsTable } from './rounds-table.ts';
import { type FindingKind, findingKinds } from './rules/finding-kinds.ts';

export interface FoundOfKind {
  readonly kind: FindingKind;
  readonly count: number;
  /** Those that were found first. */
  readonly documents: readonly Finding[];
}

export interface IndexStanding {
  /** When the last whole round ended. */
  readonly checkedAt: Date | null;
  /** That the manifest names. */
  readonly documents: number | null;
  readonly measures: readonly LatestMeasurement[];
  readonly found: readonly FoundOfKind[];
}

interface IndexReads {
  readonly indexRounds: Pick<RoundsTable, 'standings' | 'countFindings' | 'findings'>;
  readonly measurements: Pick<Measurements, 'latest'>;
}

export async function readIndexStanding(
  { indexRounds, measurements }: IndexReads,
  pipeline: string,
  now: Date,
  most: number,
): Promise<IndexStanding> {
  const standing = (await indexRounds.standings()).find((one) => one.pipeline === pipeline);
  const counts = await indexRounds.countFindings(pipeline);
  const found: FoundOfKind[] = [];
  for (const kind of findingKinds) {
    const documents = await indexRounds.findings(pipeline, kind, most);
    found.push({ kind, count: counts.get(kind)?.count ?? 0, documents });
  }
  const latest = await measurements.latest(now);
  return {
    checkedAt: standing?.endedAt ?? null,
    documents: standing?.documents ?? null,
    measures: latest
      .filter((one) => one.pipeline === pipeline && placeOf(one) >= 0)
      .toSorted((a, b) => placeOf(a) - placeOf(b)),
    found,
  };
}

export interface IndexPageData extends IndexStanding {
  readonly pipeline: string;
  /** Whether the config has `index` for it. */
  readonly isIndexed: boolean;
  readonly deployments: readonly Deployment[];
  readonly now: Date;
}

export interface IndexPageDeps {
  readonly indexRounds: IndexReads['indexRounds'];
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly deployments: Deployments;
  readonly clock: Clock;
}

const LISTED_DOCUMENTS = 50;
const LISTED_DEPLOYMENTS = 5;

export async function readIndexPage(
  { indexRounds, measurements, deployments, clock }: IndexPageDeps,
  pipeline: string,
  isIndexed: boolean,
): Promise<IndexPageData> {
  const now = clock.now();
  const standing = await readIndexStanding({ indexRounds, measurements }, pipeline, now, LISTED_DOCUMENTS);
  const latest = await deployments.list({ pipeline, limit: LISTED_DEPLOYMENTS });
  return { ...standing, pipeline, isIndexed, deployments: latest, now };
}

function placeOf({ measure }: LatestMeasurement): number {
  return indexMeasureNames.indexOf(measure);
}
