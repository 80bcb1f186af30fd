import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileValue, type JsonValue, parseTemplate } from '../../../../src/connectors/retrievers/template.ts';
import { RecalldError } from '../../../../src/core/errors.ts';
import { anyText } from './any-text.ts';

const request = { text: 'what is a "tag"?', k: 10, tags: { course: 'ml-101', empty: '' } };
const render = (template: JsonValue) => compileValue(template, 'retriever.body')(request);

describe('a template', () => {
  const cases: readonly [name: string, template: JsonValue, expected: JsonValue][] = [
    ['inserts the query text', '{{text}}', 'what is a "tag"?'],
    ['renders k as a number if k is the whole value', '{{k}}', 10],
    ['writes k in digits inside a longer string', 'top {{k}}', 'top 10'],
    ['inserts the value of a tag', '{{tags.course}}', 'ml-101'],
    ['renders an empty tag as empty text', '{{tags.empty}}', ''],
    ['renders null for a missing tag that is the whole value', '{{tags.tenant}}', null],
    ['omits a missing tag from a longer string', 'tenant={{tags.tenant}};', 'tenant=;'],
    ['ignores properties of the object prototype', '{{tags.constructor}}', null],
    ['allows spaces inside the braces', '{{ text }} / {{ tags.course }}', 'what is a "tag"? / ml-101'],
    ['fills nested objects and arrays', { a: [{ b: '{{k}}' }, 1, null, true] }, { a: [{ b: 10 }, 1, null, true] }],
    ['leaves single braces alone', '{text} }} {', '{text} }} {'],
    ['keeps numbers, booleans and null', [1.5, false, null], [1.5, false, null]],
    ['keeps an empty string', '', ''],
  ];
  it.each(cases)('%s', (_name, template, expected) => {
    expect(render(template)).toStrictEqual(expected);
  });

  it('treats a field named __proto__ as an ordinary field', () => {
    const template: JsonValue = JSON.parse('{"__proto__": "{{k}}"}');
    expect(JSON.stringify(render(template))).toBe('{"__proto__":10}');
  });

  const mistakes: readonly [name: string, template: JsonValue, message: string][] = [
    [
      'an unknown placeholder',
      { query: '{{txt}}' },
      'retriever.body.query: {{txt}} is not a placeholder; use {{text}}, {{k}} or {{tags.NAME}}.',
    ],
    ['an empty placeholder', ['{{}}'], 'retriever.body[0]: {{}} is not a placeholder'],
    ['a tag without a name', { a: { b: ['{{tags.}}'] } }, 'retriever.body.a.b[0]: {{tags.}} is not a placeholder'],
    ['braces in braces', '{{{{text}}}}', 'retriever.body: {{{{text}} is not a placeholder'],
    ['a placeholder in a key', { '{{text}}': 1 }, 'retriever.body: the key "{{text}}" contains a placeholder'],
  ];
  it.each(mistakes)('with %s is rejected with the name of the field', (_name, template, message) => {
    expect(() => render(template)).toThrowError(RecalldError);
    expect(() => render(template)).toThrowError(message);
  });

  it('never reads the text of a query as a template', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const rendered = compileValue({ whole: '{{text}}', part: '<{{text}}|{{k}}>' }, 'f')({ ...request, text });
        expect(rendered).toStrictEqual({ whole: text, part: `<${text}|10>` });
      }),
    );
  });

  it('returns any text without placeholders unchanged', () => {
    fc.assert(
      fc.property(
        anyText.filter((text) => !/\{\{.*?\}\}/s.test(text)),
        (text) => {
          expect(parseTemplate(text, 'f').join('')).toBe(text);
          expect(render(text)).toBe(text);
        },
      ),
    );
  });
});
