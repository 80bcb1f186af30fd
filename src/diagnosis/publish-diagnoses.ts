/** The diagnoses that hold -> metric samples, for the annotations of alerts. */

import { type GaugesAt, sample } from '../metrics/meter.ts';
import type { Diagnoses } from './ports/diagnoses.ts';

export interface DiagnosisGaugesDeps {
  readonly diagnoses: Pick<Diagnoses, 'open'>;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
}

export async function readDiagnosisGauges({ diagnoses, pipelines }: DiagnosisGaugesDeps): Promise<GaugesAt> {
  const watched = new Set(pipelines);
  const samples = (await diagnoses.open())
    .filter(({ pipeline }) => watched.has(pipeline))
    .map(({ pipeline, cause, confidence }) =>
      sample('recalld_diagnosis_info', { pipeline, cause, confidence }, 1),
    );
  return () => samples;
}
