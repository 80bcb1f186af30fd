#!/bin/sh
# Stops a change that makes retrieval worse. For CI: exit code 1 is a regression, 2 a mistake in the files.
#
#   sh examples/gate/gate.sh qrels.txt main.run branch.run
#
# The runs are TREC files of the same queries, from the retriever of the main branch and that of the change.
# action.yml sets METRICS, MIN_EFFECT and PACKAGE; on GitHub the table appears in the job summary.
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
