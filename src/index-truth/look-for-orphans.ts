/**
 * What is in the store and not in the manifest. Ids are met before the manifest is read, and only those that it does not
 * know afterwards either count: a document that comes into both while a round goes on is no orphan.
 */
import { HOUR_MS } from '../time.ts';
import { PutOff } from './guest.ts';
import { IDS_PER_CALL, inStore, LOOKED_AT_AGAIN, type Look, settledUntil } from './look.ts';
import { tallied } from './rounds-table.ts';
import { lookTwice } from './rules/looks.ts';

interface ListPosition {
  readonly from: string;
}

/** A sample may read the whole store. */
const SAMPLE_MS = HOUR_MS;

/**
 * Meets every id where the store lists them, else those of a uniform sample, once an hour.
 *
 * @returns whether all were met
 */
export async function meetStrangers(look: Look): Promise<boolean> {
  try {
    await meetAll(look);
    return true;
  } catch (error) {
    if (!(error instanceof PutOff) || error.reason !== 'unsupported') throw error;
  }
  await meetSome(look);
  return false;
}

async function meetAll(look: Look): Promise<void> {
  const { plan, guest, round, deps, signal, save } = look;
  let from = (round.position as ListPosition | null)?.from ?? null;
  for (;;) {
    const page = await guest
      .ask('list of ids', () => plan.store.list(from, signal))
      .catch(async (error: unknown) => {
        // A place that the store has forgotten is no place to go on from.
        if (from !== null && error instanceof PutOff && error.reason === 'store_failed') {
          await deps.indexRounds.forgetTallies(round, 'orphaned');
          await deps.indexRounds.forgetSuspects(plan.pipeline);
          await save({ position: null });
        }
        throw error;
      });
    const ids = [...new Set(page.ids)];
    const strangers = await strangersOf(look, ids);
    const suspects = new Map(strangers.map((id) => [id, 1]));
    const position = page.next === null ? null : ({ from: page.next } satisfies ListPosition);
    await save({ suspects, counted: await metOf(look, ids), position });
    if (page.next === null) return;
    from = page.next;
  }
}

async function meetSome(look: Look): Promise<void> {
  const { plan, guest, deps, round, signal, save } = look;
  const last = await deps.indexRounds.lastTally(plan.pipeline, 'orphaned');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * SAMPLE_MS) return;
  // Another seed each time, so that what one sample misses the next one may see.
  let seed = Math.floor(deps.clock.now().getTime() / 1000);
  let drawn: readonly string[] = [];
  const met = new Map<string, number>();
  await lookTwice(plan.probe, async (n) => {
    seed += 1;
    const sample = await guest.ask('sample', () => plan.store.sample({ n, seed, withContent: false }, signal));
    drawn = sample.ids;
    const strangers = new Set(await strangersOf(look, [...new Set(drawn)]));
    // What the first look met counts no longer, and is looked at all the same.
    for (const id of met.keys()) met.set(id, 0);
    for (const id of drawn) if (strangers.has(id)) met.set(id, (met.get(id) ?? 0) + 1);
    return { tally: { n: drawn.length, found: strangers.size } };
  });
  await save({
    suspects: met,
    counted: await metOf(look, drawn),
    position: null,
  });
}

/** What was met, by the segments that the manifest last gave; ids that it never named have none. */
async function metOf({ deps, plan }: Look, ids: readonly string[]): Promise<ReturnType<typeof tallied>> {
  const segments = await deps.indexDocuments.segmentsOf(plan.pipeline, ids);
  return tallied(
    'orphaned',
    ids.map((id) => ({ segment: segments.get(id) ?? null, n: 1, found: 0 })),
  );
}

async function strangersOf(look: Look, ids: readonly string[]): Promise<readonly string[]> {
  const { deps, plan } = look;
  const expected = await deps.indexDocuments.expected(plan.pipeline, ids, settledUntil(look));
  return ids.filter((id) => !expected.has(id));
}

/** Holds the strangers, and the orphans of before, against the manifest and the store as they are now. */
export async function confirmOrphans(look: Look): Promise<void> {
  const { deps, plan, save } = look;
  const before = await deps.indexRounds.findings(plan.pipeline, 'orphaned', LOOKED_AT_AGAIN);
  const again = await orphansAmong(
    look,
    before.map(({ id }) => id),
  );
  const documents = before.map(({ id, segment }) => ({ id, segment, isWrong: again.has(id) }));
  await save({ looked: [{ kind: 'orphaned', documents, uncounted: true }], position: null });
  for (;;) {
    const suspects = await deps.indexRounds.suspects(plan.pipeline, IDS_PER_CALL);
    if (suspects.length === 0) return;
    const ids = suspects.map(({ id }) => id);
    const orphans = await orphansAmong(look, ids);
    const segments = await deps.indexDocuments.segmentsOf(plan.pipeline, ids);
    const named = ids.map((id) => ({ id, segment: segments.get(id) ?? null, isWrong: orphans.has(id) }));
    const found = suspects.map(({ id, times }) => ({
      segment: segments.get(id) ?? null,
      n: 0,
      found: orphans.has(id) ? times : 0,
    }));
    await save({
      looked: [{ kind: 'orphaned', documents: named, uncounted: true }],
      counted: tallied('orphaned', found),
      cleared: ids,
      position: null,
    });
  }
}

async function orphansAmong(look: Look, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return inStore(look, await strangersOf(look, ids));
}
