/** All pipelines at a glance, those that need somebody first. */
import type { TrendPoint } from '../console/charts/trend-chart.tsx';
import { Empty } from '../console/components/section.tsx';
import { Sentence, VerdictBadge } from '../console/components/values.tsx';
import { pipelinePath, within } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { DiagnosisOf } from '../diagnosis/pages/diagnosis.tsx';
import type { Incident } from '../diagnosis/rules/incident.ts';
import { MeasuresTable } from '../measures/measures-table.tsx';
import { isGlanceMeasure } from '../measures/shown-measures.ts';
import type { Verdict } from '../model.ts';
import { allIsWell, type PipelineStatus } from './pipeline-status.ts';

export interface PipelineGlance {
  readonly status: PipelineStatus;
  /** That holds; null while none does. */
  readonly diagnosis: Incident | null;
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
              Write a <code>recalld.yaml</code> with your retriever under <code>pipelines</code>, check it with{' '}
              <code>recalld config check</code> and start the daemon again.
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
                  measurements={status.measurements.filter(({ measure }) => isGlanceMeasure(measure))}
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

/** How a pipeline stands: every reason why it is not well, each in the colour of what it makes of it. */
export function Reasons({ status }: { readonly status: Pick<PipelineStatus, 'reasons' | 'unknowns'> }) {
  const { reasons, unknowns } = status;
  const shown = reasons.length > 0 ? reasons : unknowns.map((sentence) => ({ verdict: 'no_data' as const, sentence }));
  return (
    <>
      {reasons.length > 0 ? null : <p class="reason-none">{allIsWell(status)}</p>}
      {shown.length === 0 ? null : (
        <ul class="reasons">
          {shown.map(({ verdict, sentence }) => (
            <li key={sentence} class={verdict}>
              <Sentence>{sentence}</Sentence>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
