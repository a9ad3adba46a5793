// {{name}}: stands at {{point}}.
// The event comes on standard input as JSON. The answer goes to standard output as JSON; no answer is no opinion.
// Exit code 2 refuses too, with standard error as the reason. Any other but 0 is a failure.
import { readFileSync } from "node:fs";

type Answer = { verdict?: string; reason?: string; context?: string };

const event: Record<string, unknown> = JSON.parse(readFileSync(0, "utf8"));
if (JSON.stringify(event).includes("{{mark}}")) {
  const answer: Answer = {{answer}};
  console.log(JSON.stringify(answer));
}
