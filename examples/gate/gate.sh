#!/bin/sh
# Stops a change of the retriever that makes answers worse. For CI: exit code 1 is a regression, 2 a mistake in the files.
#
#   sh examples/gate/gate.sh qrels.txt main.run branch.run
#
# The runs are TREC files, made by asking the retriever of the main branch and that of the change the same questions.
# METRICS, MIN_EFFECT and PACKAGE are what action.yml sets; on GitHub the table goes into the summary of the job.
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
