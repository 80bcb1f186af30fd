import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf, RecalldError } from '../../core/errors.ts';
import { makeFolder } from '../../platform/files/folder.ts';
import type { Config } from '../config/schema.ts';
import { createDashboards, dashboardText } from '../dashboards/catalogue.ts';
import { missingLinks, ruleSettings } from './alert-rules.ts';

/**
 * Writes the dashboards to a folder, which is created if needed. Replaces existing files.
 *
 * @throws RecalldError usage if the folder is not writable
 */
export async function writeDashboards(config: Config, folder: string) {
  const dashboards = createDashboards(ruleSettings(config));
  try {
    await makeFolder(folder);
    const files: string[] = [];
    for (const { name, dashboard } of dashboards) {
      const file = path.join(folder, name);
      await writeFile(file, dashboardText(dashboard));
      files.push(file);
    }
    return { files, notes: missingLinks(config, 'dashboards') };
  } catch (cause) {
    const reason = messageOf(cause);
    throw new RecalldError('usage', `The dashboards could not be written to ${folder} (${reason}); check --out.`, {
      cause,
    });
  }
}
