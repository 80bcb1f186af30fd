#!/bin/sh
# Reports a query, its results and the user's feedback. Needs curl 7.76 or later.
#
#   RECALLD_URL=http://127.0.0.1:8321 sh examples/curl.sh
set -eu

url=${RECALLD_URL:-http://127.0.0.1:8321}
pipeline=${RECALLD_PIPELINE:-support-docs}

new_id() { uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# Sends stdin to a recalld path. Retries are safe, because recalld stores each id once; curl honors Retry-After.
post() {
  curl --silent --show-error --fail-with-body --max-time 10 --retry 3 --retry-connrefused \
    --header 'Content-Type: application/json' \
    ${RECALLD_API_KEY:+--header "Authorization: Bearer $RECALLD_API_KEY"} \
    --data-binary @- "$url$1"
  echo
}

query_id=$(new_id)

post /v1/queries <<JSON
{
  "id": "$query_id",
  "pipeline": "$pipeline",
  "occurred_at": "$(now)",
  "session_id": "session-1",
  "text": "How do I reset my password?",
  "embedding": [0.12, -0.53, 0.34],
  "top_k": 5,
  "latency_ms": 41.7,
  "segments": {"language": "en"},
  "results": [
    {"id": "password-reset", "score": 0.83},
    {"id": "account-recovery", "score": 0.71}
  ]
}
JSON

# Sends several feedback items at once, as a list of up to 1,000.
post /v1/feedback <<JSON
[
  {"id": "$(new_id)", "query_id": "$query_id", "pipeline": "$pipeline", "kind": "click", "document_id": "password-reset", "rank": 1},
  {"id": "$(new_id)", "query_id": "$query_id", "pipeline": "$pipeline", "kind": "thumb", "value": "up", "occurred_at": "$(now)"}
]
JSON
