/** One pipeline: how it stands and why, its checks, every measure with its age, what changed lately. */
import { CheckTable } from '../checks/check-table.tsx';
import type { TrendPoint } from '../console/charts/trend-chart.tsx';
import { Empty, Section } from '../console/components/section.tsx';
import { Instant, Sentence, VerdictBadge } from '../console/components/values.tsx';
import { pipelinePath, runPath, within } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { DeploymentTable } from '../deployments/deployment-table.tsx';
import type { Annotation } from '../deployments/deployments.ts';
import { DiagnosisOf, IncidentTable } from '../diagnosis/pages/diagnosis.tsx';
import type { Incident } from '../diagnosis/rules/incident.ts';
import { MeasuresTable } from '../measures/measures-table.tsx';
import type { DetailedStatus } from './read-status.ts';
import { Reasons } from './status-page.tsx';

export interface OverviewPageData {
  readonly status: DetailedStatus;
  /** That holds; null while none does. */
  readonly diagnosis: Incident | null;
  /** That no longer hold, newest first. */
  readonly earlier: readonly Incident[];
  /** By golden set. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
  /** By deployment. */
  readonly notes: ReadonlyMap<string, readonly Annotation[]>;
}

export function OverviewPage({ frame, data }: { readonly frame: Frame; readonly data: OverviewPageData }) {
  const { status, diagnosis, earlier, trends, notes } = data;
  const { range, visitor, now } = frame;
  const { pipeline } = status;
  const hasNothing = status.golden.length === 0 && status.measurements.length === 0;
  return (
    <Page
      frame={frame}
      title="Overview"
      pipeline={pipeline}
      section="overview"
      aside={<VerdictBadge verdict={status.state} />}
    >
      <Section id="state" title="Why it stands as it does">
        <Reasons status={status} />
        <DiagnosisOf state={status.state} diagnosis={diagnosis} range={range} />
        <LatestRuns status={status} frame={frame} />
      </Section>
      <Section
        id="checks"
        title="Checks"
        lead="What is too old to trust judges nothing. The name of a check leads to its history."
      >
        {status.checks.length === 0 ? (
          <Empty
            why="No check is configured, so nothing says whether this pipeline is well."
            todo={
              <>
                Add one under <code>checks</code>, such as <code>{'{measure: ndcg@10, below: 0.8}'}</code>.
              </>
            }
          />
        ) : (
          <CheckTable
            caption={`Checks of ${pipeline}`}
            checks={status.checks}
            range={range}
            now={now}
            withPipeline={false}
          />
        )}
      </Section>
      <Section
        id="measures"
        title="Latest measures"
        lead="A value that is too old to trust is withheld; one that could not be measured says why."
      >
        {hasNothing ? (
          <Empty
            why="Nothing has been measured yet."
            todo="Import a golden set and name it under golden of this pipeline, or send live queries."
          />
        ) : (
          <MeasuresTable
            caption={`Latest measures of ${pipeline}`}
            golden={status.golden}
            measurements={status.measurements}
            trends={trends}
          />
        )}
      </Section>
      <Section id="earlier" title="Earlier incidents and their causes">
        {earlier.length === 0 ? (
          <p class="lead">None is kept: nothing was in alarm before.</p>
        ) : (
          <IncidentTable caption={`Earlier incidents of ${pipeline}`} incidents={earlier} range={range} />
        )}
      </Section>
      <Section id="deployments" title="Deployments of the last seven days">
        {status.deployments.length === 0 ? (
          <Empty
            why="Nothing was deployed that recalld was told of or saw."
            todo={
              <>
                Have your deploy step call{' '}
                <code>recalld deployments add --pipeline {pipeline} --kind index --version V</code>.
              </>
            }
          />
        ) : (
          <DeploymentTable
            caption={`Deployments of ${pipeline}`}
            deployments={status.deployments}
            notes={notes}
            range={range}
            withPipeline={false}
            formToken={visitor?.canAct === true ? visitor.formToken : null}
            back={pipelinePath(pipeline)}
          />
        )}
      </Section>
    </Page>
  );
}

/** The latest run of each set, whatever became of it, with the reason when it did not complete. */
function LatestRuns({ status, frame }: { readonly status: DetailedStatus; readonly frame: Frame }) {
  const runs = status.runs.flatMap(({ latest }) => (latest === null ? [] : [latest]));
  if (runs.length === 0) return null;
  return (
    <ul class="latest-runs">
      {runs.map((run) => (
        <li key={run.id}>
          Latest run of {run.goldenSet}: <a href={within(frame.range, runPath(run.id))}>{run.id}</a>, {run.status},{' '}
          <Instant at={run.startedAt} exact />
          {run.reason === null ? null : <Sentence>{`: ${run.reason}`}</Sentence>}
        </li>
      ))}
    </ul>
  );
}
