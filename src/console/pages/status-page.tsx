/** All pipelines at a glance, those that need somebody first. */
import type { StoredDiagnosis } from '../../core/diagnosis/episode.ts';
import type { Verdict } from '../../core/model.ts';
import type { PipelineStatus } from '../../pipeline/publish/pipeline-status.ts';
import type { TrendPoint } from '../charts/trend.ts';
import { VerdictBadge } from '../components/badge.tsx';
import { DiagnosisOf } from '../components/diagnosis.tsx';
import { Reasons } from '../components/pipeline-state.tsx';
import { Empty } from '../components/section.tsx';
import { pipelinePath, within } from '../links.ts';
import { glanceMeasures } from '../measures.ts';
import { type Frame, Page } from '../page.tsx';
import { MeasuresTable } from './measures-table.tsx';

export interface PipelineGlance {
  readonly status: PipelineStatus;
  /** That holds; null while none does. */
  readonly diagnosis: StoredDiagnosis | null;
  /** By golden set. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
}

const worstFirst: readonly Verdict[] = ['critical', 'no_data', 'warning', 'ok'];

export function StatusPage({
  frame,
  pipelines,
}: {
  readonly frame: Frame;
  readonly pipelines: readonly PipelineGlance[];
}) {
  const ordered = worstFirst.flatMap((state) => pipelines.filter(({ status }) => status.state === state));
  const counts = worstFirst.map((state) => ({
    state,
    pipelines: pipelines.filter(({ status }) => status.state === state).length,
  }));
  return (
    <Page
      frame={frame}
      title="Status"
      section="status"
      aside={
        <ul class="tally" aria-label="Pipelines by state">
          {counts
            .filter(({ pipelines: number }) => number > 0)
            .map(({ state, pipelines: number }) => (
              <li key={state}>
                {number} <VerdictBadge verdict={state} />
              </li>
            ))}
        </ul>
      }
    >
      {ordered.length === 0 ? (
        <Empty
          why="The config names no pipeline, so there is nothing to watch."
          todo={
            <>
              Write a <code>recalld.yaml</code> with your retriever under <code>pipelines</code>, check it
              with <code>recalld config check</code> and start the daemon again.
            </>
          }
        />
      ) : (
        ordered.map(({ status, diagnosis, trends }) => (
          <section
            key={status.pipeline}
            class={`panel glance ${status.state}`}
            aria-labelledby={`p-${status.pipeline}`}
          >
            <div class="glance-state">
              <h2 id={`p-${status.pipeline}`}>
                <a href={within(frame.range, pipelinePath(status.pipeline))}>{status.pipeline}</a>
              </h2>
              <VerdictBadge verdict={status.state} />
              <Reasons status={status} />
              <DiagnosisOf state={status.state} diagnosis={diagnosis} range={frame.range} isBrief />
            </div>
            <div class="glance-measures">
              {status.golden.length === 0 && status.measurements.length === 0 ? (
                <Empty
                  why="Nothing has been measured yet."
                  todo="Import a golden set and name it under golden of this pipeline, or send live queries."
                />
              ) : (
                <MeasuresTable
                  caption={`Latest measures of ${status.pipeline}`}
                  golden={status.golden}
                  measurements={status.measurements.filter(({ measure }) => glanceMeasures.has(measure))}
                  trends={trends}
                />
              )}
            </div>
          </section>
        ))
      )}
    </Page>
  );
}
