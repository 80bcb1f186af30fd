/** `recalld golden check`: looks a golden set over, and mends its labels as a person accepts. */
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { withPipeline } from '../../app/commands/with-pipeline.ts';
import { type ConfiguredOptions, configuredCommand } from '../../cli/configured-command.ts';
import { EXIT_CHECK_FAILED } from '../../cli/exit-code.ts';
import { note, printJson, printLine } from '../../cli/output.ts';
import { RecalldError } from '../../errors.ts';
import { readText } from '../../files/text-file.ts';
import { systemClock } from '../../system-clock.ts';
import { goldenSetVersionJson } from '../golden-set-schema.ts';
import { type Acceptance, type LabelProposal, matchAcceptances } from '../rules/labels.ts';
import { type CheckedSet, checkLatestVersion, hasProblems } from '../sets/check-golden-set.ts';
import { mendLabels } from '../sets/label-fixes.ts';
import { checkJson, checkLines, proposalLine } from './check-report.ts';
import { parseSetName } from './sets.ts';

/** The file with which a person accepts proposals: what `golden check --json` printed, without the refused ones. */
const proposalSchema = z.object({
  query_id: z.string(),
  from: z.string(),
  to: z.array(z.object({ document_id: z.string() })).min(1),
});

const fileSchema = z.union([z.array(proposalSchema), z.object({ proposals: z.array(proposalSchema) })]);

/** Null for what is neither a list of proposals nor the output of a check. */
function parseAcceptedProposals(value: unknown): Acceptance[] | null {
  const result = fileSchema.safeParse(value);
  if (!result.success) return null;
  const proposals = Array.isArray(result.data) ? result.data : result.data.proposals;
  return proposals.map(({ query_id: queryId, from, to }) => ({
    queryId,
    from,
    to: to.map((chunk) => chunk.document_id),
  }));
}

interface CheckOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly set: string;
  readonly fix: boolean;
  readonly accept?: string;
}

export function checkCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'check',
    'Look a golden set over: stale labels, duplicates, contradictions, size, coverage of live traffic.',
    'recalld golden check --pipeline support-docs --set support-faq\n  recalld golden check --pipeline support-docs --set support-faq --fix --accept all',
  )
    .requiredOption('--pipeline <name>', 'pipeline whose store the documents are looked for in')
    .requiredOption('--set <name>', 'name of the golden set', parseSetName)
    .option('--fix', 'write a new version with the proposals for stale labels that you accept', false)
    .option('--accept <which>', '`all`, or a file: the output of --json with the proposals that you keep')
    .addHelpText('after', '\nExit code 1: something is wrong with labels, judgments or questions.')
    .action((options: CheckOptions) => check(commandSettings(options.config, signal), options));
}

async function check(settings: CommandSettings, options: CheckOptions): Promise<void> {
  if (options.accept !== undefined && !options.fix) {
    throw new RecalldError('usage', '--accept says what --fix shall do; add --fix.');
  }
  if (options.fix && options.accept === undefined && !(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new RecalldError(
      'usage',
      '--fix asks on a terminal; without one add --accept all or --accept FILE.',
    );
  }
  await withCommandStore(settings, async (store) => {
    const deps = { ...store, clock: systemClock };
    const checked = await withPipeline(settings, options.pipeline, (pipeline) =>
      checkLatestVersion(deps, pipeline, options.set, settings.signal),
    );
    const problems = hasProblems(checked.check);
    if (options.json !== true) for (const line of checkLines(checked)) printLine(line);
    const accepted = options.fix ? await acceptedOf(checked, options.accept, settings.signal) : [];
    const mended = accepted.length > 0 ? await mendLabels(store.sets, checked, accepted) : null;
    if (options.json === true) {
      const report = checkJson(checked, problems ? 'problems' : 'ok') as Record<string, unknown>;
      printJson(mended === null ? report : { ...report, mended: goldenSetVersionJson(mended) });
    } else if (mended !== null) {
      printLine(`\n${mended.name} version ${mended.version}: ${mended.note ?? ''}`);
    } else if (options.fix) printLine('\nNo proposal was accepted; nothing was written.');
    if (problems) process.exitCode = EXIT_CHECK_FAILED;
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
    `${accept} accepts ${unknown.length} that are proposed no more (first: query ${first.queryId}, document ${first.from}); check again and edit the new output.`,
  );
}

/** `y` takes one, `a` it and all that follow, `q` ends; all else refuses. */
async function askForEach(
  proposals: readonly LabelProposal[],
  signal: AbortSignal,
): Promise<LabelProposal[]> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const accepted: LabelProposal[] = [];
  try {
    for (const [index, proposal] of proposals.entries()) {
      note(proposalLine(proposal));
      const answer = (
        await terminal.question('Accept? [y]es, [n]o, [a]ll from here, [q]uit: ', { signal })
      ).trim();
      if (answer === 'a') return [...accepted, ...proposals.slice(index)];
      if (answer === 'q') break;
      if (answer === 'y') accepted.push(proposal);
    }
  } finally {
    terminal.close();
  }
  return accepted;
}

/** @throws RecalldError file_unreadable, file_malformed */
async function readAcceptances(path: string): Promise<Acceptance[]> {
  const text = await readText(path);
  const parsed = parseAcceptedProposals(jsonOf(text));
  if (parsed !== null) return parsed;
  throw new RecalldError(
    'file_malformed',
    `${path} is not what \`golden check --json\` prints; keep its form and remove the proposals that you refuse.`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
