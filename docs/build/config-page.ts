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

interface Section {
  /** As in messages: `pipelines[].retriever`. */
  readonly path: string;
  /** For one form of several, what tells it apart. */
  readonly form: string;
  readonly about: string;
  readonly leaves: readonly Leaf[];
}

const rules = `- **Strict.** A key that recalld does not know is an error, with the key that was probably meant.
- **Order.** Defaults < file < environment. Without a file, \`serve\` assumes the defaults: an embedded database and no pipelines.
- **\`\${VAR}\`** in any text of the file is replaced from the environment; a variable that is not set is an error. What it
  gives is text: numbers and booleans come from the variables below.
- **\`NAME_FILE\`** names a file that holds the secret, for each variable below that says so.
- **Secrets** are not printed by \`recalld config print\`: headers and API keys go as a whole; of a URL the password and
  the values of its query; of a request body what stands under a name such as \`api_key\` or \`token\`.`;

export function configPage(): Page {
  const schema = configJsonSchema();
  const variables = new Map(environmentVariables(schema).map((variable) => [variable.path.join('.'), variable]));
  return generatedPage(
    'docs/reference/config.md',
    ['src/app/config', 'docs/build/config-example.ts'],
    [
      '# Configuration',
      'One YAML file, `recalld.yaml` in the working folder or `--config FILE`. `recalld config check` validates it, `recalld config print` shows it with defaults and environment merged in, `recalld config schema` prints its JSON Schema for editors.',
      rules,
      '## Example',
      'Every key there is, with one kind each of retriever, store and model; most have defaults and can be left out.',
      `\`\`\`yaml\n${configExample}\`\`\``,
      '## Keys',
      ...sectionsOf(schema, '').flatMap((section) => sectionText(section, variables)),
    ],
  );
}

function sectionText(section: Section, variables: ReadonlyMap<string, EnvironmentVariable>): string[] {
  const about = section.about.trim();
  const head = `${section.path.includes('.') ? '####' : '###'} ${code(section.path)}${section.form}`;
  const rows = section.leaves.map((leaf) => leafCells(leaf, variables.get(`${section.path}.${leaf.key}`)));
  const columns = ['Key', 'Type', 'Default', 'Meaning', 'Environment'];
  const width = rows.some((cells) => cells.at(-1) !== '') ? columns.length : columns.length - 1;
  return [
    head,
    ...(about === '' ? [] : [about]),
    ...(rows.length === 0
      ? []
      : [
          table(
            columns.slice(0, width),
            rows.map((cells) => cells.slice(0, width)),
          ),
        ]),
  ];
}

function leafCells(leaf: Leaf, variable: EnvironmentVariable | undefined): string[] {
  const names = variable === undefined ? [] : [variable.name, ...(variable.secret ? [`${variable.name}_FILE`] : [])];
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

/** The mappings of the config, outermost first; each form of a union is one of its own. */
function sectionsOf(schema: JsonSchema, path: string): Section[] {
  const forms = branches(schema);
  return forms.flatMap((form) => {
    const defaults = isMapping(schema.default) ? schema.default : {};
    const leaves: Leaf[] = [];
    const inner: Section[] = [];
    for (const [key, child] of Object.entries(form.properties ?? {})) {
      if (!isMapping(child)) continue;
      const mapping = innerSchema(child);
      if (mapping === null) {
        const isRequired = form.required?.includes(key) === true;
        leaves.push({ key, schema: child, default: defaultOf(child, defaults[key]), isRequired });
      } else {
        const at = `${path === '' ? '' : `${path}.`}${key}${child.type === 'array' ? '[]' : ''}`;
        const described = {
          description: child.description,
          ...mapping,
        };
        inner.push(...sectionsOf(described as JsonSchema, at));
      }
    }
    const about = (forms.length > 1 ? form.description : undefined) ?? schema.description ?? '';
    const isEmpty = path === '' || (leaves.length === 0 && about === '');
    const section = {
      path,
      form: forms.length > 1 ? ` with ${formName(form)}` : '',
      about,
      leaves,
    };
    return isEmpty ? inner : [section, ...inner];
  });
}

/** Of its own, or of the mapping that it is in, unless that is the default of another form. */
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

/** The mapping that a key holds, or that the elements of its list are; null for a leaf. */
function innerSchema(schema: JsonSchema): JsonSchema | null {
  const [item] = schema.type === 'array' ? childSchemas([schema], 0) : [schema];
  return item !== undefined && branches(item).some((form) => form.properties !== undefined) ? item : null;
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join(', ');
  if (schema.anyOf !== undefined) return branches(schema).map(typeOf).join(' or ');
  if (schema.$ref !== undefined) return 'JSON';
  if (schema.type === 'integer') return `whole number${boundsOf(schema)}`;
  if (schema.type === 'number') return `number${boundsOf(schema)}`;
  if (schema.type === 'array') return `list of ${childSchemas([schema], 0).map(typeOf).join('')}`;
  if (schema.type === 'object') return `mapping to ${childSchemas([schema], 'any').map(typeOf).join('')}`;
  return schema.type === 'string' ? 'text' : String(schema.type);
}

function boundsOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  const parts = [
    minimum === undefined ? '' : `at least ${minimum}`,
    typeof exclusiveMinimum === 'number' ? `more than ${exclusiveMinimum}` : '',
    most === undefined ? '' : `at most ${most}`,
    typeof exclusiveMaximum === 'number' ? `less than ${exclusiveMaximum}` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}
