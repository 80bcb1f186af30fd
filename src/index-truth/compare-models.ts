/** Stored vectors against those that the embedder makes of the stored texts now. */
import type { Embedder } from '../embedders/embedder.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';
import { rowOf } from '../vector/matrix.ts';
import { PutOff } from './guest.ts';
import type { Look } from './look.ts';
import type { LookedAt } from './rounds-table.ts';
import { lookTwice } from './rules/looks.ts';
import { isOfOtherModel } from './rules/other-model.ts';

interface DrawnChunk {
  readonly id: string;
  readonly text: string;
  readonly stored: Float32Array;
}

/** A handful, once an hour: embedding costs, and a sample may read the whole store. */
export async function compareModels(look: Look): Promise<void> {
  const { deps, plan, round, save } = look;
  const { embedder, embed, pipeline } = plan;
  if (embedder === null || embed === 0) return;
  const last = await deps.indexRounds.lastTally(pipeline, 'other_model');
  if (last !== null && round.startedAt.getTime() - last.getTime() < 0.9 * HOUR_MS) return;
  let seed = Math.floor(deps.clock.now().getTime() / 1000);
  const documents: LookedAt[] = [];
  // Of a day all draws count, the first of an hour too.
  await lookTwice(embed, async (n) => {
    const chunks = await drawChunks(look, n, seed);
    seed += 1;
    const foreign = await foreignAmong(look, embedder, chunks);
    const segments = await deps.indexDocuments.segmentsOf(
      pipeline,
      chunks.map(({ id }) => id),
    );
    const isWrong = (chunk: DrawnChunk): boolean => foreign.includes(chunk);
    documents.push(
      ...chunks.map((chunk) => ({ id: chunk.id, segment: segments.get(chunk.id) ?? null, isWrong: isWrong(chunk) })),
    );
    return { tally: { n: chunks.length, found: foreign.length } };
  });
  await save({ looked: [{ kind: 'other_model', documents }], position: null });
  // Nobody can look at a chunk again by its id: what no draw of a day has met is as old as the measure.
  await deps.indexRounds.forgetUnseen(pipeline, 'other_model', new Date(round.startedAt.getTime() - DAY_MS));
}

async function drawChunks({ plan, guest, signal }: Look, n: number, seed: number): Promise<readonly DrawnChunk[]> {
  const sample = await guest.ask('sample', () => plan.store.sample({ n, seed, withContent: true }, signal));
  const drawn = sample.ids.flatMap((id, row) => {
    const content = sample.contents[row] ?? null;
    if (content === null || content === '') return [];
    return [{ id, text: `${plan.embedPrefix}${content}`, stored: rowOf(sample.vectors, row) }];
  });
  if (drawn.length === 0) throw new PutOff('unsupported', 'The store gives no texts; set vector_store.content.');
  return drawn;
}

/** Those alone that are foreign when their texts are embedded a second time too: one answer may be of a moment. */
async function foreignAmong(
  look: Look,
  embedder: Embedder,
  chunks: readonly DrawnChunk[],
): Promise<readonly DrawnChunk[]> {
  const first = await compared(look, embedder, chunks);
  return first.length === 0 ? first : compared(look, embedder, first);
}

async function compared(
  { plan, signal }: Look,
  embedder: Embedder,
  chunks: readonly DrawnChunk[],
): Promise<readonly DrawnChunk[]> {
  const texts = chunks.map(({ text }) => text);
  const [again = [], repeated = []] = await Promise.all(
    [texts, texts].map(async (some) => {
      const answer = await embedder.embed(some, signal);
      if (answer.kind === 'failed') throw new PutOff('embedder_failed', answer.message);
      return answer.vectors;
    }),
  );
  return chunks.filter(({ stored }, place) => {
    const [one, other] = [again[place], repeated[place]];
    if (one === undefined || other === undefined) return false;
    return isOfOtherModel({ stored, again: one, repeated: other }, plan.leastCosine);
  });
}
