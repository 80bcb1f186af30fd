/** Chunks that come back for far more questions than their share, and chunks drawn from the store that never do. */
import { RecalldError } from '../errors.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import type { ReturnedReads, ReturnedWindow } from './returned-documents.ts';
import { type DeadChunks, deadChunks, type Hub, hubsOf } from './rules/hubs.ts';

export interface HubsReport {
  readonly questions: number;
  readonly documents: number;
  /** Null where too few questions were answered to tell. */
  readonly hubs: readonly Hub[] | null;
  /** Null where nothing was drawn, the store cannot be sampled, or its ids are not those of the answers; `why` says which. */
  readonly dead: DeadChunks | null;
  readonly why: string | null;
}

const OTHER_IDS = 'None of the chunks drawn from the store ever came back; the answers seem to have other ids.';

/**
 * @param chunks that are drawn from the store to find dead ones; 0 draws none
 * @throws RecalldError store_unreachable
 */
export async function readHubs(
  returned: ReturnedReads,
  store: VectorStore | null,
  { chunks, ...window }: ReturnedWindow & { readonly chunks: number },
  signal: AbortSignal,
): Promise<HubsReport> {
  const drawn = await drawIds(store, chunks, signal);
  const { back, ...found } = await returned.documents(window, drawn.ids);
  const hubs = hubsOf(found);
  const dead = drawn.why === null && hubs !== null ? deadChunks(drawn.ids, back) : null;
  const why = drawn.why ?? (dead === null ? OTHER_IDS : null);
  return { questions: found.questions, documents: found.documents, hubs, dead, why };
}

async function drawIds(
  store: VectorStore | null,
  n: number,
  signal: AbortSignal,
): Promise<{ readonly ids: readonly string[]; readonly why: string | null }> {
  if (n === 0) return { ids: [], why: 'Nothing was drawn.' };
  if (store === null) return { ids: [], why: 'The config names no vector_store to draw chunks from.' };
  const sample = await store.sample({ n, seed: 1, withContent: false }, signal);
  if (sample.kind === 'unsupported') return { ids: [], why: sample.reason };
  if (sample.kind === 'failed') throw new RecalldError('store_unreachable', sample.message);
  const { ids } = sample.value;
  return { ids, why: ids.length === 0 ? 'The store is empty.' : null };
}
