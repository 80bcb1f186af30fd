import type { Command, CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings } from '../app/commands/command-store.ts';
import { examine } from '../app/doctor/examine.ts';
import type { Result } from '../app/doctor/foundations.ts';
import { EXIT_CHECK_FAILED, EXIT_OK, exitCodeOfKind } from './exit.ts';
import { type ConfiguredOptions, printJson, printLine, withConfig } from './output.ts';

export function doctorCommand(command: Command, signal: AbortSignal): CommandUnknownOpts {
  return withConfig(command, 'recalld doctor --config recalld.yaml')
    .addHelpText('after', '\nExit codes: 0 all ok, 1 a problem needs a fix, 3 a service does not respond.')
    .action(async (options: ConfiguredOptions) => {
      const findings: Finding[] = [];
      await examine(commandSettings(options.config, signal), (service, status, message, ms = null) => {
        const finding = { service, status, message, ms };
        findings.push(finding);
        if (options.json !== true) printLine(formatFinding(finding));
      });
      if (options.json === true) printJson({ findings: findings.map(findingJson), verdict: verdictOf(findings) });
      process.exitCode = exitCodes[verdictOf(findings)];
    });
}

interface Finding extends Result {
  readonly service: string;
  readonly ms: number | null;
}

type Verdict = 'ok' | 'wrong' | 'unreachable';

const exitCodes: Record<Verdict, number> = {
  ok: EXIT_OK,
  wrong: EXIT_CHECK_FAILED,
  unreachable: exitCodeOfKind.unreachable,
};

function verdictOf(findings: readonly Finding[]): Verdict {
  if (findings.some(({ status }) => status === 'unreachable')) return 'unreachable';
  return findings.some(({ status }) => status === 'wrong') ? 'wrong' : 'ok';
}

const marks: Record<Finding['status'], string> = {
  ok: 'ok     ',
  warning: 'warning',
  wrong: 'WRONG  ',
  unreachable: 'DOWN   ',
  skipped: '-      ',
};

function formatFinding({ service, status, ms, message }: Finding): string {
  return `${marks[status]}  ${service}: ${message}${ms === null ? '' : ` (${Math.round(ms)} ms)`}`;
}

function findingJson({ ms, ...finding }: Finding) {
  return { ...finding, ms: ms === null ? null : Math.round(ms * 10) / 10 };
}
