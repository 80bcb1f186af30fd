/** Tables that export adds to the context. */
import type { ExportRows } from './sql/export-rows.ts';

declare module '../core/context.ts' {
  interface Db {
    readonly exportRows: ExportRows;
  }
}
