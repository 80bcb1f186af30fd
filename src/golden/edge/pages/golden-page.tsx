/** A golden set of a pipeline over time: its scores with their bounds, the deployments between, every run. */
import { worstVerdict } from '../../../checks/rules/threshold.ts';
import { count, score } from '../../../core/format.ts';
import type { RunStatus } from '../../../core/model.ts';
import { DiagnosisPanel } from '../../../incidents/diagnosis/edge/pages/diagnosis.tsx';
import type { Incident } from '../../../incidents/diagnosis/rules/incident.ts';
import { deploymentMark } from '../../../live/deployments/edge/deployments-page.tsx';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import type { Measure } from '../../../math/ir/metric-key.ts';
import { TrendChart, type TrendLevel, type TrendPoint } from '../../../report/console/charts/trend-chart.tsx';
import {
  Badge,
  Bounded,
  Empty,
  Instant,
  Missing,
  Section,
  Table,
  type Tone,
  VerdictBadge,
} from '../../../report/console/components.tsx';
import { labelsPath, pipelinePath, runPath, within } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import type { GoldenBaseline } from '../../sql/golden-baselines.ts';
import type { HistoricRun } from '../../sql/run-results.ts';

export interface GoldenPageData {
  readonly pipeline: string;
  /** Of the config, and others that ran by hand. */
  readonly sets: readonly string[];
  /** Null while there is none. */
  readonly shown: ShownSet | null;
}

interface ShownSet {
  readonly goldenSet: string;
  readonly cron: string | null;
  /** By measure, within the range. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
  /** A page of those within the range, oldest first. */
  readonly runs: readonly HistoricRun[];
  /** What an address says to show those before them; null where there are none. */
  readonly older: string | null;
  readonly baseline: GoldenBaseline | null;
  /** Of the pipeline at the end of the range; null while nothing was in alarm. */
  readonly diagnosis: Incident | null;
  /** Within the range, oldest first. */
  readonly deployments: readonly Deployment[];
  /** Floors of the config by measure. */
  readonly floors: ReadonlyMap<string, TrendLevel>;
}

/** Measures that have a chart, the most telling first. */
export const charted: readonly { readonly measure: Measure; readonly name: string }[] = [
  { measure: 'ndcg', name: 'nDCG' },
  { measure: 'hit_rate', name: 'Hit rate' },
  { measure: 'mrr', name: 'MRR' },
  { measure: 'recall', name: 'Recall' },
];

export const runTones: Record<RunStatus, Tone> = {
  running: 'neutral',
  completed: 'neutral',
  void: 'critical',
  failed: 'critical',
  cancelled: 'neutral',
};

