/** Returns the SQL condition that a row is in a scope, whose pipelines are the parameter with this number, or null. */
export function visible(pipelineColumn: string, parameter: number): string {
  return `($${parameter}::text[] is null or ${pipelineColumn} = any($${parameter}::text[]))`;
}
