/**
 * Escapes characters that a terminal interprets instead of displaying them: control characters and marks that change
 * the text direction.
 */

/**
 * Matches C0 controls (except tab and line feed), DEL, C1 controls, direction marks, line separators, the byte order
 * mark, and tag characters.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match them.
/* oxlint-disable no-control-regex -- the pattern must match control characters. */
const obeyed =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/**
 * Returns a text that is safe for a terminal: characters that a terminal would interpret appear as `\x1b` or `\u202e`.
 * Line feeds and tabs are not escaped. Ids and texts come from services, files and users, and an unescaped character
 * could move the cursor or hide a line.
 */
export function visibleText(text: string): string {
  return text.replace(obeyed, (found) => {
    const code = found.codePointAt(0) ?? 0;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** Like `visibleText`, but for JSON: parsing the result returns the original value. */
export function visibleJson(json: string): string {
  return json.replace(obeyed, (found) => (found === '\r' ? found : jsonEscapes(found)));
}

/** Returns each UTF-16 code unit as an escape for a JSON string, such as `\u202e`. */
export function jsonEscapes(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  );
}
