/** `recalld dashboards`: the Grafana dashboards for a config. */
import type { Command } from 'commander';
import { loadConfig } from '../app/config/parse.ts';
import { type ConfiguredOptions, withConfig } from './configured-command.ts';
import { note, printJson, printLine } from './output.ts';

interface DashboardsOptions extends ConfiguredOptions {
  readonly out: string;
}

export function dashboardsCommand(command: Command): Command {
  return withConfig(command, 'recalld dashboards --config recalld.yaml --out /var/lib/grafana/dashboards')
    .option('--out <dir>', 'folder to write to; made when it is not there', 'grafana/dashboards')
    .action(async ({ config, out, json }: DashboardsOptions) => {
      // The dashboards need a package that an installation may leave out; the help of all commands does not.
      const { writeDashboards } = await import('../app/commands/dashboards.ts');
      const { files, notes } = writeDashboards(loadConfig(config).config, out);
      for (const sentence of notes) note(`Note: ${sentence}`);
      if (json === true) printJson({ files, notes });
      else for (const file of files) printLine(file);
    });
}
