/** One golden run: what it came to, against its baseline, and query by query. */

import { count, duration, plural, score } from '../../../core/format.ts';
import type { Verdict } from '../../../core/model.ts';
import { percent } from '../../../core/text/spelling.ts';
import { DiagnosisPanel } from '../../../incidents/diagnosis/edge/pages/diagnosis.tsx';
import type { Incident } from '../../../incidents/diagnosis/rules/incident.ts';
import { countsOf, type ExplainedRun, verdictWords } from '../../../incidents/explain/answers.ts';
import type { Annotation } from '../../../live/deployments/deployments.ts';
import { deploymentMark, NoteForm, Notes } from '../../../live/deployments/edge/deployments-page.tsx';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import { TrendChart, type TrendPoint } from '../../../report/console/charts/trend-chart.tsx';
import {
  AskForm,
  Badge,
  type Fact,
  Facts,
  Instant,
  Section,
  Sentence,
  Table,
  VerdictBadge,
} from '../../../report/console/components.tsx';
import { checkHistoryPath, pipelinePath, runPath, runQueryPath, within } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import type { GoldenRun } from '../../rules/run.ts';
import type { RunSummaryJson } from '../../run-summary-schema.ts';
import type { GoldenBaseline } from '../../sql/golden-baselines.ts';
import { partsOfPipelineName } from '../../watched-pipeline.ts';
import { charted, runTones } from './golden-page.tsx';
import { PinForm, PinnedNote } from './pinned-baseline.tsx';
import { StagesSection } from './scores-part.tsx';
import { QueryTable, type QueryTableData, ScoreTable } from './tables.tsx';

export interface RunPageData {
  readonly run: GoldenRun;
  readonly summary: RunSummaryJson;
  /** From when on the trend is shown: the start of the run, where it lies before the range. */
  readonly from: Date;
  /** By measure. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
  /** Around the run, oldest first. */
  readonly deployments: readonly Deployment[];
  readonly notes: readonly Annotation[];
  /** Null when it is not the pinned baseline. */
  readonly baseline: GoldenBaseline | null;
  /** Of the alarm that the run was part of; null for none. */
  readonly diagnosis: Incident | null;
  readonly queries: QueryTableData;
  /** Why misses did not come back, asked just now; null: nobody asked for it. */
  readonly explained: ExplainedRun | null;
}

/** Each takes about five calls of the retriever. */
export const QUESTIONS_EXPLAINED = 20;

/** More would bury the scores. */
const MAX_FORBIDDEN = 50;

/** The most telling two. */
export const chartedOfRun = charted.slice(0, 2);

