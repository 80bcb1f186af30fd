/** `/v1/golden-sets`. */
import type { FastifyInstance } from 'fastify';
import { type AuthenticationSettings, requireScope } from '../access/authentication.ts';
import { RecalldError } from '../errors.ts';
import { sliceAt } from '../http/paging.ts';
import { parseRequest } from '../http/parse-request.ts';
import type { GoldenSetVersion } from './rules/golden-set.ts';
import {
  goldenQueryJson,
  goldenSetListQuery,
  goldenSetParams,
  goldenSetQuery,
  goldenSetVersionJson,
  newGoldenSetSchema,
} from './schema/golden-set.ts';
import type { GoldenSets } from './sql/golden-sets.ts';

export interface GoldenSetsDeps {
  readonly authentication: AuthenticationSettings;
  readonly sets: GoldenSets;
  /**
   * Makes a new version of values as in the lines of a JSONL file, unless the latest one has the same content.
   *
   * @throws RecalldError file_malformed, golden_set_empty; nothing is stored then
   */
  importQueries(name: string, values: readonly unknown[]): Promise<ImportedGoldenSet>;
}

export interface ImportedGoldenSet {
  readonly set: GoldenSetVersion;
  readonly created: boolean;
  readonly warnings: readonly string[];
}

export function addGoldenSets(app: FastifyInstance, deps: GoldenSetsDeps): void {
  const { authentication, sets } = deps;
  const read = { preParsing: requireScope('read', authentication) };

  app.get('/v1/golden-sets', read, async (request) => {
    const page = parseRequest(request.query, goldenSetListQuery, 'query');
    const versions = await sets.list();
    // The newest of each name comes first.
    const latest = versions.filter(({ name }, index) => versions[index - 1]?.name !== name);
    const { items, next_cursor } = sliceAt(latest, page);
    return { items: items.map(goldenSetVersionJson), next_cursor };
  });

  app.get('/v1/golden-sets/:name', read, async (request) => {
    const { name } = parseRequest(request.params, goldenSetParams, 'path');
    const { version, ...page } = parseRequest(request.query, goldenSetQuery, 'query');
    const versions = (await sets.list()).filter((one) => one.name === name);
    const set = version === undefined ? versions[0] : versions.find((one) => one.version === version);
    if (set === undefined) throw unknownSet(name, version, versions);
    const { items, next_cursor } = sliceAt(await sets.queries(name, set.version), page);
    return {
      ...goldenSetVersionJson(set),
      versions: versions.map(goldenSetVersionJson),
      queries: items.map(goldenQueryJson),
      next_cursor,
    };
  });

  app.post(
    '/v1/golden-sets/:name/versions',
    { preParsing: requireScope('admin', authentication) },
    async (request, reply) => {
      const { name } = parseRequest(request.params, goldenSetParams, 'path');
      const { queries } = parseRequest(request.body, newGoldenSetSchema, 'body');
      const { set, created, warnings } = await deps.importQueries(name, queries);
      return reply.code(created ? 201 : 200).send({ ...goldenSetVersionJson(set), created, warnings });
    },
  );
}

function unknownSet(
  name: string,
  version: number | undefined,
  versions: readonly GoldenSetVersion[],
): RecalldError {
  const sentence =
    versions[0] === undefined || version === undefined
      ? `There is no golden set "${name}"; GET /v1/golden-sets lists those that exist.`
      : `The golden set "${name}" has no version ${version}; its latest is ${versions[0].version}.`;
  return new RecalldError('golden_set_unknown', sentence);
}
