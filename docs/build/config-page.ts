/** docs/reference/config.md: every key of recalld.yaml, from the JSON Schema. */

import { branches, childSchemas, isMapping, type JsonSchema } from '../../src/app/config/explain.ts';
import { configJsonSchema, type EnvironmentVariable, environmentVariables } from '../../src/app/config/parse.ts';
import { configExample } from './config-example.ts';
import { code, generatedPage, type Page, table } from './page.ts';

interface Leaf {
  readonly key: string;
  readonly schema: JsonSchema;
  readonly default: unknown;
  readonly isRequired: boolean;
}

/** The keys of one mapping, or of all forms that it may have. */
interface Section {
  /** As in messages: `pipelines[].retriever`. */
  readonly path: string;
  readonly about: string;
  readonly forms: readonly Form[];
  /** Another section that describes the same keys; null if this section describes them. */
  readonly sameAs: string | null;
}

interface Form {
  /** `kind: http`, or the keys that the form requires; empty if the mapping has only one form. */
  readonly name: string;
  readonly about: string;
  readonly leaves: readonly Leaf[];
  /** Keys that hold a mapping with a section of its own. */
  readonly nested: readonly string[];
}

const rules = `- **Unknown keys.** An unknown key is an error; the message names the key that you probably meant.
- **Order.** The environment overrides the file, and the file overrides the defaults. Without a file, \`recalld serve\` uses the defaults:
  an embedded database and no pipelines.
- **\`\${VAR}\`** in any text of the file is replaced with the environment variable; an unset variable is an error. The value is always
  text; for numbers and booleans use the variables listed below.
- **\`NAME_FILE\`** is the path of a file that contains the secret. If a variable supports this, its \`_FILE\` variable is listed with it.
- **Secrets** are hidden by \`recalld config print\`: headers and API keys completely, the password and query values of a
  URL, and values of a request body under names such as \`api_key\` or \`token\`.
- **Shared parts** are described once, and other sections link to them.`;

export function configPage(): Page {
  const schema = configJsonSchema();
  const variables = new Map(environmentVariables(schema).map((variable) => [variable.path.join('.'), variable]));
  const sections = withoutRepeatedForms(sectionsOf(schema, '', new Map()));
  return generatedPage(
    'docs/reference/config.md',
    ['src/app/config', 'docs/build/config-example.ts'],
    [
      '# Configuration',
      'recalld reads one YAML file: `recalld.yaml` in the working folder, or `--config FILE`. `recalld config check` validates it, `recalld config print` shows it with defaults and environment applied, and `recalld config schema` prints its JSON Schema for editors.',
      rules,
      '## Example',
      'This example contains every key, with one kind of retriever, store and model. Most keys have defaults.',
      `\`\`\`yaml\n${configExample}\`\`\``,
      '## Keys',
      'Each key is listed with its type, its default, its meaning, and the environment variable that sets it. If a mapping has several forms, the keys shared by all forms are listed first.',
      ...connectionText(sections),
      ...sections
        .filter(({ path }) => !isConnectionSection(path))
        .flatMap((section) => sectionText(section, sections, variables)),
    ],
  );
}

/** True for a section whose keys are described in the section about connections. */
function isConnectionSection(path: string): boolean {
  return /(?<!queue)\.tls(?:\.client)?$/.test(path);
}

/** Keys that configure a connection to another service. One section describes them for all services. */
const connectionKeys = [
  'headers',
  'proxy',
  'timeout_ms',
  'retries',
  'max_per_second',
  'api_key',
  'username',
  'password',
  'tls',
];
const connectionHeading = 'Connections to other services';

function connectionText(sections: readonly Section[]): string[] {
  const tls = sections.find(({ path }) => path === 'metrics.otlp.tls');
  const client = sections.find(({ path }) => path.endsWith('.tls.client'));
  const nested = [tls, client].flatMap((section) =>
    (section?.forms ?? []).flatMap(({ leaves }) =>
      leaves.map((leaf) => {
        const [, ...cells] = leafCells(leaf, undefined);
        return [code(`tls.${section === client ? 'client.' : ''}${leaf.key}`), cells[0] ?? '', cells[2] ?? ''];
      }),
    ),
  );
  const rows = connectionKeys.flatMap((key) => {
    const leaf = connectionLeaf(key, sections);
    if (leaf === undefined) return [];
    const [name = '', type = '', , meaning = ''] = leafCells(leaf, undefined);
    return [[name, type, meaning]];
  });
  return [
    `### ${connectionHeading}`,
    'Retrievers, stores, models, receivers and collectors have these keys. The defaults are listed in the section of each service.',
    table(['Key', 'Type', 'Meaning'], [...rows, ...nested]),
  ];
}

