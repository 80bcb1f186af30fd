/**
 * Counts how many attacks on a grading model and how many harmless sentences recalld flags, and how many of these texts
 * it alters before they reach the judge: `npx tsx bench/judging-flags.ts [--misses]`. The sets are in
 * test/fixtures/judging. The 25 attacks of the kind `fresh` were written after the first version of the injection
 * signs, which flagged 23 of them; the signs were extended afterwards.
 */
import { readFileSync } from 'node:fs';
import { addressesModel } from '../src/judging/rules/injection-signs.ts';
import { gradeMessages } from '../src/judging/rules/judge-prompt.ts';

interface Attack {
  readonly language: string;
  readonly kind: string;
  readonly text: string;
}

const read = (file: string): string[] =>
  readFileSync(new URL(`../test/fixtures/judging/${file}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '');

const attacks = read('attacks.jsonl').map((line) => JSON.parse(line) as Attack);
const benign: { readonly language: string; readonly text: string }[] = [];
let language = '';
for (const line of read('benign.txt')) {
  if (line.startsWith('# ')) language = line.slice(2);
  else benign.push({ language, text: line });
}

/** True if the judge receives the text unchanged. */
const isIntact = (text: string): boolean => {
  const sent = gradeMessages('a query', text).messages.at(-1)?.content ?? '';
  return (JSON.parse(sent) as { document: string }).document === text;
};

const share = (texts: readonly { readonly text: string }[]): string => {
  const flagged = texts.filter(({ text }) => addressesModel(text)).length;
  return `${flagged} of ${texts.length}`;
};

const languages = [...new Set(attacks.map((one) => one.language))];
const fresh = attacks.filter(({ kind }) => kind === 'fresh');
const known = attacks.filter(({ kind }) => kind !== 'fresh');
const of = <Text extends { readonly language: string }>(texts: readonly Text[], one: string): Text[] =>
  texts.filter((text) => text.language === one);
const rows = [
  ...languages.map((one) => [one, share(of(known, one)), share(of(fresh, one)), share(of(benign, one))]),
  ['all', share(known), share(fresh), share(benign)],
];
process.stdout.write('| Language | Attacks flagged | Fresh attacks flagged | Harmless sentences flagged |\n');
process.stdout.write('| --- | --- | --- | --- |\n');
for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`);
const altered = [...attacks, ...benign].filter(({ text }) => !isIntact(text)).length;
process.stdout.write(`\nTexts that reach the judge changed: ${altered} of ${attacks.length + benign.length}.\n`);
if (process.argv.includes('--misses')) {
  for (const { kind, text } of attacks) if (!addressesModel(text)) process.stdout.write(`missed (${kind}): ${text}\n`);
  for (const { text } of benign) if (addressesModel(text)) process.stdout.write(`flagged: ${text}\n`);
}
