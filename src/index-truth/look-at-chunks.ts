/** What the chunks of some documents say: whether more than one version is live, and whether their own text finds them. */

import type { StoredChunk } from '../stores/vector-store.ts';
import type { ExpectedDocument } from './documents-table.ts';
import { PutOff } from './guest.ts';
import { LOOKED_AT_AGAIN, type Look } from './look.ts';
import { drawDocuments } from './look-for-missing.ts';
import type { LookedAt } from './rounds-table.ts';
import { lookTwice } from './rules/looks.ts';
import { questionOf, segmentTags } from './rules/tenant-probes.ts';
import { isSuperseded } from './rules/versions.ts';

/** Documents whose chunks are asked for together. */
const DOCUMENTS_PER_CALL = 20;
/** Results among which a document must be. */
const K = 10;

type Chunks = ReadonlyMap<string, readonly StoredChunk[]>;

/** Looks at as many documents as a probe has, drawn anew, and again at those that were found before. */
export async function lookAtChunks(look: Look): Promise<void> {
  const { deps, plan, save } = look;
  const found = await deps.indexRounds.findings(plan.pipeline, 'superseded', LOOKED_AT_AGAIN);
  const counts = await deps.indexDocuments.chunkCounts(
    plan.pipeline,
    found.map(({ id }) => id),
  );
  const known = found.map((document) => ({ ...document, chunks: counts.get(document.id) ?? null }));
  const again = superseded(known, await chunksOf(look, known));
  const drawn = await lookTwice(plan.probe, async (n) => {
    const documents = await drawDocuments(look, n);
    const chunks = await chunksOf(look, documents);
    const looked = superseded(documents, chunks);
    const wrong = looked.filter(({ isWrong }) => isWrong).length;
    return { documents, chunks, looked, tally: { n: looked.length, found: wrong } };
  });
  await save({
    looked: [
      { kind: 'superseded', documents: again, uncounted: true },
      { kind: 'superseded', documents: drawn.looked },
    ],
    position: null,
  });
  await lookWhatIsRetrieved(look, drawn.documents, drawn.chunks);
}

async function chunksOf({ plan, guest, signal }: Look, documents: readonly { readonly id: string }[]): Promise<Chunks> {
  const found = new Map<string, StoredChunk[]>();
  for (let start = 0; start < documents.length; start += DOCUMENTS_PER_CALL) {
    const ids = documents.slice(start, start + DOCUMENTS_PER_CALL).map(({ id }) => id);
    for (const chunk of await guest.ask('look-up of chunks', () => plan.store.chunks(ids, signal))) {
      const own = found.get(chunk.id) ?? [];
      found.set(chunk.id, own);
      own.push(chunk);
    }
  }
  return found;
}

/** Of those that are in the store, and whose chunks say something. */
function superseded(
  documents: readonly Pick<ExpectedDocument, 'id' | 'chunks' | 'segment'>[],
  chunks: Chunks,
): LookedAt[] {
  return documents.flatMap(({ id, chunks: expected, segment }) => {
    const own = chunks.get(id);
    const isWrong = own === undefined ? null : isSuperseded(own, expected);
    return isWrong === null ? [] : [{ id, segment, isWrong }];
  });
}

/** Asks the retriever for the start of the text of some, as a user would who has it before him. */
async function lookWhatIsRetrieved(look: Look, documents: readonly ExpectedDocument[], chunks: Chunks): Promise<void> {
  const { deps, plan, save, signal, guest } = look;
  if (plan.retrieve === 0) return;
  const before = await deps.indexRounds.findings(plan.pipeline, 'unretrievable', plan.retrieve);
  const ask = async (one: Pick<ExpectedDocument, 'id' | 'segment'>, own: Chunks): Promise<LookedAt[]> => {
    const text = questionOf((own.get(one.id) ?? []).map(({ content }) => content));
    if (text === null) return [];
    await guest.turn();
    const request = { text, k: K, tags: segmentTags(one.segment) };
    const answer = await plan.retriever.retrieve(request, signal);
    if (answer.kind !== 'documents') throw new PutOff('retriever_failed', answer.message);
    const isWrong = !answer.documents.slice(0, K).some(({ id }) => id === one.id);
    return [{ id: one.id, segment: one.segment, isWrong }];
  };
  const again: LookedAt[] = [];
  const known = await chunksOf(look, before);
  for (const one of before) again.push(...(await ask(one, known)));
  const looked: LookedAt[] = [];
  for (const one of documents) {
    if (looked.length === plan.retrieve) break;
    looked.push(...(await ask(one, chunks)));
  }
  await save({
    looked: [
      { kind: 'unretrievable', documents: again, uncounted: true },
      { kind: 'unretrievable', documents: looked },
    ],
    position: null,
  });
}
