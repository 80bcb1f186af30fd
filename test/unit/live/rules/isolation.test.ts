import { array, assert, constantFrom, integer, property, record, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentId, placeholderId } from '../../../../src/core/text/content-id.ts';
import { evaluateRule, type IsolationRule, MAX_VIOLATING, parseRules } from '../../../../src/live/rules/isolation.ts';

const tenants: IsolationRule = { name: 'tenants', segment: 'tenant', field: null, allow: ['{{tenant}}/*', 'public/*'] };
const regions: IsolationRule = { name: 'regions', segment: 'region', field: 'region', allow: ['{{region}}', 'global'] };

function evaluate(rule: IsolationRule, segments: Readonly<Record<string, string>>, ids: readonly string[]) {
  const [parsed] = parseRules([rule]);
  if (parsed === undefined) throw new Error('no rule');
  return evaluateRule(parsed, { segments, results: ids.map((id) => ({ id, score: null })) });
}

function evaluateFields(fields: readonly (Readonly<Record<string, string>> | undefined)[]) {
  const [parsed] = parseRules([regions]);
  if (parsed === undefined) throw new Error('no rule');
  const results = fields.map((one, rank) => ({
    id: `d${rank}`,
    score: null,
    ...(one === undefined ? {} : { fields: one }),
  }));
  return evaluateRule(parsed, { segments: { region: 'eu' }, results });
}

describe('an isolation rule on ids', () => {
  it('allows documents that match a pattern, and reports each other document once, in rank order', () => {
    expect(evaluate(tenants, { tenant: 'acme' }, ['acme/1', 'public/2'])).toBeNull();
    expect(evaluate(tenants, { tenant: 'acme' }, ['acme/1', 'beta/1', 'loose', 'beta/1'])).toEqual({
      rule: 'tenants',
      segment: 'acme',
      documents: [
        { id: 'beta/1', rank: 2 },
        { id: 'loose', rank: 3 },
      ],
      documentCount: 2,
    });
  });

  it('allows an empty result list', () => {
    expect(evaluate(tenants, { tenant: 'acme' }, [])).toBeNull();
  });

  it('cannot check a query without the segment', () => {
    expect(evaluate(tenants, {}, ['beta/1'])).toBe('segment_missing');
    expect(evaluate(tenants, { tenant: '' }, ['/1', 'public/2'])).toBe('segment_missing');
  });

  it('cannot check documents whose id recalld derived, but still reports the others', () => {
    const derived = [placeholderId('q1', 0), contentId('a text') ?? ''];
    expect(evaluate(tenants, { tenant: 'acme' }, ['acme/1', ...derived])).toBe('document_unidentified');
    expect(evaluate(tenants, { tenant: 'acme' }, [...derived, 'beta/1'])).toMatchObject({
      documents: [{ id: 'beta/1', rank: 3 }],
    });
    expect(evaluate(tenants, { tenant: 'acme' }, ['sha256:not-one-of-ours'])).toMatchObject({ documentCount: 1 });
  });

  it('reports some of many violating documents, and counts all of them', () => {
    const ids = Array.from({ length: 50 }, (_, index) => `beta/${index}`);
    const found = evaluate(tenants, { tenant: 'acme' }, ids);
    expect(found).toMatchObject({ documentCount: 50 });
    expect(typeof found === 'object' && found?.documents.length).toBe(MAX_VIOLATING);
  });
});

describe('an isolation rule on a field', () => {
  it('allows the value of the segment and fixed values', () => {
    expect(evaluateFields([{ region: 'eu' }, { region: 'global' }])).toBeNull();
  });

  it('reports the id of a document with another value', () => {
    expect(evaluateFields([{ region: 'eu' }, { region: 'us' }])).toMatchObject({
      rule: 'regions',
      segment: 'eu',
      documents: [{ id: 'd1', rank: 2 }],
    });
    expect(evaluateFields([{ region: 'EU' }])).toMatchObject({ documentCount: 1 });
  });

  it('cannot check a document without the field', () => {
    for (const fields of [undefined, {}, { region: '' }, { zone: 'us' }])
      expect(evaluateFields([{ region: 'eu' }, fields])).toBe('field_missing');
  });
});

describe('isolation of tenants with hostile names', () => {
  const piece = constantFrom(
    'a',
    'A',
    'é',
    'e\u0301',
    '*',
    '-',
    '.',
    ' ',
    '{{tenant}}',
    '\u212a',
    'K',
    '\u{1f600}',
    '%2F',
    '\\',
  );
  const name = array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));
  const page = record({
    tenant: name,
    others: array(tuple(name, integer({ min: 0, max: 9 })), { maxLength: 5 }),
    own: array(array(constantFrom('/', 'a', '*', '', '..'), { maxLength: 4 }), { minLength: 1, maxLength: 8 }),
  });

  it('never reports allowed documents, and reports every document of another tenant', () => {
    assert(
      property(page, ({ tenant, others, own }) => {
        const clean = own.map((parts) => `${tenant}/${parts.join('')}`);
        expect(evaluate(tenants, { tenant }, [...clean, 'public/', 'public/x'])).toBeNull();
        const foreign = others
          .filter(([other]) => other !== tenant && other !== 'public')
          .map(([other, n]) => `${other}/${n}`);
        const found = evaluate(tenants, { tenant }, [...clean, ...foreign]);
        if (foreign.length === 0) expect(found).toBeNull();
        else expect(found).toMatchObject({ documentCount: new Set(foreign).size });
      }),
      { numRuns: 3000 },
    );
  });
});
