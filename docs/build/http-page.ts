/** docs/reference/http.md: every endpoint with its parameters and fields, from the table that /openapi.json is made from. */
import { z } from 'zod';
import { branches, isMapping, type JsonSchema } from '../../src/app/config/explain.ts';
import { endpoints } from '../../src/app/http/openapi.ts';
import { type Endpoint, type EndpointTag, endpointTags } from '../../src/platform/http/wire.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const rules = `JSON in and out, names in snake case, times in RFC 3339. \`/openapi.json\` says the same for machines.

- **Keys.** \`Authorization: Bearer KEY\`, made by \`recalld keys create --scope SCOPE\`. The scope \`admin\` may do everything.
  A daemon with an embedded database that listens on loopback alone takes calls without a key.
- **Problems.** What goes wrong is a problem document (RFC 9457) with a stable \`code\` and one sentence in \`detail\`; see
  [errors.md](errors.md). A name or id that is not there is 404.
- **Lists** come page by page: \`limit\` bounds a page, \`next_cursor\` is the \`cursor\` of the next one and null on the last.
- **Old values** are withheld: a score or measurement older than three intervals of its schedule is null, and says that
  it is too old. What is withheld is never shown as \`ok\`.
- **Request ids.** \`X-Request-Id\` is taken over from the request, or made, and comes back with every answer.
- **Limits.** At most 32 MB in a body, \`server.max_under_way_mb\` for all requests that are under way together, and
  \`server.max_requests_per_minute\` for each key, or for each address without a good one. An address that sends 20 different wrong keys within a minute gets 429 for the next one, and is not looked
  up; keys that worked before go on. 429 and 503 come with \`Retry-After\`.`;

const example = `\`\`\`sh
recalld=http://127.0.0.1:8321
json='content-type: application/json'
curl -H "$json" $recalld/v1/golden-sets/faq/versions -d '{"queries": [{"text": "How do I pay?", "relevant": ["kb-7"]}]}'
curl -H "$json" $recalld/v1/golden-runs -d '{"pipeline": "support-docs", "golden_set": "faq"}'   # {"run_id": ...}
curl $recalld/v1/golden-runs/RUN_ID
curl $recalld/v1/pipelines/support-docs/status
\`\`\``;

export function httpPage(): Page {
  const tags = Object.keys(endpointTags).filter((tag): tag is EndpointTag => tag in endpointTags);
  return generatedPage(
    'docs/reference/http.md',
    ['src/app/http/openapi.ts'],
    [
      '# HTTP API',
      rules,
      '## Example',
      'A golden set from its import to its verdict:',
      example,
      '## Endpoints',
      table(
        ['Endpoint', 'Scope', 'What it does'],
        endpoints.map((endpoint) => [nameOf(endpoint), scopeOf(endpoint), endpoint.summary]),
      ),
      ...tags.flatMap((tag) => [
        `## ${endpointTags[tag].replace(/\.$/, '')}`,
        ...endpoints.filter((endpoint) => endpoint.tag === tag).flatMap(endpointText),
      ]),
    ],
  );
}

function endpointText(endpoint: Endpoint): string[] {
  const { query, body, responses } = endpoint;
  const head = [`### ${nameOf(endpoint)}`, `${endpoint.summary} Scope: ${scopeOf(endpoint)}.`];
  const parameters = query === undefined ? [] : fieldsOf(jsonSchema(query, 'input'), '', 1);
  const sent = body === null ? [] : fieldsOf(itemOf(jsonSchema(body, 'input')), '', 1);
  return [
    ...head,
    ...(parameters.length === 0
      ? []
      : ['Parameters:', table(['Name', 'Type', 'Default', 'Meaning'], parameters.map(parameterCells))]),
    ...(sent.length === 0 ? [] : ['Body:', fieldTable(sent)]),
    ...answersOf(responses),
  ];
}

