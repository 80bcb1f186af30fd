import { createInterface } from 'node:readline/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { z } from 'zod';
import { commandSettings, withCommandStore, withPipeline } from '../../../app/commands/command-store.ts';
import { EXIT_CHECK_FAILED } from '../../../cli/exit.ts';
import { configuredCommand, note, printJson, printLine } from '../../../cli/output.ts';
import { RecalldError } from '../../../core/errors.ts';
import { interval, percentage, plural } from '../../../core/format.ts';
import { toDocument } from '../../../core/text/names.ts';
import { readText } from '../../../platform/files/text-file.ts';
import { goldenSetVersionJson } from '../../golden-set-schema.ts';
import {
  type Acceptance,
  type AnchorEvidence,
  type LabelProposal,
  matchAcceptances,
  staleParts,
} from '../../rules/labels.ts';
import { warningSentences } from '../../rules/run-failure.ts';
import { type CheckedSet, checkLatestVersion, hasProblems } from '../../sets/check-golden-set.ts';
import { repairJudgments } from '../../sets/label-fixes.ts';
import type { RepresentativenessOutcome } from '../../sets/live-mix.ts';
import { parseSetName } from './sets.ts';

/** Minimum number of queries in a golden set. Smaller sets are of little use for comparisons. */
const MIN_QUERIES = 100;
const SHOWN = 20;

function checkLines({ set, queries, check, answers, power }: CheckedSet): string[] {
  const { problems, lost, proposals, recorded, representativeness } = check;
  const proposed = new Set(proposals.map(({ from }) => from));
  const unknown = lost.unknown.filter((id) => !proposed.has(id));
  return [
    `${set.name} version ${set.version}: ${plural(queries.length, 'query', 'queries')}, ${plural(set.judgments, 'judgment')}`,
    '',
    ...answerLines(answers),
    ...labelLines(check),
    proposals.length > 0 &&
      `Proposals: ${proposals.length}. Decide on each proposal with --fix, or accept all of them with --fix --accept all.`,
    ...shown(proposals.map((proposal) => `  ${proposalLine(proposal)}`)),
    unknown.length > 0 &&
      `No proposal for ${plural(unknown.length, 'document')}, because their texts were never stored. ` +
        'While the daemon is running, it stores the texts of judged documents.',
    lost.gap !== null && `The search for lost documents ended early: ${lost.gap}`,
    ...section('Duplicates', problems.duplicates, ({ first, second, likeness, similarity }) =>
      likeness === 'equal'
        ? `${first} = ${second}`
        : `${first} ~ ${second} (they share ${percentage(similarity)} of their words)`,
    ),
    ...section(
      'Contradictions',
      problems.contradictions,
      ({ first, second, documentId, grades }) =>
        `${documentId} has grade ${grades[0]} for ${first} but grade ${grades[1]} for ${second}, although the two queries have the same text`,
    ),
    ...section('Queries without a relevant document', problems.withoutRelevant, (id) => id),
    '',
    ...advice(queries.length),
    ...power.map((one) => `Power: ${one}`),
    ...representativenessLines(representativeness),
    `Stored texts of judged documents: ${recorded.known} of ${recorded.judged}.`,
  ].filter((line) => line !== false);
}

function labelLines({ labels }: CheckedSet['check']): string[] {
  if (labels.kind === 'unknown') return [`Judgments: not checked. ${labels.reason}`];
  const { stale, deleted, lost, probed, touched, dead } = labels;
  return [
    stale + lost === 0 && `Judgments: all ${probed} judged documents are in the store.`,
    stale > 0 &&
      `Stale labels: ${staleParts(stale, deleted)} of ${probed} judged documents, in ${plural(touched.size, 'query', 'queries')}. ` +
        `Queries without any other relevant document: ${dead.size}.`,
    lost > 0 &&
      `Lost: ${lost} of ${probed} judged documents are missing from the store, and no other document has their text.`,
    ...shown(
      labels.labels.map(
        ({ queryId, documentId, grade, fate }) => `  ${queryId}: ${documentId} (grade ${grade}, ${fate})`,
      ),
    ),
  ].filter((line) => line !== false);
}

function answerLines(answers: CheckedSet['answers']): string[] {
  if (answers.kind === 'failed') return [`Answers: not checked. ${answers.message}`];
  return warningSentences(answers.warnings).map((warning) => `Answers: ${warning}`);
}

