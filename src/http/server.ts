/** The HTTP face of the daemon, with problem documents for everything that goes wrong. */
import { randomUUID } from 'node:crypto';
import rateLimit from '@fastify/rate-limit';
import { type FastifyInstance, fastify } from 'fastify';
import { RecalldError } from '../core/errors.ts';
import type { Logger } from '../ports/telemetry.ts';
import { addBaselines, type BaselinesDeps } from './baselines.ts';
import type { ConsoleDeps } from './console/deps.ts';
import { asksForPage, sendProblemPage } from './console/error-pages.ts';
import { addConsole } from './console/routes.ts';
import { addDensity, type DensityDeps } from './density.ts';
import { addDeployments, type DeploymentsDeps } from './deployments.ts';
import { addDiagnoses } from './diagnoses.ts';
import { addErasure, type ErasureDeps } from './erasure.ts';
import { addFeedbackSummary, type FeedbackSummaryDeps } from './feedback-summary.ts';
import { addGoldenRuns, type GoldenRunsDeps } from './golden-runs.ts';
import { addGoldenSets, type GoldenSetsDeps } from './golden-sets.ts';
import { acceptGzip } from './inflate.ts';
import { addIngest, type IngestDeps } from './ingest.ts';
import { refuseForeignPages } from './local-callers.ts';
import { addOpenApi } from './openapi.ts';
import { addOperations, type OperationsDeps } from './operations.ts';
import { addOtlp, type OtlpDeps } from './otlp.ts';
import { addPipelines } from './pipelines.ts';
import { plainProblem, problemOf, RETRY_AFTER_SECONDS, sendProblem } from './problem.ts';
import { addRetirement, type Retirement } from './retirement.ts';
import { type ShedReason, shedReason } from './shed-reason.ts';
import { addUncoveredTopics, type UncoveredTopicsDeps } from './uncovered-topics.ts';

export interface ApiDeps
  extends IngestDeps,
    OtlpDeps,
    ErasureDeps,
    DeploymentsDeps,
    DensityDeps,
    UncoveredTopicsDeps,
    GoldenSetsDeps,
    GoldenRunsDeps,
    BaselinesDeps,
    FeedbackSummaryDeps,
    ConsoleDeps {
  readonly maxRequestsPerMinute: number;
}

export interface HttpDeps {
  readonly logger: Logger;
  readonly version: string;
  /** Health and metrics; null: they are shown elsewhere. */
  readonly operations: OperationsDeps | null;
  /** The API; null: this process does not serve it. */
  readonly api: ApiDeps | null;
  /** The sentence for an error of the database that means that it is away for now; null for any other error. */
  outageOf(error: Error): RecalldError | null;
  /** Counts a request that was sent away for now. */
  onShed(reason: ShedReason): void;
}

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export interface HttpServer extends Retirement {
  readonly url: string;
  close(): Promise<void>;
}

/** Ids of queries and users have up to 1,024 characters. */
const LONGEST_PARAMETER = 4096;

/** Holds a thousand queries with vectors of 1,536 numbers as text. */
const BODY_LIMIT = 32 * 1024 * 1024;

/**
 * Listens on `address`; port 0 takes a free one.
 *
 * @param setting the config key of the port, for the message when it is taken
 * @throws RecalldError port_in_use
 */
export async function startHttpServer(
  deps: HttpDeps,
  address: HttpAddress,
  setting: string,
): Promise<HttpServer> {
  const app = fastify({
    logger: false,
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    requestTimeout: 30_000,
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    genReqId: (request) => knownRequestId(request.headers['x-request-id']) ?? randomUUID(),
  });
  const retirement = addRetirement(app);
  if (deps.operations !== null) addOperations(app, deps.operations);
  if (deps.api !== null) {
    const { api } = deps;
    if (api.authentication.optional) refuseForeignPages(app);
    await app.register(rateLimit, {
      max: api.maxRequestsPerMinute,
      timeWindow: 60_000,
      keyGenerator: (request) => request.headers.authorization ?? request.ip,
      allowList: (request) => !request.url.startsWith('/v1/'),
    });
    addOpenApi(app, deps.version);
    addOtlp(app, api, RETRY_AFTER_SECONDS);
    void app.register(async (scope) => {
      acceptGzip(scope, BODY_LIMIT);
      addIngest(scope, api, BODY_LIMIT);
      addErasure(scope, api);
      addDeployments(scope, api);
      addDiagnoses(scope, api);
      addDensity(scope, api);
      addUncoveredTopics(scope, api);
      addGoldenSets(scope, api);
      addGoldenRuns(scope, api);
      addBaselines(scope, api);
      addPipelines(scope, api);
      addFeedbackSummary(scope, api);
    });
    addConsole(app, api, (error) => deps.outageOf(error));
  }
  addProblems(app, deps);
  try {
    const url = await app.listen({ host: address.host, port: address.port });
    return Object.assign(retirement, { url, close: () => app.close() });
  } catch (cause) {
    throw listenFailure(cause, address, setting);
  }
}

/** The caller's id of the request, when it is one that a log can hold. */
function knownRequestId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(header) ? header : null;
}

function addProblems(app: FastifyInstance, deps: HttpDeps): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    done();
  });
  app.setNotFoundHandler((request, reply) => {
    if (deps.api !== null && asksForPage(request)) {
      const problem = plainProblem(404, `There is no page ${pathOf(request.url)}.`);
      return sendProblemPage(deps.api, request, reply, problem);
    }
    return sendProblem(reply, plainProblem(404, `There is no ${request.method} ${pathOf(request.url)}.`));
  });
  app.setErrorHandler((thrown: Error & { statusCode?: number }, request, reply) => {
    const error = deps.outageOf(thrown) ?? thrown;
    if (error instanceof RecalldError) {
      if (error.retryable) {
        deps.onShed(shedReason(error.code));
        reply.header('retry-after', RETRY_AFTER_SECONDS);
      }
      return sendProblem(reply, problemOf(error.code, error.message));
    }
    const status = error.statusCode ?? 500;
    if (status === 429) deps.onShed('rate_limit');
    // What is left of the body is not waited for.
    if (status === 413) reply.header('connection', 'close');
    if (status < 500) return sendProblem(reply, plainProblem(status, refusalSentence(status)));
    deps.logger.error('a request failed', {
      method: request.method,
      path: pathOf(request.url),
      request_id: request.id,
      reason: error.message,
    });
    return sendProblem(
      reply,
      plainProblem(500, `The request failed; the log of recalld says why, under request id ${request.id}.`),
    );
  });
}

/** Never the words of the parser, which quote the body, and with it what a user asked. */
function refusalSentence(status: number): string {
  switch (status) {
    case 413:
      return `The body has more than ${BODY_LIMIT} bytes; send smaller batches.`;
    case 415:
      return 'The content type is not understood; send application/json.';
    case 429:
      return 'Too many requests; send larger batches, or wait as Retry-After says.';
    default:
      return 'The request cannot be read; the body must be valid JSON.';
  }
}

function pathOf(url: string): string {
  return url.split('?')[0] ?? url;
}

function listenFailure(cause: unknown, { host, port }: HttpAddress, setting: string): Error {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE') {
    return new RecalldError(
      'port_in_use',
      `${host}:${port} is taken by another process; set ${setting} to a free port, or to 0 to take any.`,
      { cause },
    );
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new RecalldError(
      'port_in_use',
      `${host}:${port} cannot be listened on (${code}); mend server.host and ${setting}.`,
      { cause },
    );
  }
  return cause instanceof Error ? cause : new Error(String(cause));
}
