import { describe, expect, it } from 'vitest';
import { createDeployments, type Observation } from '../../../../src/live/deployments/deployments.ts';
import { fingerprintOf } from '../../../../src/live/deployments/rules/deployment.ts';
import { useDatabase } from '../../../support/database.ts';
import { hours } from '../../../support/measurements.ts';

const database = useDatabase();
const deployments = () => createDeployments(database.pool);

let pipelines = 0;
const aPipeline = (): string => `docs-${(pipelines += 1)}`;

function anObservation(pipeline: string, traits: Record<string, string>, at: Date): Observation {
  return { pipeline, component: 'index', traits, fingerprint: fingerprintOf(traits), at };
}

describe('the fingerprint of a component', () => {
  it('records no deployment at first, nor while it is unchanged', async () => {
    const pipeline = aPipeline();
    expect(await deployments().observe(anObservation(pipeline, { m: '16' }, hours(0)))).toBeNull();
    expect(await deployments().observe(anObservation(pipeline, { m: '16' }, hours(1)))).toBeNull();
    expect(await deployments().list({ pipeline, limit: 10 })).toEqual([]);
    const seen = (await deployments().fingerprints()).find((one) => one.pipeline === pipeline);
    expect(seen).toMatchObject({ since: hours(0), seenAt: hours(1), traits: { m: '16' } });
  });

  it('records one deployment with its changes, even if several replicas detect it', async () => {
    const pipeline = aPipeline();
    await deployments().observe(anObservation(pipeline, { m: '16' }, hours(0)));
    const changed = anObservation(pipeline, { m: '32' }, hours(1));
    const seen = await Promise.all(Array.from({ length: 8 }, () => deployments().observe(changed)));
    expect(seen.filter((one) => one !== null)).toHaveLength(1);
    expect(await deployments().list({ pipeline, limit: 10 })).toEqual([
      {
        id: expect.any(String) as string,
        pipeline,
        kind: 'index',
        version: changed.fingerprint,
        note: null,
        source: 'detected',
        occurredAt: hours(1),
        changes: [{ trait: 'm', before: '16', after: '32' }],
      },
    ]);
  });

  it('is not overwritten by an older probe', async () => {
    const pipeline = aPipeline();
    await deployments().observe(anObservation(pipeline, { m: '16' }, hours(0)));
    await deployments().observe(anObservation(pipeline, { m: '32' }, hours(2)));
    expect(await deployments().observe(anObservation(pipeline, { m: '16' }, hours(1)))).toBeNull();
    expect(await deployments().list({ pipeline, limit: 10 })).toHaveLength(1);
  });
});

describe('deployments', () => {
  it('are listed newest first, in pages, of one or all pipelines', async () => {
    const pipeline = aPipeline();
    const other = aPipeline();
    for (const [index, at] of [hours(2), hours(1), hours(1)].entries()) {
      await deployments().annotate(
        {
          pipeline,
          kind: 'retriever',
          version: `v${index}`,
          note: null,
          occurredAt: at,
        },
        'ann',
        at,
      );
    }
    await deployments().annotate(
      {
        pipeline: other,
        kind: 'golden',
        version: '2',
        note: 'new',
        occurredAt: hours(3),
      },
      'ann',
      hours(3),
    );
    const first = await deployments().list({ pipeline, limit: 2 });
    expect(first.map(({ version }) => version)).toEqual(['v0', 'v2']);
    const rest = await deployments().list({ pipeline, limit: 2, before: first[1]?.id ?? '' });
    expect(rest.map(({ version }) => version)).toEqual(['v1']);
    expect((await deployments().list({ limit: 1 }))[0]).toMatchObject({ pipeline: other, note: 'new' });
    expect(await deployments().list({ pipeline, since: hours(2), limit: 10 })).toHaveLength(1);
  });
});
