import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/core/system-clock.ts';
import { createExplainBudget, MAX_EXPLAINED_PER_MINUTE } from '../../../../src/incidents/explain/explain-budget.ts';
import { explainedBy } from '../../../../src/mcp/tools.ts';

function aBudget() {
  let now = 0;
  const budget = createExplainBudget({ ...systemClock, monotonicMs: () => now });
  return { budget, pass: (ms: number) => (now += ms) };
}

describe('the explained queries of a caller', () => {
  it('are limited per minute, and allowed again afterwards', () => {
    const { budget, pass } = aBudget();
    for (let query = 0; query < MAX_EXPLAINED_PER_MINUTE; query++) budget.spend('key a', 1);
    expect(() => budget.spend('key a', 1)).toThrow(expect.objectContaining({ code: 'explanations_limited' }));
    pass(59_999);
    expect(() => budget.spend('key a', 1)).toThrow(expect.objectContaining({ code: 'explanations_limited' }));
    pass(1);
    expect(() => budget.spend('key a', 1)).not.toThrow();
  });

  it('are counted separately per caller, and a rejected call does not count', () => {
    const { budget } = aBudget();
    budget.spend('key a', MAX_EXPLAINED_PER_MINUTE - 10);
    expect(() => budget.spend('key a', 11)).toThrow('per minute');
    expect(() => budget.spend('key a', 10)).not.toThrow();
    expect(() => budget.spend('key b', 10)).not.toThrow();
  });
});

describe('a message of the Model Context Protocol', () => {
  const call = (name: string, asked?: object) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: asked },
  });

  it.each([
    [call('explain', { pipeline: 'docs' }), 1],
    [call('explain'), 1],
    [call('explain_run', { run_id: 'r' }), 10],
    [call('explain_run', { run_id: 'r', limit: 50 }), 50],
    [call('explain_run', { run_id: 'r', limit: 5000 }), 50],
    [call('explain_run', { run_id: 'r', limit: 'many' }), 10],
    [call('explain_run', { run_id: 'r', query_id: 'q1' }), 1],
    [[call('explain'), call('explain'), call('status')], 2],
    [call('status'), 0],
    [null, 0],
    ['explain', 0],
  ])('%j explains at most %i queries', (body, queries) => {
    expect(explainedBy(body)).toBe(queries);
  });
});
