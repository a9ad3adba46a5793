// A port that is encrypted, and clients that are known by their certificates.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConnectOptions, connect, deny } from "../../src/index.js";
import { type Authority, vouching } from "./authority.js";
import { FREE, prompted } from "./kit.js";
import { type Server, serving } from "./server.js";

const turns = [{ call: { tool: "bash", args: { command: "echo" } } }, { say: "done" }];

/** A server with a certificate; its clients need one of `clients`, if that is given. */
async function encrypted(
  authority: Authority,
  use: (server: Server) => Promise<void>,
  clients?: Authority,
): Promise<void> {
  const { files } = authority.sign("server");
  const known = clients ? ["--client-ca", clients.file] : [];
  const args = [...FREE, "--tls-cert", files.cert, "--tls-key", files.key, ...known];
  await serving({ turns, args }, use);
}

/** Connects, and has a guard refuse what the agent is about to do; says who the server took it for, and for whom it ran. */
async function governs(address: string, options: ConnectOptions): Promise<readonly [string, string]> {
  const client = await connect(address, options);
  try {
    await client.guard("BeforeToolUse", { tool: "bash" }, () => deny("in confidence"));
    const { results, session } = await prompted(client);
    assert.match(results[0]?.output ?? "", /in confidence/);
    return [client.server.principal, (await client.sessions.get(session)).info.owner];
  } finally {
    await client.close();
  }
}

test("over TLS a client is known by its token, and governs", { timeout: 60_000 }, async () => {
  await vouching(async (authority) => {
    const trusted = authority();
    await encrypted(trusted, async (server) => {
      const { token } = server;
      const tls = { ca: trusted.ca };
      assert.deepEqual(await governs(server.address("tcp"), { token, tls }), ["token", "token"]);
      const named = { token, tls: { ...tls, serverName: "agents.example" } };
      assert.deepEqual(await governs(server.address("tcp").replace("tcp:", "https:"), named), ["token", "token"]);
      const stranger = connect(server.address("tcp"), { token: "that-of-someone-else", tls });
      await assert.rejects(stranger, { code: "unauthenticated" });
    });
  });
});

test("a server that is not known by its certificate is not spoken to, and the error says why", {
  timeout: 60_000,
}, async () => {
  await vouching(async (authority) => {
    const [trusted, other] = [authority(), authority()];
    await encrypted(trusted, async (server) => {
      const { token } = server;
      const refused = (options: ConnectOptions, message: RegExp): Promise<void> =>
        assert.rejects(connect(server.address("tcp"), { token, ...options }), { code: "unavailable", message });
      await refused({ tls: { ca: other.ca } }, /certificate of the server is not trusted: .*`tls.ca`/);
      await refused({ tls: {} }, /certificate of the server is not trusted: .*`tls.ca`/);
      await refused(
        { tls: { ca: trusted.ca, serverName: "other.example" } },
        /not trusted: .*altnames.*agents.example/,
      );
      await refused({}, /before it said a word: .* pass `tls`/);
    });
    await serving({ turns }, async (server) => {
      const { token } = server;
      const plain = connect(server.address("tcp"), { token, tls: { ca: trusted.ca } });
      await assert.rejects(plain, { code: "unavailable", message: /speaks no TLS: .* leave out `tls`/ });
    });
  });
});

test("with a certificate a client needs no token, and is known by the name in it", { timeout: 60_000 }, async () => {
  await vouching(async (authority) => {
    const [ours, theirs] = [authority(), authority()];
    const { cert, key } = theirs.sign("policy");
    await encrypted(
      ours,
      async (server) => {
        const tls = { ca: ours.ca, cert, key };
        const name = "certificate policy";
        assert.deepEqual(await governs(server.address("tcp"), { tls }), [name, name]);
      },
      theirs,
    );
  });
});

test("without a certificate that the server knows a token opens nothing", { timeout: 60_000 }, async () => {
  await vouching(async (authority) => {
    const [trusted, other] = [authority(), authority()];
    await encrypted(
      trusted,
      async (server) => {
        const { token } = server;
        const refused = (tls: ConnectOptions["tls"], message: RegExp): Promise<void> =>
          assert.rejects(connect(server.address("tcp"), { token, tls: { ca: trusted.ca, ...tls } }), {
            code: "unauthenticated",
            message,
          });
        await refused({}, /by their certificates: pass `tls: { cert, key }`/);
        const { cert, key } = other.sign("policy");
        await refused({ cert, key }, /does not take the certificate in `tls.cert`/);
      },
      trusted,
    );
  });
});
