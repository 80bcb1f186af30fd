import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { type CheckedSet, checkSet, hasProblems, mendLabels } from '../../app/commands/golden-check.ts';
import { readAcceptances } from '../../app/commands/golden-proposals.ts';
import { RecalldError } from '../../errors.ts';
import { type LabelProposal, matchAcceptances } from '../../golden/rules/labels.ts';
import { goldenSetVersionJson } from '../../golden/schema/golden-set.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { EXIT_CHECK_FAILED } from '../exit-code.ts';
import { note, printJson, printLine } from '../output.ts';
import { checkJson, checkLines, proposalLine } from './check-report.ts';
import { parseSetName } from './parse-set-name.ts';

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
    const checked = await checkSet(settings, store, options);
    const problems = hasProblems(checked.check);
    if (options.json !== true) for (const line of checkLines(checked)) printLine(line);
    const accepted = options.fix ? await acceptedOf(checked, options.accept, settings.signal) : [];
    const mended = accepted.length > 0 ? await mendLabels(store, checked, accepted) : null;
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