/** Returns a connection key in the form that most sections use. */
function connectionLeaf(key: string, sections: readonly Section[]): Leaf | undefined {
  const found = sections.flatMap(({ forms }) =>
    forms.flatMap(({ leaves }) => leaves.filter((leaf) => leaf.key === key)),
  );
  const counts = groupedBy(found, ({ schema }) => schema.description);
  return [...counts.values()].toSorted((a, b) => b.length - a.length)[0]?.[0];
}

function sectionText(
  section: Section,
  sections: readonly Section[],
  variables: ReadonlyMap<string, EnvironmentVariable>,
): string[] {
  const { path, about, forms, sameAs } = section;
  const head = [`${path.includes('.') ? '####' : '###'} ${code(path)}`, ...(about === '' ? [] : [about])];
  const isUnion = forms.length > 1;
  const list = forms.map(({ name, about: meaning }) => `- ${name}${meaning === '' ? '' : `: ${meaning}`}`).join('\n');
  if (sameAs !== null) {
    const own = [...variables]
      .filter(([key]) => key.startsWith(`${path}.`))
      .flatMap(([, variable]) => namesOf(variable));
    const environment = own.length === 0 ? '' : ` Environment: ${own.map(code).join(', ')}.`;
    const kinds = isUnion ? `, with ${forms.map(({ name }) => name).join(', ')}` : '';
    const [key = ''] = path.split('.').slice(-1);
    const same = isConnectionSection(sameAs)
      ? `[${code(key)} of other connections](#${connectionHeading.toLowerCase().replaceAll(' ', '-')})`
      : sectionLink(sameAs);
    return [...head, `Same keys as ${same}${kinds}.${environment}`];
  }
  const groups = groupedBy(rowsOf(section, sections, variables), ({ takenBy }) => takenBy.join());
  return [
    ...head,
    ...(isUnion ? [list] : []),
    ...['backend', 'kind']
      .flatMap((key) => variables.get(`${path}.${key}`) ?? [])
      .map(({ name }) => `The environment variable ${code(name)} selects the form.`),
    ...[...groups.values()].flatMap((rows) => {
      const takenBy = rows[0]?.takenBy ?? [];
      const names = takenBy.map((index) => forms[index]?.name ?? '').join(', ');
      return [
        ...(isUnion ? [takenBy.length === forms.length ? 'All forms:' : `${names}:`] : []),
        rows.map(({ cells }) => bullet(cells)).join('\n'),
      ];
    }),
  ];
}

/** Returns one line with the name, type, default, meaning and environment variables of a key. */
function bullet([name = '', type = '', fallback = '', meaning = '', environment = '']: readonly string[]): string {
  const shown = [type, fallback === '' || fallback === 'required' ? fallback : `default ${fallback}`].filter(
    (text) => text !== '',
  );
  return `- ${name}${shown.length === 0 ? '' : ` (${shown.join('; ')})`}: ${[meaning, environment].filter((text) => text !== '').join(' ')}`;
}

interface Row {
  readonly cells: string[];
  /** Indexes of the forms that accept the key. */
  readonly takenBy: number[];
}

/**
 * Returns the rows of all forms. A key that several forms accept in the same way has one row; all connection keys share
 * a row.
 */