export function RunPage({ frame, data }: { readonly frame: Frame; readonly data: RunPageData }) {
  const { run, summary, from, trends, deployments, notes, baseline, diagnosis, queries, explained } = data;
  const { range, visitor } = frame;
  const back = runPath(run.id);
  const { pipeline, shadow } = partsOfPipelineName(run.pipeline);
  const formToken = visitor?.canAct === true ? visitor.formToken : null;
  return (
    <Page
      frame={frame}
      title={`Run of ${run.goldenSet}${shadow === null ? '' : ` by ${shadow}`}`}
      pipeline={pipeline}
      section={shadow === null ? 'golden' : 'experiments'}
      aside={
        run.status === 'completed' && summary.checks.length > 0 ? (
          <VerdictBadge verdict={summary.verdict} />
        ) : (
          <Badge tone={runTones[run.status]}>{run.status}</Badge>
        )
      }
    >
      {[alarmOf(run), summary.failure?.explanation ?? null, ...run.doubts].map((sentence) =>
        sentence === null ? null : (
          <p key={sentence} class="alarm" role="note">
            <Sentence>{sentence}</Sentence>
          </p>
        ),
      )}
      <Section
        id="run"
        title={run.id}
        aside={
          shadow === null ? (
            <a href={within(range, pipelinePath(pipeline, 'golden'), { set: run.goldenSet })}>
              All runs of {run.goldenSet}
            </a>
          ) : (
            <a href={pipelinePath(pipeline, 'experiments')}>What is known of {shadow}</a>
          )
        }
      >
        <Facts facts={factsOf(run, summary)} />
        <Notes notes={notes} />
        {formToken === null ? null : (
          <div class="acts">
            <NoteForm subject="run" id={run.id} name="this run" formToken={formToken} back={back} />
            {run.status === 'completed' && baseline === null ? (
              <PinForm
                runId={run.id}
                goldenSet={run.goldenSet}
                failed={summary.queries.error + summary.queries.timeout}
                formToken={formToken}
                back={back}
              />
            ) : null}
          </div>
        )}
        {baseline === null ? null : <PinnedNote baseline={baseline} />}
      </Section>
      {diagnosis === null ? null : (
        <Section id="diagnosis" title="Behind the alarm">
          <DiagnosisPanel diagnosis={diagnosis} range={range} />
        </Section>
      )}
      {summary.checks.length === 0 ? null : (
        <Section id="checks" title="Checks">
          <Table
            caption="Checks of this run"
            columns={[
              { title: 'Check' },
              { title: 'Verdict' },
              { title: 'Value', isNumber: true },
              { title: 'Threshold', isNumber: true },
            ]}
            rows={worstFirst(summary.checks).map((check) => ({
              key: `${check.name} ${check.severity}`,
              cells: [
                <>
                  <a href={checkHistoryPath(range, run.pipeline, check.name)}>{check.name}</a>
                  <span class="why">
                    <Sentence>{check.explanation}</Sentence>
                  </span>
                </>,
                <VerdictBadge verdict={check.verdict} isBlind={check.blind} />,
                check.value === null ? '' : score(check.value),
                score(check.threshold),
              ],
            }))}
          />
        </Section>
      )}
      {summary.forbidden.length === 0 ? null : (
        <Section
          id="forbidden"
          title="Forbidden documents"
          lead="They came back although the golden set forbids it, and again when asked a second time."
        >
          <Table
            caption="Forbidden documents that came back"
            columns={[{ title: 'Document' }, { title: 'Query' }, { title: 'Rank', isNumber: true }]}
            rows={summary.forbidden.slice(0, MAX_FORBIDDEN).map(({ query, document, rank }) => ({
              key: `${query} ${document}`,
              cells: [
                <code>{document}</code>,
                <a href={within(range, runQueryPath(run.id, query))}>{query}</a>,
                count(rank),
              ],
            }))}
          />
          {summary.forbidden.length > MAX_FORBIDDEN ? (
            <p class="lead">
              And {count(summary.forbidden.length - MAX_FORBIDDEN)} more; <code>recalld runs show {run.id} --json</code>{' '}
              has them all.
            </p>
          ) : null}
        </Section>
      )}
      {summary.no_answer === null ? null : <FalseAnswers runId={run.id} found={summary.no_answer} frame={frame} />}
      <Section
        id="scores"
        title="Scores"
        lead={
          summary.provisional
            ? 'The run goes on; these are the scores of the queries that are answered so far.'
            : 'Means over all judged queries, a query without an answer counts 0; 95 % bounds below.'
        }
      >
        <ScoreTable summary={summary} range={range} />
      </Section>
      {run.stages === null ? null : <StagesSection stages={run.stages} />}
      {run.status === 'completed' && shadow === null ? (
        <Misses runId={run.id} explained={explained} frame={frame} />
      ) : null}
      <Section id="trend" title="Where it stands" lead="Completed runs of this set; numbered lines are deployments.">
        <div class="charts">
          {chartedOfRun.map(({ measure, name }) => (
            <TrendChart
              key={measure}
              id={`trend-${measure}`}
              title={name}
              from={from}
              until={range.until}
              series={[{ name, points: trends.get(measure) ?? [] }]}
              marks={deployments.map(deploymentMark)}
              limits={[0, 1]}
              show={score}
              empty="No run completed in this time. Choose a longer one."
            />
          ))}
        </div>
      </Section>
      <QueryTable frame={frame} run={run} data={queries} />
    </Page>
  );
}

interface MissesProps {
  readonly runId: string;
  readonly explained: ExplainedRun | null;
  readonly frame: Frame;
}