/** Statuses that answer with the same fields share a table. */
function answersOf(responses: Endpoint['responses']): string[] {
  const bodies = [...new Set(Object.values(responses).map(({ body }) => body))];
  return bodies.flatMap((body) => {
    const same = Object.entries(responses).filter(([, response]) => response.body === body);
    const statuses = same.map(([status, { description }]) => `${code(status)} ${description}`).join(' ');
    const fields = body === null ? [] : fieldsOf(jsonSchema(body, 'output'), '', 1);
    return fields.length === 0 ? [statuses] : [statuses, fieldTable(fields)];
  });
}

interface Field {
  /** `items[].id`; `metrics.*` is any key. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** Deeper fields would hide the others; their type says `object`, and /openapi.json has them. */
const DEEPEST = 4;

function fieldsOf(schema: JsonSchema, prefix: string, depth: number): Field[] {
  const required = new Set(schema.required ?? []);
  const named = Object.entries(schema.properties ?? {}).filter((entry): entry is [string, JsonSchema] =>
    isMapping(entry[1]),
  );
  return named.flatMap(([name, child]) => {
    const path = `${prefix}${name}`;
    const field = { path, schema: child, isRequired: required.has(name) };
    return depth === DEEPEST ? [field] : [field, ...innerFields(child, path, depth + 1)];
  });
}

function innerFields(schema: JsonSchema, path: string, depth: number): Field[] {
  const inner = branches(schema).find(
    (branch) => branch.properties !== undefined || isMapping(branch.items) || isMapping(branch.additionalProperties),
  );
  if (inner === undefined) return [];
  if (inner.properties !== undefined) return fieldsOf(inner, `${path}.`, depth);
  const [item, mark] = isMapping(inner.items) ? [inner.items, '[]'] : [inner.additionalProperties as JsonSchema, '.*'];
  const option = branches(item).find(({ properties }) => properties !== undefined);
  return option === undefined ? [] : fieldsOf(option, `${path}${mark}.`, depth);
}

function fieldTable(fields: readonly Field[]): string {
  return table(
    ['Field', 'Type', 'Meaning'],
    fields.map(({ path, schema, isRequired }) => [
      code(path),
      `${typeOf(schema)}${isRequired ? '' : ', optional'}`,
      meaningOf(schema),
    ]),
  );
}

function parameterCells({ path, schema }: Field): string[] {
  const fallback = schema.default === undefined ? '' : code(JSON.stringify(schema.default));
  return [code(path), typeOf(schema), fallback, meaningOf(schema)];
}

function meaningOf(schema: JsonSchema): string {
  return schema.description ?? branches(schema).find(({ description }) => description)?.description ?? '';
}

function typeOf(schema: JsonSchema): string {
  const all = branches(schema).flatMap((branch): string[] => {
    if (branch.enum !== undefined) return branch.enum.map((value) => code(String(value)));
    if (branch.const !== undefined) return [code(String(branch.const))];
    if (branch.format === 'date-time') return ['time'];
    if (branch.type === 'array') return [`list of ${isMapping(branch.items) ? typeOf(branch.items) : 'any'}`];
    const { type } = branch as { type?: string | readonly string[] };
    return typeof type === 'string' ? [type] : [...(type ?? ['any'])];
  });
  return [...new Set(all)].join(', ');
}

/** What one item is, where one or a list of them may be sent. */
function itemOf(schema: JsonSchema): JsonSchema {
  return branches(schema).find(({ properties }) => properties !== undefined) ?? schema;
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, {
    io,
    reused: 'inline',
    unrepresentable: 'any',
    override: ({ jsonSchema: found }) => {
      const { wire } = found as { wire?: JsonSchema };
      if (wire !== undefined) Object.assign(found, wire);
    },
  });
}

function nameOf({ method, path }: Endpoint): string {
  return code(`${method.toUpperCase()} ${path}`);
}

function scopeOf({ scope }: Endpoint): string {
  return scope ?? 'none';
}
