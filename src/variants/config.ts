/** `pipelines[].variants`: what the service serves to some users and not to others. */
import { z } from 'zod';
import { nameSchema } from '../config/connection.ts';
import { refuseRepeats } from '../golden/config.ts';

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
      .describe('What is compared; the others are held against the first.'),
    since: z.iso
      .date()
      .nullable()
      .default(null)
      .describe('First day (UTC) that counts; null: as far back as live queries are kept. Another day begins anew.'),
    difference: z
      .number()
      .min(0.001)
      .max(0.5)
      .default(0.02)
      .describe('Difference of a ratio that matters: bounds within it say that two arms are alike.'),
  })
  .describe('Variants of the service that are compared by what users make of them (docs/variants.md).');