function checkJson({ set, queries, check, answers, power }: CheckedSet, verdict: 'ok' | 'problems') {
  const { labels, problems, lost, proposals, recorded, representativeness: live } = check;
  return {
    golden_set: set.name,
    version: set.version,
    verdict,
    queries: queries.length,
    answers:
      answers.kind === 'failed'
        ? { asked: null, gap: answers.message, warnings: [] }
        : { asked: answers.asked, gap: null, warnings: warningSentences(answers.warnings) },
    labels:
      labels.kind === 'unknown'
        ? { probed: null, stale: null, deleted: null, lost: null, gap: labels.reason, stale_labels: [] }
        : {
            probed: labels.probed,
            stale: labels.stale,
            deleted: labels.deleted,
            lost: labels.lost,
            gap: null,
            stale_labels: toDocument(labels.labels),
          },
    proposals: proposals.map(({ number, queryId, from, to, grade }) => ({
      number,
      query_id: queryId,
      from,
      to: to.map(({ documentId, evidence: { kind: evidence, ...found } }) =>
        toDocument({ documentId, evidence, ...found }),
      ),
      grade,
    })),
    unknown_documents: lost.unknown,
    search_gap: lost.gap,
    duplicates: problems.duplicates,
    contradictions: toDocument(problems.contradictions),
    without_relevant: problems.withoutRelevant,
    advice: advice(queries.length),
    power,
    texts: recorded,
    live_traffic:
      live.kind === 'unknown'
        ? { covered: null, gap: live.message }
        : {
            covered: live.covered?.value ?? null,
            ci_low: live.covered?.ciLow ?? null,
            ci_high: live.covered?.ciHigh ?? null,
            n: live.live.length,
            gap: null,
            represented: live.represented,
            topics: live.topics.map(({ share, covered, golden, typical }) => ({
              share,
              covered,
              golden,
              examples: typical.flatMap((row) => live.live[row]?.id ?? []),
            })),
          },
  };
}

function proposalLine({ number, queryId, from, to, grade }: LabelProposal): string {
  if (to.length === 0)
    return `${number}. ${queryId}: remove grade ${grade} of ${from}, which the manifest lists as deleted`;
  const chunks = to.map(({ documentId, evidence }) => `${documentId} (${evidenceWords(evidence)})`).join(', ');
  return `${number}. ${queryId}: grade ${grade} from ${from} to ${chunks}`;
}

function evidenceWords(evidence: AnchorEvidence): string {
  switch (evidence.kind) {
    case 'same_content':
      return 'the same text';
    case 'whole':
      return `contains ${percentage(evidence.ofLost)} of the missing text`;
    case 'part':
      return `is a part of the missing text and covers ${percentage(evidence.ofLost)} of it`;
  }
}

function advice(queries: number): string[] {
  return queries < MIN_QUERIES
    ? [
        `Size: ${plural(queries, 'query', 'queries')}. Use at least ${MIN_QUERIES} queries, preferably 300, before you trust a verdict.`,
      ]
    : [];
}

function representativenessLines(live: RepresentativenessOutcome): string[] {
  if (live.kind === 'unknown') return [`Live traffic: not compared. ${live.message}`];
  if (live.covered === null) return ['Live traffic: no live queries to compare with.'];
  const { value, ciLow, ciHigh } = live.covered;
  const lacking = live.topics.filter(({ golden }) => golden === 0);
  return [
    `Live traffic: ${percentage(value)} of the live queries in the last week have a similar golden query ` +
      `(${interval(ciLow, ciHigh, 'share')}, ${plural(live.live.length, 'query', 'queries')}).`,
    ...shown(
      lacking.map(
        ({ share, typical }) =>
          `  topic without a golden query: ${percentage(share)} of traffic, for example the live query ${live.live[typical[0] ?? -1]?.id ?? '?'}`,
      ),
    ),
  ];
}

function section<T>(title: string, items: readonly T[], line: (item: T) => string): string[] {
  return items.length === 0 ? [] : [`${title}: ${items.length}`, ...shown(items.map((item) => `  ${line(item)}`))];
}

function shown(lines: readonly string[]): string[] {
  const more = lines.length - SHOWN;
  return more > 0 ? [...lines.slice(0, SHOWN), `  ... and ${more} more, see --json`] : [...lines];
}

