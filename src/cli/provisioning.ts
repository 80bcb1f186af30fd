/** `recalld rules` and `recalld dashboards`: generate alert rules and dashboards for a config. */
import { writeFileSync } from 'node:fs';
import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { stringify } from 'yaml';
import { createAlertRules } from '../app/commands/alert-rules.ts';
import { loadConfig } from '../app/config/load.ts';
import { messageOf, RecalldError } from '../core/errors.ts';
import { note, printJson, printLine, withConfig } from './output.ts';

export function rulesCommand(command: Command): CommandUnknownOpts {
  return withConfig(command, 'recalld rules --config recalld.yaml --out recalld.rules.yml')
    .addOption(
      new Option('--format <format>', 'rules: a rule file; crd: a PrometheusRule for Kubernetes')
        .choices(['rules', 'crd'] as const)
        .default('rules' as const),
    )
    .option('--out <file>', 'write to a file instead of printing')
    .action(({ config, format, out, json }) => {
      const { document, notes } = createAlertRules(loadConfig(config).config, format);
      for (const sentence of notes) note(`Note: ${sentence}`);
      const text = stringify(document, { lineWidth: 0 });
      if (out !== undefined) write(out, text);
      if (json === true) printJson({ file: out ?? null, notes, rules: document });
      else if (out === undefined) process.stdout.write(text);
    });
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw new RecalldError(
      'usage',
      `The rules could not be written to ${file} (${messageOf(cause)}); check the path.`,
      {
        cause,
      },
    );
  }
}

export function dashboardsCommand(command: Command): CommandUnknownOpts {
  return withConfig(command, 'recalld dashboards --config recalld.yaml --out /var/lib/grafana/dashboards')
    .option('--out <dir>', 'output folder; created if needed', 'grafana/dashboards')
    .action(async ({ config, out, json }) => {
      // Imported on demand, because dashboards need an optional package, and printing the help must work without it.
      const { writeDashboards } = await import('../app/commands/dashboards.ts');
      const { files, notes } = await writeDashboards(loadConfig(config).config, out);
      for (const sentence of notes) note(`Note: ${sentence}`);
      if (json === true) printJson({ files, notes });
      else for (const file of files) printLine(file);
    });
}
