/** New versions on their way: which of them the store has by now. */
import type { StoredChunk } from '../stores/vector-store.ts';
import type { Waiting } from './documents-table.ts';
import { inStore, type Look } from './look.ts';
import { hasVersion } from './rules/versions.ts';

/** Of those that wait, the ones that were looked for longest ago. */
const MAX_LOOKED_FOR = 1000;
const DOCUMENTS_PER_CALL = 20;
/** Chunks are read where the version matters, which costs a call for a few documents. */
const MAX_VERSIONS = 200;

export async function followArrivals(look: Look): Promise<void> {
  const { deps, plan, guest, signal } = look;
  const waiting = await deps.indexDocuments.waiting(plan.pipeline, MAX_LOOKED_FOR);
  const fresh = waiting.filter(({ version }) => version === null);
  const renewed = waiting.filter(({ version }) => version !== null).slice(0, MAX_VERSIONS);
  const looked: (Waiting & { readonly isThere: boolean })[] = [];
  const there = await inStore(
    look,
    fresh.map(({ id }) => id),
  );
  looked.push(...fresh.map((one) => ({ ...one, isThere: there.has(one.id) })));
  for (let start = 0; start < renewed.length; start += DOCUMENTS_PER_CALL) {
    const some = renewed.slice(start, start + DOCUMENTS_PER_CALL);
    const ids = some.map(({ id }) => id);
    const chunks: readonly StoredChunk[] = await guest.ask('look-up of chunks', () => plan.store.chunks(ids, signal));
    looked.push(
      ...some.map((one) => {
        const own = chunks.filter(({ id }) => id === one.id);
        return { ...one, isThere: one.version !== null && hasVersion(own, one.version) };
      }),
    );
  }
  if (looked.length > 0) await deps.indexDocuments.looked(plan.pipeline, looked, deps.clock.now());
}
