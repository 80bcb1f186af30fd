import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf, RecalldError } from '../../core/errors.ts';
import { makeFolder } from '../../platform/files/folder.ts';
import type { Config } from '../config/schema.ts';
import { createDashboards, dashboardText } from '../dashboards/catalogue.ts';

/**
 * Writes the dashboards to a folder, which is created if needed. Replaces existing files.
 *
 * @throws RecalldError usage if the folder is not writable
 */
export async function writeDashboards({ alerts }: Config, folder: string) {
  const dashboards = createDashboards({
    runbookBaseUrl: alerts.runbook_base_url,
    consoleUrl: alerts.console_base_url,
    groupLabels: alerts.group_labels,
  });
  try {
    await makeFolder(folder);
    const files: string[] = [];
    for (const { name, dashboard } of dashboards) {
      const file = path.join(folder, name);
      await writeFile(file, dashboardText(dashboard));
      files.push(file);
    }
    return { files, notes: missingLinks(alerts) };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new RecalldError('usage', `The dashboards could not be written to ${folder} (${reason}); check --out.`, {
      cause,
    });
  }
}

function missingLinks(alerts: Config['alerts']): string[] {
  if (alerts.console_base_url !== null) return [];
  const runbooks = alerts.runbook_base_url === null ? ' or its runbooks' : '';
  return [`alerts.console_base_url is not set: dashboards do not link to the console${runbooks}.`];
}
