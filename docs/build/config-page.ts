/** docs/reference/config.md: every key of recalld.yaml, from the JSON Schema. */

import { branches, childSchemas, type JsonSchema } from '../../src/app/config/explain.ts';
import { configJsonSchema, type EnvironmentVariable, environmentVariables } from '../../src/app/config/parse.ts';
import { isMapping } from '../../src/core/text/json.ts';
import { configExample } from './config-example.ts';
import { configSections, type Leaf, type Section } from './config-sections.ts';
import { code, generatedPage, type Page } from './page.ts';

const rules = `- **Unknown keys** are errors; the message names the key that you probably meant.
- **Precedence.** The environment overrides the file, and the file overrides the defaults. Without a file, \`recalld serve\` uses the defaults:
  an embedded database and no pipelines.
- **\`\${VAR}\`** in a text is replaced with the value of the environment variable; an unset variable is an error. The value is always text; for numbers
  and booleans, use the environment variables listed below.
- **Secrets.** Keep them out of the file: write \`\${VAR}\`, or set the environment variable of the key. For secrets and URLs, you can instead append
  \`_FILE\` to the name of that variable, and set it to the path of a file that contains the value. \`recalld config print\` hides secrets, arguments of
  programs, credentials and query values in URLs, and fields such as \`api_key\` or \`token\` in request bodies.
- **Durations** are numbers of minutes, hours or days: \`30m\`, \`24h\`, \`7d\`. A cron expression has five fields, or six if the first is seconds.`;

export function configPage(): Page {
  const schema = configJsonSchema();
  const variables = new Map(environmentVariables(schema).map((variable) => [variable.path.join('.'), variable]));
  const sections = configSections(schema);
  const context: Context = { sections, variables, shared: sharedLeaves(sections) };
  return generatedPage(
    'docs/reference/config.md',
    ['src/app/config', 'docs/build/config-example.ts'],
    [
      '# Configuration',
      'recalld reads one YAML file: `recalld.yaml` in the working folder, or `--config FILE`. `recalld config check` validates the file, `recalld config print` shows the config with defaults and environment applied, and `recalld config schema` prints the JSON Schema for editors.',
      rules,
      '## Example',
      'This example contains every key for one kind of retriever, store and model. Most keys have defaults. The section *Keys* describes all keys.',
      `\`\`\`yaml\n${configExample}\`\`\``,
      '## Keys',
      'Each key is listed with its type, its default, its meaning, and the environment variable that sets it.',
      ...connectionText(context),
      ...sections
        .filter(({ path, sameAs }) => !isConnectionSection(path) && sameAs === null)
        .flatMap((section) => sectionText(section, context)),
    ],
  );
}

interface Context {
  readonly sections: readonly Section[];
  readonly variables: ReadonlyMap<string, EnvironmentVariable>;
  /** Leaves that the connections section describes, keyed by name: `proxy`, `tls.ca_file`. */
  readonly shared: ReadonlyMap<string, Leaf>;
}

/** True for a section whose keys the connections section describes. */
function isConnectionSection(path: string): boolean {
  return /(?<!queue)\.tls$|\.tls\.client$/.test(path);
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
];
const connectionHeading = 'Connections to other services';
const connectionLink = `[connection](#${connectionHeading.toLowerCase().replaceAll(' ', '-')})`;

/** Returns each connection key with the description and default that most sections use. */
function sharedLeaves(sections: readonly Section[]): Map<string, Leaf> {
  const all = sections.flatMap(({ path, forms }) =>
    forms.flatMap(({ leaves }) => leaves.map((leaf) => ({ name: connectionName(path, leaf.key), leaf }))),
  );
  const names = [...connectionKeys, 'tls.ca_file', 'tls.client.cert_file', 'tls.client.key_file'];
  return new Map(
    names.flatMap((name) => {
      const found = all.filter((one) => one.name === name).map(({ leaf }) => leaf);
      const counts = groupedBy(found, ({ schema }) => JSON.stringify([schema.description, schema.default]));
      const [most] = [...counts.values()].toSorted((a, b) => b.length - a.length);
      return most?.[0] === undefined ? [] : [[name, most[0]] as const];
    }),
  );
}

