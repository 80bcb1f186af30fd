import { z } from 'zod';
import { cronSchema } from '../../platform/config/times.ts';
import { exportFormats } from './part-files.ts';
import { exportTables } from './rules/export-tables.ts';

export const exportSchema = z
  .strictObject({
    cron: cronSchema.describe('Schedule of the export, in UTC.'),
    to: z
      .string()
      .min(1)
      .describe('Folder for the exported files. If workers run on several hosts, they must share this folder.'),
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
