/** The tree of commands, and what holds for all of them. */
import { Command, Help, type Option } from 'commander';
import { version } from '../app/version.ts';

type CommandFactory = (signal: AbortSignal) => Command;

/** Each command is loaded when it is called, so that `eval` does not wait for the database driver of `serve`. */
const commands: Readonly<Record<string, () => Promise<CommandFactory>>> = {
  demo: async () => (await import('./demo.ts')).demoCommand,
  init: async () => (await import('./init.ts')).initCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  config: async () => (await import('./config.ts')).configCommand,
  status: async () => (await import('../status/status-command.ts')).statusCommand,
  diagnose: async () => (await import('../diagnosis/diagnose-command.ts')).diagnoseCommand,
  notify: async () => (await import('../notifications/notify-command.ts')).notifyCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  golden: async () => (await import('../golden/commands/golden.ts')).goldenCommand,
  index: async () => (await import('../index-truth/index-commands.ts')).indexCommand,
  judge: async () => (await import('../judging/judge-commands.ts')).judgeCommand,
  keys: async () => (await import('../access/keys-commands.ts')).keysCommand,
  runs: async () => (await import('../golden/commands/runs.ts')).runsCommand,
  explain: async () => (await import('../explain/explain-command.ts')).explainCommand,
  baselines: async () => (await import('../golden/commands/baselines.ts')).baselinesCommand,
  checks: async () => (await import('../checks/checks-command.ts')).checksCommand,
  report: async () => (await import('../status/report-command.ts')).reportCommand,
  backtest: async () => (await import('../checks/backtest-command.ts')).backtestCommand,
  rules: async () => {
    const { rulesCommand } = await import('./rules.ts');
    return () => rulesCommand();
  },
  dashboards: async () => {
    const { dashboardsCommand } = await import('./dashboards.ts');
    return () => dashboardsCommand();
  },
  deployments: async () => (await import('../deployments/deployments-commands.ts')).deploymentsCommand,
  density: async () => (await import('../density/density-commands.ts')).densityCommand,
  drift: async () => (await import('../density/drift-command.ts')).driftCommand,
  topics: async () => (await import('../density/density-commands.ts')).topicsCommand,
  eval: async () => {
    const { evalCommand } = await import('../golden/commands/eval.ts');
    return () => evalCommand();
  },
  compare: async () => {
    const { compareCommand } = await import('../golden/commands/compare.ts');
    return () => compareCommand();
  },
};

/**
 * The program with the command that is called; with every command for help, a misspelt name, and `undefined`.
 *
 * @param signal aborts what a command does
 */
export async function createProgram(called: string | undefined, signal: AbortSignal): Promise<Command> {
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
  const factories = await Promise.all(loadersFor(called).map((load) => load()));
  for (const create of factories) program.addCommand(create(signal));
  applyToTree(program);
  return program;
}

/** The one that is called; help and a misspelt name need to know them all. */
function loadersFor(called: string | undefined): (() => Promise<CommandFactory>)[] {
  if (called === '--version' || called === '-V') return [];
  const load = called !== undefined && Object.hasOwn(commands, called) ? commands[called] : undefined;
  return load === undefined ? Object.values(commands) : [load];
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
