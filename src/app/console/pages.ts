/**
 * The pages of the console. They include the runbooks, so alerts can link to runbooks that no other server publishes.
 */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Marked } from 'marked';
import { checksPage, readChecksPage } from '../../checks/edge/checks-page.ts';
import { type Context, onReplica } from '../../core/context.ts';
import { type ErrorCode, RecalldError } from '../../core/errors.ts';
import { ALL_SEGMENT } from '../../core/model.ts';
import { parseBoundedJson } from '../../core/text/json.ts';
import { MAX_COMPLAINTS_EXPLAINED } from '../../density/edge/complaints-reads.ts';
import { densityPage } from '../../density/edge/density-page.ts';
import { experimentsPage, readExperimentsPage } from '../../experiments/edge/experiments-page.ts';
import { pinBaseline } from '../../golden/edge/golden-routes.ts';
import { goldenPage, readGoldenPage } from '../../golden/edge/pages/golden-page.ts';
import { readQueryPage } from '../../golden/edge/pages/golden-reads.ts';
import { type LabelsPageData, labelsPage } from '../../golden/edge/pages/labels-page.ts';
import { queryPage } from '../../golden/edge/pages/query-page.ts';
import { QUERIES_EXPLAINED, readRunPage, runPage } from '../../golden/edge/pages/run-page.ts';
import type { Acceptance } from '../../golden/rules/labels.ts';
import { findRun } from '../../golden/runs/stored-runs.ts';
import { acceptLabelFixes, findLabelFixes } from '../../golden/sets/label-fixes.ts';
import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { incidentPage } from '../../incidents/diagnosis/edge/pages/incident-page.ts';
import { readIncidentPage } from '../../incidents/diagnosis/edge/pages/incident-reads.ts';
import { findIncident, markCause } from '../../incidents/diagnosis/edge/routes.ts';
import { causes } from '../../incidents/diagnosis/rules/cause.ts';
import { silenceLengths } from '../../incidents/notifications/edge/silence-panel.ts';
import { addSilence, endSilence } from '../../incidents/notifications/silences.ts';
import { indexCharts, indexPage } from '../../index/truth/edge/index-page.ts';
import { readIndexPage } from '../../index/truth/index-reads.ts';
import { judgePage, readJudgePage, storeGrade } from '../../judging/edge/judge-page.ts';
import { type AnnotationSubject, annotationSubjects } from '../../live/deployments/deployments.ts';
import { deploymentsPage, MAX_NOTE } from '../../live/deployments/edge/deployments-page.ts';
import { trafficPage } from '../../live/edge/pages/traffic-page.ts';
import { readDensityPage, readTrafficPage } from '../../live/edge/pages/traffic-reads.ts';
import { consoleVisitor, keyName, personOf } from '../../platform/access/audit-log.ts';
import type { AuthenticationSettings } from '../../platform/access/authentication.ts';
import { addSessions, type Sessions } from '../../platform/access/edge/session.ts';
import { addSignIn } from '../../platform/access/edge/sign-in.tsx';
import type { ContextOf } from '../../platform/access/pipeline-access.ts';
import { durationMs } from '../../platform/config/times.ts';
import { addAssets, secure } from '../../report/console/http/defences.ts';
import { addErrorPages } from '../../report/console/http/error-pages.ts';
import {
  acceptFormsOf,
  fieldsOf,
  frameOf,
  ownPath,
  type Query,
  queryOf,
  sendPage,
  valuesOf,
} from '../../report/console/http/visit.ts';
import { address, labelsPath } from '../../report/console/links.ts';
import type { Frame } from '../../report/console/page.tsx';
import { showsTextOf } from '../../report/console/shows-text.ts';
import type { PageContent } from '../../report/model/content.ts';
import { overviewPage } from '../../report/status/overview-page.ts';
import { readOverviewPage, readStatusPage } from '../../report/status/overview-reads.ts';
import { statusPage } from '../../report/status/status-page.ts';
import { readDeploymentsPage } from '../../report/status/status-reads.ts';
import { version } from '../version.ts';
import type { pageAccess } from './page-access.ts';

/** Folder of the runbooks. The path is valid in both dist and src. */
const folder = path.join(import.meta.dirname, '../../../docs/runbooks');

/** Runbooks link to each other; other links to the documentation are removed, because the console does not serve it. */
const markdown = new Marked({
  renderer: {
    link(href, _title, text) {
      const [, name] = /^(\w+)\.md$/.exec(href) ?? [];
      if (name !== undefined) return `<a href="/runbooks/${name}">${text}</a>`;
      return /^https?:\/\//.test(href) ? `<a href="${encodeURI(href)}">${text}</a>` : text;
    },
    html: (html) => html.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  },
});

