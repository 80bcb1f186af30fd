/** The commented example of docs/reference/config.md. A test holds it to name every key, and to be valid. */
export const configExample = `server:
  host: 127.0.0.1             # 0.0.0.0 to be reached from other machines
  port: 8321                  # 0 takes a free one
  max_requests_per_minute: 60000   # of one API key, or of one address without a good one
  max_under_way_mb: 128       # what requests under way may hold together; beyond it 503
  trusted_proxies: [10.0.0.0/8]    # whose X-Forwarded-For says who calls
  shutdown_seconds: 30        # longest that a stop takes
  metrics_port: null          # a port of its own for /metrics, /livez and /readyz

storage:
  url: \${DATABASE_URL}        # left out, PostgreSQL from npm runs in data_dir
  data_dir: .recalld
  hash_key: \${HASH_KEY}       # left out, recalld makes one
  pool_size: 10
  statement_seconds: 60
  read_url: \${REPLICA_URL}    # left out, the API reads from url
  measurement_retention_days: 400
  audit_retention_days: 730

queue:                        # left out, jobs live in the same PostgreSQL
  backend: redis
  url: rediss://:\${REDIS_PASSWORD}@sentinel-1.internal:26379   # with a topology: of one of its nodes
  prefix: recalld             # of its keys
  tls:                        # beyond the authorities that Node trusts
    ca_file: /etc/recalld/ca.pem
    client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
    servername: redis.internal
  topology:                   # left out, one server; or {kind: cluster, others: ["redis-2.internal:6379"]}
    kind: sentinel
    name: recalld
    others: ["sentinel-2.internal:26379", "sentinel-3.internal:26379"]
    username: recalld
    password: \${SENTINEL_PASSWORD}

log:
  level: info

metrics:
  latency_buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]   # seconds, of live queries
  otlp:                       # left out, they are sent nowhere
    url: https://collector.internal:4318
    headers: {authorization: "Bearer \${COLLECTOR_TOKEN}"}
    tls:
      ca_file: /etc/recalld/ca.pem
      client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
    proxy: environment
    timeout_ms: 10000
    retries: 2
    send: [metrics]           # and evaluations: scores of judged live queries, to the platform that has their traces
    interval_seconds: 60

alerts:                       # where they lead to, and how many false ones are accepted
  runbook_base_url: https://wiki.internal/recalld/runbooks
  dashboard_base_url: https://grafana.internal
  console_base_url: https://recalld.internal
  scrape_job: recalld         # the label \`job\` of the scrape config
  group_labels: [job]         # what one deployment differs from another by, such as [cluster, namespace]
  false_pages:                # \`recalld config check\` tells what to expect
    drift: 1 per 365d         # of the density watches of all pipelines together
    per_pipeline: 1 per 90d   # of the checks of each pipeline
notify:                       # left out, an Alertmanager tells people
  - kind: slack
    url: \${SLACK_WEBHOOK_URL}
    proxy: http://proxy.internal:3128   # left out, none; environment: what HTTPS_PROXY and NO_PROXY say
    min_severity: warning     # critical unless it is told otherwise
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
llm:                          # for \`recalld golden generate\`, and for pipelines that are \`judged\`
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
        text: body            # only a reranker needs it
        stages:               # what came before it, in order, for recalld explain
          candidates: {list: debug.candidates, id: doc, score: similarity}
      tls:                    # beyond the authorities that Node trusts
        ca_file: /etc/recalld/ca.pem
        client: {cert_file: /etc/recalld/recalld.pem, key_file: /etc/recalld/recalld.key}
      proxy: http://proxy.internal:3128
      timeout_ms: 2000
      retries: 2

    vector_store:             # the store behind the retriever; reading is all we need
      kind: pgvector
      url: \${CHUNKS_URL}
      table: chunks
      id: id
      embedding: embedding
      content: body
      version: doc_hash       # column of the version of the document that a chunk was made of
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

    ann_recall:               # how much of the exact neighbours the index finds
      queries: 20             # live queries an hour that are searched exactly too; 0 for none
      k: 10

    judged:                   # a few live queries a day are graded; left out, none are
      judge: {kind: llm}      # or a reranker with \`reranker\` and \`grades_from\`, or {kind: none}: people alone
      queries_per_day: 200
      window: 7d              # of live traffic, that scores are of
      depth: 5                # best documents of each that are graded
      pooling: {share: 0.05, documents: 20}   # for so many of them, the chunks of the store nearest to the question too
      max_cost_per_day: 2     # US dollars
      human_share: 0.1       # of the drawn queries, those that people grade as well
      second_reviewer_share: 0.2       # of these, the ones that a second person grades too
      min_agreement: 0.4    # of the judge with people (weighted kappa), by its lower bound

    shadow:                   # what may take the place of the retriever, asked the same; left out, nothing is
      - name: new-index
        retriever:
          kind: http
          url: http://rag.internal/search-next
          body: {query: "{{text}}", k: "{{k}}"}
        live_rate: 0.05       # share of the kept live queries
        max_calls_per_day: 2000
        max_per_second: 2
        concurrency: 2
        cost_per_call: 0.0004 # US dollars
        difference: 0.03      # of nDCG, that is to be found
        chunk_separator: "#"  # ids of chunks are cut before it; left out, ids are compared as they are

    variants:                 # what the service serves to some users and not to others; left out, nothing is compared
      tag: variant            # tag of live queries whose value names the arm
      arms:                   # the others are held against the first
        - {name: current, share: 9}
        - {name: reranked, share: 1}
      since: 2026-11-16       # first day that counts; left out, as far back as live queries are kept
      difference: 0.02        # of a ratio, that matters

    index:                    # what the store should hold; left out, nobody looks
      manifest:
        kind: file            # or command, http, sql
        path: /var/lib/docs/manifest.jsonl
      cron: "*/15 * * * *"
      probe: 200              # documents looked up a time, where the store does not list its ids
      late_after: 1h          # how long a change may take to arrive
      calls_per_second: 10
      retrieve: 20            # documents a time whose own text must find them
      embed: 8                # stored chunks an hour that are embedded again
      embed_prefix: ""        # what your ingestion puts before a text that it embeds
      min_cosine: 0.98      # of the stored vector to that of the same model

    golden:
      - set: support-faq      # imported with \`recalld golden import PATH --set support-faq\`
        cron: "0 * * * *"     # hourly; left out, it runs only by hand
        timezone: UTC
        cutoffs: [1, 3, 5, 10]
        gains: []             # [dcg] or [cg, dcg] scores and exports these sums too
        relevance_level: 1
        no_answer:            # what a question that nothing answers may still bring
          max_score: null     # documents above it count; null: all do
          max_results: 0
        concurrency: 4
        max_per_second: 20
        on_error: score_zero  # or void, when more than error_budget of the queries fail
        error_budget: 0.05
        sentinel:             # a few queries more often; when they fall, a full run starts
          cron: "*/5 * * * *"
          queries: 50
        quiet_hours:          # in the time zone above; no full run starts by cron
          - {from: "22:00", to: "06:00"}
        max_queries_per_day: 50000   # left out, there is no limit
        rotation_runs: 3      # ticks at which a new version runs beside the old one
        keep_answers: 180d    # how long the answers of its runs are kept; scores stay

    segments:
      keys: [language]        # each value of this tag is measured apart
      max: 50

    checks:
      - name: quality         # so that alerts, silences and history stay when the floor changes
        measure: ndcg@10      # critical when even the upper 95 % bound is below
        below: 0.8
        severity: critical
      - measure: hit_rate@5
        below: 0.9
        severity: warning
      - regression: ndcg@10   # against the run that \`recalld baselines pin\` pinned
        drop: 0.02
        alpha: 0.005
        severity: critical
        runs: 2
      - stale_labels_above: 0.02   # judged documents that are gone from the vector store
        severity: warning
      - forbidden_results: true    # documents that must never come back: one is critical at once
        severity: critical
      - measure: feedback_positive_ratio   # critical when even the upper 95 % bound is below
        below: 0.6
        severity: warning
        segments: all
        min_n: 50
        confirm: 3            # measurements in a row
        no_data: silent       # quiet traffic is no alarm
      - measure: error_ratio  # critical when even the lower 95 % bound is above
        above: 0.05
        severity: critical
        segments: each        # the worst decides
        min_n: 200
        confirm: 3
        no_data: silent
      - density_drift: true   # a page is a breach, a ticket a warning
        severity: warning

    slo:                      # burn-rate alerts on live traffic
      success: 0.99           # answered without an error
      results: 0.95           # answered with a document
      latency: {within_seconds: 1, target: 0.95}
      window_days: 30

    service_names: [support-rag]  # of OpenTelemetry spans that belong to this pipeline
    embedding_dimensions: null  # length of the vectors of live queries; null learns it
    sampling:                 # which live queries are kept
      rate: 0.1
      segments: {tenant=acme: 1}
      max_per_minute: 600
      always_keep: [zero_results, error, negative_feedback]
      low_similarity_below: 0.3   # and what the best document is this far from, where scores are cosines
    live:                     # how they are measured, every 5 minutes
      window: 24h
      baseline: 7d            # before the window: how often users click at each rank
    privacy:                  # what is kept of them
      text: redact            # or hash, or keep
      retention_days: 30
      patterns:
        - name: order_number
          regex: '\\bORD-\\d{6}\\b'
      presidio:               # finds names too; left out, our own rules are all
        url: http://presidio.internal:3000
        headers:
          authorization: Bearer \${PRESIDIO_TOKEN}
        language: en
        score_threshold: 0.5
        entities: [PERSON, LOCATION]
        timeout_ms: 500       # then the text is not stored, only its hash
        concurrency: 8
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

    density:                  # how well the store covers what people ask
      window: 1h
      grace: 10m              # for late queries
      max_per_second: 20      # searches in the vector store
      baseline: {days: 14, sessions: 2000}
`;

/** What the example takes from the environment. */
export const exampleEnvironment: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://recalld:password@db.internal/recalld',
  REPLICA_URL: 'postgres://reader:password@replica.internal/recalld',
  HASH_KEY: 'key-of-the-hashes-of-users-0123456789',
  REDIS_PASSWORD: 'password-of-redis',
  SENTINEL_PASSWORD: 'password-at-the-sentinels',
  RAG_TOKEN: 'token-of-the-rag-service',
  COLLECTOR_TOKEN: 'token-of-the-collector',
  PRESIDIO_TOKEN: 'token-of-the-analyzer',
  CHUNKS_URL: 'postgres://reader:password@db.internal/chunks',
  OPENAI_API_KEY: 'key-of-the-embedder',
  LLM_API_KEY: 'key-of-the-chat-model',
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T0/B0/token-of-the-webhook',
  PAGERDUTY_ROUTING_KEY: 'routing-key-of-the-service',
  HOOK_TOKEN: 'token-of-the-hook',
};
