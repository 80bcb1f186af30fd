/** The diagnoses that hold -> metric samples, for the annotations of alerts. */
import type { Diagnoses } from '../../ports/diagnoses.ts';
import { type GaugeSample, sample } from '../../ports/metrics.ts';

export interface DiagnosisGaugesDeps {
  readonly diagnoses: Pick<Diagnoses, 'open'>;
  /** Names of the pipelines of the config; what is stored of others is left out. */
  readonly pipelines: readonly string[];
}

export async function readDiagnosisGauges({
  diagnoses,
  pipelines,
}: DiagnosisGaugesDeps): Promise<GaugeSample[]> {
  const watched = new Set(pipelines);
  return (await diagnoses.open())
    .filter(({ pipeline }) => watched.has(pipeline))
    .map(({ pipeline, cause, confidence }) =>
      sample('recalld_diagnosis_info', { pipeline, cause, confidence }, 1),
    );
}
