/** The daemon's HTTP server, with problem documents for all errors. */
import { randomUUID } from 'node:crypto';
import { type FastifyInstance, fastify } from 'fastify';
import type { Pool } from 'pg';
import { addChecks } from '../../checks/edge/routes.ts';
import type { Context } from '../../core/context.ts';
import { codeOf, RecalldError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { addComplaints, addDensityRoutes } from '../../density/edge/routes.ts';
import { addExperiments } from '../../experiments/edge/routes.ts';
import { addBaselines, addGoldenRuns, addGoldenSets } from '../../golden/edge/golden-routes.ts';
import { addIncidents } from '../../incidents/diagnosis/edge/routes.ts';
import { addIncidentCharts } from '../../incidents/notifications/edge/routes.ts';
import { addSilences } from '../../incidents/notifications/edge/silence-routes.ts';
import { addIndex } from '../../index/truth/edge/index-routes.ts';
import { addJudgments } from '../../judging/edge/routes.ts';
import { addDeployments } from '../../live/deployments/edge/routes.ts';
import { addIsolation } from '../../live/edge/isolation-routes.ts';
import { addFeedbackSummary, addIngest, type ShedReason, shedReason } from '../../live/edge/live-routes.ts';
import { addOtlp, type OtlpReceiver } from '../../live/edge/otlp/receiver.ts';
import type { IngestDeps } from '../../live/live-ingest.ts';
import { addressHint } from '../../live/otlp/address-hint.ts';
import { createClientErrorHandler } from '../../live/otlp/refuse-grpc.ts';
import { addMcp } from '../../mcp/edge/mcp-routes.ts';
import {
  type AuthenticationSettings,
  identifyCallers,
  refuseForeignPages,
} from '../../platform/access/authentication.ts';
import { addAudit } from '../../platform/access/edge/audit-routes.ts';
import { addRetirement, type Draining, limitConnections } from '../../platform/http/connections.ts';
import { addOperations, type Operations } from '../../platform/http/operations.ts';
import { acceptJson, addRequestBodies, type MemoryBudget } from '../../platform/http/request-bodies.ts';
import { tryPort } from '../../platform/http/try-port.ts';
import { plainProblem, problemOf, RETRY_AFTER_SECONDS, sendProblem, setRetryAfter } from '../../platform/http/wire.ts';
import { asksForPage, sendProblemPage } from '../../report/console/http/error-pages.ts';
import { addPipelines } from '../../report/status/status-api.ts';
import { addConsole } from '../console/pages.ts';
import { addErasure } from '../erasure/erase.ts';
import { version } from '../version.ts';
import { addOpenApi } from './openapi.ts';
import { accessOf } from './route-access.ts';
import { createContextOf, type OpenTables } from './scoped-context.ts';

export interface HttpParts {
  readonly logger: Logger;
  /** Addresses and networks whose forwarded headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Health and metrics; null if another server provides them. */
  readonly operations: Operations | null;
  /** The API; null if this server does not provide it. */
  readonly api: {
    readonly context: Context;
    readonly openTables: OpenTables;
    readonly pool: Pool;
    readonly authentication: AuthenticationSettings;
    readonly ingest: Omit<IngestDeps, 'authentication'>;
    readonly otlpReceiver: OtlpReceiver;
  } | null;
  /** Memory budget that all servers in a process share. */
  readonly memory: MemoryBudget;
  /** Returns the error to report if `error` is due to a temporary database outage; null for any other error. */
  outageOf(error: Error): RecalldError | null;
  readonly onShed: (reason: ShedReason) => void;
}

export interface HttpServer extends Draining {
  readonly url: string;
  close(): Promise<void>;
}

/** Maximum length of a parameter in a path; query and user ids have up to 1,024 characters. */
const MAX_PARAMETER = 4096;

/** Timeout for an inactive connection, for example from a client that does not read its response. */
const INACTIVE_MS = 5 * 60_000;

/** Size limit for forms; request-bodies.ts does not read forms. */
const FORM_BYTES = 256 * 1024;

interface HttpAddress {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Config key of the port, for the error message. */
  readonly setting: string;
}

/** Starts a server. @throws RecalldError port_in_use */
export async function startHttpServer(deps: HttpParts, address: HttpAddress): Promise<HttpServer> {
  const app = fastify({
    logger: false,
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    requestTimeout: 30_000,
    connectionTimeout: INACTIVE_MS,
    http: { connectionsCheckingInterval: 5000 },
    bodyLimit: FORM_BYTES,
    trustProxy: deps.trustedProxies.length > 0 && [...deps.trustedProxies],
    routerOptions: { maxParamLength: MAX_PARAMETER },
    clientErrorHandler: createClientErrorHandler(deps.logger, () => deps.api?.otlpReceiver.recordGrpc()),
    genReqId: (request) => knownRequestId(request.headers['x-request-id']) ?? randomUUID(),
  });
  // Must run first: handlers that are added after an awaited plugin do not apply to routes that were registered before
  // it.
  addProblems(app, deps);
  limitConnections(app, deps.memory, deps.logger);
  const draining = addRetirement(app);
  refuseNul(app);
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) accessOf(one, url);
  });
  const bodies = addRequestBodies(app, deps.memory);
  if (deps.operations !== null) addOperations(app, deps.operations);
  if (deps.api !== null) {
    const { context, openTables, pool, authentication, ingest, otlpReceiver } = deps.api;
    const contextOf = createContextOf(context, openTables);
    if (authentication.optional) refuseForeignPages(app);
    await identifyCallers(app, authentication, context.config.server.max_requests_per_minute);
    addOpenApi(app, version);
    addOtlp(app, otlpReceiver, authentication, deps.onShed, bodies, RETRY_AFTER_SECONDS);
    void app.register(async (scope) => {
      acceptJson(scope, bodies);
      // Creates the context even for routes that do not use it, because `contextOf` rejects requests for other
      // pipelines.
      scope.addHook('preHandler', (request, _reply, done) => {
        contextOf(request);
        done();
      });
      addIngest(scope, { ...ingest, authentication }, bodies);
      addErasure(scope, pool, context, authentication);
      addDeployments(scope, contextOf, authentication);
      addIncidents(scope, contextOf, authentication);
      addSilences(scope, contextOf, authentication);
      addDensityRoutes(scope, contextOf, authentication);
      addComplaints(scope, contextOf, authentication);
      addJudgments(scope, contextOf, authentication);
      addExperiments(scope, contextOf, authentication);
      addIndex(scope, contextOf, authentication);
      addGoldenSets(scope, contextOf, authentication, bodies);
      addGoldenRuns(scope, contextOf, authentication);
      addBaselines(scope, contextOf, authentication);
      addPipelines(scope, contextOf, authentication);
      addChecks(scope, contextOf, authentication);
      addFeedbackSummary(scope, contextOf, authentication);
      addIsolation(scope, contextOf, authentication);
      addAudit(scope, contextOf, authentication);
      addMcp(scope, contextOf, authentication, version);
    });
    void app.register(async (scope) => {
      scope.addHook('preParsing', (request, _reply, payload, done) => {
        if (request.method === 'POST') bodies.hold(request, FORM_BYTES);
        done(null, payload);
      });
      addConsole(scope, contextOf, context, authentication, (error) => deps.outageOf(error));
      addIncidentCharts(scope, context);
    });
  }
  try {
    const host = address.host === '::' && !(await hasIpv6()) ? '0.0.0.0' : address.host;
    const url = await app.listen({ host, port: address.port });
    return Object.assign(draining, { url, close: () => app.close() });
  } catch (cause) {
    throw listenFailure(cause, address);
  }
}

