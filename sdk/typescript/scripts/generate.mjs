// Writes the client's messages from the contract in `proto/`; with `--check`, says whether those in `src/gen` are stale.
//
//     npm run generate
//     npm run generate -- --check

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const kept = join(root, "src", "gen");

function generate(out) {
  const template = JSON.stringify({
    version: "v2",
    // The plugin is a development dependency: no other machine is asked.
    plugins: [
      { local: [join(root, "node_modules/.bin/protoc-gen-es")], out, opt: ["target=ts", "import_extension=js"] },
    ],
  });
  const buf = join(root, "node_modules/.bin/buf");
  execFileSync(buf, ["generate", join(root, "../../proto"), "--template", template], { stdio: "inherit" });
}

const files = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .sort();

function stale(fresh) {
  const names = new Set([...files(kept), ...files(fresh)]);
  const text = (folder, name) => (files(folder).includes(name) ? readFileSync(join(folder, name), "utf8") : undefined);
  return [...names].filter((name) => text(kept, name) !== text(fresh, name));
}

if (process.argv.includes("--check")) {
  const fresh = mkdtempSync(join(tmpdir(), "vertebra-gen-"));
  try {
    generate(fresh);
    const names = stale(fresh);
    if (names.length > 0) {
      process.stderr.write(`src/gen is stale: ${names.join(", ")}\nwrite it anew with: npm run generate\n`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(fresh, { recursive: true });
  }
} else {
  rmSync(kept, { recursive: true, force: true });
  generate(kept);
}
