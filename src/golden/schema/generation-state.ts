/** The state file of `golden generate`. */
import { z } from 'zod';

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

export type GenerationHead = z.infer<typeof headSchema>;
export type SettledLine = z.infer<typeof settledSchema>;

/** Null when the first line is no head; other lines that cannot be read are left out. */
export function parseGenerationState(
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
