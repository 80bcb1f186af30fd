/** The command tree, and settings for all commands. */
import { Command, type CommandUnknownOpts, Help, type Option } from '@commander-js/extra-typings';
import { version } from '../app/version.ts';

interface TopCommand {
  readonly does: string;
  /**
   * Adds a command's options and subcommands. The module is loaded on demand, so that `eval` does not load the database
   * driver.
   */
  readonly load: () => Promise<(command: Command, signal: AbortSignal) => CommandUnknownOpts>;
}

const commands: Readonly<Record<string, TopCommand>> = {
  demo: {
    does: "Run a demo: a RAG service on real data, with simulated users and faults, and recalld's alerts and diagnoses.",
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  init: {
    does: 'Detect the request format of a retriever, write recalld.yaml for it, and pin its current results as the baseline.',
    load: async () => (await import('./init.ts')).initCommand,
  },
  serve: {
    does: 'Run the daemon.',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  migrate: {
    does: "Migrate the database to this version's schema. recalld migrates an embedded database at each start.",
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  config: {
    does: 'Check, print or describe the config.',
    load: async () => (await import('./config.ts')).configCommand,
  },
  status: {
    does: 'Show the status of every pipeline, the reasons for the status, and the age of the data; exit 1 unless all pipelines are ok.',
    load: async () => (await import('../report/status/status-command.ts')).statusCommand,
  },
  diagnose: {
    does: 'Show the likely causes of firing alerts, with the evidence; exit 1 if an alert is firing.',
    load: async () => (await import('../incidents/diagnosis/edge/diagnose-command.ts')).diagnoseCommand,
  },
  incidents: {
    does: 'List incidents, acknowledge them, add notes, and mark their causes as right or wrong.',
    load: async () => (await import('../incidents/diagnosis/edge/incident-commands.ts')).incidentsCommand,
  },
  silence: {
    does: 'Suppress the messages and alerts of a pipeline, for example during maintenance.',
    load: async () => (await import('../incidents/notifications/edge/silence-command.ts')).silenceCommand,
  },
  notify: {
    does: 'Send the opening and closing messages of a test incident to each receiver in `notify`; exit 3 if a message is not delivered.',
    load: async () => (await import('../incidents/notifications/edge/notify-command.ts')).notifyCommand,
  },
  doctor: {
    does: 'Check every service in a config, and show problems and their fixes.',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  'store-test': {
    does: 'Test that the configured vector store has the features that recalld needs; read-only.',
    load: async () => (await import('./store-test.ts')).storeTestCommand,
  },
  golden: {
    does: 'Manage golden sets: queries with judged documents.',
    load: async () => (await import('../golden/edge/commands/golden.ts')).goldenCommand,
  },
  index: {
    does: 'Compare the documents in the store with the manifest.',
    load: async () => (await import('../index/truth/edge/index-commands.ts')).indexCommand,
  },
  isolation: {
    does: 'Test the isolation rules, which limit the documents that queries from a segment may return.',
    load: async () => (await import('../live/edge/isolation-command.ts')).isolationCommand,
  },
  judge: {
    does: 'Review live query judgments made by models and by people.',
    load: async () => (await import('../judging/edge/judge-commands.ts')).judgeCommand,
  },
  shadow: {
    does: "Compare shadow retrievers with their pipeline's retriever.",
    load: async () => (await import('../experiments/edge/commands.ts')).shadowCommand,
  },
  variants: {
    does: 'Compare variants of the service by user feedback.',
    load: async () => (await import('../experiments/edge/commands.ts')).variantsCommand,
  },
  keys: {
    does: 'Manage API keys.',
    load: async () => (await import('../platform/access/edge/access-commands.ts')).keysCommand,
  },
  audit: {
    does: 'List recorded changes and who made them.',
    load: async () => (await import('../platform/access/edge/access-commands.ts')).auditCommand,
  },
  runs: {
    does: 'Show the history of golden runs.',
    load: async () => (await import('../golden/edge/commands/runs.ts')).runsCommand,
  },
  explain: {
    does: 'Explain why a document was not returned for a query, or why a golden run missed documents.',
    load: async () => (await import('../incidents/explain/edge/explain-command.ts')).explainCommand,
  },
  mcp: {
    does: 'Serve the retrieval status to an assistant over stdin and stdout (Model Context Protocol); read-only.',
    load: async () => (await import('../mcp/edge/mcp-command.ts')).mcpCommand,
  },
  baselines: {
    does: 'Manage baselines: the runs with which later runs are compared.',
    load: async () => (await import('../golden/edge/commands/baselines.ts')).baselinesCommand,
  },
  checks: {
    does: 'Show the status of every check; exit 1 if a check is critical. With --history, show when verdicts changed and why.',
    load: async () => (await import('../checks/edge/checks-command.ts')).checksCommand,
  },
  report: {
    does: 'Write one HTML file for the weekly review: scores, incidents and their causes, density drift, topics to write about, and golden set health.',
    load: async () => (await import('../report/status/report-command.ts')).reportCommand,
  },
  export: {
    does: 'Export stored data as Parquet, CSV or JSONL files for a warehouse or a notebook.',
    load: async () => (await import('../report/export/edge/export-command.ts')).exportCommand,
  },
  backtest: {
    does: 'Show how often the configured checks would have fired on the stored history.',
    load: async () => (await import('../checks/edge/backtest-command.ts')).backtestCommand,
  },
  rules: {
    does: 'Print the Prometheus recording and alert rules for the config.',
    load: async () => (await import('./provisioning.ts')).rulesCommand,
  },
  dashboards: {
    does: 'Write the Grafana dashboards for the config.',
    load: async () => (await import('./provisioning.ts')).dashboardsCommand,
  },
  deployments: {
    does: 'Record and list deployments: changes to an index, embedder, retriever or golden set.',
    load: async () => (await import('../live/deployments/edge/deployments-commands.ts')).deploymentsCommand,
  },
  density: {
    does: 'Show how well the vector store covers live queries.',
    load: async () => (await import('../density/edge/density-commands.ts')).densityCommand,
  },
  drift: {
    does: 'Compare how well a vector store covers two sets of queries; needs no database.',
    load: async () => (await import('../density/edge/drift-command.ts')).driftCommand,
  },
  topics: {
    does: 'List topics of live queries that the store does not cover.',
    load: async () => (await import('../density/edge/density-commands.ts')).topicsCommand,
  },
  eval: {
    does: 'Score a TREC run file against judgments; needs no database.',
    load: async () => (await import('../golden/edge/commands/eval.ts')).evalCommand,
  },
  compare: {
    does: 'Compare two TREC run files query by query; needs no database; exit 1 if the first metric regresses.',
    load: async () => (await import('../golden/edge/commands/compare.ts')).compareCommand,
  },
};

/**
 * Creates the program. Adds options and subcommands only to the called command.
 *
 * @param words the command line; `all` loads every command
 */
export async function createProgram(
  words: readonly string[] | 'all',
  signal: AbortSignal,
): Promise<CommandUnknownOpts> {
  const program = new Command('recalld')
    .description('Monitors the retrieval quality of production RAG.')
    .version(version)
    // Without this setting, a command's --version option would be parsed as the program's option.
    .enablePositionalOptions()
    .showHelpAfterError('(run it with --help for usage)')
    .addHelpText(
      'after',
      '\nExit codes: 0 ok, 1 a check failed, 2 bad usage, config or input, 3 a service could not be reached, 130 interrupted.',
    );
  const called = words[0] === 'help' ? words[1] : words[0];
  for (const [name, { does, load }] of Object.entries(commands)) {
    const command = program.command(name).description(does);
    if (words === 'all' || called === name) (await load())(command, signal);
  }
  applyToTree(program);
  return program;
}

/**
 * Applies settings that commander does not pass on to added commands. Makes commander throw instead of exit, so that
 * exit codes are decided in one place.
 */
function applyToTree(command: CommandUnknownOpts): void {
  command.exitOverride();
  command.configureHelp({ optionDescription });
  for (const child of command.commands) applyToTree(child);
}

/** Describes an option, and omits a default value that only means that the option is not set. */
function optionDescription(option: Option): string {
  const isUnset = ['false', 'null', '{}'].includes(JSON.stringify(option.defaultValue));
  const shown = isUnset ? Object.assign(Object.create(option), { defaultValue: undefined }) : option;
  return new Help().optionDescription(shown as Option);
}
