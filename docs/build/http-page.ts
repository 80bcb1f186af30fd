/** docs/reference/http.md: every endpoint with its parameters and fields, from the same table as /openapi.json. */
import { z } from 'zod';
import { branches, type JsonSchema } from '../../src/app/config/explain.ts';
import { endpoints } from '../../src/app/http/openapi.ts';
import { isMapping } from '../../src/core/text/json.ts';
import { type Endpoint, type EndpointTag, endpointTags } from '../../src/platform/http/wire.ts';
import { code, generatedPage, type Page } from './page.ts';

const rules = `Requests and responses are JSON, names are in snake case, and times follow RFC 3339. \`/openapi.json\` describes the
same endpoints for machines, with every nested field.

- **Keys.** Send \`Authorization: Bearer KEY\`; create a key with \`recalld keys create --scope SCOPE\`. An endpoint requires
  the scope \`read\` unless this page names another scope. The scope \`admin\` allows everything. A daemon that uses the
  embedded database and listens only on loopback accepts requests without a key, unless \`server.oidc\` or \`server.trusted_proxies\` is set.
- **Errors** are problem documents (RFC 9457) with a stable \`code\` and one sentence in \`detail\`; see
  [errors.md](errors.md). An unknown name or id returns 404.
- **Lists** are paged: \`items\` contains one page of at most \`limit\` items. \`next_cursor\` is the \`cursor\` of the next page, and null on the last page.
- **No stale values.** If a score or measurement is older than three intervals of its schedule, the response contains
  null and a note that it is too old. A check on a stale value is never \`ok\`.
- **Request ids.** Every response has an \`X-Request-Id\` header with the id from the request or, without one, a new id.
- **Limits.** A request body may be up to 32 MB. \`server.max_under_way_mb\` limits the memory of all concurrent requests. \`server.max_requests_per_minute\` limits the rate per key, or per address that sends no valid key. After
  20 different wrong keys from one address within a minute, further unknown keys from this address get 429; keys that have already been accepted still work.
  Responses with 429 or 503 include \`Retry-After\`.
- **Fields.** A field without a type is a string or, if other fields are indented below it, an object. The fields of an
  object are listed once; if the object appears again, the text links to this list.`;

const example = `\`\`\`sh
recalld=http://127.0.0.1:8321
json='content-type: application/json'
curl -H "$json" $recalld/v1/golden-sets/faq/versions -d '{"queries": [{"text": "How do I pay?", "relevant": ["kb-7"]}]}'
curl -H "$json" $recalld/v1/golden-runs -d '{"pipeline": "support-docs", "golden_set": "faq"}'   # {"run_id": ...}
curl $recalld/v1/golden-runs/RUN_ID
curl $recalld/v1/pipelines/support-docs/status
\`\`\``;

export function httpPage(): Page {
  const listed: Listed = new Map();
  const tags = Object.keys(endpointTags).filter((tag): tag is EndpointTag => tag in endpointTags);
  return generatedPage(
    'docs/reference/http.md',
    ['src/app/http/openapi.ts'],
    [
      '# HTTP API',
      rules,
      '## Example',
      'Import a golden set, run it, and read the verdict:',
      example,
      '## Common parameters',
      commonParameters.join('\n'),
      ...tags.flatMap((tag) => [
        `## ${endpointTags[tag].replace(/\.$/, '')}`,
        ...endpoints.filter((endpoint) => endpoint.tag === tag).flatMap((endpoint) => endpointText(endpoint, listed)),
      ]),
    ],
  );
}

/** The first place that lists an object with several fields, or a long list of values. */
interface ListedPlace {
  readonly endpoint: Endpoint;
  readonly path: string;
  /** Signature of each field of the object; empty for a list of values. */
  readonly fields: ReadonlyMap<string, string>;
}

type Listed = Map<string, ListedPlace>;

function endpointText(endpoint: Endpoint, listed: Listed): string[] {
  const { query, body } = endpoint;
  const fields = (schema: JsonSchema) => fieldsOf(schema, '', 1, { endpoint, listed });
  const parameters = query === undefined ? [] : fields(jsonSchema(query, 'input'));
  const sent = body === null ? [] : fields(itemOf(jsonSchema(body, 'input')));
  return [
    `### ${nameOf(endpoint)}`,
    `${endpoint.summary}${endpoint.scope === 'read' ? '' : ` Scope: ${code(endpoint.scope ?? 'none')}.`}`,
    ...parametersText(parameters),
    ...(sent.length === 0 ? [] : ['Body:', bullets(sent)]),
    ...answersOf(endpoint, { endpoint, listed }),
  ];
}

function parametersText(parameters: readonly Field[]): string[] {
  const isCommon = (field: Field) => commonParameters.includes(bullets([field]));
  const own = parameters.filter((field) => !isCommon(field));
  const common = parameters.filter(isCommon).map(({ path }) => code(path));
  return [
    ...(own.length === 0 ? [] : ['Parameters:', bullets(own)]),
    ...(common.length === 0 ? [] : [`[Common parameters](#common-parameters): ${common.join(', ')}.`]),
  ];
}

