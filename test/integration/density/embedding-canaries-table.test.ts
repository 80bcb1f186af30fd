import { describe, expect, it } from 'vitest';
import { canariesTable } from '../../../src/index/probes/probes.ts';
import { useDatabase } from '../../support/database.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
const canaries = () => canariesTable(database.pool);
const vectors = [Float32Array.of(0.1, -2), Float32Array.of(3, 4e-20)];

describe('canary vectors', () => {
  it('are read as they were stored, bit for bit and in order', async () => {
    await canaries().save('docs', 'openai/small', vectors, hours(0));
    expect(await canaries().find('docs', 'openai/small')).toEqual(vectors);
  });

  it('are unknown for an embedder or a pipeline that was never probed', async () => {
    expect(await canaries().find('docs', 'openai/large')).toBeNull();
    expect(await canaries().find('faq', 'openai/small')).toBeNull();
  });

  it('are not overwritten by a second replica', async () => {
    await canaries().save('first', 'model', vectors, hours(0));
    await canaries().save('first', 'model', vectors.toReversed(), hours(1));
    expect(await canaries().find('first', 'model')).toEqual(vectors);
  });
});