/** Returns true if the machine has IPv6. Without IPv6, `::` means all IPv4 addresses. */
function hasIpv6(): Promise<boolean> {
  return tryPort(0, '::').then(
    () => true,
    (error: unknown) => !['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(codeOf(error)),
  );
}

/** PostgreSQL cannot store NUL characters: an SQL statement fails if a parameter contains a NUL character. */
function refuseNul(app: FastifyInstance): void {
  app.addHook('onRequest', ({ url }, _reply, done) =>
    done(
      url.includes('%00')
        ? new RecalldError('body_unreadable', 'The request URL contains a NUL character.')
        : undefined,
    ),
  );
}

/** Returns the caller's request id if it is safe to log. */
function knownRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header) ? header : null;
}

function addProblems(app: FastifyInstance, deps: HttpParts): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    done();
  });
  app.setNotFoundHandler((request, reply) => {
    if (deps.api !== null && asksForPage(request)) {
      const problem = plainProblem(404, `There is no page ${pathOf(request.url)}.`);
      return sendProblemPage({ clock: deps.api.context.clock, version }, request, reply, problem);
    }
    const path = pathOf(request.url);
    const fix = addressHint(request.method, path);
    return sendProblem(reply, plainProblem(404, `There is no ${request.method} ${path}.${fix}`));
  });
  app.setErrorHandler((thrown: Error & { statusCode?: number }, request, reply) => {
    const error = deps.outageOf(thrown) ?? thrown;
    // Fastify closes the connection after a refused body, so a client that is still sending would not read the
    // response; see request-bodies.ts.
    reply.removeHeader('connection');
    if (error instanceof RecalldError) {
      if (error.retryable || error.code === 'rate_limited') deps.onShed(shedReason(error.code));
      setRetryAfter(reply, error);
      return sendProblem(reply, problemOf(error.code, error.message));
    }
    const status = error.statusCode ?? 500;
    if (status < 500) return sendProblem(reply, plainProblem(status, refusalSentence(status)));
    deps.logger.error('a request failed', {
      method: request.method,
      // Logs the route and not the path, which may contain a user id.
      route: request.routeOptions.url ?? null,
      request_id: request.id,
      reason: error.message,
    });
    return sendProblem(reply, plainProblem(500, `The request failed; see recalld's log for request id ${request.id}.`));
  });
}

/** Never uses the parser's message, because it quotes the body, which contains user queries. */
function refusalSentence(status: number): string {
  switch (status) {
    case 413:
      return `The body has more than ${FORM_BYTES} bytes.`;
    case 415:
      return 'The content type is not supported; send application/json.';
    default:
      return 'The request is not valid; the body must be valid JSON.';
  }
}

function pathOf(url: string): string {
  return url.split('?')[0] ?? url;
}

/** If the address is in use, fails before the slower start-up steps begin. @throws RecalldError port_in_use */
export async function assertCanListen(address: HttpAddress): Promise<void> {
  await tryPort(address.port, address.host).catch((cause: unknown) => {
    throw listenFailure(cause, address);
  });
}

function listenFailure(cause: unknown, { host, port, setting }: HttpAddress): Error {
  const code = codeOf(cause);
  if (code === 'EADDRINUSE') {
    return new RecalldError(
      'port_in_use',
      `${host}:${port} is in use by another process; set ${setting} to a free port, or to 0 for any free port.`,
      { cause },
    );
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT' || code === 'ENOTFOUND') {
    return new RecalldError(
      'port_in_use',
      `recalld cannot listen on ${host}:${port} (${code}); correct server.host and ${setting}.`,
      { cause },
    );
  }
  return cause instanceof Error ? cause : new Error(String(cause));
}
