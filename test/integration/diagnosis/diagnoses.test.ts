import { describe, expect, it } from 'vitest';
import { createDiagnoses, readDiagnosisGauges } from '../../../src/diagnosis/diagnoses.ts';
import { aDiagnosis } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { hours } from '../../support/measurements.ts';

const database = useDatabase();
const diagnoses = () => createDiagnoses(database.pool);

let pipelines = 0;
const aPipeline = (): string => `diagnosed-${(pipelines += 1)}`;

describe('diagnoses in PostgreSQL', () => {
  it('open once for an episode, however many replicas look', async () => {
    const pipeline = aPipeline();
    const looks = Array.from({ length: 8 }, () => diagnoses().keep(aDiagnosis({ pipeline }), hours(0)));
    const stored = await Promise.all(looks);
    expect(stored.filter((one) => one === 'opened')).toHaveLength(1);
    expect(stored.filter((one) => one === 'unchanged')).toHaveLength(7);
    expect(await diagnoses().list({ pipeline, limit: 10 })).toHaveLength(1);
  });

  it('come back as they were kept', async () => {
    const pipeline = aPipeline();
    const kept = aDiagnosis({
      pipeline,
      signs: [{ name: 'canary', state: 'changed', sentence: 'Fixed texts have other vectors.' }],
    });
    await diagnoses().keep(kept, hours(0));
    expect(await diagnoses().current(pipeline)).toEqual({
      ...kept,
      id: expect.any(String) as string,
      openedAt: hours(0),
      revisedAt: hours(0),
      closedAt: null,
    });
  });

  it('are revised in place while they are guesses, and never by an older look', async () => {
    const pipeline = aPipeline();
    const guess = aDiagnosis({ pipeline, cause: 'unknown', confidence: 'low' });
    await diagnoses().keep(guess, hours(0));
    expect(await diagnoses().keep(aDiagnosis({ pipeline }), hours(2))).toBe('revised');
    expect(await diagnoses().keep(guess, hours(1))).toBe('outdated');
    expect(await diagnoses().current(pipeline)).toMatchObject({
      cause: 'retriever_outage',
      openedAt: hours(0),
      revisedAt: hours(2),
    });
  });

  it('keep one that was trusted in the history when another cause takes over', async () => {
    const pipeline = aPipeline();
    await diagnoses().keep(aDiagnosis({ pipeline }), hours(0));
    const other = aDiagnosis({ pipeline, cause: 'index_lost_documents', runId: 'run-2' });
    expect(await diagnoses().keep(other, hours(1))).toBe('superseded');
    const [second, first] = await diagnoses().list({ pipeline, limit: 10 });
    expect(first).toMatchObject({ cause: 'retriever_outage', closedAt: hours(1) });
    expect(second).toMatchObject({ cause: 'index_lost_documents', closedAt: null });
    const page = await diagnoses().list({ pipeline, before: second?.id ?? '', limit: 1 });
    expect(page.map(({ id }) => id)).toEqual([first?.id]);
  });

  it('are found by the time that they held at', async () => {
    const pipeline = aPipeline();
    await diagnoses().keep(aDiagnosis({ pipeline }), hours(2));
    await diagnoses().keep(aDiagnosis({ pipeline, cause: 'index_lost_documents', runId: 'run-2' }), hours(4));
    const holding = async (from: number, until: number) => {
      const found = await diagnoses().list({
        pipeline,
        holding: { from: hours(from), until: hours(until) },
        limit: 10,
      });
      return found.map(({ cause }) => cause);
    };
    expect(await holding(0, 1)).toEqual([]);
    expect(await holding(1, 2)).toEqual(['retriever_outage']);
    expect(await holding(3, 5)).toEqual(['index_lost_documents', 'retriever_outage']);
    expect(await holding(4, 5)).toEqual(['index_lost_documents']);
  });

  it('close when nothing is in alarm, open anew after, and are dropped when old', async () => {
    const pipeline = aPipeline();
    await diagnoses().keep(aDiagnosis({ pipeline }), hours(0));
    expect(await diagnoses().close(pipeline, hours(1))).toBe(true);
    expect(await diagnoses().close(pipeline, hours(2))).toBe(false);
    expect(await diagnoses().keep(aDiagnosis({ pipeline }), hours(3))).toBe('opened');
    await diagnoses().prune(hours(2));
    const left = await diagnoses().list({ pipeline, limit: 10 });
    expect(left.map(({ openedAt }) => openedAt)).toEqual([hours(3)]);
    expect((await diagnoses().open()).map((one) => one.pipeline)).toContain(pipeline);
  });
});

describe('the gauge of diagnoses', () => {
  it('names the cause of every open one on a pipeline of the config, and is gone with the alarm', async () => {
    const pipeline = aPipeline();
    await diagnoses().keep(aDiagnosis({ pipeline }), hours(0));
    await diagnoses().keep(aDiagnosis({ pipeline: aPipeline() }), hours(0));
    const read = async () => (await readDiagnosisGauges({ diagnoses: diagnoses(), pipelines: [pipeline] }))(hours(0));
    expect(await read()).toEqual([
      {
        name: 'recalld_diagnosis_info',
        labels: { pipeline, cause: 'retriever_outage', confidence: 'high' },
        value: 1,
      },
    ]);
    await diagnoses().close(pipeline, hours(1));
    expect(await read()).toEqual([]);
  });
});
