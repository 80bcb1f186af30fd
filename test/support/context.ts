/** A context with the parts that a test provides. Using any other part throws an error that names the part's path. */
import type { Context, Db, Hooks } from '../../src/core/context.ts';

type Loose<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer E)[]
    ? readonly Loose<E>[]
    : T extends object
      ? { readonly [K in keyof T]?: Loose<T[K]> }
      : T;

type Tables<T> = { readonly [K in keyof T]?: Loose<T[K]> };
type DbParts = { readonly [Subject in keyof Db]?: Tables<Db[Subject]> };

export type ContextParts = {
  readonly [K in keyof Context]?: K extends 'db' | 'reads'
    ? DbParts
    : K extends 'hooks'
      ? Partial<Hooks>
      : K extends 'dbBy'
        ? (person: string) => DbParts
        : Loose<Context[K]>;
};

/** Paths of the parts that are merged; all other parts are replaced as a whole. */
const branches = new Set(['', 'db', 'reads', 'hooks', 'config', 'config.storage', 'config.alerts']);
const groups = ['platform', 'live', 'golden', 'index', 'density', 'judging', 'experiments'];
for (const group of groups) for (const root of ['db', 'reads']) branches.add(`${root}.${group}`);

/** Later parts replace earlier parts, table by table. */
export function contextOf(...parts: readonly ContextParts[]): Context {
  return strict(
    parts.reduce<object>((merged, part) => merge(merged, part, ''), {}),
    '',
  ) as Context;
}

function merge(into: object, from: object, path: string): object {
  const merged: Record<string, unknown> = { ...into };
  for (const [key, value] of Object.entries(from)) {
    const at = path === '' ? key : `${path}.${key}`;
    merged[key] =
      branches.has(at) && value !== null
        ? merge((merged[key] as object | undefined) ?? {}, value as object, at)
        : value;
  }
  return merged;
}

function strict(given: object, path: string): object {
  const entries = Object.entries(given).map(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [key, branches.has(at) && value !== null ? strict(value as object, at) : value] as const;
  });
  return new Proxy(Object.fromEntries(entries), {
    get: (target, key) =>
      typeof key === 'symbol' || key in target
        ? Reflect.get(target, key)
        : missing(path === '' ? key : `${path}.${key}`),
  });
}

/**
 * Throws only when the missing part is used, because a function may destructure more of its context than a test
 * requires.
 */
function missing(path: string): unknown {
  const refuse = (): never => {
    throw new Error(`the test did not give ${path}`);
  };
  return new Proxy(() => undefined, {
    get: (_target, key) => (typeof key === 'symbol' ? refuse() : missing(`${path}.${key}`)),
    apply: refuse,
    ownKeys: refuse,
  });
}
