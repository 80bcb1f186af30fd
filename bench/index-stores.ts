/**
 * Measures in real stores (pgvector, Chroma, and a vector set in Redis 8) how often the intervals of the index checks
 * contain the true value, and whether a store with wrong documents causes a page in the first round.
 *
 *     test/support/debian-services.sh FOLDER npx tsx bench/index-stores.ts [--quick] [--scale N] [--out FILE]
 *
 * Without the services, pgvector comes from npm and Redis is skipped. Rounds use the daemon's code, with a separate
 * database. The stores list their ids, so recalld could check all documents; the benchmark hides the list, so that
 * rounds must sample. `--scale 4` simulates four times as many rounds. If the intervals of a scenario contained the
 * true value in less than 93 % of its rounds, the scenario is simulated again, with ten times as many rounds.
 */
import { pathToFileURL } from 'node:url';
import type { Pool } from 'pg';
import type { VectorStore } from '../src/connectors/stores/vector-store.ts';
import { isLate, isWrong } from '../src/index/truth/rules/findings.ts';
import { migrate } from '../src/platform/postgres/migrate.ts';
import { createPool } from '../src/platform/postgres/pool.ts';
import { IndexWorld, START } from '../test/support/index-world.ts';
import { silentLogger } from '../test/support/log.ts';
import { startOwnPostgres } from '../test/support/own-postgres.ts';
import {
  type FillableStore,
  fillableChroma,
  fillablePgvector,
  fillableVectorSet,
  manifestOf,
  rowOf,
  type WrongWay,
  wrongRows,
  wrongWays,
} from '../test/support/wrong-stores.ts';
import { MIN_COVERAGE } from './bound-coverage.ts';
import { type ShareWithBounds, shareWithBounds } from './bounds.ts';
import { type ArrivalWorld, changesOfDay } from './index-truth/arrivals.ts';
import { type RandomNumbers, randomNumbers } from './random-numbers.ts';
import { commandOf, type Provenance, provenance, readArguments, writeResult } from './result-file.ts';

/** A store in which a share of the documents is wrong in one way. */
export interface StoreCell {
  readonly store: string;
  readonly measure: string;
  readonly share: number;
  readonly draws: number;
  readonly held: ShareWithBounds;
  /** Share of first rounds, or of days, that caused a page; null if no page depends on this measure. */
  readonly paged: ShareWithBounds | null;
  /** Number of documents that recalld reported as wrong in this way. */
  readonly named: number;
  /** Number of documents counted in `named` that were not wrong in this way. */
  readonly wronglyNamed: number;
}

export interface IndexStoresResult {
  readonly provenance: Provenance;
  readonly documents: number;
  readonly probe: number;
  readonly changesPerDay: number;
  readonly cells: readonly StoreCell[];
}

const SEED = 20_261_127;
const SHARES = [0, 0.005, 0.02, 0.1] as const;
const DOCUMENTS = 5000;
const PROBE = 200;
const DRAWS = 40;
const REPEAT_FACTOR = 10;
/** Number of rounds in which the same documents are wrong; after these rounds, other documents are made wrong. */
const DRAWS_OF_STORE = 4;
const DAYS = 20;
const CHANGES_PER_DAY = 200;
const HOUR_MS = 3_600_000;
const QUANTILE = 0.95;
/** Maximum number of calls that continue a round. */
const MAX_CALLS = 50;

const measures = {
  missing: 'index_missing_ratio',
  orphaned: 'index_orphaned_ratio',
  superseded: 'index_superseded_ratio',
  other_model: 'index_other_model_ratio',
} as const satisfies Readonly<Record<WrongWay, string>>;

interface Size {
  readonly documents: number;
  readonly draws: number;
  readonly days: number;
}

/** Hides the list of ids, as in a store with millions of documents. */
function unlisted(store: VectorStore): VectorStore {
  return { ...store, list: async () => ({ kind: 'unsupported', reason: 'It is to draw.' }) };
}

async function forget(pool: Pool): Promise<void> {
  await pool.query(
    'truncate index_documents, index_arrivals, index_rounds, index_tallies, index_findings, index_orphan_suspects, latest_measurements, measurement_gaps, measurements',
  );
}

/** A slow store, for example on a busy machine, makes recalld defer a round; the next call continues the round. */
async function wholeRound(world: IndexWorld, after?: number): Promise<void> {
  let outcome = await world.round(after);
  for (let call = 0; outcome !== 'done' && call < MAX_CALLS; call++) outcome = await world.round(0);
  if (outcome !== 'done') throw new Error(`A round ended as ${outcome}.`);
}

