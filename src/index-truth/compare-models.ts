/** Stored vectors against those that the embedder makes of the stored texts now. */
import { HOUR_MS } from '../time.ts';
import { rowOf } from '../vector/matrix.ts';
import { PutOff } from './guest.ts';
import type { Look } from './look.ts';
import { isOfOtherModel } from './rules/other-model.ts';

/** A handful, once an hour: embedding costs, and a sample may read the whole store. */
export async function compareModels(look: Look): Promise<void> {
  const { deps, plan, round, guest, signal, save } = look;
  const { embedder, embed, embedPrefix, leastCosine, pipeline } = plan;
  if (embedder === null || embed === 0) return;
  const last = await deps.indexRounds.lastTally(pipeline, 'other_model');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * HOUR_MS) return;
  const seed = Math.floor(deps.clock.now().getTime() / 1000);
  const sample = await guest.ask('sample', () => plan.store.sample({ n: embed, seed, withContent: true }, signal));
  const drawn = sample.ids.flatMap((id, row) => {
    const content = sample.contents[row] ?? null;
    return content === null || content === '' ? [] : [{ id, content, stored: rowOf(sample.vectors, row) }];
  });
  if (drawn.length === 0) throw new PutOff('unsupported', 'The store gives no texts; set vector_store.content.');
  const texts = drawn.map(({ content }) => `${embedPrefix}${content}`);
  const [again = [], repeated = []] = await Promise.all(
    [texts, texts].map(async (some) => {
      const answer = await embedder.embed(some, signal);
      if (answer.kind === 'failed') throw new PutOff('embedder_failed', answer.message);
      return answer.vectors;
    }),
  );
  const segments = await deps.indexDocuments.segmentsOf(
    pipeline,
    drawn.map(({ id }) => id),
  );
  const documents = drawn.flatMap(({ id, stored }, place) => {
    const [one, other] = [again[place], repeated[place]];
    if (one === undefined || other === undefined) return [];
    const isWrong = isOfOtherModel({ stored, again: one, repeated: other }, leastCosine);
    return [{ id, segment: segments.get(id) ?? null, isWrong }];
  });
  await save({ looked: [{ kind: 'other_model', documents }], position: null });
}
