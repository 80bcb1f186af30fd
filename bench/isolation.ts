/**
 * Measures the cost of isolation rules per live query, and whether they ever report a correct result list or miss
 * another tenant's document: `npx tsx bench/isolation.ts [--quick]`. The names of tenants are adversarial: they are
 * prefixes of each other, contain separators and asterisks, and some differ only in letter case or Unicode form.
 */
import { evaluateRule, type IsolatedAnswer, parseRules } from '../src/live/rules/isolation.ts';
import { commandOf, provenance, readArguments, writeResult } from './result-file.ts';

const SEED = 44;
const DOCUMENTS = 10;
/** One in this many result lists contains another tenant's document. */
const LEAK_EVERY = 1000;

const rules = parseRules([
  { name: 'tenants', segment: 'tenant', field: null, allow: ['{{tenant}}/*', 'public/*'] },
  { name: 'regions', segment: 'region', field: 'region', allow: ['{{region}}', 'global'] },
]);

/** Mulberry32 random numbers. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const pieces = [
  'a',
  'A',
  'ab',
  'é',
  'e\u0301',
  '*',
  '-',
  '.',
  ' ',
  '{{tenant}}',
  '\u212a',
  'K',
  '\u{1f600}',
  '%2F',
  '..',
];

/** Ids as recalld receives them: strings created by JSON.parse, which are flat in memory. */
function idsOf(owner: string): string[] {
  const ids = pieces.flatMap((piece) => [0, 1, 2, 3].map((n) => `${owner}/${piece}/${n}`));
  return JSON.parse(JSON.stringify(ids)) as string[];
}

export function measureIsolation(answers: number, seed = SEED) {
  const random = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const names = new Set<string>();
  while (names.size < 2000)
    names.add(Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(pieces)).join(''));
  names.delete('public');
  const tenants = [...names];
  const own = new Map(tenants.map((tenant) => [tenant, idsOf(tenant)]));
  const shared = idsOf('public');
  const regions = ['eu', 'EU', 'e', 'eu ', 'us', 'üs', 'u\u0308s'];
  let [reported, leaks, found, microseconds] = [0, 0, 0, 0];
  /**
   * Number of result lists per measurement. A block is measured as a whole, because reading a clock takes longer than
   * evaluating a rule. The measurement counts CPU time, because other processes share the machine.
   */
  const BLOCK = 1000;
  for (let done = 0; done < answers; done += BLOCK) {
    const block = Array.from({ length: BLOCK }, (_, index): IsolatedAnswer & { readonly isLeak: boolean } => {
      const tenant = pick(tenants);
      const region = pick(regions);
      const isLeak = index % LEAK_EVERY === LEAK_EVERY - 1;
      const results = Array.from({ length: DOCUMENTS }, (_one, rank) => {
        const id = pick(random() < 0.2 ? shared : (own.get(tenant) ?? []));
        const fields = { region: random() < 0.2 ? 'global' : region };
        return { id, score: 1 - rank / DOCUMENTS, fields };
      });
      if (isLeak) {
        let other = pick(tenants);
        while (other === tenant) other = pick(tenants);
        results[Math.floor(random() * DOCUMENTS)] = { id: pick(own.get(other) ?? []), score: 0.5, fields: { region } };
      }
      return { segments: { tenant, region }, results, isLeak };
    });
    const startedAt = process.cpuUsage();
    const violated = block.map((answer) =>
      rules.some((rule) => typeof (evaluateRule(rule, answer) ?? '') === 'object'),
    );
    const { user, system } = process.cpuUsage(startedAt);
    microseconds += user + system;
    for (const [index, { isLeak }] of block.entries()) {
      if (isLeak) {
        leaks += 1;
        if (violated[index] === true) found += 1;
      } else if (violated[index] === true) reported += 1;
    }
  }
  return {
    answers,
    documents_per_answer: DOCUMENTS,
    rules: rules.length,
    clean_answers_reported: reported,
    leaks,
    leaks_found: found,
    microseconds_per_query: Math.round((100 * microseconds) / answers) / 100,
  };
}

if (process.argv[1]?.endsWith('isolation.ts') === true) {
  const { quick, out, seed } = readArguments(process.argv.slice(2), 'isolation');
  const startedAt = performance.now();
  const result = measureIsolation(quick ? 200_000 : 10_020_000, seed ?? SEED);
  process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
  if (out !== null)
    writeResult(out, { provenance: provenance(commandOf('isolation', 1), seed ?? SEED, startedAt), ...result });
}