/** Makes random documents wrong, the same number in each way; null stands for a correct document. */
function brokenAtRandom(documents: number, share: number, random: RandomNumbers): (WrongWay | null)[] {
  const wrong = Math.round(documents * share);
  const ways = Array.from({ length: documents }, (_, id) => wrongWays[Math.floor(id / wrong)] ?? null);
  for (let place = documents - 1; place > 0; place--) {
    const other = random.below(place + 1);
    [ways[place], ways[other]] = [ways[other] ?? null, ways[place] ?? null];
  }
  return ways;
}

/**
 * Returns the true value of each measure: the share of documents or rows that are wrong in one way, among those that
 * could be wrong in this way.
 */
function truthsOf(ways: readonly (WrongWay | null)[], rows: number, hasChunks: boolean): Record<WrongWay, number> {
  const count = (way: WrongWay): number => ways.filter((one) => one === way).length;
  const named = ways.length - count('orphaned');
  return {
    missing: count('missing') / named,
    orphaned: count('orphaned') / rows,
    superseded: hasChunks ? count('superseded') / (named - count('missing')) : 0,
    other_model: count('other_model') / rows,
  };
}

async function drawFrom(
  pool: Pool,
  { store, hasChunks, add, empty }: FillableStore,
  share: number,
  { documents, draws }: Size,
  random: RandomNumbers,
) {
  const cells = wrongWays.map((way) => ({ way, held: 0, paged: 0, named: 0, wronglyNamed: 0 }));
  let ways: (WrongWay | null)[] = [];
  let rows = wrongRows(ways);
  for (let draw = 0; draw < draws; draw++) {
    if (draw % DRAWS_OF_STORE === 0) {
      ways = brokenAtRandom(documents, share, random);
      rows = wrongRows(ways).filter(({ version }) => hasChunks || version === 'v1');
      await empty();
      await add(rows);
    }
    await forget(pool);
    const world = new IndexWorld(pool, { store: unlisted(store), probe: PROBE, embed: PROBE, retrieve: 0 });
    world.clock.set(new Date(START.getTime() + draw * HOUR_MS));
    world.lines = manifestOf(ways);
    await wholeRound(world);
    const truths = truthsOf(ways, rows.length, hasChunks);
    for (const cell of cells) {
      const { way } = cell;
      const bounds = await world.value(measures[way]);
      if (bounds === null) throw new Error(`${measures[way]} was not measured.`);
      const [low, high] = [bounds.ciLow ?? Number.NaN, bounds.ciHigh ?? Number.NaN];
      if (low <= truths[way] && truths[way] <= high) cell.held++;
      if (isWrong({ ciLow: low })) cell.paged++;
      const named = await world.found(way);
      cell.named += named.length;
      cell.wronglyNamed += named.filter((id) => ways[Number(id.slice(4))] !== way).length;
    }
  }
  return cells
    .filter(({ way }) => hasChunks || way !== 'superseded')
    .map(({ way, held, paged, named, wronglyNamed }) => ({
      measure: measures[way] as string,
      share,
      draws,
      held: shareWithBounds(held, draws),
      paged: shareWithBounds(paged, draws),
      named,
      wronglyNamed,
    }));
}

/**
 * The median change takes an hour to arrive, and a share `never` of the changes never arrives. On quiet days (`never`
 * is 0), the median is three minutes, far below the limit.
 */
const arrivalsOf = (never: number): ArrivalWorld => ({
  world: '',
  changes: CHANGES_PER_DAY,
  median: never === 0 ? 180 : 3600,
  never,
  batch: 0,
  burst: 0,
});

const nameOf = (place: number): string => `new-${place}`;

