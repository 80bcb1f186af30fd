/**
 * The pages for people, at the root of the API's address, with the runbooks of the alerts as the package ships them:
 * an alert leads to them with nothing else installed.
 */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Marked } from 'marked';
import { checksPage, readChecksPage } from '../../checks/edge/checks-page.ts';
import { onReplica } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { parseBoundedJson } from '../../core/text/json.ts';
import { MAX_COMPLAINTS_EXPLAINED } from '../../density/edge/complaints-reads.ts';
import { densityPage } from '../../density/edge/density-page.ts';
import { experimentsPage, readExperimentsPage } from '../../experiments/edge/experiments-page.ts';
import { goldenPage } from '../../golden/edge/pages/golden-page.ts';
import { readGoldenPage, readQueryPage, readRunPage } from '../../golden/edge/pages/golden-reads.ts';
import { type LabelsPageData, labelsPage } from '../../golden/edge/pages/labels-page.ts';
import { queryPage } from '../../golden/edge/pages/query-page.ts';
import { QUESTIONS_EXPLAINED, runPage } from '../../golden/edge/pages/run-page.ts';
import type { Acceptance } from '../../golden/rules/labels.ts';
import { incidentPage } from '../../incidents/diagnosis/edge/pages/incident-page.ts';
import type { Incident } from '../../incidents/diagnosis/rules/incident.ts';
import { indexPage } from '../../index/truth/edge/index-page.ts';
import { readIndexPage } from '../../index/truth/index-reads.ts';
import { judgePage, readJudgePage, storeGrade } from '../../judging/edge/judge-page.ts';
import { annotationSubjects } from '../../live/deployments/deployments.ts';
import { deploymentsPage, MAX_NOTE } from '../../live/deployments/edge/deployments-page.ts';
import { trafficPage } from '../../live/edge/pages/traffic-page.ts';
import { readDensityPage, readTrafficPage } from '../../live/edge/pages/traffic-reads.ts';
import { consoleVisitor, personOf } from '../../platform/access/audit-log.ts';
import { addSessions, type Sessions } from '../../platform/access/edge/session.ts';
import { addSignIn } from '../../platform/access/edge/sign-in.tsx';
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
import type { PageContent } from '../../report/model/content.ts';
import { overviewPage, statusPage } from '../../report/status/status-page.ts';
import { readDeploymentsPage, readOverviewPage, readStatusPage } from '../../report/status/status-reads.ts';
import type { ConsoleDeps, ConsolePipeline } from './console-api.ts';

/** From the compiled file as from the source. */
const folder = path.join(import.meta.dirname, '../../../docs/runbooks');

/** Pages link to each other; what else the documentation has is not served here. */
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

