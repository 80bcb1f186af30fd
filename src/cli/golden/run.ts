import type { Command } from 'commander';
import { commandSettings } from '../../app/commands/command-settings.ts';
import { type CommandSettings, withCommandStore } from '../../app/commands/command-store.ts';
import { queueGoldenRun, runGoldenSetNow } from '../../app/commands/golden-run.ts';
import { summarizeRun } from '../../app/commands/run-summary.ts';
import { RecalldError } from '../../errors.ts';
import type { RunSummaryJson } from '../../golden/schema/run-summary-document.ts';
import { type ConfiguredOptions, configuredCommand } from '../configured-command.ts';
import { EXIT_CHECK_FAILED } from '../exit-code.ts';
import { printJson, printLine } from '../output.ts';
import { createProgressBar } from '../progress.ts';
import { formatRunSummary } from '../run-report.ts';

interface RunOptions extends ConfiguredOptions {
  readonly pipeline: string;
  readonly set: string;
  readonly wait: boolean;
}

export function runCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'run',
    'Run a golden set against the retriever of a pipeline, now.',
    'recalld golden run --pipeline support-docs --set support-faq',
  )
    .requiredOption('--pipeline <name>', 'pipeline of the config')
    .requiredOption('--set <name>', 'name of the golden set')
    .option('--wait', 'run it here and wait for its end', true)
    .option('--no-wait', 'hand it to a running daemon and return at once')
    .action((options: RunOptions) => run(commandSettings(options.config, signal), options));
}

async function run(settings: CommandSettings, options: RunOptions): Promise<void> {
  if (!options.wait) {
    const queued = await withCommandStore(settings, (store) => queueGoldenRun(settings, store, options));
    if (options.json === true) printJson({ run_id: queued.id, status: queued.status });
    else printLine(`Run ${queued.id} is on its way; \`recalld runs show ${queued.id}\` shows it.`);
    return;
  }
  const bar = createProgressBar(options.set);
  const { summary, failure } = await withCommandStore(settings, async (store) => {
    const ended = await runGoldenSetNow(settings, store, options, (progress) => bar.show(progress)).finally(
      () => bar.end(),
    );
    const firstFailure = (await store.runs.answers(ended.id)).find(
      (answer) => answer.errorMessage !== null && answer.errorCode !== 'not_asked',
    );
    return { summary: await summarizeRun(store.runs, ended), failure: firstFailure?.errorMessage ?? null };
  });
  if (options.json === true) printJson(summary);
  else printLine(formatRunSummary(summary, failure));
  if (isSilent(summary)) {
    throw new RecalldError(
      'retriever_unreachable',
      `The retriever of pipeline "${summary.pipeline}" answered none of ${summary.queries.total} queries${failure === null ? '' : ` (${failure.replace(/\.$/, '')})`}; start it or mend retriever.url.`,
    );
  }
  if (summary.verdict !== 'ok') process.exitCode = EXIT_CHECK_FAILED;
}

function isSilent({ queries }: RunSummaryJson): boolean {
  return queries.ok === 0 && queries.empty === 0 && queries.error + queries.timeout > 0;
}
