#!/bin/sh
# Stops a change of the retriever that makes answers worse. For CI: exit code 1 is a regression, 2 a mistake in the files.
#
#   sh examples/gate/gate.sh qrels.txt main.run branch.run
#
# The runs are TREC files, made by asking the retriever of the main branch and that of the change the same questions.
set -eu
qrels=$1
main=$2
branch=$3

npx recalld compare --qrels "$qrels" --baseline "$main" --candidate "$branch" --metrics ndcg@10,recall@10 --min-effect 0.02
