/** Characters that a terminal obeys and does not show: control characters, and those that turn the direction of text. */

/** C0 but tab and line feed, DEL, C1, marks of direction, separators of lines, the byte order mark, tags. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
/* oxlint-disable no-control-regex -- they are what is looked for. */
const obeyed =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/**
 * Text for a terminal: what it would obey stands there as `\x1b` or `\u202e`. Line feeds and tabs stay; ids and texts of
 * services, files and users come as they are, and one of them could otherwise move the cursor or hide a line.
 */
export function visibleText(text: string): string {
  return text.replace(obeyed, (found) => {
    const code = found.codePointAt(0) ?? 0;
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** As visibleText, for JSON: read again it is the same. */
export function visibleJson(json: string): string {
  return json.replace(obeyed, (found) =>
    found === '\r'
      ? found
      : [...Array(found.length).keys()]
          .map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}