/** `tls.ca_file` for the key `ca_file` of a section `tls`; any other key unchanged. */
function connectionName(path: string, key: string): string {
  const [tls = ''] = /tls(?:\.client)?$/.exec(path) ?? [];
  return tls === '' ? key : `${tls}.${key}`;
}

function connectionText({ shared }: Context): string[] {
  return [
    `### ${connectionHeading}`,
    'Retrievers, stores, models, receivers and collectors each accept some of these keys. A default below applies unless the section of a service states another default.',
    [...shared]
      .map(([name, leaf]) => bullet({ ...cellsOf({ ...leaf, isRequired: false }, undefined), name: code(name) }))
      .join('\n'),
  ];
}

function sectionText(section: Section, context: Context): string[] {
  const { path, about, forms, selector, defaultForm } = section;
  const isUnion = forms.length > 1;
  const { name: variable } = context.variables.get(`${path}.${selector ?? ''}`) ?? {};
  const facts = [
    defaultForm === null ? 'required' : `default ${code(defaultForm)}`,
    ...(variable === undefined ? [] : [code(variable)]),
  ];
  const groups = groupedBy(rowsOf(section, context), ({ takenBy }) => takenBy.join());
  return [
    `${path.includes('.') ? '####' : '###'} ${code(path)}`,
    ...(about === '' ? [] : [about]),
    ...(selector === null || !isUnion ? [] : [`${code(selector)} (${facts.join('; ')}):`]),
    ...(isUnion ? [forms.map(({ name, about: meaning }) => `- ${name}${meaningAfter(name, meaning)}`).join('\n')] : []),
    ...[...groups.values()].flatMap((rows) => [
      ...(isUnion ? [`${formNames(rows[0]?.takenBy ?? [], section)}:`] : []),
      rows.map(({ cells }) => bullet(cells)).join('\n'),
    ]),
  ];
}

/** The description of a form; empty if it only repeats the name. */
function meaningAfter(name: string, meaning: string): string {
  const repeats = meaning.toLowerCase() === `${name.replaceAll('`', '').replaceAll('_', ' ')}.`;
  return repeats || meaning === '' ? '' : `: ${meaning}`;
}

/** Names the forms in as few words as possible: `All kinds`, `All kinds except X`, or a list of names. */
function formNames(takenBy: readonly number[], { forms, selector }: Section): string {
  const namesOf = (isWanted: (index: number) => boolean) =>
    forms.flatMap(({ name }, index) => (isWanted(index) ? [name] : [])).join(', ');
  const others = forms.length - takenBy.length;
  const all = `All ${selector ?? 'form'}s`;
  if (others === 0) return all;
  return others + 1 < takenBy.length
    ? `${all} except ${namesOf((index) => !takenBy.includes(index))}`
    : namesOf((index) => takenBy.includes(index));
}

interface Cells {
  readonly name: string;
  readonly type: string;
  /** `required`, a default, or empty. */
  readonly fallback: string;
  readonly isSecret: boolean;
  readonly meaning: string;
  readonly variables: string;
}

/** Returns one line with the name, type, default, meaning and environment variable of a key. */
function bullet({ name, type, fallback, isSecret, meaning, variables }: Cells): string {
  const shown = [type, fallback, isSecret ? 'secret' : ''].filter((text) => text !== '');
  const facts = shown.length === 0 ? '' : ` (${shown.join('; ')})`;
  return `- ${name}${facts}: ${[meaning, variables].filter((text) => text !== '').join(' ')}`;
}

interface Row {
  readonly cells: Cells;
  /** Indexes of the forms that accept the key. */
  readonly takenBy: readonly number[];
}