/** What people may do on the pages, with scope admin: pin a baseline, note something, accept mended labels. */
function addActions(app: FastifyInstance, deps: ConsoleDeps, sessions: Sessions): void {
  const { clock, site } = deps;

  void app.register(async (scope) => {
    await acceptFormsOf(scope, site.publicUrl, async (request, reply) => {
      const visitor = await sessions.visitorOf(request, reply);
      if (visitor.canAct) return visitor;
      throw new RecalldError(
        'key_lacks_scope',
        `The API key "${visitor.key?.name ?? ''}" has no scope admin, which this needs.`,
      );
    });

    scope.post('/actions/pin-baseline', async (request, reply) => {
      const { run_id: runId = '', note = '', with_failures: withFailures, back } = fieldsOf(request);
      await deps.pinBaseline(
        runId,
        note.trim() === '' ? null : note.trim().slice(0, MAX_REASON),
        withFailures === 'yes',
        consoleVisitor(request),
      );
      return goBack(reply, back, 'pinned');
    });

    scope.post('/actions/annotate', async (request, reply) => {
      const { subject: kind, id = '', text = '', back } = fieldsOf(request);
      const subject = annotationSubjects.find((one) => one === kind) ?? 'run';
      const words = text.trim().slice(0, MAX_NOTE);
      if (words === '') throw new RecalldError('body_unreadable', 'The note has no words.');
      const note = {
        subject,
        subjectId: id,
        text: words,
        author: request.visitor?.key?.name ?? null,
        createdAt: clock.now(),
      };
      if (!(await deps.annotations.add(note, consoleVisitor(request)))) {
        throw subject === 'run'
          ? new RecalldError('run_unknown', `There is no golden run ${id}.`)
          : new RecalldError('deployment_unknown', `There is no deployment ${id}.`);
      }
      return goBack(reply, back, 'noted');
    });

    scope.post('/pipelines/:pipeline/judge/grade', async (request, reply) => {
      const { name } = findPipeline(deps, (request.params as Record<string, string>)['pipeline']);
      const next = await storeGrade(deps, name, fieldsOf(request), {
        by: consoleVisitor(request),
        person: personOf(request),
      });
      secure(reply);
      return reply.redirect(next, 303);
    });

    for (const path of askingPages) {
      scope.post(path, async (request, reply) => {
        const frame = frameOf(request, request.visitor, clock.now(), site.version);
        const params = request.params as Record<string, string>;
        const page = await pages[path]?.(deps, frame, params, queryOf(request), true);
        return page === undefined ? reply.callNotFound() : sendPage(reply, frame, page);
      });
    }

    scope.post('/pipelines/:pipeline/golden/:set/labels', async (request, reply) => {
      const { pipeline = '', set = '' } = request.params as Record<string, string>;
      const found = await deps.findLabelFixes(pipeline, set);
      const frame = frameOf(request, request.visitor, clock.now(), site.version);
      const data = { ...(await readLabelsPage(deps, pipeline, set)), found };
      return sendPage(reply, frame, labelsPage(data));
    });

    scope.post('/pipelines/:pipeline/golden/:set/labels/accept', async (request, reply) => {
      const { pipeline = '', set = '' } = request.params as Record<string, string>;
      const acceptances = valuesOf(request, 'accept').map(readAcceptance);
      if (acceptances.length === 0)
        throw new RecalldError('body_unreadable', 'No proposal was chosen; go back and tick those that you accept.');
      const version = Number(fieldsOf(request)['version']);
      await deps.acceptLabelFixes(pipeline, set, version, acceptances, consoleVisitor(request));
      return goBack(reply, labelsPath(pipeline, set), 'fixed');
    });
  });
}

/** @throws RecalldError pipeline_unknown */
async function readLabelsPage(deps: ConsoleDeps, pipeline: string, goldenSet: string): Promise<LabelsPageData> {
  deps.assertPipeline(pipeline);
  const [run] = await deps.runs.list({ pipeline, goldenSet, status: 'completed', limit: 1 });
  const known =
    run === undefined ? null : { runId: run.id, labels: await deps.runs.staleLabels(run.id), gap: run.labels.gap };
  return { pipeline, goldenSet, known, found: null };
}

/** @throws RecalldError body_unreadable for what no form of ours holds */
function readAcceptance(text: string): Acceptance {
  try {
    const [queryId, from, to] = parseBoundedJson(text) as unknown[];
    if (typeof queryId === 'string' && typeof from === 'string' && Array.isArray(to))
      return { queryId, from, to: to.map(String) };
  } catch {
    // Said below.
  }
  throw new RecalldError('body_unreadable', 'A chosen proposal cannot be read; look for proposals again.');
}

function goBack(reply: FastifyReply, back: string | undefined, done: string): FastifyReply {
  secure(reply);
  const [path = '/', query = ''] = ownPath(back).split('?');
  return reply.redirect(address(path, { ...Object.fromEntries(new URLSearchParams(query)), done }), 303);
}

/**
 * A page, from what its address says.
 *
 * @param isAsked whether it may ask the retriever and the store of the pipeline, which only a form of an admin does
 */
type Show = (
  deps: ConsoleDeps,
  frame: Frame,
  params: Readonly<Record<string, string>>,
  query: Query,
  isAsked: boolean,
) => Promise<PageContent>;

