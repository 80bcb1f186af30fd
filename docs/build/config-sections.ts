/** The sections of docs/reference/config.md: the mappings of the config, with their forms and keys. */

import { branches, childSchemas, type JsonSchema } from '../../src/app/config/explain.ts';
import { isMapping } from '../../src/core/text/json.ts';
import { code } from './page.ts';

export interface Leaf {
  readonly key: string;
  readonly schema: JsonSchema;
  readonly default: unknown;
  readonly isRequired: boolean;
}

/** The keys of a mapping; if the mapping has several forms, the keys of all forms. */
export interface Section {
  /** Path in the notation of error messages: `pipelines[].retriever`. */
  readonly path: string;
  readonly about: string;
  /** The key that selects the form, `kind` or `backend`; null if other keys distinguish the forms. */
  readonly selector: string | null;
  /** Value of the selector in the default of the mapping; null if the mapping has no default. */
  readonly defaultForm: string | null;
  readonly forms: readonly Form[];
  /** Another section that describes the same keys; null if this section describes them. */
  readonly sameAs: string | null;
}

interface Form {
  /** The value of the selector, or the keys that the form requires; empty if the mapping has only one form. */
  readonly name: string;
  readonly about: string;
  readonly leaves: readonly Leaf[];
  /** Keys whose value is a mapping with its own section. */
  readonly nested: readonly string[];
}

export function configSections(schema: JsonSchema): Section[] {
  return withoutRepeatedForms(sectionsOf(schema, '', new Map()));
}

/**
 * The mappings of the config, outermost first. `described` maps the signature of each mapping to the path of the
 * section that describes it.
 */
function sectionsOf(schema: JsonSchema, path: string, described: Map<string, string>): Section[] {
  const forms = branches(schema).filter(({ type }) => type !== 'null');
  const about = (schema.description ?? '').trim();
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
        const at = `${path === '' ? '' : `${path}.`}${key}${mapping.suffix}`;
        nested.push(key);
        const description = child.description;
        const fallback = child.default === undefined ? {} : { default: child.default };
        inner.set(
          at,
          inner.get(at) ?? { ...mapping.schema, ...(description === undefined ? {} : { description }), ...fallback },
        );
      }
    }
    const isOne = forms.length === 1;
    return { name: isOne ? '' : formName(form), about: isOne ? '' : formAbout(form), leaves, nested };
  });
  const signature = signatureOf(schema, inner.size === 0);
  const sameAs = described.get(signature) ?? null;
  if (sameAs === null) described.set(signature, path);
  const section: Section = {
    path,
    about,
    selector: forms.map(selectorOf).find((key) => key !== null) ?? null,
    defaultForm: isMapping(schema.default) ? (Object.values(schema.default).map(String)[0] ?? null) : null,
    forms: numbered(shown),
    sameAs,
  };
  if (sameAs !== null) return [section];
  const isEmpty = path === '' || (shown.every(({ leaves }) => leaves.length === 0) && about === '');
  const sections = [...inner].flatMap(([at, child]) => sectionsOf(child, at, described));
  return isEmpty ? sections : [section, ...sections];
}

/**
 * The schema as text, without its description. Sections without nested mappings may differ in their defaults, which the
 * page lists for each of them.
 */
function signatureOf(schema: JsonSchema, isFlat: boolean): string {
  return JSON.stringify({ ...schema, description: '', default: '' }, (key, value: unknown) =>
    isFlat && key === 'default' ? undefined : value,
  );
}

/** Adds numbers to the names of forms that have the same name. */
function numbered(forms: readonly Form[]): Form[] {
  return forms.map((form) => {
    const same = forms.filter(({ name }) => name === form.name);
    return same.length === 1 ? form : { ...form, name: `${form.name} (${same.indexOf(form) + 1})` };
  });
}

/**
 * If an earlier union has all the forms of a later one, links the later union to the earlier one, and drops the
 * sections of the later union's mappings.
 */
function withoutRepeatedForms(sections: readonly Section[]): Section[] {
  const repeated = new Set<string>();
  return sections.flatMap((section, index): Section[] => {
    if ([...repeated].some((path) => section.path.startsWith(`${path}.`))) return [];
    if (section.forms.length < 2 || section.sameAs !== null) return [section];
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

/** The key that identifies the form by a constant text. */
function selectorOf({ properties = {} }: JsonSchema): string | null {
  const found = Object.entries(properties).find(([, child]) => isMapping(child) && typeof child.const === 'string');
  return found?.[0] ?? null;
}

function selectedBy(form: JsonSchema): JsonSchema | undefined {
  const child = form.properties?.[selectorOf(form) ?? ''];
  return isMapping(child) ? child : undefined;
}

/** The description of the key that identifies a form; if there is none, the description of the form itself. */
function formAbout(form: JsonSchema): string {
  return selectedBy(form)?.description ?? form.description ?? '';
}

/** The value that identifies a form, such as `redis`; if there is none, the keys that the form requires. */
function formName(form: JsonSchema): string {
  const fixed = selectedBy(form)?.const;
  if (fixed !== undefined) return code(String(fixed));
  const names = (form.required ?? []).map((key) => {
    const child = form.properties?.[key];
    return code(isMapping(child) && child.const !== undefined ? `${key}: ${String(child.const)}` : key);
  });
  return names.join(' and ');
}

/**
 * Returns the default of a key. If the key has none, returns the key's value in the default of its mapping, unless that
 * default has another form.
 */
function defaultOf(schema: JsonSchema, ofMapping: unknown): unknown {
  if (schema.default !== undefined) return schema.default;
  return schema.const === undefined || schema.const === ofMapping ? ofMapping : undefined;
}

/** The mapping in a value, in the elements of a list, or in the values of a mapping of names; null for a leaf. */
function innerSchema(schema: JsonSchema): { readonly schema: JsonSchema; readonly suffix: string } | null {
  const [item] = childSchemas([schema], 0);
  const [value] = isMapping(schema.additionalProperties) ? [schema.additionalProperties] : [];
  const candidates = [
    { schema, suffix: '' },
    { schema: item, suffix: '[]' },
    { schema: value, suffix: '.NAME' },
  ];
  for (const { schema: candidate, suffix } of candidates) {
    if (candidate !== undefined && branches(candidate).some((form) => form.properties !== undefined))
      return { schema: candidate, suffix };
  }
  return null;
}
