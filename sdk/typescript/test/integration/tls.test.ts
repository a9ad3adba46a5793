import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createServer, type TlsOptions as ServerOptions } from "node:tls";
import { connect } from "../../src/index.js";
import { type Server, serving } from "./server.js";

interface Identity {
  readonly cert: string;
  readonly key: string;
}

/** An authority, and identities that it vouches for. */
function authority(folder: string): { ca: string; identity: (name: string) => Identity } {
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-days",
    "2",
    "-subj",
    "/CN=authority",
    "-keyout",
    at("ca.key"),
    "-out",
    at("ca.pem"),
  );
  const identity = (name: string): Identity => {
    openssl("req", ...key, "-subj", `/CN=${name}`, "-keyout", at(`${name}.key`), "-out", at(`${name}.csr`));
    writeFileSync(at("ext"), "subjectAltName=IP:127.0.0.1,DNS:agents.example");
    const signed = [
      "-CA",
      at("ca.pem"),
      "-CAkey",
      at("ca.key"),
      "-CAcreateserial",
      "-days",
      "2",
      "-extfile",
      at("ext"),
    ];
    openssl("x509", "-req", "-in", at(`${name}.csr`), ...signed, "-out", at(`${name}.pem`));
    return { cert: readFileSync(at(`${name}.pem`), "utf8"), key: readFileSync(at(`${name}.key`), "utf8") };
  };
  return { ca: readFileSync(at("ca.pem"), "utf8"), identity };
}

/** Ends TLS before a server, as a load balancer does. */
async function ending(server: Server, options: ServerOptions, use: (address: string) => Promise<void>): Promise<void> {
  const { hostname, port } = new URL(server.address("tcp").replace("tcp:", "http:"));
  const outside = createServer({ ...options, ALPNProtocols: ["h2"] }, (socket) => {
    const inside = connectSocket(Number(port), hostname);
    for (const [one, other] of [
      [socket, inside],
      [inside, socket],
    ] as const) {
      one.on("error", () => undefined).on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  outside.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(outside, "listening");
  try {
    await use(`https://127.0.0.1:${(outside.address() as AddressInfo).port}`);
  } finally {
    outside.close();
  }
}

test("a server is reached over TLS if it is the one that is trusted", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "vertebra-tls-"));
  try {
    const { ca, identity } = authority(folder);
    const [of_server, of_client] = [identity("server"), identity("client")];
    await serving([{ say: "privately" }], async (server) => {
      const { token } = server;
      await ending(server, of_server, async (address) => {
        await assert.rejects(connect(address, { token }), { code: "unavailable" });
        const client = await connect(address, { token, tls: { ca } });
        assert.equal(await (await client.sessions.create()).prompt("hello").text(), "privately");
        await client.close();
        const wrong = connect(address, { token, tls: { ca, serverName: "other.example" } });
        await assert.rejects(wrong, /altnames/);
      });
      await ending(server, { ...of_server, ca, requestCert: true, rejectUnauthorized: true }, async (address) => {
        await assert.rejects(connect(address, { token, tls: { ca } }));
        const client = await connect(address.replace("https:", "tcp:"), {
          token,
          tls: { ca, ...of_client, serverName: "agents.example" },
        });
        await client.close();
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
