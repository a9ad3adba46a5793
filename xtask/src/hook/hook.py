import json
import re
import sys

PATTERNS = $patterns

event = json.load(sys.stdin)
command = event.get("tool_input", {}).get("command", "")
for number, pattern in enumerate(PATTERNS):
    if re.search(pattern, command):
        print(f"rule {number} says no", file=sys.stderr)
        sys.exit(2)
