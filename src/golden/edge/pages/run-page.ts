import { isBreach } from '../../../checks/rules/threshold.ts';
import type { Context } from '../../../core/context.ts';
import { count, duration, plural } from '../../../core/format.ts';
import { diagnosisPanel } from '../../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { countsOf, type ExplainedRun, explainRun, verdictWords } from '../../../incidents/explain/answers.ts';
import { deploymentMark, noteForm, notes } from '../../../live/deployments/edge/deployments-page.ts';
import type { Query } from '../../../report/console/http/visit.ts';
import { pipelinePath, runPath, runQuery, type TimeRange } from '../../../report/console/links.ts';
import type { Content, ContentNode, Form, PageContent, Section } from '../../../report/model/content.ts';
import {
  ask,
  badge,
  callout,
  documentId,
  exactTime,
  fact,
  facts,
  group,
  link,
  paragraph,
  section,
  table,
  verdictBadge,
  why,
} from '../../../report/model/show.ts';
import { staleParts } from '../../rules/labels.ts';
import type { GoldenRun } from '../../rules/run.ts';
import type { RunSummaryJson } from '../../run-summary-schema.ts';
import { findRun } from '../../runs/stored-runs.ts';
import { partsOfPipelineName } from '../../watched-pipeline.ts';
import { summarizeAnyRun } from '../golden-routes.ts';
import { charted, goldenChart, runTones } from './golden-page.ts';
import { comparedWith, deploymentsWithin, diagnosisOf } from './golden-reads.ts';
import { queryTable, readQueryTable } from './query-table.ts';
import { baselineNote, checksSection, forbiddenSection, noAnswerSection, scoresSection } from './run-sections.ts';
import { stagesSection } from './stages.ts';

/**
 * Maximum number of queries whose misses are explained; each explanation sends about five requests to the retriever and
 * the store.
 */
export const QUERIES_EXPLAINED = 20;

/** The two most informative measures of a run, which are shown first. */
const chartedOfRun = charted.slice(0, 2);

const RUNS_BEFORE = 16;

type RunPageData = Awaited<ReturnType<typeof readRunPage>>;

export async function readRunPage(context: Context, runId: string, range: TimeRange, query: Query, isAsked: boolean) {
  const { db, reads } = context;
  const { runs } = db.golden;
  const run = await findRun(runs, runId);
  const { pipeline, goldenSet } = run;
  const earlier = await runs.list({ pipeline, goldenSet, status: 'completed', before: run, limit: RUNS_BEFORE });
  // The trend starts before the run, so that a drop is visible.
  const earliest = earlier.at(-1)?.startedAt ?? run.startedAt;
  const from = earliest < range.from ? earliest : range.from;
  const [last] = earlier;
  const [previous, summary, trends, deployments, notes, pinned, diagnosis, chosen] = await Promise.all([
    last === undefined ? null : runs.scores(last.id),
    summarizeAnyRun(context, run),
    reads.golden.runReads.trends({
      pipeline,
      goldenSet,
      from,
      until: range.until,
      measures: chartedOfRun.map(({ measure }) => measure),
    }),
    deploymentsWithin(context, pipeline, from, range.until),
    db.live.annotations.of('run', [run.id]),
    db.golden.baselines.pinned(pipeline, goldenSet),
    diagnosisOf(context, run),
    query['against'] === undefined ? null : findRun(runs, query['against']),
  ]);
  const against =
    chosen ?? (await comparedWith(context, run, diagnosis, [summary.baseline?.run_id, summary.deployment?.run_id]));
  return {
    run,
    summary,
    /** Scores of the previous completed run; null for the first run. */
    previous,
    /** Start of the trend, which includes earlier runs. */
    from,
    trends,
    deployments,
    notes: notes.get(run.id) ?? [],
    /** The pin of this run; null if this run is not the baseline. */
    baseline: pinned?.runId === run.id ? pinned : null,
    diagnosis,
    queries: await readQueryTable(context, run, against, isBreach(summary.verdict), summary.metrics, query),
    /** Explanations of missed documents, determined while the page is built; null unless requested. */
    explained: isAsked ? await explainRun(context, run.id, { queryId: null, limit: QUERIES_EXPLAINED }) : null,
  };
}