function rowsOf(
  { path, forms }: Section,
  sections: readonly Section[],
  variables: ReadonlyMap<string, EnvironmentVariable>,
): Row[] {
  const rows = new Map<string, Row>();
  const connections = new Map<string, Row>();
  for (const [index, { leaves, nested }] of forms.entries()) {
    const add = (into: Map<string, Row>, key: string, cells: string[]) => {
      const row = into.get(key) ?? { cells, takenBy: [] };
      row.takenBy.push(index);
      into.set(key, row);
    };
    for (const leaf of leaves.filter(({ schema }) => forms.length === 1 || typeof schema.const !== 'string')) {
      const cells = leafCells(leaf, variables.get(`${path}.${leaf.key}`));
      const isConnection =
        connectionKeys.includes(leaf.key) &&
        connectionLeaf(leaf.key, sections)?.schema.description === leaf.schema.description;
      add(isConnection ? connections : rows, JSON.stringify(cells), cells);
    }
    // The queue has a separate TLS section, with one additional key.
    if (nested.includes('tls') && path !== 'queue') {
      const own = [...variables].filter(([key]) => key.startsWith(`${path}.tls.`));
      add(connections, 'tls', [code('tls'), '', '', '', own.map(([, { name }]) => code(name)).join(', ')]);
    }
  }
  const merged = [...groupedBy(connections.values(), ({ takenBy }) => takenBy.join()).values()].map((group) => ({
    takenBy: group[0]?.takenBy ?? [],
    cells: connectionCells(group.map(({ cells }) => cells)),
  }));
  return [...rows.values(), ...merged].toSorted((a, b) => b.takenBy.length - a.takenBy.length);
}

/** Returns one row for several connection keys: names, defaults and variables. */
function connectionCells(all: readonly string[][]): string[] {
  const defaults = all
    .filter(([, , fallback]) => fallback !== '')
    .map(([key = '', , fallback]) => `${key} ${fallback}`);
  return [
    all.map(([key]) => key).join(', '),
    '',
    defaults.filter((text) => !text.endsWith('`{}`')).join(', '),
    `[connection](#${connectionHeading.toLowerCase().replaceAll(' ', '-')}).`,
    all.flatMap(([, , , , environment = '']) => (environment === '' ? [] : [environment])).join(', '),
  ];
}

function sectionLink(path: string): string {
  return `[${code(path)}](#${path.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')})`;
}

function namesOf({ name, secret }: EnvironmentVariable): string[] {
  return [name, ...(secret ? [`${name}_FILE`] : [])];
}

function leafCells(leaf: Leaf, variable: EnvironmentVariable | undefined): string[] {
  const names = variable === undefined ? [] : namesOf(variable);
  const fallback =
    leaf.default === undefined ? (leaf.isRequired ? 'required' : '') : code(JSON.stringify(leaf.default));
  const meaning = [leaf.schema.description ?? '', secretMark(leaf.schema)].filter((text) => text !== '').join(' ');
  return [code(leaf.key), typeOf(leaf.schema), fallback, meaning, names.map(code).join(', ')];
}

function secretMark(schema: JsonSchema): string {
  const values = isMapping(schema.additionalProperties) ? [schema, schema.additionalProperties] : [schema];
  const marks = new Set(values.map((value) => value['secret']));
  if (marks.has('url')) return '*Credentials in it are secret.*';
  if (marks.has('body')) return '*Keys and tokens in it are secret.*';
  return marks.has('all') ? '*Secret.*' : '';
}

/**
 * The mappings of the config, outermost first. `described` maps the schema of each mapping, without its description, to
 * the path of the section that describes it.
 */
function sectionsOf(schema: JsonSchema, path: string, described: Map<string, string>): Section[] {
  const forms = branches(schema).filter(({ type }) => type !== 'null');
  const about = (schema.description ?? '').trim();
  const signature = JSON.stringify({ ...schema, description: '' });
  const first = described.get(signature);
  if (first !== undefined) return [{ path, about, forms: [], sameAs: first }];
  described.set(signature, path);
  const inner = new Map<string, JsonSchema>();
  const shown = forms.map((form): Form => {
    const defaults = isMapping(schema.default) ? schema.default : {};
    const leaves: Leaf[] = [];
    const nested: string[] = [];
    for (const [key, child] of Object.entries(form.properties ?? {})) {
      if (!isMapping(child)) continue;
      const mapping = innerSchema(child);
      if (mapping === null) {
        const isRequired = form.required?.includes(key) === true;
        leaves.push({ key, schema: child, default: defaultOf(child, defaults[key]), isRequired });
      } else {
        const at = `${path === '' ? '' : `${path}.`}${key}${child.type === 'array' ? '[]' : ''}`;
        nested.push(key);
        inner.set(at, inner.get(at) ?? ({ description: child.description, ...mapping } as JsonSchema));
      }
    }
    const isOne = forms.length === 1;
    return { name: isOne ? '' : formName(form), about: isOne ? '' : formAbout(form), leaves, nested };
  });
  const named = shown.map((form) => {
    const same = shown.filter(({ name }) => name === form.name);
    return same.length === 1 ? form : { ...form, name: `${form.name} (${same.indexOf(form) + 1})` };
  });
  const isEmpty = path === '' || (shown.every(({ leaves }) => leaves.length === 0) && about === '');
  const sections = [...inner].flatMap(([at, child]) => sectionsOf(child, at, described));
  return isEmpty ? sections : [{ path, about, forms: named, sameAs: null }, ...sections];
}

