#!/usr/bin/env python3
"""{{name}}: a hook that runs at {{point}}.

Reads the event from standard input as JSON and writes the answer to standard output as JSON. No output means no opinion.
{{exit}}
"""

import json
import sys

event = json.load(sys.stdin)
if "{{mark}}" in json.dumps(event):
    json.dump({{answer}}, sys.stdout)
