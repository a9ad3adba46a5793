// {{name}}: a hook that runs at {{point}}.
// Reads the event from standard input as JSON and writes the answer to standard output as JSON. No output means no opinion.
// {{exit}}
import { readFileSync } from "node:fs";

type Answer = { verdict?: string; reason?: string; context?: string };

const event: Record<string, unknown> = JSON.parse(readFileSync(0, "utf8"));
if (JSON.stringify(event).includes("{{mark}}")) {
  const answer: Answer = {{answer}};
  console.log(JSON.stringify(answer));
}
