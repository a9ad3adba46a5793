#!/bin/sh
# {{name}}: stands at {{point}}.
# The event comes on standard input as JSON. The answer goes to standard output as JSON; no answer is no opinion.
# Exit code 2 refuses too, with standard error as the reason. Any other but 0 is a failure.
event=$(cat)
case $event in
  *{{mark}}*) echo '{{answer}}' ;;
esac
