/** Words that this project avoids, and what to write instead. */

export interface Term {
  /** Pattern of the term. Case is ignored, and identifiers are split into words before the text is searched. */
  readonly avoid: RegExp;
  readonly instead: string;
}

export const terms: readonly Term[] = [
  { avoid: /\banew\b/, instead: 'again, or the action: rebuilt, re-chunked, replayed' },
  { avoid: /\bmend(s|ed|ing)?\b/, instead: 'fix, repair, recover, resolve' },
  { avoid: /\b(nobody|somebody|whoever)\b/, instead: 'the real subject: the worker, the retriever, recalld, you' },
  { avoid: /\bin alarm\b/, instead: 'firing' },
  { avoid: /\b(rings|ringing|rang)\b/, instead: 'fires, firing, fired' },
  { avoid: /(?<!false[- ])\balarm(s|ed|ing)?\b/, instead: 'alert (it fires), check (it fails), incident (the record)' },
  { avoid: /\btold\b/, instead: 'reported, notified, distinguished' },
  { avoid: /\b(unhappy|discontent(ed)?)\b/, instead: 'negative feedback' },
  { avoid: /\bluck(y|ily)?\b/, instead: 'chance, sampling noise' },
  {
    avoid:
      /\b(a|one|each|every|next|last|first|second|this|per|between|of|two|three) looks?\b(?!-| up)|\blooks? (again|twice)\b/,
    instead: 'evaluation (of a check), probe (of a store), interim analysis (of a test)',
  },
  { avoid: /\basked again\b/, instead: 'replayed' },
  { avoid: /\ba person asked\b/, instead: 'requested manually' },
  { avoid: /\bstrangers?\b/, instead: 'orphans' },
  { avoid: /\bput(s|ting)? off\b/, instead: 'defer' },
  { avoid: /\bput(s|ting)? down\b/, instead: 'record' },
  { avoid: /\bhand(s|ed|ing)? on\b/, instead: 'return, pass' },
  { avoid: /\bthe way out\b/, instead: 'the fix' },
  { avoid: /\b(those left|left over|leftovers?)\b/, instead: 'surviving documents, missing documents, orphans' },
  { avoid: /\bspells\b/, instead: 'interval, timeline, streak' },
  { avoid: /\bstanding\b|\bhow (it|they|things) stands?\b/, instead: 'status' },
  { avoid: /\bkept (rows?|quer(y|ies))\b/, instead: 'sampled queries' },
  { avoid: /\bleast program\b/, instead: 'minimal server' },
  { avoid: /\bceilings?\b/, instead: 'threshold, limit' },
  { avoid: /\bfloors? (of|for) (a|the) (check|measure|score)s?\b|\bbelow (its|the|a) floor\b/, instead: 'threshold' },
  { avoid: /\bpeople('?s)? (grades?|judgments?)\b|\b(grades|judgments) of people\b/, instead: 'human judgments' },
  { avoid: /\bunwanted (answer|result|document)s?\b/, instead: 'forbidden results' },
  { avoid: /\bupkeep\b/, instead: 'partitions, maintenance' },
  { avoid: /\bguests?\b/, instead: 'client, throttled store' },
  { avoid: /\bpace[sd]?\b/, instead: 'rate limit, concurrency limit' },
  { avoid: /\bsettl(e|es|ed|ing)\b/, instead: 'the action: complete, reject, record, decide' },
  { avoid: /\b(is|are|was|were) not known\b/, instead: 'unknown, no data' },
  { avoid: /\bbears? (it|this|that|them) out\b|\bbears? out\b/, instead: 'confirm' },
  { avoid: /\b(whence|thereof|wherein|hence|lest|upon)\b/, instead: 'plain English' },
];

/** Names that other projects chose. These names are removed from a file before it is checked. */
const quotations: readonly RegExp[] = [
  /\bPromiseSettledResult\b|\ballSettled\b/g, // JavaScript
  /['"`]nobody['"`]/g, // the system account
  /\(\?:[^()]*\btold\b[^()]*\)/g, // patterns of attacks on the judge
];

/** `inAlarm` and `in_alarm` become `in Alarm` and `in alarm`, so that terms are also found in identifiers. */
function splitWords(text: string): string {
  return text.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|_/g, ' ');
}

const patterns = terms.map(({ avoid, instead }) => ({ pattern: new RegExp(avoid, 'i'), instead }));

/** Returns one line per forbidden term: its position, and what to write instead. */
export function forbiddenTerms(file: string, text: string): string[] {
  const words = splitWords(quotations.reduce((rest, quotation) => rest.replaceAll(quotation, ''), text));
  const used = patterns.filter(({ pattern }) => pattern.test(words));
  if (used.length === 0) return [];
  return words.split('\n').flatMap((line, index) =>
    used.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(line);
      return found === null ? [] : [`${file}:${index + 1}: "${found[0]}": write ${instead}`];
    }),
  );
}
