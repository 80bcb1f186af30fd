/** Awaits all properties of an object concurrently. Rejects with the first error. */
export async function allOf<Parts extends Readonly<Record<string, unknown>>>(
  parts: Parts,
): Promise<{ -readonly [Name in keyof Parts]: Awaited<Parts[Name]> }> {
  const entries = Object.entries(parts).map(async ([name, part]) => [name, await part] as const);
  return Object.fromEntries(await Promise.all(entries)) as { [Name in keyof Parts]: Awaited<Parts[Name]> };
}
