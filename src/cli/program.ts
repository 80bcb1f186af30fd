/** The tree of commands, and what holds for all of them. */
import { Command, Help, type Option } from 'commander';
import { version } from '../app/version.ts';

interface TopCommand {
  readonly does: string;
  /** What adds its options and subcommands; loaded when it is called, so that `eval` does not wait for the database driver. */
  readonly load: () => Promise<(command: Command, signal: AbortSignal) => Command>;
}

const commands: Readonly<Record<string, TopCommand>> = {
  demo: {
    does: 'Show recalld at work: a demo RAG service on real data, its users, and what is said of one fault after the other.',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  init: {
    does: 'Find out how a retriever is asked, write recalld.yaml for it, and pin how it answers today.',
    load: async () => (await import('./init.ts')).initCommand,
  },
  serve: {
    does: 'Run the daemon.',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  migrate: {
    does: 'Bring the database to the schema of this version. The embedded one does it at each start.',
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  config: {
    does: 'Check, print or describe the config.',
    load: async () => (await import('./config.ts')).configCommand,
  },
  status: {
    does: 'Show how every pipeline stands, how old that is and why; exit 1 unless all are ok.',
    load: async () => (await import('../report/status/status-command.ts')).statusCommand,
  },
  diagnose: {
    does: 'Say what is likely behind the checks that are in alarm, with the evidence; exit 1 while something is.',
    load: async () => (await import('../incidents/diagnosis/edge/diagnose-command.ts')).diagnoseCommand,
  },
  notify: {
    does: 'Send each receiver of `notify` the two messages of an incident that is only a test; exit 3 when one does not arrive.',
    load: async () => (await import('../incidents/notifications/edge/notify-command.ts')).notifyCommand,
  },
  doctor: {
    does: 'Reach every service of a config, say what is wrong and how to mend it.',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  'store-test': {
    does: 'Test whether the vector store of a config does what recalld asks of every store; reads only.',
    load: async () => (await import('./store-test.ts')).storeTestCommand,
  },
  golden: {
    does: 'Golden sets: queries with judged documents.',
    load: async () => (await import('../golden/edge/commands/golden.ts')).goldenCommand,
  },
  index: {
    does: 'What the store holds against what it should hold.',
    load: async () => (await import('../index/truth/edge/index-commands.ts')).indexCommand,
  },
  judge: {
    does: 'Live queries that a model and people grade.',
    load: async () => (await import('../judging/edge/judge-commands.ts')).judgeCommand,
  },
  shadow: {
    does: "Retrievers that may take the place of a pipeline's own.",
    load: async () => (await import('../experiments/edge/commands.ts')).shadowCommand,
  },
  variants: {
    does: 'Variants of the service, by what users make of them.',
    load: async () => (await import('../experiments/edge/commands.ts')).variantsCommand,
  },
  keys: {
    does: 'API keys of the HTTP API.',
    load: async () => (await import('../platform/access/edge/access-commands.ts')).keysCommand,
  },
  audit: {
    does: 'What people did, and what it changed.',
    load: async () => (await import('../platform/access/edge/access-commands.ts')).auditCommand,
  },
  runs: {
    does: 'The history of golden runs.',
    load: async () => (await import('../golden/edge/commands/runs.ts')).runsCommand,
  },
  explain: {
    does: 'Say why a document did not come back for a question, or why those that a golden run missed did not.',
    load: async () => (await import('../incidents/explain/edge/explain-command.ts')).explainCommand,
  },
  mcp: {
    does: 'Let an assistant ask how retrieval stands, over stdin and stdout (Model Context Protocol); it changes nothing.',
    load: async () => (await import('../mcp/edge/mcp-command.ts')).mcpCommand,
  },
  baselines: {
    does: 'The runs that others are compared with.',
    load: async () => (await import('../golden/edge/commands/baselines.ts')).baselinesCommand,
  },
  checks: {
    does: 'Show where every check stands; exit 1 when one is critical. With --history, when they changed and why.',
    load: async () => (await import('../checks/edge/checks-command.ts')).checksCommand,
  },
  report: {
    does: 'Write one HTML file for the weekly review: scores, incidents and their causes, density drift, topics to write about, health of the golden sets.',
    load: async () => (await import('../report/status/report-command.ts')).reportCommand,
  },
  backtest: {
    does: 'Tell how often the configured checks would have fired on stored history, before paging is turned on.',
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
    does: 'Changes of what a pipeline is made of.',
    load: async () => (await import('../live/deployments/edge/deployments-commands.ts')).deploymentsCommand,
  },
  density: {
    does: 'How well the vector store covers what people ask.',
    load: async () => (await import('../density/edge/density-commands.ts')).densityCommand,
  },
  drift: {
    does: 'Compare the coverage of two sets of queries by a store of vectors; needs no database.',
    load: async () => (await import('../density/edge/drift-command.ts')).driftCommand,
  },
  topics: {
    does: 'What people ask that the store does not cover.',
    load: async () => (await import('../density/edge/density-commands.ts')).topicsCommand,
  },
  eval: {
    does: 'Score a TREC run file against judgments; needs no database.',
    load: async () => (await import('../golden/edge/commands/eval.ts')).evalCommand,
  },
  compare: {
    does: 'Compare two TREC run files query by query; needs no database; exit 1 when the first metric regresses.',
    load: async () => (await import('../golden/edge/commands/compare.ts')).compareCommand,
  },
};

/**
 * The program: all commands by name, and those that are asked for with their options and subcommands.
 *
 * @param words the command line; `all` loads every command
 * @param signal aborts what a command does
 */
export async function createProgram(words: readonly string[] | 'all', signal: AbortSignal): Promise<Command> {
  const program = new Command('recalld')
    .description('Watches the retrieval quality of production RAG.')
    .version(version)
    // So that --version of a command is not that of the program.
    .enablePositionalOptions()
    .showHelpAfterError('(add --help for how to use it)')
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
 * What commander does not hand on to commands that are added: it would end the process itself, and shall throw, so that
 * exit codes are decided in one place; and a switch that is off unless it is given need not say so.
 */
function applyToTree(command: Command): void {
  command.exitOverride();
  command.configureHelp({ optionDescription });
  for (const child of command.commands) applyToTree(child);
}

function optionDescription(option: Option): string {
  const shown =
    option.defaultValue === false ? Object.assign(Object.create(option), { defaultValue: undefined }) : option;
  return new Help().optionDescription(shown as Option);
}
