/**
 * Returns an SQL condition that is true for the rows in a scope. `parameter` is the number of the SQL parameter that
 * contains the scope's pipelines, or null to include all rows.
 */
export function visible(pipelineColumn: string, parameter: number): string {
  return `($${parameter}::text[] is null or ${pipelineColumn} = any($${parameter}::text[]))`;
}
