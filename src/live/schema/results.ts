/** What was retrieved for a live query, on the wire. */
import { z } from 'zod';
import { identifier, isIdentifier, wireSchema } from '../../http/fields.ts';

const MOST_RESULTS = 1000;

const resultSchema = z.strictObject({
  id: identifier.describe('Document id.'),
  score: z.number().optional().describe('As the retriever gave it.'),
});

type Result = z.infer<typeof resultSchema>;

const listSchema = z.array(resultSchema).max(MOST_RESULTS);

/**
 * Results are most of a live query, so they are judged by hand first: a schema for each of them would cost as much as all
 * of its other fields. What is not plainly right goes through the schema, which says what is wrong.
 */
export const resultsSchema = z
  .custom<readonly Result[]>()
  .check((context) => {
    if (areResults(context.value)) return;
    const { error } = listSchema.safeParse(context.value);
    for (const issue of error?.issues ?? []) context.issues.push({ ...issue, input: undefined });
  })
  .meta({ wire: wireSchema(listSchema) });

function areResults(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MOST_RESULTS && value.every(isResult);
}

function isResult(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  for (const key in value) if (key !== 'id' && key !== 'score') return false;
  const { id, score } = value as Partial<Record<'id' | 'score', unknown>>;
  return isIdentifier(id) && (score === undefined || Number.isFinite(score));
}
