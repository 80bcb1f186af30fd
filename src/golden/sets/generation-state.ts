/** What `golden generate` remembers of an interrupted call. */

import { z } from 'zod';
import { RecalldError } from '../../errors.ts';
import { createStateFile, type StateFile } from '../../files/state-file.ts';
import type { SettledChunk } from './generate-questions.ts';

/** The state file of `golden generate`. */
const headSchema = z.object({
  pipeline: z.string(),
  set: z.string(),
  model: z.string(),
  prompt_hash: z.string(),
  seed: z.int(),
});

const settledSchema = z.object({
  chunk_id: z.string(),
  outcome: z.enum([
    'kept',
    'no_question',
    'refused',
    'malformed',
    'not_retrieved',
    'near_duplicate',
    'unfinished',
    'quotes_chunk',
    'points_at_text',
    'unfit_length',
  ]),
  question: z.string().nullable(),
  tokens: z.object({ input: z.number(), output: z.number() }),
});

type GenerationHead = z.infer<typeof headSchema>;
type SettledLine = z.infer<typeof settledSchema>;

/** Null when the first line is no head; other lines that cannot be read are left out. */
function parseGenerationState(
  values: readonly unknown[],
): { readonly head: GenerationHead; readonly settled: readonly SettledLine[] } | null {
  const head = headSchema.safeParse(values[0]);
  if (!head.success) return null;
  const settled = values.slice(1).flatMap((value) => {
    const line = settledSchema.safeParse(value);
    return line.success ? [line.data] : [];
  });
  return { head: head.data, settled };
}

export interface GenerationState {
  readonly settled: readonly SettledChunk[];
  readonly settle: (chunk: SettledChunk) => Promise<void>;
  remove(): Promise<void>;
  readonly path: string;
}

/**
 * Opens the state file, new or to be resumed.
 *
 * @throws RecalldError usage when there is one and it is not to be resumed, when it belongs to other work, or when
 * there is none to resume
 */
export async function openGenerationState(
  path: string,
  head: GenerationHead,
  resume: boolean,
): Promise<GenerationState> {
  const file = createStateFile(path);
  const values = await file.read();
  if (!resume) {
    if (values !== null) {
      throw new RecalldError(
        'usage',
        `${path} holds the state of an interrupted call; add --resume to go on with it, or remove the file.`,
      );
    }
    await file.start([head]);
    return stateOf(file, []);
  }
  const state = values === null ? null : parseGenerationState(values);
  if (state === null) {
    throw new RecalldError('usage', `${path} holds no state to go on with; leave --resume out to start.`);
  }
  const other = (Object.keys(head) as (keyof GenerationHead)[]).find((key) => state.head[key] !== head[key]);
  if (other !== undefined) {
    throw new RecalldError(
      'usage',
      `${path} is the state of other work (another ${other.replace('_', ' ')}); remove it to start anew.`,
    );
  }
  const settled = state.settled.map(({ chunk_id: chunkId, ...rest }) => ({ chunkId, ...rest }));
  // Written anew, since a line that was cut off would spoil the next one.
  await file.start([head, ...settled.map(toLine)]);
  return stateOf(file, settled);
}

function stateOf(file: StateFile, settled: readonly SettledChunk[]): GenerationState {
  return {
    path: file.path,
    settled,
    settle: (chunk) => file.add(toLine(chunk)),
    remove: () => file.remove(),
  };
}

function toLine({ chunkId, ...rest }: SettledChunk) {
  return { chunk_id: chunkId, ...rest };
}