/** @throws RecalldError runbook_unknown */
export async function readRunbook(name: string): Promise<{ readonly title: string; readonly html: string }> {
  const text = /^\w+$/.test(name) ? await readFile(path.join(folder, `${name}.md`), 'utf8').catch(() => null) : null;
  if (text === null) throw new RecalldError('runbook_unknown', `There is no runbook ${name}; see /runbooks/README.`);
  const [, title = name] = /^# (.*)$/m.exec(text) ?? [];
  return { title, html: await markdown.parse(text.replace(/^<!--[^]*?-->\s*/, '').replace(/^# .*$/m, '')) };
}

const MAX_REASON = 500;

const unknownSubject = {
  run: 'run_unknown',
  deployment: 'deployment_unknown',
  incident: 'incident_unknown',
} as const satisfies Record<AnnotationSubject, ErrorCode>;

function addActions(app: FastifyInstance, contextOf: ContextOf, { clock, config }: Context, sessions: Sessions): void {
  void app.register(async (scope) => {
    await acceptFormsOf(scope, config.alerts.console_base_url, async (request, reply) => {
      const visitor = await sessions.visitorOf(request, reply);
      if (visitor.canAct) return visitor;
      if (visitor.user !== null)
        throw new RecalldError(
          'role_missing',
          `${visitor.user.name} has the "read" role; this action needs the "admin" role.`,
        );
      throw new RecalldError(
        'key_lacks_scope',
        `The API key "${visitor.key?.name ?? ''}" lacks the admin scope, which this action requires.`,
      );
    });

    scope.post('/actions/pin-baseline', async (request, reply) => {
      const { run_id: runId = '', note = '', with_failures: withFailures, back } = fieldsOf(request);
      await pinBaseline(contextOf(request), runId, {
        note: note.trim() === '' ? null : note.trim().slice(0, MAX_REASON),
        withFailures: withFailures === 'yes',
        by: consoleVisitor(request),
      });
      return goBack(reply, back, 'pinned');
    });

    scope.post('/actions/annotate', async (request, reply) => {
      const { subject: kind, id = '', text = '', back } = fieldsOf(request);
      const subject = annotationSubjects.find((one) => one === kind) ?? 'run';
      const words = text.trim().slice(0, MAX_NOTE);
      if (words === '') throw new RecalldError('body_unreadable', 'The note is empty.');
      const note = {
        subject,
        subjectId: id,
        text: words,
        author: keyName(request),
        createdAt: clock.now(),
      };
      const { db } = contextOf(request);
      if (!(await db.live.annotations.add(note, consoleVisitor(request)))) {
        throw new RecalldError(unknownSubject[subject], `There is no ${subject} ${id}.`);
      }
      return goBack(reply, back, 'noted');
    });

    scope.post('/actions/acknowledge', async (request, reply) => {
      const { id = '', back } = fieldsOf(request);
      const context = contextOf(request);
      await findIncident(context, id);
      const actor = { name: keyName(request), by: consoleVisitor(request) };
      await context.db.incidents.acknowledge(id, actor, clock.now());
      return goBack(reply, back, 'acknowledged');
    });

    scope.post('/actions/silence', async (request, reply) => {
      const { pipeline = '', for: length = '', reason = '', back } = fieldsOf(request);
      const startsAt = clock.now();
      const endsAt = new Date(startsAt.getTime() + durationMs(length in silenceLengths ? length : '2h'));
      const actor = { name: keyName(request), by: consoleVisitor(request) };
      await addSilence(contextOf(request), { pipeline, reason, startsAt, endsAt }, actor);
      return goBack(reply, back, 'silenced');
    });

    scope.post('/actions/end-silence', async (request, reply) => {
      const { id = '', back } = fieldsOf(request);
      await endSilence(contextOf(request), id, { name: keyName(request), by: consoleVisitor(request) });
      return goBack(reply, back, 'unsilenced');
    });

    scope.post('/actions/mark-cause', async (request, reply) => {
      const { id = '', cause: marked, right, actual_cause: actual, back } = fieldsOf(request);
      const context = contextOf(request);
      const incident = await findIncident(context, id);
      const mark = {
        cause: causes.find((one) => one === marked) ?? incident.cause,
        isRight: right === 'yes',
        actualCause: causes.find((one) => one === actual) ?? null,
      };
      await markCause(context, id, mark, { name: keyName(request), by: consoleVisitor(request) });
      return goBack(reply, back, 'marked');
    });

    scope.post('/pipelines/:pipeline/judge/grade', async (request, reply) => {
      const context = contextOf(request);
      const { name } = findPipeline(context.pipelines, (request.params as Record<string, string>)['pipeline'] ?? '');
      const next = await storeGrade(context, name, fieldsOf(request), {
        by: consoleVisitor(request),
        person: personOf(request),
      });
      secure(reply);
      return reply.redirect(next, 303);
    });

    for (const path of askingPages) {
      scope.post(path, async (request, reply) => {
        const frame = frameOf(request, request.visitor, clock.now(), version);
        const params = request.params as Record<string, string>;
        const page = await pages[path]?.(contextOf(request), frame, params, queryOf(request), true);
        return page === undefined ? reply.callNotFound() : sendPage(reply, frame, page);
      });
    }

    scope.post('/pipelines/:pipeline/golden/:set/labels', async (request, reply) => {
      const { pipeline = '', set = '' } = request.params as Record<string, string>;
      const context = contextOf(request);
      const found = await findLabelFixes(context, pipeline, set);
      const frame = frameOf(request, request.visitor, clock.now(), version);
      const data = { ...(await readLabelsPage(context, pipeline, set)), found };
      return sendPage(reply, frame, labelsPage(data));
    });

    scope.post('/pipelines/:pipeline/golden/:set/labels/accept', async (request, reply) => {
      const { pipeline = '', set = '' } = request.params as Record<string, string>;
      const acceptances = valuesOf(request, 'accept').map(readAcceptance);
      if (acceptances.length === 0)
        throw new RecalldError(
          'body_unreadable',
          'No proposal is selected; go back and select the proposals that you accept.',
        );
      const version = Number(fieldsOf(request)['version']);
      await acceptLabelFixes(contextOf(request), pipeline, set, version, acceptances, consoleVisitor(request));
      return goBack(reply, labelsPath(pipeline, set), 'fixed');
    });
  });
}

/** @throws RecalldError pipeline_unknown */
async function readLabelsPage(context: Context, pipeline: string, goldenSet: string): Promise<LabelsPageData> {
  findPipeline(context.pipelines, pipeline);
  const { runs } = context.db.golden;
  const [run] = await runs.list({ pipeline, goldenSet, status: 'completed', limit: 1 });
  const known =
    run === undefined ? null : { runId: run.id, labels: await runs.staleLabels(run.id), gap: run.labels.gap };
  return { pipeline, goldenSet, known, found: null };
}

/** @throws RecalldError body_unreadable for a value that the form cannot send */
function readAcceptance(text: string): Acceptance {
  try {
    const [queryId, from, to] = parseBoundedJson(text) as unknown[];
    if (typeof queryId === 'string' && typeof from === 'string' && Array.isArray(to))
      return { queryId, from, to: to.map(String) };
  } catch {
    // The error below reports an invalid proposal.
  }
  throw new RecalldError('body_unreadable', 'A selected proposal is not valid; search for proposals again.');
}

function goBack(reply: FastifyReply, back: string | undefined, done: string): FastifyReply {
  secure(reply);
  const [path = '/', query = ''] = ownPath(back).split('?');
  return reply.redirect(address(path, { ...Object.fromEntries(new URLSearchParams(query)), done }), 303);
}

/** @param isAsked true if an admin submitted the form; in that case, the page may query the retriever and the store */
type Show = (
  context: Context,
  frame: Frame,
  params: Readonly<Record<string, string>>,
  query: Query,
  isAsked: boolean,
) => Promise<PageContent>;

const pages: Readonly<Record<keyof typeof pageAccess, Show>> = {
  '/': async (context, frame, _params, query) => statusPage(await readStatusPage(context, query, frame.range)),
  '/pipelines/:pipeline': async (context, frame, { pipeline }) =>
    overviewPage(await readOverviewPage(context, pipelineOf(context, pipeline), frame.range)),
  '/pipelines/:pipeline/golden': async (context, frame, { pipeline }, query) =>
    goldenPage(await readGoldenPage(context, pipelineOf(context, pipeline), query, frame.range)),
  '/pipelines/:pipeline/golden/:set/labels': async (context, _frame, { pipeline = '', set = '' }) =>
    labelsPage(await readLabelsPage(context, pipeline, set)),
  '/pipelines/:pipeline/density': async (context, frame, { pipeline }, _query, isAsked) => {
    if (isAsked) spendExplained(context, frame, MAX_COMPLAINTS_EXPLAINED);
    return densityPage(await readDensityPage(context, pipelineOf(context, pipeline).name, frame.range, isAsked));
  },
  '/pipelines/:pipeline/traffic': async (context, frame, { pipeline }) =>
    trafficPage(await readTrafficPage(context, pipelineOf(context, pipeline), frame.range)),
  '/pipelines/:pipeline/index': async (context, frame, { pipeline }, _query, isAsked) => {
    const { name } = pipelineOf(context, pipeline);
    const { from, until } = frame.range;
    const series = { pipeline: name, segment: ALL_SEGMENT, measures: indexCharts };
    const trends = await context.reads.measurements.trends(series, from, until);
    const isIndexed = context.indexPlans.some((plan) => plan.pipeline === name);
    return indexPage(await readIndexPage(context, name, isIndexed, isAsked), trends);
  },
  '/pipelines/:pipeline/judge': async (context, frame, { pipeline }, query) => {
    const { name } = pipelineOf(context, pipeline);
    const isJudged = context.judgingPlans.some((plan) => plan.pipeline === name);
    const person = personOf({ apiKey: null, visitor: frame.visitor });
    return judgePage(await readJudgePage(context, name, isJudged && showsTextOf(context, name), { ...query, person }));
  },
  '/pipelines/:pipeline/experiments': async (context, _frame, { pipeline }) => {
    const { name } = pipelineOf(context, pipeline);
    return experimentsPage(await readExperimentsPage(onReplica(context), name, showsTextOf(context, name)));
  },
  '/checks': async (context, frame, _params, query) => checksPage(await readChecksPage(context, query, frame.range)),
  '/deployments': async (context, frame, _params, query) =>
    deploymentsPage(await readDeploymentsPage(context, query, frame.range)),
  '/incidents/:incident': async (context, _frame, { incident = '' }) =>
    incidentPage(await readIncidentPage(context, incident)),
  '/runbooks/:alert': async (_context, _frame, { alert = '' }) => {
    const { title, html } = await readRunbook(alert);
    return { title, pipeline: null, section: null, hasRange: false, content: { kind: 'prose', html } };
  },
  '/runs/:run': async (context, frame, { run = '' }, query, isAsked) => {
    if (isAsked) await spendExplainedOf(run, context, frame, QUERIES_EXPLAINED);
    return runPage(await readRunPage(context, run, frame.range, query, isAsked));
  },
  '/runs/:run/queries/:query': async (context, frame, { run = '', query: id = '' }, query, isAsked) => {
    if (isAsked) await spendExplainedOf(run, context, frame, 1);
    return queryPage(await readQueryPage(context, run, id, query, isAsked));
  },
};

/**
 * Charges the visitor's explanation budget for `queries` explained queries of a run. Charges nothing if the run is
 * unknown.
 *
 * @throws RecalldError run_unknown, explanations_limited
 */
async function spendExplainedOf(run: string, context: Context, frame: Frame, queries: number): Promise<void> {
  await findRun(context.db.golden.runs, run);
  spendExplained(context, frame, queries);
}

/**
 * Charges the visitor's explanation budget, which pages and the API share.
 *
 * @throws RecalldError explanations_limited
 */
function spendExplained({ explainBudget }: Context, { visitor }: Frame, queries: number): void {
  explainBudget.spend(personOf({ apiKey: null, visitor }), queries);
}

/** Pages with a form that queries the retriever or the store. */
const askingPages = [
  '/pipelines/:pipeline/density',
  '/pipelines/:pipeline/index',
  '/runs/:run',
  '/runs/:run/queries/:query',
] as const;

export function addConsole(
  app: FastifyInstance,
  contextOf: ContextOf,
  context: Context,
  authentication: AuthenticationSettings,
  outageOf: (error: Error) => RecalldError | null,
): void {
  void app.register(async (scope) => {
    addErrorPages(scope, { ...context, authentication, version }, outageOf);
    const sessions = await addSessions(scope, authentication);
    await addAssets(scope);
    if (!authentication.optional) addSignIn(scope, { ...context, authentication, version }, sessions);
    addActions(scope, contextOf, context, sessions);
    for (const [path, show] of Object.entries(pages)) {
      scope.get(path, (request, reply) => visit(contextOf, sessions, show, request, reply));
    }
  });
}

async function visit(
  contextOf: ContextOf,
  sessions: Sessions,
  show: Show,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  request.visitor = await sessions.visitorOf(request, reply);
  const context = contextOf(request);
  const frame = frameOf(request, request.visitor, context.clock.now(), version);
  return sendPage(
    reply,
    frame,
    await show(context, frame, request.params as Record<string, string>, queryOf(request), false),
  );
}

/** @throws RecalldError pipeline_unknown */
function pipelineOf({ pipelines }: Context, name = ''): WatchedPipeline {
  return findPipeline(pipelines, name);
}
