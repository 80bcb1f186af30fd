import { z } from 'zod';
import { cronSchema } from '../../platform/config/times.ts';
import { exportFormats } from './part-files.ts';
import { exportTables } from './rules/export-tables.ts';

export const exportSchema = z
  .strictObject({
    cron: cronSchema.describe('Schedule of the export (UTC), such as `30 2 * * *`.'),
    to: z
      .string()
      .min(1)
      .describe(
        'Folder to which data is exported. If several hosts run workers, they must share this folder, for example on a mounted volume.',
      ),
    format: z.enum(exportFormats).default('parquet').describe('File format.'),
    tables: z
      .array(z.enum(exportTables.map(({ name }) => name)))
      .min(1)
      .optional()
      .describe('Tables to export (docs/reference/export.md). Default: all tables.'),
  })
  .optional()
  .describe(
    'Exports stored data to a folder on a schedule, and again within minutes after an erasure. By default, recalld exports nothing.',
  );