export function GoldenPage({ frame, data }: { readonly frame: Frame; readonly data: GoldenPageData }) {
  const { pipeline, sets, shown } = data;
  return (
    <Page frame={frame} title="Golden runs" pipeline={pipeline} section="golden">
      {sets.length > 1 ? (
        <nav class="choices" aria-label="Golden sets">
          <ul>
            {sets.map((set) => (
              <li key={set}>
                <a
                  href={within(frame.range, pipelinePath(pipeline, 'golden'), { set })}
                  aria-current={set === shown?.goldenSet ? 'true' : undefined}
                >
                  {set}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      ) : null}
      {shown === null ? (
        <Empty
          why="No golden set is measured on this pipeline, so nothing says how good its answers are."
          todo={
            <>
              Import one with <code>recalld golden import FILE --set NAME</code>, and name it under <code>golden</code>{' '}
              of the pipeline with a <code>cron</code>.
            </>
          }
        />
      ) : (
        <ShownSetParts frame={frame} pipeline={pipeline} shown={shown} />
      )}
    </Page>
  );
}

function ShownSetParts({
  frame,
  pipeline,
  shown,
}: {
  readonly frame: Frame;
  readonly pipeline: string;
  readonly shown: ShownSet;
}) {
  const { goldenSet, cron, trends, runs, older, baseline, diagnosis, deployments, floors } = shown;
  const { range } = frame;
  const marks = deployments.map(deploymentMark);
  const k = Math.max(...runs.flatMap(({ scores }) => scores.map((one) => one.k)), 0);
  return (
    <>
      <Section
        id="scores"
        title={`Scores of ${goldenSet}${k === 0 ? '' : ` at ${k}`}`}
        lead={
          <>
            {cron === null ? 'It runs by hand.' : `It runs by the schedule ${cron}.`} Bands are 95 % bounds; numbered
            lines are deployments.{' '}
            {baseline === null ? (
              'No baseline is pinned: open a completed run to pin it.'
            ) : (
              <>
                Compared with the baseline <a href={within(range, runPath(baseline.runId))}>{baseline.runId}</a>.
              </>
            )}
          </>
        }
        aside={<a href={within(range, labelsPath(pipeline, goldenSet))}>Labels of this set</a>}
      >
        <div class="charts">
          {charted.map(({ measure, name }) => (
            <TrendChart
              key={measure}
              id={`trend-${measure}`}
              title={`${name}${k === 0 ? '' : `@${k}`}`}
              from={range.from}
              until={range.until}
              series={[{ name, points: trends.get(measure) ?? [] }]}
              marks={marks}
              levels={floors.has(`${measure}@${k}`) ? [floors.get(`${measure}@${k}`) as TrendLevel] : []}
              limits={[0, 1]}
              show={score}
              empty="No run completed in this time. Choose a longer one."
            />
          ))}
        </div>
      </Section>
      {diagnosis === null ? null : (
        <Section id="diagnosis" title="Behind what is in alarm">
          <DiagnosisPanel diagnosis={diagnosis} range={range} isBrief />
        </Section>
      )}
      <Section id="runs" title="Runs" lead="Newest first.">
        {runs.length === 0 ? (
          <Empty
            why="No run started in this time."
            todo={
              <>
                Choose a longer time above, or run it now:{' '}
                <code>
                  recalld golden run --pipeline {pipeline} --set {goldenSet}
                </code>
              </>
            }
          />
        ) : (
          <RunTable frame={frame} runs={runs} baselineId={baseline?.runId ?? null} />
        )}
        {older === null ? null : (
          <p class="pager">
            <a href={`${within(range, pipelinePath(pipeline, 'golden'), { set: goldenSet, before: older })}#runs`}>
              Older runs
            </a>
          </p>
        )}
      </Section>
    </>
  );
}

function RunTable({
  frame,
  runs,
  baselineId,
}: {
  readonly frame: Frame;
  readonly runs: readonly HistoricRun[];
  readonly baselineId: string | null;
}) {
  return (
    <Table
      caption="Golden runs, newest first"
      isDense
      columns={[
        { title: 'Started (UTC)' },
        { title: 'Run' },
        { title: 'Verdict' },
        { title: 'Version', isNumber: true, isMinor: true },
        ...charted.map(({ name }, index) => ({ title: name, isNumber: true, isMinor: index > 1 })),
        { title: 'n', isNumber: true },
      ]}
      rows={runs.toReversed().map((run) => ({
        key: run.runId,
        cells: [
          <Instant at={run.startedAt} exact />,
          <>
            <a href={within(frame.range, runPath(run.runId))}>{run.runId}</a>
            {run.runId === baselineId ? <span class="of"> baseline</span> : null}
          </>,
          <Outcome run={run} />,
          run.goldenSetVersion,
          ...charted.map(({ measure }) => {
            const found = run.scores.find((one) => one.measure === measure);
            return found === undefined ? (
              <Missing>none</Missing>
            ) : (
              <Bounded value={found.mean} low={found.ciLow} high={found.ciHigh} />
            );
          }),
          count(run.scores[0]?.n ?? 0),
        ],
      }))}
    />
  );
}

/** What its checks say of a run that completed; else how it ended. */
function Outcome({ run: { status, verdicts } }: { readonly run: HistoricRun }) {
  if (status === 'completed' && verdicts.length > 0) return <VerdictBadge verdict={worstVerdict(verdicts)} />;
  return <Badge tone={runTones[status]}>{status === 'completed' ? 'not judged' : status}</Badge>;
}
