/**
 * How pipelines stand: all of them at a glance, those that need somebody first, and one of them, with the latest of
 * each of its measures and its age; what is too old or came to nothing says so.
 */

import type { ComponentChildren } from 'preact';
import { CheckTable } from '../../checks/edge/check-table.tsx';
import { count } from '../../core/format.ts';
import { ALL_SEGMENT, type Verdict } from '../../core/model.ts';
import { DiagnosisOf, IncidentTable } from '../../incidents/diagnosis/edge/pages/diagnosis.tsx';
import type { Incident } from '../../incidents/diagnosis/rules/incident.ts';
import type { Annotation } from '../../live/deployments/deployments.ts';
import { DeploymentTable } from '../../live/deployments/edge/deployments-page.tsx';
import { gapWords } from '../../measures/rules/measure-table.ts';
import { inReadingOrder, isGlanceMeasure, shownMeasure } from '../../measures/shown-measures.ts';
import { Sparkline, type TrendPoint } from '../console/charts/trend-chart.tsx';
import {
  Age,
  Bounded,
  Empty,
  Instant,
  Missing,
  Section,
  Sentence,
  Table,
  type TableRow,
  VerdictBadge,
} from '../console/components.tsx';
import { pipelinePath, runPath, within } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { allIsWell, type GoldenSetStatus, type MeasurementStatus, type PipelineStatus } from './pipeline-status.ts';
import type { DetailedStatus } from './read-status.ts';

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

/** What golden runs are told by at a glance. */
const headlines = ['ndcg', 'hit_rate', 'mrr'] as const;

interface MeasuresTableProps {
  readonly caption: string;
  readonly golden: readonly GoldenSetStatus[];
  readonly measurements: readonly MeasurementStatus[];
  /** By golden set, of the first headline. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
}

export function MeasuresTable({ caption, golden, measurements, trends }: MeasuresTableProps) {
  const rows = [
    ...golden.flatMap((set) => goldenRows(set, trends.get(set.goldenSet) ?? [])),
    ...inReadingOrder(measurements.filter(({ segment }) => segment === ALL_SEGMENT)).map(measurementRow),
  ];
  return (
    <Table
      caption={caption}
      isCompact
      columns={[
        { title: 'Measure' },
        { title: 'Value, 95 % bounds', isNumber: true },
        { title: 'n', isNumber: true },
        { title: 'Measured', isNumber: true },
        { title: 'Trend', isMinor: true },
      ]}
      rows={rows}
    />
  );
}

function goldenRows({ goldenSet, completed }: GoldenSetStatus, trend: readonly TrendPoint[]): TableRow[] {
  const key = (measure: string) => `${goldenSet}/${measure}`;
  if (completed === null) {
    return [row(key('none'), `Golden set ${goldenSet}`, <Missing>no run has completed</Missing>, '', '', null)];
  }
  const { scores, ageSeconds, isTooOld } = completed;
  const all = scores.filter(({ segment }) => segment === ALL_SEGMENT);
  const k = Math.max(...all.map((one) => one.k));
  return headlines.flatMap((measure, index) => {
    const found = all.find((one) => one.measure === measure && one.k === k);
    if (found === undefined) return [];
    const value = isTooOld ? (
      <Missing>withheld</Missing>
    ) : (
      <Bounded value={found.mean} low={found.ciLow} high={found.ciHigh} />
    );
    const name = (
      <>
        {measure}@{k} <span class="of">{goldenSet}</span>
      </>
    );
    const age = <Age seconds={ageSeconds} isTooOld={isTooOld} />;
    return [row(key(measure), name, value, count(found.n), age, index === 0 ? <Sparkline points={trend} /> : null)];
  });
}

function measurementRow({ measure, newest, gap, isTooOld }: MeasurementStatus): TableRow {
  const { title: name, show, note } = shownMeasure(measure);
  const last = gap ?? newest;
  const shown = gap === null && !isTooOld ? newest : null;
  const value =
    shown === null ? (
      <Missing>{gap === null ? 'withheld' : `none: ${gapWords(gap.reason)}`}</Missing>
    ) : (
      <Bounded value={shown.value} low={shown.ciLow} high={shown.ciHigh} show={show} />
    );
  const age = last === null ? '' : <Age seconds={last.ageSeconds} isTooOld={isTooOld} />;
  const title = note === '' ? name : <span title={note}>{name}</span>;
  return row(measure, title, value, shown === null ? '' : count(shown.n), age, null);
}

function row(
  key: string,
  name: ComponentChildren,
  value: ComponentChildren,
  n: ComponentChildren,
  age: ComponentChildren,
  trend: ComponentChildren,
): TableRow {
  return { key, cells: [name, value, n, age, trend] };
}
