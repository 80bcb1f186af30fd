/** Reads calls to the tools that the config declares as retrievers in `pipelines[].retrieval_tools`. */
import { compileExpression, evaluate } from '../../connectors/retrievers/results.ts';
import type { RetrievalToolConfig } from '../config.ts';
import { MAX_DOCUMENTS, toDocument } from '../rules/otel/document-shapes.ts';
import { outputNames, type RetrievalTool } from '../rules/otel/retrieved-documents.ts';
import {
  type AttributeValue,
  isArray,
  type OtlpSpan,
  readFirst,
  readId,
  readNumber,
  readStructure,
  readText,
} from '../rules/otel/span.ts';
import { isToolCall, toolNames } from '../rules/otel/tool-calls.ts';

const argumentNames = [
  'gen_ai.tool.call.arguments',
  'ai.toolCall.args',
  'input.value',
  'tool.parameters',
  'langfuse.observation.input',
  'gen_ai.prompt',
  'traceloop.entity.input',
  'mlflow.spanInputs',
];
const resultNames = ['gen_ai.tool.call.result', 'ai.toolCall.result', ...outputNames];

/**
 * Returns a function that finds the configured tool that a span calls.
 *
 * @throws RecalldError `config_invalid` for an expression that is not JMESPath
 */
export function createToolFinder(tools: readonly RetrievalToolConfig[]): (span: OtlpSpan) => RetrievalTool | null {
  const byName = new Map(tools.map((tool) => [tool.name, createTool(tool)]));
  return (span) => {
    if (byName.size === 0 || !isToolCall(span)) return null;
    return (
      toolNames(span)
        .map((name) => byName.get(name))
        .find((tool) => tool !== undefined) ?? null
    );
  };
}

function compiled(expression: string) {
  return compileExpression(expression, 'retrieval_tools');
}

function createTool({ text, results }: RetrievalToolConfig): RetrievalTool {
  const textOf = text === null ? null : compiled(text);
  const list = results === null ? null : compiled(results.list);
  const id = results === null ? null : compiled(results.id);
  const score = results?.score == null ? null : compiled(results.score);
  return {
    readText: ({ attributes }) => {
      if (textOf === null) return null;
      return readFirst(attributes, argumentNames, (value) => readText(found(textOf, value)));
    },
    readDocuments: ({ attributes }) => {
      if (list === null || id === null) return null;
      return readFirst(attributes, resultNames, (value) => {
        const items = found(list, value);
        // Tools written for models often return JSON in a string.
        const read = isArray(items) ? items : readStructure(items);
        if (!isArray(read)) return null;
        return read.slice(0, MAX_DOCUMENTS).map((item) => ({
          ...toDocument(item),
          id: readId(found(id, item)),
          ...(score === null ? {} : { score: readNumber(found(score, item)) }),
        }));
      });
    },
  };
}

/** Evaluates an expression on an object or list, on JSON in a string, or on the string itself. */
function found(expression: ReturnType<typeof compiled>, value: AttributeValue | undefined): AttributeValue {
  if (value === undefined || value === null) return null;
  return evaluate(expression, (readStructure(value) ?? value) as Parameters<typeof evaluate>[1]);
}
