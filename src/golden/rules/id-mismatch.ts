/** Describes how ids in judgments differ from the ids that a retriever or a run returns for the same documents. */

import { quoted } from '../../core/text/source-line.ts';

export interface IdDifference {
  readonly judged: string;
  readonly returned: string;
  /** Phrases that follow `differ in`; empty if the ids have nothing in common. */
  readonly differences: readonly string[];
}

interface Rule {
  readonly name: string;
  readonly apply: (id: string) => string;
}

/** Rules that make ids comparable. The rules are applied in this order, each to the result of the previous rule. */
const rules: readonly Rule[] = [
  { name: 'percent-encoding', apply: decodePercents },
  { name: 'their Unicode normal form (NFC, NFD)', apply: (id) => id.normalize('NFC') },
  { name: 'compatibility characters of Unicode', apply: (id) => id.normalize('NFKC') },
  { name: 'invisible characters', apply: (id) => id.replaceAll(/[\p{Cf}\p{Cc}]/gu, '') },
  { name: 'quotation marks', apply: (id) => id.replace(/^\s*(["'`])(.*)\1\s*$/s, '$2') },
  { name: 'white space', apply: (id) => id.replaceAll(/\s+/gu, '') },
  { name: 'case', apply: (id) => id.toLowerCase() },
  { name: 'a trailing .0', apply: (id) => id.replace(/^([+-]?\d+)\.0+$/, '$1') },
  { name: 'leading zeros', apply: (id) => id.replace(/^0+(?=\d)/, '') },
  { name: 'hyphens and underscores', apply: (id) => id.replaceAll(/[-_]/g, '') },
];

const everyRule: ReadonlySet<Rule> = new Set(rules);

/** Maximum number of id pairs that are compared; more pairs would not change the most common difference. */
const MAX_PAIRS = 200;

/**
 * Searches for a judged and a returned id that are equal except for case, encoding, leading zeros, a prefix or the
 * like.
 *
 * @param judged at least one id; `returned` must also have at least one, and the two lists must share no id
 * @returns a pair of ids with the most common difference; if no two ids are similar, the first id of each list, without
 *   a difference
 */
export function describeIdDifference(judged: readonly string[], returned: readonly string[]): IdDifference {
  return (
    idsAlike(judged, returned, MAX_PAIRS).pair ??
    differenceOfAffix(judged, returned) ?? { judged: judged[0] ?? '', returned: returned[0] ?? '', differences: [] }
  );
}

/** Returns text such as `differ in case and the prefix "kb/"`, or `have nothing in common`. */
export function differenceInWords(differences: readonly string[]): string {
  if (differences.length === 0) return 'have nothing in common';
  const [last = '', ...others] = differences.toReversed();
  return `differ in ${others.length === 0 ? last : `${others.toReversed().join(', ')} and ${last}`}`;
}

/** Returns both ids for use in a message: in quotes, with escapes for invisible characters. */
export function shownIds(judged: string, returned: string): readonly [string, string] {
  // Composed and decomposed accents look the same, as do ordinary and non-breaking spaces.
  const unseen =
    judged.normalize('NFC') === returned.normalize('NFC') ? /[\p{C}\p{M}]|[^\p{ASCII}]/gu : /\p{C}|(?! )\p{Z}/gu;
  const shown = (id: string): string => quoted(id).replaceAll(unseen, escaped);
  return [shown(judged), shown(returned)];
}

const escaped = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`;

function canonical(id: string, left: ReadonlySet<Rule> = everyRule): string {
  let form = id;
  for (const rule of rules) if (left.has(rule)) form = rule.apply(form);
  return form;
}

/** Returns a minimal list of rules that make the two ids equal, preferring the rules that change less. */
function neededRules(judged: string, returned: string): string[] {
  if (judged === returned) return [];
  const needed = new Set(rules);
  for (const rule of rules.toReversed()) {
    needed.delete(rule);
    if (canonical(judged, needed) !== canonical(returned, needed)) needed.add(rule);
  }
  return rules.flatMap((rule) => (needed.has(rule) ? [rule.name] : []));
}

interface FoundDifference {
  readonly pair: IdDifference;
  count: number;
}

/**
 * Counts the judged ids that are returned in another form (case, encoding, leading zeros or the like), and returns the
 * most common difference. Stops after it has counted `max` ids.
 */
export function idsAlike(judged: readonly string[], returned: readonly string[], max = Number.POSITIVE_INFINITY) {
  const byForm = new Map(judged.toReversed().map((id) => [canonical(id), id]));
  const found = new Map<string, FoundDifference>();
  const alike = new Set<string>();
  for (const id of returned) {
    const form = canonical(id);
    const twin = byForm.get(form);
    if (form === '' || twin === undefined || twin === id) continue;
    count(found, { judged: twin, returned: id, differences: neededRules(twin, id) });
    alike.add(twin);
    if (alike.size >= max) break;
  }
  return { count: alike.size, pair: commonest(found) };
}

/**
 * Searches for pairs of a judged and a returned id that differ in a prefix or suffix: only one of the two ids has it,
 * or each id has a different one. Returns a pair that shows the most common difference.
 */
function differenceOfAffix(judged: readonly string[], returned: readonly string[]): IdDifference | null {
  const byForm = new Map(judged.toReversed().map((id) => [canonical(id), id]));
  const judgedParts = partsOf(judged);
  const found = new Map<string, FoundDifference>();
  let pairs = 0;
  for (const id of returned) {
    const pair = longerJudged(id, judgedParts) ?? longerReturned(id, byForm) ?? otherAffix(id, judgedParts);
    if (pair === null) continue;
    count(found, pair);
    if (++pairs === MAX_PAIRS) break;
  }
  return commonest(found);
}

function longerJudged(returned: string, judgedParts: ReadonlyMap<string, Part>): IdDifference | null {
  const part = judgedParts.get(canonical(returned));
  if (part === undefined) return null;
  const differences = [...neededRules(part.kept, returned), `the ${part.side} ${JSON.stringify(affixOf(part))}`];
  return { judged: part.id, returned, differences };
}

function longerReturned(returned: string, judgedByForm: ReadonlyMap<string, string>): IdDifference | null {
  for (const [form, part] of partsOf([returned])) {
    const judged = judgedByForm.get(form);
    if (judged === undefined) continue;
    const differences = [...neededRules(judged, part.kept), `the ${part.side} ${JSON.stringify(affixOf(part))}`];
    return { judged, returned, differences };
  }
  return null;
}

function otherAffix(returned: string, judgedParts: ReadonlyMap<string, Part>): IdDifference | null {
  for (const [form, part] of partsOf([returned])) {
    const other = form.length < MIN_COMMON ? undefined : judgedParts.get(form);
    if (other === undefined || other.side !== part.side) continue;
    const affixes = `${JSON.stringify(affixOf(other))}, ${JSON.stringify(affixOf(part))}`;
    return {
      judged: other.id,
      returned,
      differences: [...neededRules(other.kept, part.kept), `the ${part.side} (${affixes})`],
    };
  }
  return null;
}

/** Minimum length of a part that two ids share; ids may share a shorter part by chance. */
const MIN_COMMON = 4;

interface Part {
  readonly id: string;
  readonly side: 'prefix' | 'suffix';
  /** The id without the prefix or suffix, in its original spelling. */
  readonly kept: string;
}

const affixOf = ({ id, side, kept }: Part): string =>
  side === 'prefix' ? id.slice(0, id.length - kept.length) : id.slice(kept.length);

/**
 * Removes every possible prefix or suffix from each id, and returns the remaining parts, keyed by canonical form. A
 * prefix or suffix ends at a separator, or between letters and digits.
 */
function partsOf(ids: readonly string[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  for (const id of ids) {
    for (const { index } of id.matchAll(
      /(?<=[^\p{L}\p{N}])|(?=[^\p{L}\p{N}])|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/gu,
    )) {
      if (index === 0 || index === id.length) continue;
      const [before, behind] = [id.slice(0, index), id.slice(index)];
      for (const [kept, side] of [
        [behind, 'prefix'],
        [before, 'suffix'],
      ] as const) {
        const form = canonical(kept);
        if (/[\p{L}\p{N}]/u.test(form) && !parts.has(form)) parts.set(form, { id, side, kept });
      }
    }
  }
  return parts;
}

function count(found: Map<string, FoundDifference>, pair: IdDifference): void {
  const key = pair.differences.join('\n');
  const entry = found.get(key) ?? { pair, count: 0 };
  entry.count += 1;
  found.set(key, entry);
}

function commonest(found: ReadonlyMap<string, FoundDifference>): IdDifference | null {
  return [...found.values()].toSorted((a, b) => b.count - a.count)[0]?.pair ?? null;
}

/** Decodes percent-encoding, and decodes `+` as a space, as in form data. */
function decodePercents(id: string): string {
  const spaced = id.replaceAll('+', ' ');
  try {
    return spaced.includes('%') ? decodeURIComponent(spaced) : spaced;
  } catch {
    return spaced;
  }
}
