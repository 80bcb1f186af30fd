import type { Pool } from 'pg';
import { createExportRows } from './sql/export-rows.ts';

export function exportTables(pool: Pool) {
  return { exportRows: createExportRows(pool) };
}

declare module '../../core/context.ts' {
  interface Db extends Readonly<ReturnType<typeof exportTables>> {}
}
