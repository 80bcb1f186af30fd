/** Names of tables and columns, as SQL takes them. */

/** Between double quotes, so that any text is one name and nothing else. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * `chunks`, `rag.chunks`, `"My Schema"."My.Table"`: the parts of a table's name, the way they were created, null when
 * it is not one. Unlike in SQL, a name without quotes keeps its case, since that is how people copy it.
 */
export function tableParts(name: string): readonly string[] | null {
  const part = /^(?:"((?:[^"]|"")+)"|([^".]+))(\.|$)/;
  const parts: string[] = [];
  let rest = name.trim();
  for (;;) {
    const match = part.exec(rest);
    if (match === null) return null;
    parts.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    rest = rest.slice(match[0].length);
    if (match[3] === '') return parts.length <= 2 ? parts : null;
  }
}
