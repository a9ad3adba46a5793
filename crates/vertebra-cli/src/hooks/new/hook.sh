#!/bin/sh
# {{name}}: a hook that runs at {{point}}.
# Reads the event from standard input as JSON and writes the answer to standard output as JSON. No output means no opinion.
# {{exit}}
event=$(cat)
case $event in
  *{{mark}}*) echo '{{answer}}' ;;
esac
