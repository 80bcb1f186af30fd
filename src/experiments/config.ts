/** `pipelines[].shadow`: retrievers that may take the place of a pipeline's own; `pipelines[].variants`: what the service serves to some users. */
import { z } from 'zod';
import { embedderSchema } from '../connectors/embedders/embedder.ts';
import { partsNeededBy, retrieverSchema } from '../connectors/retrievers/config.ts';
import { vectorStoreSchema } from '../connectors/stores/config.ts';
import { refuseRepeats } from '../golden/config.ts';
import { nameSchema } from '../platform/config/connection.ts';

const shadow = z.strictObject({
  name: nameSchema.describe('Name of the shadow; keep it while the same thing is meant.'),
  retriever: retrieverSchema.describe(
    'What may take the place of the retriever of the pipeline: text in, documents out.',
  ),
  vector_store: vectorStoreSchema
    .optional()
    .describe('The store of a shadow of kind vector_store; that of the pipeline if left out.'),
  embedder: embedderSchema.optional().describe('Its embedder; that of the pipeline if left out.'),
  live_rate: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('Share of the kept live queries that it is asked; 0: none.'),
  max_calls_per_day: z
    .int()
    .min(1)
    .max(10_000_000)
    .default(2000)
    .describe(
      'Most questions a day (UTC); the golden sets of the pipeline go first, once a day each, live queries take the rest.',
    ),
  max_per_second: z.number().positive().max(10_000).default(2).describe('Most questions a second.'),
  concurrency: z.int().min(1).max(64).default(2).describe('Most questions in flight.'),
  cost_per_call: z.number().min(0).max(1000).default(0).describe('US dollars that one question costs, for the report.'),
  difference: z
    .number()
    .min(0.02)
    .max(1)
    .default(0.03)
    .describe('Difference of nDCG that is to be found; the report says when there is enough evidence for it.'),
  chunk_separator: z
    .string()
    .min(1)
    .max(20)
    .nullable()
    .default(null)
    .describe(
      'What the id of a document ends before in the id of a chunk, such as "#" in "kb-17#3": then answers and judgments are compared by document, as a re-chunked index has other ids. Null compares ids as they are.',
    ),
});

export const shadowsSchema = z
  .array(shadow)
  .max(10)
  .default([])
  .superRefine((list, context) =>
    refuseRepeats(
      list.map(({ name }) => name),
      context,
      'name',
    ),
  )
  .describe(
    "Retrievers that may take the place of the pipeline's own (another index, model, chunking or provider): asked the same, away from users (docs/how-to/shadow.md).",
  );

export type ShadowConfig = z.infer<typeof shadow>;

/** A shadow that embeds and searches by itself stands on its own parts, or on those of its pipeline. */
export function refuseShadowWithoutParts(
  pipeline: { readonly shadow: readonly ShadowConfig[]; readonly vector_store?: unknown; readonly embedder?: unknown },
  context: z.core.$RefinementCtx,
): void {
  for (const [index, one] of pipeline.shadow.entries()) {
    for (const part of partsNeededBy(one.retriever)) {
      if (one[part] !== undefined || pipeline[part] !== undefined) continue;
      const message = `is missing, here and of the pipeline; the retriever of kind ${one.retriever.kind} needs it`;
      context.addIssue({ code: 'custom', path: ['shadow', index, part], message });
    }
  }
}

const arm = z.strictObject({
  name: nameSchema.describe('Value of the tag.'),
  share: z
    .number()
    .positive()
    .max(1_000_000)
    .default(1)
    .describe('Sessions that are given it, in proportion to the shares of the others.'),
});

export const variantsSchema = z
  .strictObject({
    tag: z.string().min(1).max(64).default('variant').describe('Tag of live queries whose value names the arm.'),
    arms: z
      .array(arm)
      .min(2)
      .max(10)
      .superRefine((list, context) =>
        refuseRepeats(
          list.map(({ name }) => name),
          context,
          'name',
        ),
      )
      .describe('Arms to compare; each is compared with the first.'),
    since: z.iso
      .date()
      .nullable()
      .default(null)
      .describe(
        'First day (UTC) that counts; null: as far back as live queries are kept. Another day starts a new comparison.',
      ),
    difference: z
      .number()
      .min(0.001)
      .max(0.5)
      .default(0.02)
      .describe('Difference of a ratio that matters: bounds within it say that two arms are alike.'),
  })
  .describe('Variants of the service that are compared by what users make of them (docs/how-to/variants.md).');
