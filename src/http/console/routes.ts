/** The pages for people, at the root of the API's address. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { Frame } from '../../console/page.tsx';
import { ChecksPage } from '../../console/pages/checks-page.tsx';
import { DensityPage } from '../../console/pages/density-page.tsx';
import { DeploymentsPage } from '../../console/pages/deployments-page.tsx';
import { GoldenPage } from '../../console/pages/golden-page.tsx';
import { LabelsPage } from '../../console/pages/labels-page.tsx';
import { OverviewPage } from '../../console/pages/overview-page.tsx';
import { QueryPage } from '../../console/pages/query-page.tsx';
import { RunPage } from '../../console/pages/run-page.tsx';
import { StatusPage } from '../../console/pages/status-page.tsx';
import { TrafficPage } from '../../console/pages/traffic-page.tsx';
import { RecalldError } from '../../core/errors.ts';
import { addActions, readLabelsPage } from './actions.ts';
import { addAssets } from './assets.ts';
import type { ConsoleDeps, ConsolePipeline } from './deps.ts';
import { addErrorPages } from './error-pages.ts';
import { readGoldenPage, readQueryPage, readRunPage } from './golden-reads.ts';
import { readChecksPage, readDeploymentsPage } from './lists-reads.ts';
import { createSessions, type Sessions } from './session.ts';
import { addSignIn } from './sign-in.ts';
import { readOverviewPage, readStatusPage } from './status-reads.ts';
import { readDensityPage, readTrafficPage } from './traffic-reads.ts';
import { frameOf, type Query, queryOf, sendPage } from './visit.ts';

/** A page, from what its address says. */
type Show = (
  deps: ConsoleDeps,
  frame: Frame,
  params: Readonly<Record<string, string>>,
  query: Query,
) => Promise<VNode>;

const pages: Readonly<Record<string, Show>> = {
  '/': async (deps, frame) => StatusPage({ frame, pipelines: await readStatusPage(deps, frame.range) }),
  '/pipelines/:pipeline': async (deps, frame, { pipeline }) =>
    OverviewPage({ frame, data: await readOverviewPage(deps, findPipeline(deps, pipeline), frame.range) }),
  '/pipelines/:pipeline/golden': async (deps, frame, { pipeline }, query) =>
    GoldenPage({
      frame,
      data: await readGoldenPage(deps, findPipeline(deps, pipeline), query['set'], frame.range),
    }),
  '/pipelines/:pipeline/golden/:set/labels': async (deps, frame, { pipeline = '', set = '' }) =>
    LabelsPage({ frame, data: await readLabelsPage(deps, pipeline, set) }),
  '/pipelines/:pipeline/density': async (deps, frame, { pipeline }) =>
    DensityPage({ frame, data: await readDensityPage(deps, findPipeline(deps, pipeline), frame.range) }),
  '/pipelines/:pipeline/traffic': async (deps, frame, { pipeline }) =>
    TrafficPage({ frame, data: await readTrafficPage(deps, findPipeline(deps, pipeline), frame.range) }),
  '/checks': async (deps, frame, _params, query) =>
    ChecksPage({ frame, data: await readChecksPage(deps, query, frame.range) }),
  '/deployments': async (deps, frame, _params, query) =>
    DeploymentsPage({ frame, data: await readDeploymentsPage(deps, query, frame.range) }),
  '/runs/:run': async (deps, frame, { run = '' }, query) =>
    RunPage({ frame, data: await readRunPage(deps, run, frame.range, query) }),
  '/runs/:run/queries/:query': async (deps, frame, { run = '', query: id = '' }, query) =>
    QueryPage({ frame, data: await readQueryPage(deps, run, id, query['against']) }),
};

/** @param outageOf as addErrorPages takes it */
export function addConsole(
  app: FastifyInstance,
  deps: ConsoleDeps,
  outageOf: (error: Error) => RecalldError | null,
): void {
  const sessions = createSessions(deps.authentication, deps.site.signingKey);
  void app.register(async (scope) => {
    addErrorPages(scope, deps, outageOf);
    addAssets(scope);
    if (!deps.authentication.optional) addSignIn(scope, deps, sessions);
    addActions(scope, deps, sessions);
    for (const [path, show] of Object.entries(pages)) {
      scope.get(path, async (request, reply) =>
        sendPage(reply, await visit(deps, sessions, show, request, reply)),
      );
    }
  });
}

async function visit(
  deps: ConsoleDeps,
  sessions: Sessions,
  show: Show,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<VNode> {
  const now = deps.clock.now();
  const visitor = await sessions.visitorOf(request, reply, now);
  const frame = frameOf(request, visitor, now, deps.site.version);
  return show(deps, frame, request.params as Record<string, string>, queryOf(request));
}

/** @throws RecalldError pipeline_unknown */
function findPipeline(deps: ConsoleDeps, name = ''): ConsolePipeline {
  deps.assertPipeline(name);
  const found = deps.site.pipelines.find((one) => one.name === name);
  if (found === undefined)
    throw new RecalldError('pipeline_unknown', `The config has no pipeline "${name}".`);
  return found;
}