/** Accepted proposals: the output of `golden check --json` without the rejected proposals. */
const proposalSchema = z
  .object({ query_id: z.string(), from: z.string(), to: z.array(z.object({ document_id: z.string() })) })
  .transform(({ query_id: queryId, from, to }) => ({ queryId, from, to: to.map((chunk) => chunk.document_id) }));

const fileSchema = z.union([
  z.array(proposalSchema),
  z.object({ proposals: z.array(proposalSchema) }).transform(({ proposals }) => proposals),
]);

export function checkCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'check',
    'Check a golden set for stale labels, duplicates and contradictions, and show its size and its coverage of live traffic.',
    'recalld golden check --pipeline support-docs --set support-faq\n  recalld golden check --pipeline support-docs --set support-faq --fix --accept all',
  )
    .requiredOption('--pipeline <name>', 'pipeline whose store is searched for the judged documents')
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .option('--fix', 'create a version of the set that applies the accepted proposals', false)
    .option('--accept <which>', '`all`, or a file that contains the --json output without the rejected proposals')
    .addHelpText('after', '\nThe exit code is 1 if the judgments, queries or result ids have problems.')
    .action(async ({ pipeline: name, set, fix, accept, json, config }) => {
      const settings = commandSettings(config, signal);
      if (accept !== undefined && !fix) throw new RecalldError('usage', '--accept requires --fix.');
      if (fix && accept === undefined && !(process.stdin.isTTY && process.stderr.isTTY)) {
        throw new RecalldError(
          'usage',
          '--fix requires a terminal for its prompts. Use --accept all or --accept FILE instead.',
        );
      }
      await withCommandStore(settings, async (store) => {
        const checked = await withPipeline(settings, name, (pipeline) =>
          checkLatestVersion(store, pipeline, set, signal),
        );
        const problems = hasProblems(checked);
        if (json !== true) for (const line of checkLines(checked)) printLine(line);
        const accepted = fix ? await acceptedOf(checked, accept, signal) : [];
        const repaired = accepted.length > 0 ? await repairJudgments(store.db.golden.sets, checked, accepted) : null;
        if (json === true) {
          const report = checkJson(checked, problems ? 'problems' : 'ok');
          printJson(repaired === null ? report : { ...report, repaired: goldenSetVersionJson(repaired) });
        } else if (repaired !== null) {
          printLine(`\n${repaired.name} version ${repaired.version}: ${repaired.note ?? ''}`);
        } else if (fix) printLine('\nNo proposal was accepted, so no version was added.');
        if (problems) process.exitCode = EXIT_CHECK_FAILED;
      });
    });
}

async function acceptedOf(
  { check: { proposals } }: CheckedSet,
  accept: string | undefined,
  signal: AbortSignal,
): Promise<readonly LabelProposal[]> {
  if (accept === 'all') return proposals;
  if (accept === undefined) return askForEach(proposals, signal);
  const { accepted, unknown } = matchAcceptances(proposals, await readAcceptances(accept));
  const [first] = unknown;
  if (first === undefined) return accepted;
  throw new RecalldError(
    'usage',
    `${plural(unknown.length, 'proposal')} accepted in ${accept} cannot be applied (first: query ${first.queryId}, document ${first.from}). Either the set or the store has changed, or a proposal lists no replacement. Run the check again and edit the new output.`,
  );
}

/**
 * Asks the user about each proposal: `y` accepts it, `a` accepts it and all further proposals, `q` quits, and any other
 * input rejects it.
 */
async function askForEach(proposals: readonly LabelProposal[], signal: AbortSignal): Promise<LabelProposal[]> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const accepted: LabelProposal[] = [];
  try {
    for (const [index, proposal] of proposals.entries()) {
      note(proposalLine(proposal));
      const answer = (await terminal.question('Accept? [y]es, [n]o, [a]ll from here, [q]uit: ', { signal })).trim();
      if (answer === 'a') return [...accepted, ...proposals.slice(index)];
      if (answer === 'q') break;
      if (answer === 'y') accepted.push(proposal);
    }
  } finally {
    terminal.close();
  }
  return accepted;
}

async function readAcceptances(path: string): Promise<Acceptance[]> {
  const parsed = fileSchema.safeParse(jsonOf(await readText(path)));
  if (parsed.success) return parsed.data;
  throw new RecalldError(
    'file_malformed',
    `${path} is not the output of \`golden check --json\`. Keep the format of that output, and remove only the proposals that you reject.`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
