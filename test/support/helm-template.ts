/**
 * Renders this repository's Helm templates. Supports the parts of Go templates and Sprig that they use, and throws for
 * anything else, so that no template passes unsupported.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

export interface Chart {
  /** The files that `.Files.Get` reads. */
  readonly files: Readonly<Record<string, string>>;
  /** Texts that contain `define` blocks. */
  readonly helpers: readonly string[];
  /** `.Values`, `.Release`, `.Chart`. */
  readonly root: Readonly<Record<string, Value>>;
}

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly pipeline: string }
  | { readonly kind: 'set'; readonly variable: string; readonly pipeline: string }
  | {
      readonly kind: 'if';
      readonly condition: string;
      readonly holds: readonly Node[];
      readonly otherwise: readonly Node[];
    }
  | {
      readonly kind: 'range';
      readonly variables: readonly string[];
      readonly over: string;
      readonly body: readonly Node[];
    };

interface Scope {
  readonly dot: Value;
  readonly variables: ReadonlyMap<string, Value>;
}

/** @throws Error for input that Helm refuses, and for input that this renderer does not support */
export function renderTemplate(template: string, chart: Chart): string {
  const definitions = new Map<string, readonly Node[]>();
  for (const helper of chart.helpers) collectDefinitions(helper, definitions);
  const root = chart.root as Value;
  const render = (nodes: readonly Node[], scope: Scope): string => {
    // A variable is valid until the end of its block.
    let here = scope;
    let text = '';
    for (const node of nodes) {
      if (node.kind === 'set') {
        const value = evaluate(node.pipeline, here);
        here = { ...here, variables: new Map([...here.variables, [node.variable, value]]) };
      } else text += renderNode(node, here);
    }
    return text;
  };

  const renderNode = (node: Exclude<Node, { readonly kind: 'set' }>, scope: Scope): string => {
    switch (node.kind) {
      case 'text':
        return node.text;
      case 'output': {
        const value = evaluate(node.pipeline, scope);
        if (value !== null && typeof value === 'object') throw new Error(`{{ ${node.pipeline} }} is no scalar`);
        return value === null ? '' : String(value);
      }
      case 'if':
        return render(isTrue(evaluate(node.condition, scope)) ? node.holds : node.otherwise, scope);
      case 'range': {
        const over = evaluate(node.over, scope);
        // As in Go, map keys are visited in sorted order.
        const entries: readonly (readonly [Value, Value])[] = Array.isArray(over)
          ? (over as readonly Value[]).map((value, index) => [index, value])
          : Object.keys((over ?? {}) as object)
              .toSorted((a, b) => (a < b ? -1 : 1))
              .map((key) => [key, (over as Record<string, Value>)[key] ?? null]);
        return entries
          .map(([key, value]) => {
            const named = node.variables.length === 2 ? [key, value] : [value];
            const variables = new Map(scope.variables);
            for (const [index, name] of node.variables.entries()) variables.set(name, named[index] ?? null);
            return render(node.body, { dot: value, variables });
          })
          .join('');
      }
    }
  };

  const evaluate = (pipeline: string, scope: Scope): Value => {
    let piped: Value | undefined;
    for (const command of splitOutside(pipeline, '|')) {
      const [name = '', ...words] = wordsOf(command);
      if ((name === 'and' || name === 'or') && piped === undefined) {
        // Evaluation stops at the first argument that decides.
        const isAnd = name === 'and';
        piped = words.reduce<Value>((value, word) => (isTrue(value) === isAnd ? operand(word, scope) : value), isAnd);
        continue;
      }
      const args = words.map((word) => operand(word, scope));
      if (piped !== undefined) args.push(piped);
      piped = name in functions || name === 'include' || isFile(name) ? call(name, args) : operand(name, scope);
      if (!(name in functions) && name !== 'include' && !isFile(name) && args.length > 0) {
        throw new Error(`${name} is no function that this renderer knows: {{ ${pipeline} }}`);
      }
    }
    return piped ?? null;
  };

  const call = (name: string, args: readonly Value[]): Value => {
    if (name === 'include') {
      const [template, dot = null] = args;
      const body = definitions.get(textOf(template));
      if (body === undefined) throw new Error(`no template is called ${textOf(template)}`);
      return render(body, { dot, variables: new Map([['$', dot]]) });
    }
    if (isFile(name)) {
      const text = chart.files[textOf(args[0])];
      if (text === undefined) throw new Error(`the chart has no file ${textOf(args[0])}`);
      return text;
    }
    return functions[name]?.(...args) ?? null;
  };

  const operand = (word: string, scope: Scope): Value => {
    if (word.startsWith('(')) return evaluate(word.slice(1, -1), scope);
    if (word.startsWith('"')) return JSON.parse(word) as string;
    if (/^-?\d+$/.test(word)) return Number(word);
    if (word === 'true' || word === 'false') return word === 'true';
    if (word === '.') return scope.dot;
    const [head = '', ...path] = word.split('.');
    if (head !== '' && !head.startsWith('$')) throw new Error(`${word} is not known`);
    if (head.startsWith('$') && !scope.variables.has(head)) throw new Error(`${head} is not set`);
    return path.reduce<Value>(
      (value, key) => {
        if (value === null || typeof value !== 'object' || Array.isArray(value))
          throw new Error(`{{ ${word} }}: there is no ${key} in ${JSON.stringify(value)}`);
        return (value as Record<string, Value>)[key] ?? null;
      },
      head === '' ? scope.dot : (scope.variables.get(head) ?? null),
    );
  };

  return render(parse(tokens(template), definitions), { dot: root, variables: new Map([['$', root]]) });
}

