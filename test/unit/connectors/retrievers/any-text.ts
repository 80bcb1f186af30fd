import * as fc from 'fast-check';

const characters = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0x80, max: 0x7ff }),
  fc.integer({ min: 0x800, max: 0xd7ff }),
  fc.integer({ min: 0xe000, max: 0x10ffff }),
);

const traps = fc.constantFrom(
  ...'{{text}} {{k}} {{tags.course}} {{nope}} }} ${TOKEN} $& $1 " \\ \\u0000 /../ / # ? & = %41 % + <'.split(' '),
  ' ',
  '\r\n',
  '\ufeff',
);

/**
 * Any well-formed text: control characters, every plane of Unicode, and characters with a meaning in a template, JSON,
 * a URL or a header. Built by hand, because fc.string takes two seconds to initialize under vitest.
 */
export const anyText = fc
  .array(
    fc.oneof(
      characters.map((code) => String.fromCodePoint(code)),
      traps,
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));