/** Returns the response texts; statuses with the same fields share a list. */
function answersOf({ responses }: Endpoint, place: Place): string[] {
  const bodies = [...new Set(Object.values(responses).map(({ body }) => body))];
  return bodies.flatMap((body) => {
    const same = Object.entries(responses).filter(([, response]) => response.body === body);
    const statuses = same.map(([status, { description }]) => `${code(status)} ${description}`).join(' ');
    const schema = body === null ? {} : jsonSchema(body, 'output');
    const item = pageItem(schema);
    const before = listedBefore(item ?? schema, '', 1, place);
    const head = item === null ? statuses : `${statuses} Each item:`;
    if (before !== '') return [`${head} ${before}`];
    const base = baseOf(item ?? schema, place);
    const answered = fieldsOf(item ?? schema, '', 1, place).filter(
      ({ path }) => base?.fields.has(path.split(/[.[]/)[0] ?? '') !== true,
    );
    if (answered.length === 0) return [base === null ? statuses : `${head} Same fields as ${linkTo(base, place)}.`];
    return [base === null ? head : `${head} Same fields as ${linkTo(base, place)}, and:`, bullets(answered)];
  });
}

/** Schema of the items on a page; null if the body is not a page. */
function pageItem(schema: JsonSchema): JsonSchema | null {
  const { items, next_cursor: _, ...rest } = schema.properties ?? {};
  const isPage = isMapping(items) && Object.keys(rest).length === 0;
  return isPage ? (innerOf(items)?.schema ?? null) : null;
}

interface Field {
  /** `items[].id`; `metrics.*` is any key. */
  readonly path: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** Link to the place that lists the fields or values; empty if they are listed here. */
  readonly listedAt: string;
}

interface Place {
  readonly endpoint: Endpoint;
  readonly listed: Listed;
}

/** Deeper fields are omitted for readability: their parent has the type `object`, and /openapi.json lists them. */
const DEEPEST = 3;
/** An object with fewer fields, or an enumeration with fewer values, is shorter than a link. */
const FEW_FIELDS = 3;
const FEW_VALUES = 4;
/** A larger object that contains an object with fewer fields repeats these fields instead of linking to them. */
const FEW_BASE_FIELDS = 5;

function fieldsOf(schema: JsonSchema, prefix: string, depth: number, place: Place): Field[] {
  const required = new Set(schema.required ?? []);
  const named = Object.entries(schema.properties ?? {}).filter((entry): entry is [string, JsonSchema] =>
    isMapping(entry[1]),
  );
  return named.flatMap(([name, child]) => {
    const path = `${prefix}${name}`;
    const listedAt = listedBefore(child, path, depth, place);
    const field = { path, schema: child, isRequired: required.has(name), listedAt };
    return depth === DEEPEST || listedAt !== '' ? [field] : [field, ...innerFields(child, path, depth + 1, place)];
  });
}

/**
 * Returns a link to the place that lists the fields or values of a schema. Returns an empty string if there are few of
 * them, if they are too deep, or if no place has listed them yet; in the last case, the function records `path` as the
 * first place.
 */
function listedBefore(schema: JsonSchema, path: string, depth: number, place: Place): string {
  const { endpoint, listed } = place;
  const inner = innerOf(schema);
  const values = branches(schema).flatMap((branch) => [
    ...(branch.enum ?? []),
    ...(isMapping(branch.items) ? (branch.items.enum ?? []) : []),
  ]);
  const isLong =
    inner === null ? values.length > FEW_VALUES : Object.keys(inner.schema.properties ?? {}).length >= FEW_FIELDS;
  if (!isLong || (inner !== null && depth === DEEPEST)) return '';
  const signature = JSON.stringify(inner === null ? values : { ...inner.schema, description: '' });
  const first = listed.get(signature);
  if (first === undefined) {
    const fields = inner === null ? new Map<string, string>() : signaturesOf(inner.schema);
    listed.set(signature, { endpoint, path: `${path}${inner?.mark ?? ''}`, fields });
    return '';
  }
  return `Same ${inner === null ? 'values' : 'fields'} as ${linkTo(first, place)}.`;
}

function linkTo({ endpoint, path }: ListedPlace, place: Place): string {
  if (endpoint === place.endpoint) return `${code(path)} above`;
  return `${path === '' ? '' : `${code(path)} in `}[${nameOf(endpoint)}](#${anchorOf(endpoint)})`;
}

function signaturesOf({ properties = {} }: JsonSchema): Map<string, string> {
  return new Map(Object.entries(properties).map(([name, child]) => [name, JSON.stringify(child)]));
}

/** Returns the largest object of an earlier endpoint whose fields the response also has; null if there is none. */
function baseOf(schema: JsonSchema, { endpoint, listed }: Place): ListedPlace | null {
  const own = signaturesOf(schema);
  const [base] = [...listed.values()]
    .filter(({ endpoint: earlier, fields }) => earlier !== endpoint && fields.size >= FEW_BASE_FIELDS)
    .filter(({ fields }) => [...fields].every(([name, signature]) => own.get(name) === signature))
    .toSorted((a, b) => b.fields.size - a.fields.size);
  return base ?? null;
}

/** The id that a browser gives the heading of an endpoint. */
function anchorOf({ method, path }: Endpoint): string {
  return `${method}-${path}`.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '');
}

