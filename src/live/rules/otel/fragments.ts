/** Reads from the spans around a retriever what completes its live query: see trace-fragment.ts. */
import { readCount, readFirst, readFlattened, readShortText, readText, readVector } from './attribute.ts';
import type { ExtractionOptions } from './extraction-options.ts';
import { readPerson } from './person.ts';
import { readQueryText, readQueryVector } from './retrieval-request.ts';
import { identifyDocuments, readRerankedDocuments } from './retrieved-documents.ts';
import { liveQueryId, type OtlpSpan } from './span.ts';
import type { TraceFragment } from './trace-fragment.ts';
import type { TraceIndex } from './trace-index.ts';

/** The model that made an embedding: OpenInference, OTel GenAI, Langfuse. */
export function readEmbeddingModel(span: OtlpSpan): string | null {
  const names = ['embedding.model_name', 'gen_ai.request.model', 'langfuse.observation.model.name'];
  return readFirst(span.attributes, names, readShortText);
}

/**
 * What one span can add to the live queries of its trace; empty for most spans.
 *
 * @param wantedTexts texts of the queries of this export: of an embedding span with many texts only these are read,
 *   because a service that fills its store embeds documents by the thousand
 */
export function readFragments(
  span: OtlpSpan,
  index: TraceIndex,
  options: ExtractionOptions,
  wantedTexts: ReadonlySet<string>,
): readonly TraceFragment[] {
  const around = index.retrieverAround(span);
  const parentId = around?.spanId ?? span.parentSpanId;
  const place = {
    traceId: span.traceId,
    spanId: span.spanId,
    endedAtUnixNano: span.endTimeUnixNano,
    pipeline: options.pipelineOf(span),
    within: parentId === null ? null : liveQueryId(span.traceId, parentId),
  };
  switch (index.roleOf(span)) {
    case 'embedding': {
      const model = readEmbeddingModel(span);
      return readEmbeddings(span, wantedTexts).map((embedding) => ({
        kind: 'embedding',
        ...place,
        ...embedding,
        model,
      }));
    }
    case 'reranker': {
      const documents = readRerankedDocuments(span) ?? [];
      const results = identifyDocuments(documents, options);
      // An order with holes in it is not the order that users saw.
      if (results.length === 0 || results.length < documents.length) return [];
      const text = readText(span.attributes['reranker.query']);
      return [
        { kind: 'rerank', ...place, text, topK: readCount(span.attributes['reranker.top_k']), results },
      ];
    }
    case 'retriever': {
      const vector = around === span ? null : readQueryVector(span);
      return vector === null ? [] : [{ kind: 'embedding', ...place, text: null, vector, model: null }];
    }
    case 'evaluator':
      return [];
    case 'other':
    case 'none': {
      const person = readPerson([span.attributes]);
      const isTold = person.sessionId !== null || person.userId !== null;
      return isTold ? [{ kind: 'person', ...place, ...person }] : [];
    }
  }
}

interface Embedding {
  readonly text: string | null;
  readonly vector: Float32Array;
}

/** `embedding.embeddings.N.embedding.{text,vector}`, else one vector on the span with the span's input. */
function readEmbeddings(span: OtlpSpan, wantedTexts: ReadonlySet<string>): readonly Embedding[] {
  const listed = readFlattened(span.attributes, 'embedding.embeddings') ?? [];
  const input = readQueryText(span);
  const candidates =
    listed.length > 0
      ? listed.map((item) => ({ text: readText(item['embedding.text']), value: item['embedding.vector'] }))
      : [{ text: input, value: span.attributes['embedding.vector'] }];
  return candidates.flatMap(({ text, value }) => {
    const isOnly = candidates.length === 1;
    if (!isOnly && (text === null || !wantedTexts.has(text))) return [];
    const vector = readVector(value);
    return vector === null ? [] : [{ text: text ?? (isOnly ? input : null), vector }];
  });
}