/** Simulates days with new documents, a share of which never arrives, and checks the store every hour. */
async function followDays(
  pool: Pool,
  { store, add, empty }: FillableStore,
  never: number,
  { days }: Size,
  random: RandomNumbers,
) {
  let [held, paged] = [0, 0];
  for (let day = 0; day < days; day++) {
    const { changes, truth } = changesOfDay(arrivalsOf(never), QUANTILE, random);
    await empty();
    await add([rowOf('old')]);
    await forget(pool);
    const world = new IndexWorld(pool, { store, probe: 1, embed: 0, retrieve: 0, intervalMs: HOUR_MS });
    world.lines = [{ id: 'old', hash: 'v1', updated_at: '2025-03-01T00:00:00Z' }];
    await wholeRound(world, 0);
    const startMs = world.clock.now().getTime();
    for (let hour = 1; hour <= 24; hour++) {
      const came = (at: number): boolean => at > 3600 * (hour - 1) && at <= 3600 * hour;
      await add(changes.flatMap(({ at, takes }, place) => (came(at + takes) ? [rowOf(nameOf(place))] : [])));
      for (const [place, { at }] of changes.entries()) {
        if (!came(at)) continue;
        world.lines.push({ id: nameOf(place), hash: 'v1', updated_at: new Date(startMs + 1000 * at).toISOString() });
      }
      await wholeRound(world, HOUR_MS);
    }
    const lag = await world.value('index_lag_seconds');
    if (lag === null) throw new Error('The lag was not measured.');
    const { value, ciLow, ciHigh, n, details } = lag;
    const atLeast = ciLow ?? value;
    if (atLeast <= truth && truth <= (ciHigh ?? Number.POSITIVE_INFINITY)) held++;
    const { late_after_seconds: allowed, waiting, overdue } = details;
    const known = { seconds: value, atLeast, allowed: Number(allowed), n };
    if (isLate({ ...known, waiting: Number(waiting), overdue: Number(overdue) })) paged++;
  }
  return {
    measure: 'index_lag_seconds',
    share: never,
    draws: days,
    held: shareWithBounds(held, days),
    paged: never === 0 ? shareWithBounds(paged, days) : null,
    named: 0,
    wronglyNamed: 0,
  };
}

export async function measureStore(
  pool: Pool,
  store: string,
  opened: FillableStore,
  size: Size,
  keep: (cells: readonly StoreCell[]) => void,
): Promise<void> {
  const random = randomNumbers(SEED);
  for (const share of SHARES) {
    const first = await drawFrom(pool, opened, share, size, random);
    const lag = await followDays(pool, opened, share, size, random);
    const isSufficient = first.every(({ held }) => held.share >= MIN_COVERAGE);
    const broken = isSufficient ? first : await repeatDraws(pool, opened, share, size);
    keep([...broken, lag].map((cell) => ({ store, ...cell })));
  }
}

/**
 * Repeats the simulation for one share of wrong documents, with `REPEAT_FACTOR` times as many rounds. The seed depends
 * only on the share, so earlier simulations do not change the result.
 */
export function repeatDraws(pool: Pool, opened: FillableStore, share: number, size: Size) {
  const draws = REPEAT_FACTOR * size.draws;
  return drawFrom(pool, opened, share, { ...size, draws }, randomNumbers(SEED + Math.round(1000 * share)));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const startedAt = performance.now();
  const { quick, scale, out } = readArguments(process.argv.slice(2), 'index-stores');
  const size = quick
    ? { documents: 500, draws: 1, days: 1 }
    : { documents: DOCUMENTS, draws: DRAWS * scale, days: DAYS * scale };
  const redis = process.env['RECALLD_TEST_REDIS_URL'];
  const stores: readonly (readonly [string, () => Promise<FillableStore>])[] = [
    ['pgvector', fillablePgvector],
    ['Chroma', fillableChroma],
    ...(redis === undefined ? [] : [['Redis, vector set', () => fillableVectorSet(redis)] as const]),
  ];
  const postgres = await startOwnPostgres();
  const pool = createPool({ connection: postgres.connection, size: 4, logger: silentLogger });
  try {
    await migrate(pool);
    const command = `test/support/debian-services.sh FOLDER ${commandOf('index-stores', scale)}`;
    const cells: StoreCell[] = [];
    for (const [name, open] of stores) {
      const opened = await open();
      try {
        await measureStore(pool, name, opened, size, (more) => {
          cells.push(...more);
          for (const { measure, share, held, paged } of more)
            console.log(`${name}, ${measure}, ${share}: ${held.share}, paged in ${paged?.share ?? '-'}`);
          const measured: IndexStoresResult = {
            provenance: provenance(command, SEED, startedAt),
            documents: size.documents,
            probe: PROBE,
            changesPerDay: CHANGES_PER_DAY,
            cells,
          };
          if (out !== null) writeResult(out, measured);
        });
      } finally {
        await opened.close();
      }
    }
  } finally {
    await pool.end();
    await postgres.close();
  }
}
