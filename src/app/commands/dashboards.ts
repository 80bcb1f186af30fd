/** The dashboards for a config, as files in a folder. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { messageOf, RecalldError } from '../../core/errors.ts';
import type { Config } from '../config/schema.ts';
import { createDashboards, dashboardText } from '../dashboards/catalogue.ts';

export interface WrittenDashboards {
  /** Paths of the files, in the order in which one looks at the dashboards. */
  readonly files: readonly string[];
  /** Sentences for whoever asked: which links are left out. */
  readonly notes: readonly string[];
}

/**
 * Writes every dashboard into a folder, which is made when it is not there; files of the same names are replaced.
 *
 * @throws RecalldError usage when the folder cannot be written to
 */
export function writeDashboards({ alerts }: Config, folder: string): WrittenDashboards {
  const dashboards = createDashboards({
    runbookBaseUrl: alerts.runbook_base_url,
    consoleUrl: alerts.console_base_url,
    groupLabels: alerts.group_labels,
  });
  try {
    mkdirSync(folder, { recursive: true });
    const files = dashboards.map(({ name, dashboard }) => {
      const file = path.join(folder, name);
      writeFileSync(file, dashboardText(dashboard));
      return file;
    });
    return { files, notes: missingLinks(alerts) };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new RecalldError('usage', `The dashboards cannot be written to ${folder} (${reason}); check --out.`, {
      cause,
    });
  }
}

function missingLinks(alerts: Config['alerts']): string[] {
  if (alerts.console_base_url !== null) return [];
  const runbooks = alerts.runbook_base_url === null ? ' and its runbooks' : '';
  return [`alerts.console_base_url is not set, so that the dashboards have no link to the console${runbooks}.`];
}
