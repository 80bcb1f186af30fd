import { z } from 'zod';

/** The JSON Schema of what a caller sends, for the `wire` of a schema that parses by hand. */
export function wireSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}
