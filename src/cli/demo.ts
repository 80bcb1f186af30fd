/** `recalld demo`: runs a complete recalld with real data on this machine. Nothing else needs to be installed. */
import { type Command, type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { assertCanListen } from '../app/http/server.ts';
import { RecalldError } from '../core/errors.ts';
import { runDemo } from '../demo/run-demo.ts';
import { scenarios, story } from '../demo/scenarios.ts';
import { EXIT_CHECK_FAILED, parentGone, requireDemoPackages } from './exit.ts';
import { printLine, styled } from './output.ts';
import { showProgressLine } from './progress.ts';

export function demoCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return command
    .option('--port <n>', 'port of the daemon; 0 for any free port', parsePort, 8321)
    .addOption(
      new Option('--fault <fault>', 'fault to simulate: one fault, none, or story (most faults in sequence)')
        .choices(['none', ...scenarios.map(({ name }) => name), 'story'])
        .default('story'),
    )
    .option('--once', 'exit at the end, with code 0 if every step went as expected, otherwise 1', false)
    .addHelpText('after', '\nExample:\n  recalld demo --fault index --once')
    .action(({ port, once, fault }) => demo(port, once, fault, AbortSignal.any([signal, parentGone()])));
}

async function demo(port: number, once: boolean, fault: string, signal: AbortSignal): Promise<void> {
  requireDemoPackages();
  let isAsExpected: boolean;
  try {
    await assertCanListen({ host: '127.0.0.1', port, setting: 'server.port' });
    isAsExpected = await runDemo({
      port,
      stay: !once,
      signal,
      scenarios: fault === 'story' ? story : scenarios.filter(({ name }) => name === fault),
      output: { print: printLine, progress: showProgressLine, styled },
    });
  } catch (error) {
    // The original message refers to the config file, which a demo user does not have.
    if (!(error instanceof RecalldError) || error.code !== 'port_in_use') throw error;
    const message = `Port ${port} is in use by another process. Choose another port with --port, or use --port 0 for any free port.`;
    throw new RecalldError('port_in_use', message, { cause: error });
  }
  if (!isAsExpected) process.exitCode = EXIT_CHECK_FAILED;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('The value must be a whole number from 0 to 65535.');
}
