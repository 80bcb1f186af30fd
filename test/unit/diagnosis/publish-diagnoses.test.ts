import { describe, expect, it } from 'vitest';
import { readDiagnosisGauges } from '../../../src/diagnosis/publish-diagnoses.ts';
import { aDiagnosis, NOON } from '../../support/builders.ts';
import { hours } from '../../support/measurements.ts';
import { MemoryDiagnoses } from '../../support/memory-diagnoses.ts';

describe('the gauge of diagnoses', () => {
  it('names the cause of every open one on a pipeline of the config', async () => {
    const diagnoses = new MemoryDiagnoses();
    await diagnoses.keep(aDiagnosis(), NOON);
    await diagnoses.keep(aDiagnosis({ pipeline: 'gone' }), NOON);
    const gaugesAt = await readDiagnosisGauges({ diagnoses, pipelines: ['docs'] });
    expect(gaugesAt(NOON)).toEqual([
      {
        name: 'recalld_diagnosis_info',
        labels: { pipeline: 'docs', cause: 'retriever_outage', confidence: 'high' },
        value: 1,
      },
    ]);
  });

  it('is gone when nothing is in alarm any more', async () => {
    const diagnoses = new MemoryDiagnoses();
    await diagnoses.keep(aDiagnosis(), NOON);
    await diagnoses.close('docs', hours(1));
    const gaugesAt = await readDiagnosisGauges({ diagnoses, pipelines: ['docs'] });
    expect(gaugesAt(NOON)).toEqual([]);
  });
});
