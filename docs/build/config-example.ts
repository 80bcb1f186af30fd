/** The commented example of docs/reference/config.md. A test checks that it names every key and is valid. */
export const configExample = `server:
  host: 127.0.0.1
  port: 8321
  max_requests_per_minute: 60000
  max_under_way_mb: 128
  trusted_proxies: [10.0.0.0/8]
  oidc:                       # sign-in to the console
    issuer: https://login.example.com
    client_id: recalld
    client_secret: \${OIDC_CLIENT_SECRET}
    scopes: [openid, profile, email]
    groups_claim: groups
    roles: {admin: [search-platform], read: [support]}
    session_minutes: 60
    tls: {ca_file: /etc/recalld/ca.pem, client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}}
    proxy: environment
    timeout_ms: 5000
  auth_proxy:                 # or sign-in through a trusted proxy
    user_header: X-Forwarded-Email
    groups_header: X-Forwarded-Groups
    groups_separator: ","
    roles: {admin: [search-platform], read: [support]}
  shutdown_seconds: 30
  metrics_port: null
  metrics_protected: false

storage:
  url: \${DATABASE_URL}        # without it, PostgreSQL from npm runs in data_dir
  data_dir: .recalld
  hash_key: \${HASH_KEY}
  pool_size: 10
  statement_seconds: 60
  read_url: \${REPLICA_URL}
  measurement_retention_days: 400
  audit_retention_days: 730

queue:                        # without it, recalld stores jobs in PostgreSQL
  backend: redis
  url: rediss://:\${REDIS_PASSWORD}@sentinel-1.internal:26379
  prefix: recalld
  tls:
    ca_file: /etc/recalld/ca.pem
    client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
    servername: redis.internal
  topology:                   # or {kind: cluster, others: ["redis-2.internal:6379"]}
    kind: sentinel
    name: recalld
    others: ["sentinel-2.internal:26379", "sentinel-3.internal:26379"]
    username: recalld
    password: \${SENTINEL_PASSWORD}

log:
  level: info

metrics:
  latency_buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  otlp:
    url: https://collector.internal:4318
    headers: {authorization: "Bearer \${COLLECTOR_TOKEN}"}
    tls: {ca_file: /etc/recalld/ca.pem, client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}}
    proxy: environment
    timeout_ms: 10000
    retries: 2
    send: [metrics]
    interval_seconds: 60

alerts:
  runbook_base_url: https://wiki.internal/recalld/runbooks
  dashboard_base_url: https://grafana.internal
  console_base_url: https://recalld.internal
  scrape_job: recalld
  group_labels: [job]         # or several, such as [cluster, namespace]
  false_pages:
    drift: 1 per 365d
    per_pipeline: 1 per 90d
notify:                       # or use Alertmanager
  - kind: slack
    url: \${SLACK_WEBHOOK_URL}
    proxy: http://proxy.internal:3128
    min_severity: warning
  - kind: pagerduty
    url: https://events.eu.pagerduty.com/v2/enqueue
    proxy: environment
    routing_key: \${PAGERDUTY_ROUTING_KEY}
    min_severity: critical
  - kind: webhook
    url: https://hooks.internal/recalld
    proxy: http://proxy.internal:3128
    headers: {authorization: "Bearer \${HOOK_TOKEN}"}
    min_severity: critical
export:                       # mirrors stored data to files
  cron: "30 2 * * *"          # UTC
  to: /data/recalld-export
  format: parquet
  tables: [queries, results, feedback, measures]
llm:
  base_url: https://api.openai.com/v1
  api_key: \${LLM_API_KEY}
  model: gpt-4.1-mini
  price_per_million_tokens: {input: 0.4, output: 1.6}   # US dollars
  headers: {x-team: search}
  tls: {ca_file: /etc/recalld/ca.pem, client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}}
  proxy: http://proxy.internal:3128
  timeout_ms: 60000
  retries: 2
  max_per_second: 5

pipelines:
  - name: support-docs
    retriever:
      kind: http
      url: https://rag.internal/search
      method: POST
      headers:
        authorization: Bearer \${RAG_TOKEN}
      body:                   # {{text}}, {{k}} and {{tags.NAME}} are filled in
        query: "{{text}}"
        language: "{{tags.language}}"
        top_k: "{{k}}"
      results:                # JMESPath expressions
        list: results
        id: id
        score: score
        text: body
        stages:
          candidates: {list: debug.candidates, id: doc, score: similarity}
      tls: {ca_file: /etc/recalld/ca.pem, client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}}
      proxy: http://proxy.internal:3128
      timeout_ms: 2000
      retries: 2

    vector_store:             # read only
      kind: pgvector
      url: \${CHUNKS_URL}
      table: chunks
      id: id
      embedding: embedding
      content: body
      version: doc_hash
      metric: cosine
      timeout_ms: 2000

    embedder:
      kind: openai
      base_url: https://api.openai.com/v1
      api_key: \${OPENAI_API_KEY}
      model: text-embedding-3-small
      dimensions: 1536
      batch_size: 64
      headers: {x-team: search}
      tls: {ca_file: /etc/recalld/ca.pem, client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}}
      proxy: environment
      timeout_ms: 10000
      retries: 2
      max_per_second: 20

    ann_recall:               # recall of the index against an exact search
      queries: 20
      k: 10

    judged:                   # grades a few live queries a day
      judge: {kind: llm}      # or reranker, or none
      queries_per_day: 200
      window: 7d
      depth: 5
      pooling: {share: 0.05, documents: 20}
      episode_share: 0.5
      max_cost_per_day: 2     # US dollars
      human_share: 0.1
      second_reviewer_share: 0.2
      min_agreement: 0.4

    shadow:                   # candidates that get the same queries
      - name: new-index
        retriever:
          kind: http
          url: http://rag.internal/search-next
          body: {query: "{{text}}", k: "{{k}}"}
        live_rate: 0.05
        max_calls_per_day: 2000
        max_per_second: 2
        concurrency: 2
        cost_per_call: 0.0004 # US dollars
        difference: 0.03
        chunk_separator: "#"

    variants:                 # compares arms of your service
      tag: variant
      arms:
        - {name: current, share: 9}
        - {name: reranked, share: 1}
      since: 2026-11-16
      difference: 0.02

    index:                    # compares the store with a manifest
      manifest:
        kind: file            # or command, http, sql
        path: /var/lib/docs/manifest.jsonl
      cron: "*/15 * * * *"
      probe: 200
      late_after: 1h
      calls_per_second: 10
      retrieve: 20
      embed: 8
      embed_prefix: ""
      min_cosine: 0.98

    golden:
      - set: support-faq      # imported with \`recalld golden import PATH --set support-faq\`
        cron: "0 * * * *"     # hourly
        timezone: UTC
        cutoffs: [1, 3, 5, 10]
        gains: []
        relevance_level: 1
        no_answer:            # what a query without an answer may return
          max_score: null
          max_results: 0
        concurrency: 4
        max_per_second: 20
        on_error: score_zero
        error_budget: 0.05
        sentinel:             # a few queries, more often
          cron: "*/5 * * * *"
          queries: 50
        quiet_hours:          # no scheduled full runs
          - {from: "22:00", to: "06:00"}
        max_queries_per_day: 50000
        rotation_runs: 3
        keep_answers: 180d

    segments:
      keys: [language]
      max: 50

    checks:
      - name: quality
        measure: ndcg@10
        below: 0.8
        severity: critical
      - measure: hit_rate@5
        below: 0.9
        severity: warning
      - regression: ndcg@10   # against the pinned baseline
        drop: 0.02
        alpha: 0.005
        severity: critical
        runs: 2
      - stale_labels_above: 0.02
        severity: warning
      - forbidden_results: true
        severity: critical
      - measure: feedback_positive_ratio
        below: 0.6
        severity: warning
        segments: all
        min_n: 50
        confirm: 3
        no_data: silent
      - measure: error_ratio
        above: 0.05
        severity: critical
        segments: each
        min_n: 200
        confirm: 3
        no_data: silent
      - density_drift: true
        severity: warning

    slo:                      # burn-rate alerts on live traffic
      success: 0.99
      results: 0.95
      latency: {within_seconds: 1, target: 0.95}
      window_days: 30

    service_names: [support-rag]
    retrieval_tools:          # calls of these agent tools are live queries
      - name: search_orders
        text: filter.words
        results: {list: hits, id: order.id, score: match}
    embedding_dimensions: null
    sampling:                 # which live queries are stored
      rate: 0.1
      segments: {tenant=acme: 1}
      max_per_minute: 600
      always_keep: [zero_results, error, negative_feedback]
      low_similarity_below: 0.3
    episodes:
      idle: 10m
    isolation:                # checked on the results of every live query
      - {name: tenants, segment: tenant, allow: ["{{tenant}}/*", "public/*"]}   # document ids
      - {name: regions, segment: region, field: region, allow: ["{{region}}", global]}   # document fields
    live:
      window: 24h
      baseline: 7d
    privacy:                  # what recalld stores from live queries
      text: redact            # or hash, or keep
      retention_days: 30
      patterns:
        - name: order_number
          regex: '\\bORD-\\d{6}\\b'
      presidio:               # also finds names
        url: http://presidio.internal:3000
        headers:
          authorization: Bearer \${PRESIDIO_TOKEN}
        language: en
        score_threshold: 0.5
        entities: [PERSON, LOCATION]
        timeout_ms: 500
        concurrency: 8
    feedback:                 # meaning of each signal
      thumb_zero: negative
      rating: {min: 1, max: 5, positive_from: 4, negative_to: 2}
      relevance: {min: 0, max: 3, positive_from: 1, negative_to: 0}
      click: positive
      copy: positive
      reformulation: negative
      abandonment: negative
      no_answer: negative
      caps:                   # maximum per user
        explicit: {per_hour: 30, per_day: 100}
        engagement: {per_hour: 60, per_day: 300}
        struggle: {per_hour: 30, per_day: 100}

    density:                  # coverage of live queries by the store
      window: 1h
      grace: 10m
      max_per_second: 20
      baseline: {days: 14, sessions: 2000}
`;

/** Environment variables of the example. */
export const exampleEnvironment: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://recalld:password@db.internal/recalld',
  REPLICA_URL: 'postgres://reader:password@replica.internal/recalld',
  HASH_KEY: 'key-of-the-hashes-of-users-0123456789',
  REDIS_PASSWORD: 'password-of-redis',
  SENTINEL_PASSWORD: 'password-at-the-sentinels',
  RAG_TOKEN: 'token-of-the-rag-service',
  OIDC_CLIENT_SECRET: 'secret-of-the-client',
  COLLECTOR_TOKEN: 'token-of-the-collector',
  PRESIDIO_TOKEN: 'token-of-the-analyzer',
  CHUNKS_URL: 'postgres://reader:password@db.internal/chunks',
  OPENAI_API_KEY: 'key-of-the-embedder',
  LLM_API_KEY: 'key-of-the-chat-model',
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T0/B0/token-of-the-webhook',
  PAGERDUTY_ROUTING_KEY: 'routing-key-of-the-service',
  HOOK_TOKEN: 'token-of-the-hook',
};