export function runPage(data: RunPageData): PageContent {
  const { run, summary, previous, from, trends, deployments, baseline, diagnosis, queries, explained } = data;
  const { pipeline, shadow } = partsOfPipelineName(run.pipeline);
  return {
    title: `Run of ${run.goldenSet}${shadow === null ? '' : ` by ${shadow}`}`,
    pipeline,
    section: shadow === null ? 'golden' : 'experiments',
    aside:
      run.status === 'completed' && summary.checks.length > 0
        ? verdictBadge(summary.verdict)
        : badge(run.status, runTones[run.status]),
    content: [
      [problemOf(run), summary.failure?.explanation, ...run.warnings].map((sentence) => sentence && callout(sentence)),
      section(
        'run',
        run.id,
        {
          aside:
            shadow === null
              ? link(`All runs of ${run.goldenSet}`, pipelinePath(pipeline, 'golden'), { set: run.goldenSet })
              : link(`Comparison of ${shadow}`, pipelinePath(pipeline, 'experiments')),
        },
        runFacts(run, summary),
        notes(data.notes),
        group(
          'acts',
          noteForm('run', run.id, 'this run', runPath(run.id)),
          run.status === 'completed' && baseline === null && pinForm(run, summary.queries),
        ),
        baseline !== null && baselineNote(baseline),
      ),
      diagnosis !== null && section('diagnosis', 'Diagnosis', {}, diagnosisPanel(diagnosis)),
      checksSection(summary),
      forbiddenSection(summary),
      scoresSection(summary, previous),
      section(
        'trend',
        'Trend',
        { lead: 'Completed runs of this set; numbered lines show deployments.' },
        group(
          'charts',
          chartedOfRun.map(({ measure }) =>
            goldenChart(`trend-${measure}`, measure, 0, trends.get(measure) ?? [], {
              from,
              marks: deployments.map(deploymentMark),
              empty: 'No run completed in this period. Choose a longer period.',
            }),
          ),
        ),
      ),
      queryTable(run, queries),
      noAnswerSection(summary),
      stagesSection(summary),
      run.status === 'completed' && shadow === null && misses(run.id, explained),
    ],
  };
}

function misses(runId: string, explained: ExplainedRun | null): Section {
  const title = 'Why relevant documents were missed';
  if (explained === null)
    return section(
      'misses',
      title,
      {},
      ask(
        'misses',
        'Explain now',
        `Sends about five requests to the retriever and the store for each of the first ${QUERIES_EXPLAINED} queries with misses.`,
      ),
    );
  const { misses: all, explained: shown } = explained;
  const counts = countsOf(shown).map(([words, number]) => `${count(number)} ${words}`);
  const sum =
    shown.length === 0 ? 'Nothing was missed.' : `Of ${plural(shown.length, 'miss', 'misses')}: ${counts.join(', ')}.`;
  const rest = ` The run has ${plural(all, 'miss', 'misses')}; \`recalld explain --run ${runId}\` explains more.`;
  return section(
    'misses',
    title,
    { lead: `${sum}${all > shown.length ? rest : ''}` },
    shown.length > 0 &&
      table('Missed documents', shown, [
        [
          'Query',
          ({ queryId, question: { step } }) => [runQuery(runId, queryId ?? ''), step !== undefined && `, step ${step}`],
        ],
        ['Document', ({ document }) => documentId(document)],
        ['Verdict', (one) => [verdictWords(one), why(one.evidence.join(' '))]],
      ]),
  );
}

function problemOf(run: GoldenRun): string | null {
  if (run.reason !== null) return run.reason;
  return run.status === 'failed' ? "The run failed. See recalld's log." : null;
}

function runFacts(run: GoldenRun, { queries, labels }: RunSummaryJson): ContentNode {
  const failed = queries.error + queries.timeout;
  const seconds = run.finishedAt === null ? null : (run.finishedAt.getTime() - run.startedAt.getTime()) / 1000;
  return facts(
    fact('Started', exactTime(run.startedAt), triggers[run.trigger]),
    fact('Took', seconds === null ? 'still running' : duration(seconds), run.cause),
    fact('Golden set', run.goldenSet, `version ${run.goldenSetVersion}`),
    fact(
      'Queries',
      queries.total,
      `${plural(queries.ok, 'answered', 'answered')}, ${count(queries.empty)} empty, ${count(failed)} failed`,
    ),
    fact(
      'Missing documents',
      labels.stale === null ? 'unknown' : labels.stale + (labels.lost ?? 0),
      labels.reason ??
        (labels.probed !== null &&
          `of ${plural(labels.probed, 'judged document')}: ${count(labels.lost ?? 0)} lost, ${staleParts(labels.stale ?? 0, labels.deleted ?? 0)}`),
    ),
  );
}

const triggers: Record<GoldenRun['trigger'], string> = {
  schedule: 'scheduled',
  manual: 'manual',
  sentinel: 'after a failed sentinel',
};

function pinForm({ id, goldenSet }: GoldenRun, { error, timeout }: RunSummaryJson['queries']): Form {
  const failed = error + timeout;
  const confirmed: Content = failed > 0 && {
    kind: 'input',
    type: 'checkbox',
    name: 'with_failures',
    value: 'yes',
    label: `${plural(failed, 'query', 'queries')} of this run failed and would count as 0 in the baseline. Pin the run anyway.`,
    attributes: { required: true },
  };
  return {
    kind: 'form',
    action: '/actions/pin-baseline',
    hidden: { back: runPath(id), run_id: id },
    fold: { summary: 'Pin as baseline' },
    content: [
      paragraph(`Later runs of ${goldenSet} are compared with this run instead of the current baseline.`),
      { kind: 'input', type: 'text', name: 'note', label: 'Why (optional)', attributes: { maxLength: 500 } },
      confirmed,
      { kind: 'button', text: 'Pin this run' },
    ],
  };
}
