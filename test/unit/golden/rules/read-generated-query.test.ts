import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readGeneratedQuery } from '../../../../src/golden/rules/read-generated-query.ts';

const answer = (question: unknown, answerable: unknown = true): string => JSON.stringify({ answerable, question });

describe('the completion of a language model', () => {
  it.each([
    ['{"answerable": true, "question": " How  do I pay? "}', 'How do I pay?'],
    ['```json\n{"answerable": true, "question": "How?"}\n```', 'How?'],
    ['{"question": "How?"}', 'How?'],
    [
      '<think>plan: use {time}</think>{"answerable": true, "question": "what are the opening hours"}',
      'what are the opening hours',
    ],
    ['The user wants {x}.</think>\n{"answerable": true, "question": "How?"}', 'How?'],
    ['[THINK]a {b}[/THINK]{"answerable": true, "question": "How?"}', 'How?'],
    [
      '<|channel|>analysis<|message|>{hm}<|end|><|channel|>final<|message|>{"answerable":true,"question":"How?"}',
      'How?',
    ],
    [
      '{"answerable": true, "question": "opening hours of the desk?"}\nHope this helps :}',
      'opening hours of the desk?',
    ],
    ['Sure! {"answerable": "true", "question": "What does {name} mean?"} Bye', 'What does {name} mean?'],
    ['[{"answerable": true, "question": "How?"}]', 'How?'],
    ['{"result": {"Answerable": "Yes", "Question": "How?"}}', 'How?'],
    [answer(['How?']), 'How?'],
    [answer('"When do they open?"'), 'When do they open?'],
    [answer('Question: when do they open'), 'when do they open'],
    [answer('1. When do they open?'), 'When do they open?'],
    [answer('**Q1:** When do they open?'), 'When do they open?'],
    [answer('```\nWhen do they open?\n```'), 'When do they open?'],
    [answer('<think>short</think> When do they open?'), 'When do they open?'],
    // A real query may begin like a refusal.
    [answer('I cannot log in, what now?'), 'I cannot log in, what now?'],
    [answer("I can't create a ticket"), "I can't create a ticket"],
    [answer('Sorry to ask, but where is the desk?'), 'Sorry to ask, but where is the desk?'],
    [answer('No receipt arrived. Can I still get a refund?'), 'No receipt arrived. Can I still get a refund?'],
    [answer('Where do I send questions about my contract?'), 'Where do I send questions about my contract?'],
    [answer('Who opens first? And who last?'), 'Who opens first? And who last?'],
    [answer('2024 opening hours'), '2024 opening hours'],
    [answer('何時に開きますか？'), '何時に開きますか？'],
  ])('contains a query: %s', (text, query) => {
    expect(readGeneratedQuery(text)).toEqual({ kind: 'query', query });
  });

  it.each([
    ['{"answerable": false, "question": ""}'],
    ['{"answerable": "false", "question": "No question can be asked."}'],
    [answer('How?', 'no')],
    [answer('How?', 0)],
    ['{"answerable": true, "question": "  "}'],
    [answer('I cannot generate a question for that.')],
    [answer('I’m sorry, but I can’t assist with that request.')],
    [answer("I'm unable to formulate a question from this source.")],
    [answer('No question can be asked.')],
    [answer('There is nothing to ask about here.')],
    [answer('As an AI language model, I do not ask.')],
    [answer('Leider kann ich dazu keine Frage stellen.')],
  ])('contains no query: %s', (text) => {
    expect(readGeneratedQuery(text)).toEqual({ kind: 'no_query' });
  });

  it.each([
    ['{"answerable": true, "question": "How do', 'it is not a JSON object'],
    ['{"answerable": true, "question": "Question: when do they shut",}', 'it is not a JSON object'],
    ['{"answerable": true, "questions": ["How?"]}', '"question" is not text'],
    ['Sorry, I cannot do that.', 'it is not a JSON object'],
    ['', 'it is not a JSON object'],
    ['<think>first {"answerable": true, "question": "a draft"}', 'it is not a JSON object'],
    [answer('How?', 'maybe'), '"answerable" is neither'],
    [answer('Here are three questions:'), 'text besides the question'],
    [answer('Sure! Here is a question for you: when can I come by?'), 'text besides the question'],
    [answer('Of course! When can I come by?'), 'text besides the question'],
    [answer('Hier ist eine Frage: Wann kann ich kommen?'), 'text besides the question'],
    [answer('When do they open? This question tests the hours.'), 'text besides the question'],
    [answer('1. When do they open?\n2. When do they shut?'), 'several questions'],
    [answer('1. When do they open? 2. When do they shut?'), 'several questions'],
    [answer('- When do they open?\n- When do they shut?'), 'several questions'],
    [answer(['When?', 'Where?']), 'several questions'],
    [answer('When do they open? Answer: at nine.'), 'contains an answer'],
    [answer('...'), 'is not text'],
    [answer('<question>'), 'is a placeholder'],
  ])('is malformed: %s', (text, problem) => {
    expect(readGeneratedQuery(text)).toEqual({ kind: 'malformed', problem: expect.stringContaining(problem) });
  });

  it('is classified correctly even if it is badly formatted', () => {
    const file = new URL('../../../fixtures/generated-questions/answers.json', import.meta.url);
    const answers = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
    expect(answers.map((text) => readGeneratedQuery(text).kind)).toEqual([
      'malformed',
      'malformed',
      'no_query',
      'malformed',
      'no_query',
      'query',
      'query',
      'malformed',
    ]);
  });

  it('is always classified as a query, no query or malformed, whatever it contains', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string().map(answer)), (text) => {
        expect(['query', 'no_query', 'malformed']).toContain(readGeneratedQuery(text).kind);
      }),
    );
  });
});
