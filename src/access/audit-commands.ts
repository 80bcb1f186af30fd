/** `recalld audit`: what people did, and what it changed. */
import type { Command } from 'commander';
import { commandSettings, withCommandStore } from '../app/commands/command-store.ts';
import { type ConfiguredOptions, parseCount, parseTime, withConfig } from '../cli/configured-command.ts';
import { formatTable, printJson, printLine } from '../cli/output.ts';
import { actJson, type RecordedAct } from './audit-log.ts';

interface AuditOptions extends ConfiguredOptions {
  readonly pipeline?: string;
  readonly since?: Date;
  readonly limit: number;
}

export function auditCommand(command: Command, signal: AbortSignal): Command {
  return withConfig(command, 'recalld audit --since 2026-11-01T00:00:00Z')
    .option('--pipeline <name>', 'only what was done to this pipeline')
    .option('--since <time>', 'nothing older', parseTime)
    .option('--limit <n>', 'at most so many', parseCount, 50)
    .action(async ({ config, json, ...filter }: AuditOptions) => {
      const found = await withCommandStore(commandSettings(config, signal), ({ auditLog }) => auditLog.list(filter));
      if (json === true) printJson(found.map(actJson));
      else if (found.length === 0) printLine('Nobody did anything that is recorded here.');
      else printLine(formatTable(['when', 'who', 'what', 'pipeline', 'of', 'before', 'after'], found.map(rowOf), 5));
    });
}

function rowOf({ at, by, act, pipeline, subject, before, after }: RecordedAct): string[] {
  return [at.toISOString(), by, act.replaceAll('_', ' '), pipeline ?? '', subject, valuesOf(before), valuesOf(after)];
}

function valuesOf(change: RecordedAct['before']): string {
  return Object.entries(change ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