/** The object in a schema: the schema itself, the elements of a list, or the values of a mapping. */
function innerOf(schema: JsonSchema): { readonly schema: JsonSchema; readonly mark: string } | null {
  const inner = branches(schema).find(
    (branch) => branch.properties !== undefined || isMapping(branch.items) || isMapping(branch.additionalProperties),
  );
  if (inner === undefined) return null;
  if (inner.properties !== undefined) return { schema: inner, mark: '' };
  const [item, mark] = isMapping(inner.items) ? [inner.items, '[]'] : [inner.additionalProperties as JsonSchema, '.*'];
  const option = branches(item).find(({ properties }) => properties !== undefined);
  return option === undefined ? null : { schema: option, mark };
}

function innerFields(schema: JsonSchema, path: string, depth: number, place: Place): Field[] {
  const inner = innerOf(schema);
  return inner === null ? [] : fieldsOf(inner.schema, `${path}${inner.mark}.`, depth, place);
}

function fieldCells({ path, schema, isRequired, listedAt }: Field): [string, string, string] {
  const ifOmitted =
    schema.default === undefined ? 'optional' : `default ${code(JSON.stringify(schema.default).replaceAll('"', ''))}`;
  const type = `${typeOf(schema, listedAt !== '')}${isRequired ? '' : `, ${ifOmitted}`}`;
  return [code(path), type, [meaningOf(schema), listedAt].filter((text) => text !== '').join(' ')];
}

/** Returns fields as nested bullets. Adjacent fields without an explanation share a bullet. */
function bullets(fields: readonly Field[]): string {
  const lines: { readonly indent: string; text: string; readonly isPlain: boolean }[] = [];
  fields.forEach((field, index) => {
    const depth = depthOf(field.path);
    const isParent = depthOf(fields[index + 1]?.path ?? '') > depth;
    const [, type, meaning] = fieldCells(field);
    const shown = (
      isParent
        ? type.replace(/^list of object\b/, 'list').replace(/^object\b(?:, )?/, '')
        : type.replace(/^string(?:$|, (?=null|optional|default))/, '')
    ).replace(/^null\b/, 'or null');
    const text = `${code(field.path.split('.').at(-1) ?? field.path)}${shown === '' ? '' : ` (${shown})`}`;
    const indent = '  '.repeat(depth);
    const isPlain = meaning === '' && !isParent;
    const before = lines.at(-1);
    if (isPlain && before?.isPlain === true && before.indent === indent) before.text += `, ${text}`;
    else lines.push({ indent, text: meaning === '' ? text : `${text}: ${meaning}`, isPlain });
  });
  return lines.map(({ indent, text }) => `${indent}- ${text}`).join('\n');
}

/** Returns how many objects contain a field; keys of a mapping (`*`) do not count. */
function depthOf(path: string): number {
  return path.replaceAll('.*', '').split('.').length - 1;
}

function meaningOf(schema: JsonSchema): string {
  return schema.description ?? branches(schema).find(({ description }) => description)?.description ?? '';
}

/** Names of a schema's types. For an enumeration, lists its values unless another place lists them. */
function typeOf(schema: JsonSchema, isListed: boolean): string {
  const all = branches(schema).flatMap((branch): string[] => {
    if (branch.enum !== undefined && isListed) return ['enum'];
    if (branch.enum !== undefined) return branch.enum.map((value) => code(String(value)));
    if (branch.const !== undefined) return [code(String(branch.const))];
    if (branch.format === 'date-time') return ['time'];
    if (branch.type === 'array') return [`list of ${isMapping(branch.items) ? typeOf(branch.items, isListed) : 'any'}`];
    const { type } = branch as { type?: string | readonly string[] };
    return typeof type === 'string' ? [type] : [...(type ?? ['any'])];
  });
  return [...new Set(all)].join(', ');
}

/** Returns the schema of one item if a request accepts one item or a list. */
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

/** Bullets of the parameters that at least three endpoints accept in the same form. */
const commonParameters = (() => {
  const counts = new Map<string, number>();
  for (const endpoint of endpoints) {
    if (endpoint.query === undefined) continue;
    const place = { endpoint, listed: new Map() };
    for (const field of fieldsOf(jsonSchema(endpoint.query, 'input'), '', 1, place)) {
      const bullet = bullets([field]);
      counts.set(bullet, (counts.get(bullet) ?? 0) + 1);
    }
  }
  return [...counts].filter(([, count]) => count >= 3).map(([bullet]) => bullet);
})();