function Misses({ runId, explained, frame }: MissesProps) {
  const { range } = frame;
  if (explained === null)
    return (
      <Section id="misses" title="Why relevant documents were missed">
        <AskForm frame={frame} section="misses" label="Ask why now">
          The retriever and the store are asked the first {QUESTIONS_EXPLAINED} questions with misses again, about five
          times each.
        </AskForm>
      </Section>
    );
  const { misses, explained: told } = explained;
  const counts = countsOf(told).map(([words, number]) => `${count(number)} ${words}`);
  const sum =
    told.length === 0 ? 'Nothing was missed.' : `Of ${plural(told.length, 'miss', 'misses')}: ${counts.join(', ')}.`;
  return (
    <Section
      id="misses"
      title="Why relevant documents were missed"
      lead={
        misses > told.length ? `${sum} The run has ${count(misses)}; recalld explain --run ${runId} takes more.` : sum
      }
    >
      {told.length === 0 ? null : (
        <Table
          caption="Missed documents, asked now"
          columns={[{ title: 'Query' }, { title: 'Document' }, { title: 'Verdict' }]}
          rows={told.map((one) => ({
            key: `${one.queryId} ${one.document}`,
            cells: [
              <a href={within(range, runQueryPath(runId, one.queryId ?? ''))}>{one.queryId}</a>,
              <code class="document">{one.document}</code>,
              <>
                {verdictWords(one)}
                <span class="why">{one.evidence.join(' ')}</span>
              </>,
            ],
          }))}
        />
      )}
    </Section>
  );
}

interface FalseAnswersProps {
  readonly runId: string;
  readonly found: NonNullable<RunSummaryJson['no_answer']>;
  readonly frame: Frame;
}

function FalseAnswers({ runId, found, frame }: FalseAnswersProps) {
  const { false_answer_ratio: ratio, ci_low: low, ci_high: high, n, answered, failed, worst } = found;
  return (
    <Section
      id="no-answer"
      title="Questions without an answer"
      lead={`${count(answered)} of ${count(n)} were answered and ${count(failed)} failed: ${percent(ratio)}, 95 % ${percent(low)} to ${percent(high)}. An empty answer is right.`}
    >
      {worst.length === 0 ? null : (
        <Table
          caption="Questions that were answered though nothing answers them"
          columns={[
            { title: 'Query' },
            { title: 'Documents', isNumber: true },
            { title: 'Highest score', isNumber: true },
          ]}
          rows={worst.map(({ query, documents, score: highest }) => ({
            key: query,
            cells: [
              <a href={within(frame.range, runQueryPath(runId, query))}>{query}</a>,
              count(documents),
              highest === null ? '' : score(highest),
            ],
          }))}
        />
      )}
      {answered > worst.length ? <p class="lead">And {count(answered - worst.length)} more.</p> : null}
    </Section>
  );
}

function worstFirst(checks: RunSummaryJson['checks']): RunSummaryJson['checks'] {
  const order: readonly Verdict[] = ['critical', 'warning', 'no_data', 'ok'];
  return checks.toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
}

function alarmOf(run: GoldenRun): string | null {
  if (run.reason !== null) return run.reason;
  return run.status === 'failed' ? 'The run did not come to its end; the log of recalld says why.' : null;
}

function factsOf(run: GoldenRun, { queries, labels }: RunSummaryJson): Fact[] {
  const failed = queries.error + queries.timeout;
  const seconds = run.finishedAt === null ? null : (run.finishedAt.getTime() - run.startedAt.getTime()) / 1000;
  return [
    { name: 'Started', value: <Instant at={run.startedAt} exact />, detail: triggers[run.trigger] },
    {
      name: 'Took',
      value: seconds === null ? 'still runs' : duration(seconds),
      ...(run.cause === null ? {} : { detail: run.cause }),
    },
    { name: 'Golden set', value: run.goldenSet, detail: `version ${run.goldenSetVersion}` },
    {
      name: 'Queries',
      value: count(queries.total),
      detail: `${plural(queries.ok, 'answered', 'answered')}, ${count(queries.empty)} empty, ${count(failed)} failed`,
    },
    {
      name: 'Documents gone',
      value: labels.stale === null ? 'unknown' : count(labels.stale + (labels.lost ?? 0)),
      detail:
        labels.reason ??
        (labels.probed === null
          ? undefined
          : `of ${plural(labels.probed, 'judged document')}: ${count(labels.lost ?? 0)} lost, ${count(labels.stale ?? 0)} superseded`),
    },
  ];
}

const triggers: Record<GoldenRun['trigger'], string> = {
  schedule: 'by its schedule',
  manual: 'by hand',
  sentinel: 'after a sentinel fell',
};