/**
 * Returns the rows of all forms. A key that several forms accept with the same meaning has one row, which lists each
 * default; all connection keys share a row.
 */
function rowsOf(section: Section, context: Context): Row[] {
  const { path, forms } = section;
  const own: { readonly form: number; readonly cells: Cells; readonly isConnection: boolean }[] = [];
  for (const [form, { leaves, nested }] of forms.entries()) {
    for (const leaf of leaves.filter(({ schema }) => forms.length === 1 || schema.const === undefined)) {
      const shared = context.shared.get(connectionName(path, leaf.key));
      const isConnection = shared?.schema.description === leaf.schema.description && shared !== undefined;
      const cells = cellsOf(leaf, context.variables.get(`${path}.${leaf.key}`));
      own.push({ form, cells: isConnection ? connectionCells(leaf, shared, cells) : cells, isConnection });
    }
    for (const key of nested) {
      const at = `${path}.${key}`;
      const cells = isConnectionSection(at) ? tlsCells(at, key, context) : sameAsCells(at, key, context);
      if (cells !== null) own.push({ form, cells, isConnection: isConnectionSection(at) });
    }
  }
  const groups = groupedBy(own, ({ cells: { name, type, meaning, isSecret } }) =>
    JSON.stringify([name, type, meaning, isSecret]),
  );
  const rows = [...groups.values()].map((same) => ({
    isConnection: same[0]?.isConnection === true,
    takenBy: same.map(({ form }) => form),
    cells: withDefaults(same.map(({ form, cells }) => ({ name: forms[form]?.name ?? '', cells }))),
  }));
  const connections = groupedBy(
    rows.filter(({ isConnection }) => isConnection),
    ({ takenBy }) => takenBy.join(),
  );
  const merged = [...connections.values()].map((same) => ({
    takenBy: same[0]?.takenBy ?? [],
    cells: {
      name: same.map(({ cells }) => withFallback(cells)).join(', '),
      type: '',
      fallback: '',
      isSecret: false,
      meaning: `${connectionLink}.`,
      variables: same.flatMap(({ cells }) => (cells.variables === '' ? [] : [cells.variables])).join(', '),
    },
  }));
  return [...rows.filter(({ isConnection }) => !isConnection), ...merged].toSorted(
    (a, b) => b.takenBy.length - a.takenBy.length,
  );
}

/** Returns one row for a key of several forms. If the defaults differ, lists each default with its forms. */
function withDefaults(same: readonly { readonly name: string; readonly cells: Cells }[]): Cells {
  const [first] = same;
  if (first === undefined) throw new Error('no form accepts this key');
  const defaults = groupedBy(same, ({ cells }) => cells.fallback);
  if (defaults.size === 1) return first.cells;
  const texts = [...defaults].map(([fallback, of]) => {
    const names = of.map(({ name }) => name).join(', ');
    return `${fallback.replace(/^defaults?:? /, '')} for ${names}`;
  });
  return { ...first.cells, fallback: `default: ${texts.join('; ')}` };
}

function withFallback({ name, fallback }: Cells): string {
  return fallback === '' ? name : `${name} (${fallback})`;
}

/** The name of a connection key, and its default if it differs from the shared one. */
function connectionCells(leaf: Leaf, shared: Leaf, cells: Cells): Cells {
  const isUsual = JSON.stringify(leaf.default) === JSON.stringify(shared.default);
  const fallback = isUsual ? '' : `default ${code(JSON.stringify(leaf.default))}`;
  return { ...cells, type: '', meaning: '', isSecret: false, fallback };
}

function tlsCells(path: string, key: string, { variables }: Context): Cells {
  const own = [...variables].filter(([name]) => name.startsWith(`${path}.`)).map(([, { name }]) => code(name));
  return { name: code(key), type: '', fallback: '', isSecret: false, meaning: '', variables: own.join(', ') };
}

