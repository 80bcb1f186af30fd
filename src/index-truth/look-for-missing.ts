/** What is in the manifest and not in the store. */
import type { ExpectedDocument } from './documents-table.ts';
import { IDS_PER_CALL, inStore, LOOKED_AT_AGAIN, type Look, settledUntil } from './look.ts';
import { drawnPlace, FIRST_PLACE, lookTwice } from './rules/looks.ts';

interface Place {
  readonly place: string;
  readonly id: string;
}

/** @param all whether every document is looked up, along the random order; else as many as a probe has, drawn anew */
export async function lookForMissing(look: Look, all: boolean): Promise<void> {
  if (all) await lookUpAll(look);
  else await lookUpSome(look);
}

async function lookUpAll(look: Look): Promise<void> {
  const { deps, plan, round, save } = look;
  let at = (round.position as Place | null) ?? FIRST_PLACE;
  for (;;) {
    const documents = await deps.indexDocuments.after(plan.pipeline, at, settledUntil(look), IDS_PER_CALL);
    const last = documents.at(-1);
    if (last === undefined) return;
    at = { place: last.place, id: last.id };
    await save({ looked: [await lookedUp(look, documents)], position: at });
  }
}

async function lookUpSome(look: Look): Promise<void> {
  const { deps, plan, save } = look;
  const before = await deps.indexRounds.findings(plan.pipeline, 'missing', LOOKED_AT_AGAIN);
  const again = await lookedUp(look, before);
  const first: Awaited<ReturnType<typeof lookedUp>>[] = [];
  const drawn = await lookTwice(plan.probe, async (n) => {
    const looked = await lookedUp(look, await drawDocuments(look, n));
    first.push(looked);
    return { ...looked, tally: { n: looked.documents.length, found: looked.documents.filter(isWrong).length } };
  });
  const others = [again, ...first.slice(0, -1)].map((looked) => ({ ...looked, uncounted: true as const }));
  await save({ looked: [...others, drawn], position: null });
}

function isWrong(document: { readonly isWrong: boolean }): boolean {
  return document.isWrong;
}

/** Some that should be in the store, each as likely as any other. */
export async function drawDocuments(look: Look, n: number): Promise<readonly ExpectedDocument[]> {
  const { deps, plan } = look;
  const until = settledUntil(look);
  const start = { place: drawnPlace(Math.random()), id: '' };
  const documents = await deps.indexDocuments.after(plan.pipeline, start, until, n);
  if (documents.length === n) return documents;
  // The order has no end: behind the last place comes the first.
  const more = await deps.indexDocuments.after(plan.pipeline, FIRST_PLACE, until, n - documents.length);
  return [...new Map([...documents, ...more].map((document) => [document.id, document])).values()];
}

async function lookedUp(look: Look, documents: readonly { readonly id: string; readonly segment: string | null }[]) {
  const there = await inStore(
    look,
    documents.map(({ id }) => id),
  );
  return {
    kind: 'missing' as const,
    documents: documents.map(({ id, segment }) => ({ id, segment, isWrong: !there.has(id) })),
  };
}
