#!/usr/bin/env python3
"""{{name}}: stands at {{point}}.

The event comes on standard input as JSON. The answer goes to standard output as JSON; no answer is no opinion.
Exit code 2 refuses too, with standard error as the reason. Any other but 0 is a failure.
"""

import json
import sys

event = json.load(sys.stdin)
if "{{mark}}" in json.dumps(event):
    json.dump({{answer}}, sys.stdout)
