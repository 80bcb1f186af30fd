/** Limits the context of a request to the pipelines that its API key may access. */
import type { FastifyRequest } from 'fastify';
import type { Context, Scope } from '../../core/context.ts';
import { RecalldError } from '../../core/errors.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import { type ContextOf, pipelinesOf } from '../../platform/access/pipeline-access.ts';
import { routeOf } from '../../platform/http/operations.ts';
import { accessOf } from './route-access.ts';

export type OpenTables = (scope: Scope) => Pick<Context, 'db' | 'reads' | 'dbBy'>;

/** Maximum number of cached contexts, one per set of pipelines. Beyond this number, the oldest context is evicted. */
const MAX_SCOPES = 1000;

/**
 * Returns a function that limits the context of a request to the pipelines of its key. The function rejects requests to
 * routes that affect all pipelines, and requests whose path, query string or body names a pipeline that the key may not
 * see.
 *
 * @throws RecalldError key_limited, pipeline_unknown
 */
export function createContextOf(context: Context, openTables: OpenTables): ContextOf {
  const scoped = new Map<string, Context>();
  return (request) => {
    const pipelines = pipelinesOf(request);
    if (pipelines === null) return context;
    const key = JSON.stringify(pipelines.toSorted());
    const known = scoped.get(key) ?? scopedContext(context, pipelines, openTables);
    scoped.set(key, known);
    const [oldest] = scoped.keys();
    if (scoped.size > MAX_SCOPES && oldest !== undefined) scoped.delete(oldest);
    guard(request, known);
    return known;
  };
}

function guard(request: FastifyRequest, { pipelines }: Context): void {
  const { method } = request;
  const { pipelines: access } = accessOf(method, routeOf(request));
  if (access === 'refused') {
    const message = `${method} ${routeOf(request)} affects all pipelines, and the API key is limited to some of them; use a key without \`--pipelines\`.`;
    throw new RecalldError('key_limited', message);
  }
  if (access === 'items') return;
  const shown = pipelines.flatMap(({ name, shadows }) => [{ name }, ...shadows.map(({ asked }) => asked)]);
  for (const fields of [request.params, request.query, request.body]) {
    const name = (fields as { readonly pipeline?: unknown } | null | undefined)?.pipeline;
    // In console forms, an empty pipeline name means all pipelines.
    if (typeof name === 'string' && name !== '' && !shown.some((one) => one.name === name))
      findPipeline(pipelines, name);
  }
}

function scopedContext(context: Context, names: readonly string[], openTables: OpenTables): Context {
  const isSeen = ({ pipeline }: { readonly pipeline: string }): boolean => names.includes(pipeline);
  const isNamed = ({ name }: { readonly name: string }): boolean => names.includes(name);
  const { config } = context;
  const pipelines = context.pipelines.filter(isNamed);
  return {
    ...context,
    config: { ...config, pipelines: config.pipelines.filter(isNamed) },
    pipelines,
    livePlans: context.livePlans.filter(isSeen),
    judgingPlans: context.judgingPlans.filter(isSeen),
    indexPlans: context.indexPlans.filter(isSeen),
    densityPlans: context.densityPlans.filter(isSeen),
    variantPlans: context.variantPlans.filter(isSeen),
    ...openTables(scopeOf(context, names)),
  };
}

function setsOf(pipelines: Context['pipelines']): string[] {
  return pipelines.flatMap(({ golden }) => golden.map(({ set }) => set));
}

function scopeOf({ pipelines }: Context, names: readonly string[]): NonNullable<Scope> {
  const own = pipelines.filter(({ name }) => names.includes(name));
  const others = new Set(setsOf(pipelines.filter((one) => !own.includes(one))));
  const goldenSets = [...new Set(setsOf(own))];
  return {
    pipelines: [...names, ...own.flatMap(({ shadows }) => shadows.map(({ asked }) => asked.name))],
    goldenSets,
    ownGoldenSets: goldenSets.filter((set) => !others.has(set)),
  };
}
