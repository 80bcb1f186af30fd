/** The commented example of docs/reference/config.md. A test checks that it names every key and is valid. */
export const configExample = `server:
  host: 127.0.0.1             # 0.0.0.0 accepts connections from other machines
  port: 8321                  # 0 selects a free port
  max_requests_per_minute: 60000   # per API key, or per address without a valid key
  max_under_way_mb: 128       # memory of all concurrent requests; above this, 503
  trusted_proxies: [10.0.0.0/8]    # proxies whose X-Forwarded-For is trusted
  oidc:                       # sign-in to the console; without it, API keys only
    issuer: https://login.example.com
    client_id: recalld
    client_secret: \${OIDC_CLIENT_SECRET}
    scopes: [openid, profile, email]
    groups_claim: groups
    roles: {admin: [search-platform], read: [support]}
    session_minutes: 60
    tls:
      ca_file: /etc/recalld/ca.pem
      client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
    proxy: environment
    timeout_ms: 5000
  auth_proxy:                 # or sign-in through headers of a proxy in trusted_proxies
    user_header: X-Forwarded-Email
    groups_header: X-Forwarded-Groups
    groups_separator: ","
    roles: {admin: [search-platform], read: [support]}
  shutdown_seconds: 30        # maximum duration of a shutdown
  metrics_port: null          # separate port for /metrics, /livez and /readyz
  metrics_protected: false    # true: /metrics requires an API key with the read scope

storage:
  url: \${DATABASE_URL}        # without it, PostgreSQL from npm runs in data_dir
  data_dir: .recalld
  hash_key: \${HASH_KEY}       # without it, recalld generates one
  pool_size: 10
  statement_seconds: 60
  read_url: \${REPLICA_URL}    # without it, the API reads from url
  measurement_retention_days: 400
  audit_retention_days: 730

queue:                        # without it, jobs use the same PostgreSQL
  backend: redis
  url: rediss://:\${REDIS_PASSWORD}@sentinel-1.internal:26379   # with a topology: one of its nodes
  prefix: recalld             # of all keys
  tls:                        # in addition to Node's authorities
    ca_file: /etc/recalld/ca.pem
    client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
    servername: redis.internal
  topology:                   # without it, one server; or {kind: cluster, others: ["redis-2.internal:6379"]}
    kind: sentinel
    name: recalld
    others: ["sentinel-2.internal:26379", "sentinel-3.internal:26379"]
    username: recalld
    password: \${SENTINEL_PASSWORD}

log:
  level: info

metrics:
  latency_buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]   # seconds, for live queries
  otlp:                       # without it, nothing is sent
    url: https://collector.internal:4318
    headers: {authorization: "Bearer \${COLLECTOR_TOKEN}"}
    tls:
      ca_file: /etc/recalld/ca.pem
      client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
    proxy: environment
    timeout_ms: 10000
    retries: 2
    send: [metrics]           # or evaluations: scores of judged live queries for a tracing platform
    interval_seconds: 60

alerts:                       # links, and the budget of false pages
  runbook_base_url: https://wiki.internal/recalld/runbooks
  dashboard_base_url: https://grafana.internal
  console_base_url: https://recalld.internal
  scrape_job: recalld         # label \`job\` of the scrape config
  group_labels: [job]         # labels that distinguish deployments, such as [cluster, namespace]
  false_pages:                # \`recalld config check\` prints the expected number
    drift: 1 per 365d         # density alerts of all pipelines together
    per_pipeline: 1 per 90d   # checks of each pipeline
notify:                       # without it, use Alertmanager
  - kind: slack
    url: \${SLACK_WEBHOOK_URL}
    proxy: http://proxy.internal:3128   # environment: uses HTTPS_PROXY and NO_PROXY
    min_severity: warning     # critical by default
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
  format: parquet             # or csv, jsonl
  tables: [queries, results, feedback, measures]   # all by default
llm:                          # for \`recalld golden generate\` and \`judged\` pipelines
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
  - name: support-docs        # label \`pipeline\` of every metric
    retriever:
      kind: http
      url: https://rag.internal/search
      method: POST
      headers:
        authorization: Bearer \${RAG_TOKEN}
      body:                   # {{text}}, {{k}} and {{tags.NAME}} are filled in
        query: "{{text}}"
        language: "{{tags.language}}"
        top_k: "{{k}}"        # a lone placeholder stays a number
      results:                # JMESPath to the ranked list
        list: results
        id: id
        score: score          # null if there is none
        text: body            # needed by a reranker
        stages:               # earlier stages, in order
          candidates: {list: debug.candidates, id: doc, score: similarity}
      tls:                    # in addition to Node's authorities
        ca_file: /etc/recalld/ca.pem
        client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
      proxy: http://proxy.internal:3128
      timeout_ms: 2000
      retries: 2

    vector_store:             # the store behind the retriever; read only
      kind: pgvector
      url: \${CHUNKS_URL}
      table: chunks
      id: id
      embedding: embedding
      content: body
      version: doc_hash       # column with the version of the source document
      metric: cosine
      timeout_ms: 2000

    embedder:
      kind: openai            # OpenAI, Azure, vLLM, TEI, Ollama
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
      queries: 20             # live queries an hour that are also searched exactly; 0: none
      k: 10

    judged:                   # grades a few live queries a day
      judge: {kind: llm}      # or a reranker with \`reranker\` and \`grades_from\`, or {kind: none}: people only
      queries_per_day: 200
      window: 7d              # live traffic that a score covers
      depth: 5                # documents graded per query
      pooling: {share: 0.05, documents: 20}   # share of queries whose nearest chunks are graded too
      episode_share: 0.5      # share of agent turns that are graded as a whole
      max_cost_per_day: 2     # US dollars
      human_share: 0.1       # share of selected queries for human judgments
      second_reviewer_share: 0.2       # share of these that a second person grades too
      min_agreement: 0.4    # minimum lower bound of the weighted kappa

    shadow:                   # candidates that get the same queries
      - name: new-index
        retriever:
          kind: http
          url: http://rag.internal/search-next
          body: {query: "{{text}}", k: "{{k}}"}
        live_rate: 0.05       # share of the sampled live queries
        max_calls_per_day: 2000
        max_per_second: 2
        concurrency: 2
        cost_per_call: 0.0004 # US dollars
        difference: 0.03      # nDCG difference that must be detected
        chunk_separator: "#"  # document ids end before it

    variants:                 # compares arms of your service
      tag: variant            # tag with the name of the arm
      arms:                   # every further arm is compared with the first
        - {name: current, share: 9}
        - {name: reranked, share: 1}
      since: 2026-11-16       # first day that counts
      difference: 0.02        # smallest difference that matters

    index:                    # compares the store with a manifest
      manifest:
        kind: file            # or command, http, sql
        path: /var/lib/docs/manifest.jsonl
      cron: "*/15 * * * *"
      probe: 200              # documents per round, if the store does not list its ids
      late_after: 1h          # time that a change may take to arrive
      calls_per_second: 10
      retrieve: 20            # documents per round searched by their own text
      embed: 8                # stored chunks an hour that are re-embedded
      embed_prefix: ""        # prefix that your ingestion adds to texts
      min_cosine: 0.98      # between the stored and the re-embedded vector

    golden:
      - set: support-faq      # imported with \`recalld golden import PATH --set support-faq\`
        cron: "0 * * * *"     # hourly; without it, manual runs only
        timezone: UTC
        cutoffs: [1, 3, 5, 10]
        gains: []             # [dcg] or [cg, dcg] exports these sums too
        relevance_level: 1
        no_answer:            # what a query without an answer may return
          max_score: null     # documents with a higher score count; null: all count
          max_results: 0
        concurrency: 4
        max_per_second: 20
        on_error: score_zero  # or void if more than error_budget of the queries fail
        error_budget: 0.05
        sentinel:             # a few queries more often; a failure starts a full run
          cron: "*/5 * * * *"
          queries: 50
        quiet_hours:          # in the time zone above; no scheduled full runs
          - {from: "22:00", to: "06:00"}
        max_queries_per_day: 50000   # without it, no limit
        rotation_runs: 3      # ticks that run the old and the new version
        keep_answers: 180d    # retention of answers; scores stay

    segments:
      keys: [language]        # tags measured by value
      max: 50

    checks:
      - name: quality         # keeps alerts and history when the threshold changes
        measure: ndcg@10      # critical if the upper 95 % bound is below
        below: 0.8
        severity: critical
      - measure: hit_rate@5
        below: 0.9
        severity: warning
      - regression: ndcg@10   # against the run pinned by \`recalld baselines pin\`
        drop: 0.02
        alpha: 0.005
        severity: critical
        runs: 2
      - stale_labels_above: 0.02   # judged documents missing from the store
        severity: warning
      - forbidden_results: true    # one forbidden document is critical
        severity: critical
      - measure: feedback_positive_ratio   # critical if the upper 95 % bound is below
        below: 0.6
        severity: warning
        segments: all
        min_n: 50
        confirm: 3            # measurements in a row
        no_data: silent       # low traffic triggers no alert
      - measure: error_ratio  # critical if the lower 95 % bound is above
        above: 0.05
        severity: critical
        segments: each        # the worst segment decides
        min_n: 200
        confirm: 3
        no_data: silent
      - density_drift: true   # pages and tickets of query density
        severity: warning

    slo:                      # burn-rate alerts on live traffic
      success: 0.99           # answered without an error
      results: 0.95           # answered with a document
      latency: {within_seconds: 1, target: 0.95}
      window_days: 30

    service_names: [support-rag]  # service.name of this pipeline's spans
    retrieval_tools:          # tools of an agent whose spans are live queries
      - name: search_orders
        text: filter.words    # JMESPath in the arguments
        results: {list: hits, id: order.id, score: match}   # JMESPath in the result
    embedding_dimensions: null  # of live queries; null: learned
    sampling:                 # which live queries are stored
      rate: 0.1
      segments: {tenant=acme: 1}
      max_per_minute: 600
      always_keep: [zero_results, error, negative_feedback]
      low_similarity_below: 0.3   # keeps queries with a lower best cosine
    episodes:
      idle: 10m               # an agent's turn is closed after this time without a retrieval
    isolation:                # evaluated on the results of every live query, before sampling
      - {name: tenants, segment: tenant, allow: ["{{tenant}}/*", "public/*"]}              # ids of documents
      - {name: regions, segment: region, field: region, allow: ["{{region}}", global]}    # their fields
    live:                     # live measures, every 5 minutes
      window: 24h
      baseline: 7d            # before the window, for expected clicks
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
        timeout_ms: 500       # after that, only a hash is stored
        concurrency: 8
    feedback:                 # meaning of each signal
      thumb_zero: negative    # neutral where thumbs are 1, 0 and -1
      rating: {min: 1, max: 5, positive_from: 4, negative_to: 2}
      relevance: {min: 0, max: 3, positive_from: 1, negative_to: 0}
      click: positive
      copy: positive
      reformulation: negative
      abandonment: negative
      no_answer: negative
      caps:                   # maximum feedback counted per user
        explicit: {per_hour: 30, per_day: 100}
        engagement: {per_hour: 60, per_day: 300}
        struggle: {per_hour: 30, per_day: 100}

    density:                  # coverage of live queries by the store
      window: 1h
      grace: 10m              # for late queries
      max_per_second: 20      # searches in the vector store
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
