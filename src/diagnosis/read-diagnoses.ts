/** What is likely behind what is in alarm, pipeline by pipeline. */
import { type DiagnoseDeps, diagnoseNow } from './diagnose-pipeline.ts';
import { type FindingsJson, findingsJson, type IncidentJson, incidentJson } from './routes.ts';

export interface PipelineDiagnosis {
  readonly pipeline: string;
  /** The latest incident that the daemon kept, as it was; null when it found nothing in alarm ever. */
  readonly latest: IncidentJson | null;
  /** What is likely now, by what is stored; null when nothing is in alarm. */
  readonly now: FindingsJson | null;
}

/** @param only name of one pipeline; null for all of the config */
export async function readDiagnoses(deps: DiagnoseDeps, only: string | null): Promise<readonly PipelineDiagnosis[]> {
  const answers: PipelineDiagnosis[] = [];
  for (const pipeline of deps.pipelines.filter(({ name }) => only === null || name === only)) {
    const [latest] = await deps.incidents.list({ pipeline: pipeline.name, limit: 1 });
    const found = await diagnoseNow(deps, pipeline);
    answers.push({
      pipeline: pipeline.name,
      latest: latest === undefined ? null : incidentJson(latest),
      now: found === null ? null : findingsJson(found),
    });
  }
  return answers;
}
