/** The commented example of docs/config.md. A test holds it to name every key, and to be valid. */
export const configExample = `server:
  host: 127.0.0.1             # 0.0.0.0 to be reached from other machines
  port: 8321                  # 0 takes a free one
  max_requests_per_minute: 60000   # from one API key or address
  metrics_port: null          # a port of its own for /metrics, /livez and /readyz

storage:
  url: \${DATABASE_URL}        # left out, PostgreSQL from npm runs in data_dir
  data_dir: .recalld
  hash_key: \${HASH_KEY}       # left out, recalld makes one
  pool_size: 10

queue:                        # left out, jobs live in the same PostgreSQL
  backend: redis
  url: \${REDIS_URL}

log:
  level: info

pipelines:
  - name: support-docs        # the label \`pipeline\` of every metric
    retriever:
      kind: http
      url: https://rag.internal/search
      method: POST
      headers:
        authorization: Bearer \${RAG_TOKEN}
      body:                   # {{text}}, {{k}} and {{tags.NAME}} are filled in
        query: "{{text}}"
        language: "{{tags.language}}"
        top_k: "{{k}}"        # alone in its quotes it stays a number
      results:                # JMESPath: where the answer holds the ranked list
        list: results
        id: id
        score: score          # null when there is none
      timeout_ms: 2000
      retries: 2

    golden:
      - set: support-faq      # imported with \`recalld golden import PATH --set support-faq\`
        cron: "0 * * * *"     # hourly; left out, it runs only by hand
        timezone: UTC
        cutoffs: [1, 3, 5, 10]
        relevance_level: 1
        concurrency: 4
        max_per_second: 20
        on_error: score_zero  # or void, when more than error_budget of the queries fail
        error_budget: 0.05
        sentinel:             # not active yet
          cron: "*/5 * * * *"
          queries: 50

    segments:
      keys: [language]        # each value of this tag is measured apart
      max: 50

    checks:
      - measure: ndcg@10      # critical when even the upper 95 % bound is below
        below: 0.8
        severity: critical
      - measure: hit_rate@5
        below: 0.9
        severity: warning
      # The checks from here on are not active yet.
      - measure: feedback_positive_ratio
        below: 0.6
        severity: warning
      - regression: ndcg@10
        drop: 0.02
        alpha: 0.01
        severity: critical
        runs: 2
      - density_drift: true
        severity: warning
      - stale_labels_above: 0.02
        severity: warning

    service_names: [support-rag]  # of OpenTelemetry spans that belong to this pipeline
    embedding_dimensions: null  # length of the vectors of live queries; null learns it
    sampling:                 # which live queries are kept
      rate: 0.1
      segments: {tenant=acme: 1}
      max_per_minute: 600
      always_keep: [zero_results, error, negative_feedback]
    privacy:                  # what is kept of them
      text: redact            # or hash, or keep
      retention_days: 30
      patterns:
        - name: order_number
          regex: '\\bORD-\\d{6}\\b'
    feedback:                 # what a signal means
      thumb_zero: negative    # neutral where thumbs are 1, 0 and -1
      rating: {min: 1, max: 5, positive_from: 4, negative_to: 2}
      relevance: {min: 0, max: 3, positive_from: 1, negative_to: 0}
      click: positive
      copy: positive
      reformulation: negative
      abandonment: negative
      no_answer: negative
      caps:                   # most feedback of one user that counts
        explicit: {per_hour: 30, per_day: 100}
        engagement: {per_hour: 60, per_day: 300}
        struggle: {per_hour: 30, per_day: 100}

    # The sections from here on are not active yet.
    vector_store:
      kind: pgvector
      url: \${CHUNKS_URL}
      table: chunks
      id: id
      embedding: embedding
      metric: cosine
    embedder:
      kind: openai
      base_url: https://api.openai.com/v1
      model: text-embedding-3-small
      api_key: \${OPENAI_API_KEY}
    density:
      k: 5
      window: 1h
      false_pages: 1 per 365d
`;

/** What the example takes from the environment. */
export const exampleEnvironment: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://recalld:password@db.internal/recalld',
  HASH_KEY: 'key-of-the-hashes-of-users-0123456789',
  REDIS_URL: 'redis://redis.internal:6379',
  RAG_TOKEN: 'token-of-the-rag-service',
  CHUNKS_URL: 'postgres://reader:password@db.internal/chunks',
  OPENAI_API_KEY: 'key-of-the-embedder',
};
