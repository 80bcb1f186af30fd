/**
 * Returns an SQL condition that is true for the rows in a scope. The SQL parameter with this number is the list of the
 * scope's pipelines, or null to include all rows.
 */
export function visible(pipelineColumn: string, parameter: number): string {
  return `($${parameter}::text[] is null or ${pipelineColumn} = any($${parameter}::text[]))`;
}