const isFile = (name: string): boolean => name === '.Files.Get' || name === '$.Files.Get';

const functions: Readonly<Record<string, (...args: Value[]) => Value>> = {
  quote: (value) => JSON.stringify(textOf(value)),
  default: (fallback = null, value = null) => (isTrue(value) ? value : fallback),
  not: (value = null) => !isTrue(value),
  nindent: (width, text) =>
    `\n${textOf(text)
      .split('\n')
      .map((line) => (line === '' ? '' : ' '.repeat(Number(width)) + line))
      .join('\n')}`,
  toYaml: (value) => stringify(value ?? null, { lineWidth: 0 }).trimEnd(),
  contains: (part, text) => textOf(text).includes(textOf(part)),
  list: (...items) => items,
  printf: (format, ...words) =>
    words.reduce<string>((text, word) => text.replace('%s', () => textOf(word)), textOf(format)),
  replace: (from, to, text) => textOf(text).replaceAll(textOf(from), () => textOf(to)),
  trimSuffix: (end, text) => {
    const [suffix, whole] = [textOf(end), textOf(text)];
    return whole.endsWith(suffix) ? whole.slice(0, whole.length - suffix.length) : whole;
  },
  trunc: (length, text) => textOf(text).slice(0, Number(length)),
  sha256sum: (text) => createHash('sha256').update(textOf(text)).digest('hex'),
};

function textOf(value: Value | undefined): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`;
  throw new Error(`${JSON.stringify(value)} is no scalar`);
}

/** As in Go, empty values are false. */
function isTrue(value: Value): boolean {
  if (value === null || typeof value !== 'object') return Boolean(value);
  return Object.keys(value).length > 0;
}

interface Token {
  readonly kind: 'text' | 'action';
  readonly text: string;
}

/** `{{-` and `-}}` remove adjacent white space. */
function tokens(template: string): Token[] {
  const found: Token[] = [];
  let from = 0;
  let trimsNext = false;
  for (const match of template.matchAll(/\{\{(-\s)?([\s\S]*?)(\s-)?\}\}/g)) {
    let text = template.slice(from, match.index);
    if (trimsNext) text = text.trimStart();
    if (match[1] !== undefined) text = text.trimEnd();
    found.push({ kind: 'text', text }, { kind: 'action', text: (match[2] ?? '').trim() });
    trimsNext = match[3] !== undefined;
    from = match.index + match[0].length;
  }
  const rest = template.slice(from);
  return [...found, { kind: 'text', text: trimsNext ? rest.trimStart() : rest }];
}

function collectDefinitions(text: string, definitions: Map<string, readonly Node[]>): void {
  parse(tokens(text), definitions);
}

function parse(all: readonly Token[], definitions: Map<string, readonly Node[]>): readonly Node[] {
  let at = 0;
  const block = (ends: readonly string[]): { nodes: Node[]; end: string } => {
    const nodes: Node[] = [];
    for (; at < all.length; at += 1) {
      const { kind, text } = all[at] as Token;
      if (kind === 'text') nodes.push({ kind: 'text', text });
      else if (ends.includes(text)) return { nodes, end: text };
      else nodes.push(...action(text));
    }
    if (ends.length > 0) throw new Error(`a block has no {{ ${ends.join(' }} or {{ ')} }}`);
    return { nodes, end: '' };
  };
  const action = (text: string): Node[] => {
    if (text.startsWith('/*')) return [];
    const [keyword = ''] = text.split(' ');
    const rest = text.slice(keyword.length).trim();
    switch (keyword) {
      case 'if': {
        at += 1;
        const { nodes, end } = block(['else', 'end']);
        if (end === 'end') return [{ kind: 'if', condition: rest, holds: nodes, otherwise: [] }];
        at += 1;
        return [{ kind: 'if', condition: rest, holds: nodes, otherwise: block(['end']).nodes }];
      }
      case 'range': {
        at += 1;
        const [names = '', over = ''] = rest.includes(':=') ? rest.split(':=') : ['', rest];
        const variables = names.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
        return [{ kind: 'range', variables, over: over.trim(), body: block(['end']).nodes }];
      }
      case 'define':
        at += 1;
        definitions.set(JSON.parse(rest) as string, block(['end']).nodes);
        return [];
      case 'end':
      case 'else':
      case 'with':
      case 'template':
      case 'block':
        throw new Error(`{{ ${text} }} is out of place, or not known to this renderer`);
      default: {
        const [, variable = '', pipeline = ''] = /^(\$\w+) := (.+)$/s.exec(text) ?? [];
        return [variable === '' ? { kind: 'output', pipeline: text } : { kind: 'set', variable, pipeline }];
      }
    }
  };
  return block([]).nodes;
}

/** Words in a command; quotes and parentheses group words. */
function wordsOf(command: string): string[] {
  return splitOutside(command.trim(), ' ').filter((word) => word !== '');
}

function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  let isQuoted = false;
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted;
    if (!isQuoted && char === '(') depth += 1;
    if (!isQuoted && char === ')') depth -= 1;
    if (char === separator && depth === 0 && !isQuoted) parts.push('');
    else parts.push(`${parts.pop() ?? ''}${char}`);
  }
  return parts;
}
