// Takes the examples out of README.md, so that the compiler reads them as its readers do.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const out = join(root, "build", "readme");
const text = readFileSync(join(root, "README.md"), "utf8");
const examples = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
if (examples.length === 0) throw new Error("README.md has no example");

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const [place, code] of examples.entries()) writeFileSync(join(out, `example-${place + 1}.ts`), code);
const compilerOptions = { noEmit: true, rootDir: "../..", types: ["node"] };
writeFileSync(
  join(out, "tsconfig.json"),
  JSON.stringify({ extends: "../../tsconfig.json", compilerOptions, include: ["."] }),
);
