/** `/v1/deployments`: changes of what a pipeline is made of. */
import { z } from 'zod';
import { identifier, shortText, timestamp } from '../http/fields.ts';
import { numberedPageShape } from '../http/paging.ts';
import { type Deployment, deploymentKinds, type NewDeployment } from './rules/deployment.ts';

export const newDeploymentSchema = z.strictObject({
  pipeline: identifier.describe('Pipeline of the config.'),
  kind: z.enum(deploymentKinds).describe('What was changed.'),
  version: identifier.describe('What is there now.'),
  note: shortText.optional().describe('Why, in short.'),
  occurred_at: timestamp.optional().describe('When it took effect; left out, now.'),
});

export const deploymentSchema = z.object({
  id: z.string(),
  pipeline: z.string(),
  kind: z.enum(deploymentKinds),
  version: z.string(),
  note: z.string().nullable(),
  source: z.enum(['annotated', 'detected']).describe('Told by somebody, or seen by recalld.'),
  occurred_at: z.iso.datetime(),
  changes: z
    .array(z.object({ trait: z.string(), before: z.string().nullable(), after: z.string().nullable() }))
    .describe('What recalld saw to have changed.'),
});

export const deploymentListQuery = z.strictObject({
  pipeline: identifier.optional().describe('Only those of this pipeline.'),
  ...numberedPageShape,
});

export function toNewDeployment(body: z.infer<typeof newDeploymentSchema>, now: Date): NewDeployment {
  const { pipeline, kind, version, note = null, occurred_at: occurredAt } = body;
  return { pipeline, kind, version, note, occurredAt: occurredAt === undefined ? now : new Date(occurredAt) };
}

export function deploymentJson(deployment: Deployment): z.infer<typeof deploymentSchema> {
  const { id, pipeline, kind, version, note, source, occurredAt, changes } = deployment;
  return {
    id,
    pipeline,
    kind,
    version,
    note,
    source,
    occurred_at: occurredAt.toISOString(),
    changes: [...changes],
  };
}