/** A row that links a mapping to the section that describes its keys; null if the mapping has its own section. */
function sameAsCells(path: string, key: string, { sections }: Context): Cells | null {
  const section = sections.find((one) => one.path === path);
  if (section === undefined || section.sameAs === null) return null;
  const source = sections.find((one) => one.path === section.sameAs);
  const kinds =
    source?.forms.length === section.forms.length
      ? ''
      : `, except ${(source?.forms ?? [])
          .map(({ name }) => name)
          .filter((name) => section.forms.every((form) => form.name !== name))
          .join(', ')}`;
  const { meaning, inWords } = splitDefault(section.about);
  const fallback = inWords === '' ? otherDefaults(section, source) : `default: ${inWords}`;
  const link = `Same keys as ${sectionLink(section.sameAs)}${kinds}.`;
  return { name: code(key), type: '', fallback, isSecret: false, meaning: `${meaning} ${link}`.trim(), variables: '' };
}

/** Lists the defaults that differ from those of the section that describes the keys. */
function otherDefaults({ forms }: Section, source: Section | undefined): string {
  if (forms.length > 1) return '';
  const usual = new Map((source?.forms ?? []).flatMap(({ leaves }) => leaves).map((leaf) => [leaf.key, leaf.default]));
  const other = forms
    .flatMap(({ leaves }) => leaves)
    .filter((leaf) => JSON.stringify(usual.get(leaf.key)) !== JSON.stringify(leaf.default))
    .map(({ key, default: value }) =>
      value === undefined ? `${code(key)} unlimited` : code(`${key}: ${JSON.stringify(value)}`),
    );
  return other.length === 0 ? '' : `defaults: ${other.join(', ')}`;
}

function sectionLink(path: string): string {
  return `[${code(path)}](#${path.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '')})`;
}

/** Separates the final sentence `Default: ...` from the rest of a description. */
function splitDefault(description: string): { readonly meaning: string; readonly inWords: string } {
  const [, meaning = '', inWords = ''] = /^(.*?)(?: ?Default: (.+)\.)?$/s.exec(description) ?? [];
  return { meaning, inWords };
}

function cellsOf(leaf: Leaf, variable: EnvironmentVariable | undefined): Cells {
  const { schema } = leaf;
  const { meaning, inWords } = splitDefault(schema.description ?? '');
  const values = isMapping(schema.additionalProperties) ? [schema, schema.additionalProperties] : [schema];
  return {
    name: code(leaf.key),
    type: typeOf(schema),
    fallback: fallbackOf(leaf, inWords),
    isSecret: values.some((value) => value['secret'] === 'all'),
    meaning,
    variables: variable === undefined ? '' : code(variable.name),
  };
}

function fallbackOf({ default: value, isRequired }: Leaf, inWords: string): string {
  if (inWords !== '') return `default: ${inWords}`;
  if (value !== undefined) return `default ${code(JSON.stringify(value))}`;
  return isRequired ? 'required' : '';
}

function typeOf(schema: JsonSchema): string {
  if (typeof schema['notation'] === 'string') return schema['notation'];
  if (schema['secret'] === 'url') return 'URL';
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf !== undefined)
    return branches(schema)
      .filter(({ type }) => type !== 'null')
      .map(typeOf)
      .join(' or ');
  if (schema.$ref !== undefined) return 'JSON';
  if (Array.isArray(schema.type)) return schema.type.filter((type) => type !== 'null').join(' or ');
  if (schema.type === 'integer') return `integer${boundsOf(schema)}`;
  if (schema.type === 'number') return `number${boundsOf(schema)}`;
  if (schema.prefixItems !== undefined) return `list of ${schema.prefixItems.length} numbers`;
  if (schema.type === 'array') {
    const elements = childSchemas([schema], 0).map((one) => typeOf(one).replace(/^(?:integer|number)\b/, '$&s'));
    return ['list', ...elements].join(' of ');
  }
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
