import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const root = join(import.meta.dirname, "../../..");

test("what is packed is what runs: the built package, its types, and nothing else", { timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "vertebra-pack-"));
  try {
    const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
    const said = execFileSync("npm", pack, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const [packed] = Object.values(JSON.parse(said)) as { filename: string; files: { path: string }[] }[];
    assert.ok(packed);
    const strange = packed.files.filter(({ path }) => !/^(dist\/.+\.(js|d\.ts)|package\.json|README\.md)$/.test(path));
    assert.deepEqual(strange, []);

    const home = join(folder, "node_modules/@vertebra/sdk");
    mkdirSync(home, { recursive: true });
    execFileSync("tar", ["xzf", join(folder, packed.filename), "-C", home, "--strip-components=1"]);
    for (const scope of ["@bufbuild", "@connectrpc"]) {
      symlinkSync(join(root, "node_modules", scope), join(folder, "node_modules", scope));
    }
    const program = `
      import { HookEngine, connect, deny } from "@vertebra/sdk";
      console.log(new HookEngine().hook_count(), typeof connect, deny("x").verdict);
    `;
    writeFileSync(join(folder, "main.mjs"), program);
    const out = execFileSync(process.execPath, ["main.mjs"], { cwd: folder, encoding: "utf8" });
    assert.equal(out, "0 function deny\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