/**
 * If an earlier union has all the forms of a later one, links the later union to the earlier one, and drops the
 * sections of the later union's mappings.
 */
function withoutRepeatedForms(sections: readonly Section[]): Section[] {
  const repeated = new Set<string>();
  return sections.flatMap((section, index): Section[] => {
    if ([...repeated].some((path) => section.path.startsWith(`${path}.`))) return [];
    if (section.forms.length < 2) return [section];
    const wanted = section.forms.map((form) => JSON.stringify(form));
    const source = sections.slice(0, index).find(({ forms }) => {
      const offered = new Set(forms.map((form) => JSON.stringify(form)));
      return wanted.every((signature) => offered.has(signature));
    });
    if (source === undefined) return [section];
    repeated.add(section.path);
    return [{ ...section, sameAs: source.path }];
  });
}

/** The description of a form, or of the key that identifies it. */
function formAbout(form: JsonSchema): string {
  const fixed = Object.values(form.properties ?? {}).find(
    (child) => isMapping(child) && typeof child.const === 'string',
  );
  return (isMapping(fixed) ? fixed.description : undefined) ?? form.description ?? '';
}

/**
 * Returns the default of a key. If the key has none, returns the key's value in the default of its mapping, unless that
 * default has another form.
 */
function defaultOf(schema: JsonSchema, ofMapping: unknown): unknown {
  if (schema.default !== undefined) return schema.default;
  return schema.const === undefined || schema.const === ofMapping ? ofMapping : undefined;
}

/** `backend: redis`, or the keys that a form requires. */
function formName(form: JsonSchema): string {
  const fixed = Object.entries(form.properties ?? {}).find(
    ([, child]) => isMapping(child) && typeof child.const === 'string',
  );
  if (fixed !== undefined && isMapping(fixed[1])) return code(`${fixed[0]}: ${String(fixed[1].const)}`);
  return (form.required ?? []).map(code).join(' and ');
}

/** The mapping under a key, or the mapping of the list elements; null for a leaf. */
function innerSchema(schema: JsonSchema): JsonSchema | null {
  const [item] = schema.type === 'array' ? childSchemas([schema], 0) : [schema];
  return item !== undefined && branches(item).some((form) => form.properties !== undefined) ? item : null;
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf !== undefined) return branches(schema).map(typeOf).join(' or ');
  if (schema.$ref !== undefined) return 'JSON';
  if (schema.type === 'integer') return `integer${boundsOf(schema)}`;
  if (schema.type === 'number') return `number${boundsOf(schema)}`;
  if (schema.type === 'array') return ['list', ...childSchemas([schema], 0).map(typeOf)].join(' of ');
  if (schema.type === 'object') return ['mapping', ...childSchemas([schema], 'any').map(typeOf)].join(' to ');
  return schema.type === 'string' ? 'text' : String(schema.type);
}

/** `, 1 to 10`, `, at least 1`, `, more than 0`; empty for a number without bounds. */
function boundsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined) return `, ${minimum} to ${most}`;
  const parts = [
    minimum === undefined ? '' : `at least ${minimum}`,
    typeof exclusiveMinimum === 'number' ? `more than ${exclusiveMinimum}` : '',
    most === undefined ? '' : `at most ${most}`,
    typeof exclusiveMaximum === 'number' ? `less than ${exclusiveMaximum}` : '',
  ].filter((text) => text !== '');
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}

function groupedBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
