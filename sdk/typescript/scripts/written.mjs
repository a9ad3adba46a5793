// Brings what is written elsewhere before the compiler: the examples of README.md as their readers would type them, and
// the example events of sdk/points.json as values of our types.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const out = join(root, "build", "written");
const text = (path) => readFileSync(join(root, path), "utf8");
const write = (name, content) => writeFileSync(join(out, name), content);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const examples = [...text("README.md").matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
if (examples.length === 0) throw new Error("README.md has no example");
for (const [place, code] of examples.entries()) write(`readme-${place + 1}.ts`, code);

// A field that a type does not know, or knows to be there and is not, does not compile.
const { points } = JSON.parse(text("../points.json"));
const events = points.map(({ name, event }) => `export const ${name}: EventAt<"${name}"> = ${JSON.stringify(event)};`);
write("events.ts", ['import type { EventAt } from "@vertebra/sdk";', ...events].join("\n"));

const compilerOptions = { noEmit: true, rootDir: "../..", types: ["node"] };
write(
  "tsconfig.json",
  JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, include: ["."], exclude: [] }),
);
