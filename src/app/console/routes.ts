/** The pages for people, at the root of the API's address. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { addSessions, type Sessions } from '../../access/session.ts';
import { addSignIn } from '../../access/sign-in.tsx';
import { readChecksPage } from '../../checks/checks-data.ts';
import { ChecksPage } from '../../checks/checks-page.tsx';
import { addAssets } from '../../console/http/assets.ts';
import { addErrorPages } from '../../console/http/error-pages.tsx';
import { frameOf, type Query, queryOf, sendPage } from '../../console/http/visit.ts';
import type { Frame } from '../../console/page.tsx';
import { DensityPage } from '../../density/density-page.tsx';
import { DeploymentsPage } from '../../deployments/deployments-page.tsx';
import { RecalldError } from '../../errors.ts';
import { GoldenPage } from '../../golden/pages/golden-page.tsx';
import { readGoldenPage, readQueryPage, readRunPage } from '../../golden/pages/golden-reads.ts';
import { LabelsPage } from '../../golden/pages/labels-page.tsx';
import { QueryPage } from '../../golden/pages/query-page.tsx';
import { RunPage } from '../../golden/pages/run-page.tsx';
import { TrafficPage } from '../../live/pages/traffic-page.tsx';
import { readDensityPage, readTrafficPage } from '../../live/pages/traffic-reads.ts';
import { OverviewPage } from '../../status/overview-page.tsx';
import { StatusPage } from '../../status/status-page.tsx';
import { readDeploymentsPage, readOverviewPage, readStatusPage } from '../../status/status-reads.ts';
import { addActions, readLabelsPage } from './actions.ts';
import type { ConsoleDeps, ConsolePipeline } from './deps.ts';

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
  void app.register(async (scope) => {
    addErrorPages(scope, deps, outageOf);
    const sessions = await addSessions(scope, deps.authentication);
    await addAssets(scope);
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
  const visitor = await sessions.visitorOf(request, reply);
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
