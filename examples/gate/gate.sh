#!/bin/sh
# Rejects changes that make retrieval worse. Exit code 1 means a regression, and 2 means an error in the files.
#
#   sh examples/gate/gate.sh qrels.txt main.run branch.run
#
# The runs are TREC files with the same queries, one from the main branch's retriever and one from the changed
# retriever. action.yml sets METRICS, MIN_EFFECT and PACKAGE; on GitHub the table appears in the job summary.
set -u
metrics=${METRICS:-ndcg@10,recall@10}
effect=${MIN_EFFECT:-0.02}

table=$(npx ${PACKAGE:+--yes "--package=$PACKAGE"} recalld compare --qrels "$1" --baseline "$2" --candidate "$3" --metrics "$metrics" --min-effect "$effect")
code=$?
printf '%s\n' "$table"

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  printf '## Retrieval quality\n\n```\n%s\n```\n' "$table" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'verdict=%s\n' "$(printf '%s\n' "$table" | sed -n 's/^Verdict on .*: \([a-z_]*\)[.]$/\1/p')" >>"$GITHUB_OUTPUT"
fi
exit "$code"
