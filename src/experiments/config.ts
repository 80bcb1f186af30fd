/** Config of `pipelines[].shadow` and `pipelines[].variants`. */
import { z } from 'zod';
import { embedderSchema } from '../connectors/embedders/embedder.ts';
import { partsNeededBy, retrieverSchema } from '../connectors/retrievers/config.ts';
import { vectorStoreSchema } from '../connectors/stores/config.ts';
import { refuseRepeatsOf } from '../golden/config.ts';
import { nameSchema, numberIn, wholeIn } from '../platform/config/connection.ts';

const shadow = z.strictObject({
  name: nameSchema.describe(
    'Name of the shadow. recalld stores results under this name, so do not change it during a comparison.',
  ),
  retriever: retrieverSchema.describe('Candidate retriever.'),
  vector_store: vectorStoreSchema.optional().describe("Vector store of the shadow. Default: the pipeline's store."),
  embedder: embedderSchema.optional().describe("Embedder of the shadow. Default: the pipeline's embedder."),
  live_rate: numberIn(0, 1).default(0.05).describe('Share of the sampled live queries to send to the shadow.'),
  max_calls_per_day: wholeIn(1, 10_000_000)
    .default(2000)
    .describe(
      'Maximum number of queries per day (UTC). recalld first sends each golden set of the pipeline once, and then live queries.',
    ),
  max_per_second: z.number().positive().max(10_000).default(2).describe('Maximum number of queries per second.'),
  concurrency: wholeIn(1, 64).default(2).describe('Maximum number of concurrent queries.'),
  cost_per_call: numberIn(0, 1000).default(0).describe('Cost per query in US dollars, for the report.'),
  difference: numberIn(0.02, 1)
    .default(0.03)
    .describe('nDCG difference to detect. The report estimates when there will be enough queries to detect it.'),
  chunk_separator: z
    .string()
    .min(1)
    .max(20)
    .nullable()
    .default(null)
    .describe(
      'Separator after the document id in a chunk id, such as "#" in "kb-17#3". With a separator, recalld compares documents instead of chunks, because re-chunking changes chunk ids.',
    ),
});

export const shadowsSchema = z
  .array(shadow)
  .max(10)
  .default([])
  .superRefine(refuseRepeatsOf('name'))
  .describe(
    "Candidates to replace the pipeline's retriever, for example retrievers with another index, model, chunking or provider. Shadows receive the same queries, and users do not see the results (docs/how-to/shadow.md).",
  );

export type ShadowConfig = z.infer<typeof shadow>;

/** A shadow that embeds and searches requires a store and an embedder, either its own or the pipeline's. */
export function refuseShadowWithoutParts(
  pipeline: { readonly shadow: readonly ShadowConfig[]; readonly vector_store?: unknown; readonly embedder?: unknown },
  context: z.core.$RefinementCtx,
): void {
  for (const [index, one] of pipeline.shadow.entries()) {
    for (const part of partsNeededBy(one.retriever)) {
      if (one[part] !== undefined || pipeline[part] !== undefined) continue;
      const message = `is missing here and in the pipeline; the retriever of kind ${one.retriever.kind} requires it`;
      context.addIssue({ code: 'custom', path: ['shadow', index, part], message });
    }
  }
}

const arm = z.strictObject({
  name: nameSchema.describe('Tag value that identifies this arm.'),
  share: z
    .number()
    .positive()
    .max(1_000_000)
    .default(1)
    .describe('Share of sessions in this arm, relative to the other arms.'),
});

export const variantsSchema = z
  .strictObject({
    tag: z
      .string()
      .min(1)
      .max(64)
      .default('variant')
      .describe('Name of the tag whose value on a live query identifies the arm.'),
    arms: z
      .array(arm)
      .min(2)
      .max(10)
      .superRefine(refuseRepeatsOf('name'))
      .describe('Arms to compare. The first arm is the baseline for the other arms.'),
    since: z.iso
      .date()
      .nullable()
      .default(null)
      .describe(
        'First day (UTC) of the comparison. If null, the comparison begins with the oldest stored live query. Changing the day starts a new comparison.',
      ),
    difference: numberIn(0.001, 0.5)
      .default(0.02)
      .describe(
        'Smallest relevant difference between two arms, for shares and for mean scores (both from 0 to 1). If both bounds of the confidence interval are closer to zero than this difference, the verdict is `no_change`.',
      ),
  })
  .describe(
    'Variants of the service to compare on the basis of feedback, clicks and judgments (docs/how-to/variants.md).',
  );