const pages: Readonly<Record<string, Show>> = {
  '/': async (deps, frame) => statusPage(await readStatusPage(deps, frame.range)),
  '/pipelines/:pipeline': async (deps, frame, { pipeline }) =>
    overviewPage(await readOverviewPage(deps, findPipeline(deps, pipeline), frame.range)),
  '/pipelines/:pipeline/golden': async (deps, frame, { pipeline }, query) =>
    goldenPage(await readGoldenPage(deps, findPipeline(deps, pipeline), query, frame.range)),
  '/pipelines/:pipeline/golden/:set/labels': async (deps, _frame, { pipeline = '', set = '' }) =>
    labelsPage(await readLabelsPage(deps, pipeline, set)),
  '/pipelines/:pipeline/density': async (deps, frame, { pipeline }, _query, isAsked) => {
    if (isAsked) spendExplained(deps, frame, MAX_COMPLAINTS_EXPLAINED);
    return densityPage(await readDensityPage(deps, findPipeline(deps, pipeline), frame.range, isAsked));
  },
  '/pipelines/:pipeline/traffic': async (deps, frame, { pipeline }) =>
    trafficPage(await readTrafficPage(deps, findPipeline(deps, pipeline), frame.range)),
  '/pipelines/:pipeline/index': async (deps, _frame, { pipeline }, _query, isAsked) => {
    const { name, isIndexed } = findPipeline(deps, pipeline);
    return indexPage(await readIndexPage(deps, name, isIndexed, isAsked));
  },
  '/pipelines/:pipeline/judge': async (deps, frame, { pipeline }, query) => {
    const { name, isJudged, showsText } = findPipeline(deps, pipeline);
    const person = personOf({ apiKey: null, visitor: frame.visitor });
    return judgePage(await readJudgePage(deps, name, isJudged && showsText, { ...query, person }));
  },
  '/pipelines/:pipeline/experiments': async (deps, _frame, { pipeline }) => {
    const { name, showsText } = findPipeline(deps, pipeline);
    return experimentsPage(await readExperimentsPage(onReplica(deps.context), name, showsText));
  },
  '/checks': async (deps, frame, _params, query) => checksPage(await readChecksPage(deps, query, frame.range)),
  '/deployments': async (deps, frame, _params, query) =>
    deploymentsPage(await readDeploymentsPage(deps, query, frame.range)),
  '/incidents/:incident': async (deps, _frame, { incident = '' }) => incidentPage(await findIncident(deps, incident)),
  '/runbooks/:alert': async (_deps, _frame, { alert = '' }) => {
    const { title, html } = await readRunbook(alert);
    return { title, pipeline: null, section: null, hasRange: false, content: { kind: 'prose', html } };
  },
  '/runs/:run': async (deps, frame, { run = '' }, query, isAsked) => {
    if (isAsked) spendExplained(deps, frame, QUESTIONS_EXPLAINED);
    return runPage(await readRunPage(deps, run, frame.range, query, isAsked));
  },
  '/runs/:run/queries/:query': async (deps, frame, { run = '', query: id = '' }, query, isAsked) => {
    if (isAsked) spendExplained(deps, frame, 1);
    return queryPage(await readQueryPage(deps, run, id, query, isAsked));
  },
};

/** Pages and API have one budget. @throws RecalldError explanations_limited */
function spendExplained({ explainBudget }: ConsoleDeps, { visitor }: Frame, queries: number): void {
  explainBudget.spend(personOf({ apiKey: null, visitor }), queries);
}

/** Pages with a form that asks the retriever or the store and shows what it came to. */
const askingPages = [
  '/pipelines/:pipeline/density',
  '/pipelines/:pipeline/index',
  '/runs/:run',
  '/runs/:run/queries/:query',
] as const;

/** @param outageOf as addErrorPages takes it */
export function addConsole(
  app: FastifyInstance,
  deps: ConsoleDeps,
  outageOf: (error: Error) => RecalldError | null,
): void {
  void app.register(async (scope) => {
    addErrorPages(scope, deps, outageOf);
    const sessions = await addSessions(scope, deps.authentication);
    await addAssets(scope);
    if (!deps.authentication.optional) addSignIn(scope, deps, sessions);
    addActions(scope, deps, sessions);
    for (const [path, show] of Object.entries(pages)) {
      scope.get(path, (request, reply) => visit(deps, sessions, show, request, reply));
    }
  });
}

async function visit(
  deps: ConsoleDeps,
  sessions: Sessions,
  show: Show,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const now = deps.clock.now();
  const visitor = await sessions.visitorOf(request, reply);
  const frame = frameOf(request, visitor, now, deps.site.version);
  return sendPage(
    reply,
    frame,
    await show(deps, frame, request.params as Record<string, string>, queryOf(request), false),
  );
}

/** @throws RecalldError incident_unknown */
async function findIncident({ incidents }: ConsoleDeps, id: string): Promise<Incident> {
  const found = /^\d{1,18}$/.test(id) ? await incidents.find(id) : null;
  if (found === null) throw new RecalldError('incident_unknown', `There is no incident ${id}.`);
  return found;
}

/** @throws RecalldError pipeline_unknown */
function findPipeline(deps: ConsoleDeps, name = ''): ConsolePipeline {
  deps.assertPipeline(name);
  const found = deps.site.pipelines.find((one) => one.name === name);
  if (found === undefined) throw new RecalldError('pipeline_unknown', `The config has no pipeline "${name}".`);
  return found;
}
