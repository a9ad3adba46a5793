// Certificates for tests, by the `openssl` program: Node reads certificates and makes none.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate and its key, in PEM, and the files that hold them. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly files: { readonly cert: string; readonly key: string };
}

/** Whoever signs certificates. */
export interface Authority {
  /** What those who trust it are given, and the file that holds it. */
  readonly ca: string;
  readonly file: string;
  /** Someone that it vouches for, at 127.0.0.1 and as `agents.example`. */
  sign(name: string): Identity;
}

/** Makes authorities for as long as `use` takes. */
export async function vouching(use: (authority: () => Authority) => Promise<void>): Promise<void> {
  const folders: string[] = [];
  try {
    await use(() => {
      const folder = mkdtempSync(join(tmpdir(), "vertebra-ca-"));
      folders.push(folder);
      return authorityIn(folder);
    });
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  }
}

function authorityIn(folder: string): Authority {
  const at = (name: string): string => join(folder, name);
  const openssl = (command: string): void =>
    void execFileSync("openssl", command.split(" "), { cwd: folder, stdio: "pipe" });
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  writeFileSync(at("names"), "subjectAltName=IP:127.0.0.1,DNS:agents.example");
  openssl(`req -x509 ${key} -days 2 -subj /CN=authority -keyout ca.key -out ca.pem`);
  return {
    ca: readFileSync(at("ca.pem"), "utf8"),
    file: at("ca.pem"),
    sign(name) {
      openssl(`req ${key} -subj /CN=${name} -keyout ${name}.key -out ${name}.csr`);
      openssl(
        `x509 -req -in ${name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out ${name}.pem`,
      );
      const files = { cert: at(`${name}.pem`), key: at(`${name}.key`) };
      return { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8"), files };
    },
  };
}
