// A real server with a scripted model, for one test.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { type Client, type ConnectOptions, connect, type Problem } from "../../src/index.js";

/** One turn of the scripted model, a line of its file. */
export interface Turn {
  readonly say?: string;
  readonly stream?: readonly string[];
  readonly call?: { readonly tool: string; readonly args: object };
  readonly calls?: readonly { readonly tool: string; readonly args: object }[];
  /** What the conversation must contain, or the turn fails. */
  readonly expect?: string;
  readonly wait_ms?: number;
  readonly pause_ms?: number;
  readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number };
}

/** How a client reaches the server. */
export type Transport = "tcp" | "unix";

/** A server that runs, and the folder that its agent works in. */
export interface Server {
  readonly folder: string;
  readonly token: string;
  address(transport: Transport): string;
  /** A client of it, which is closed with the server. */
  client(transport?: Transport, options?: ConnectOptions): Promise<Client>;
  /** What clients reported. */
  readonly problems: Problem[];
  /** Ends the process, as a crash would or by asking it to. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** How a server is started. */
export interface Start {
  readonly turns: readonly Turn[];
  readonly args?: readonly string[];
  /** The port to listen on, if it has to be a certain one. */
  readonly port?: number;
  readonly token?: string;
  /** The folder of an earlier server. */
  readonly home?: string;
}

function binary(): string {
  const path = process.env.VERTEBRA_BIN;
  if (!path) {
    throw new Error(
      "VERTEBRA_BIN is not set: set it to a `vertebra` binary, as in VERTEBRA_BIN=../../target/debug/vertebra",
    );
  }
  return path;
}

/** Starts a server for as long as `use` takes. */
export async function serving(start: Start | readonly Turn[], use: (server: Server) => Promise<void>): Promise<void> {
  const given = "turns" in start ? start : { turns: start };
  const home = given.home ?? mkdtempSync(join(tmpdir(), "vertebra-ts-"));
  let server: Server | undefined;
  try {
    server = await started(given, home);
    await use(server);
  } finally {
    await server?.stop();
    if (!given.home) rmSync(home, { recursive: true, force: true });
  }
}

/** A test over TCP with a token, and the same over a Unix socket. */
export function overBoth(name: string, body: (transport: Transport) => Promise<void>): void {
  for (const transport of ["tcp", "unix"] as const)
    test(`${name} (${transport})`, { timeout: 30_000 }, () => body(transport));
}

async function started(
  { turns, args = [], port = 0, token = "the-token-of-the-tests" }: Start,
  home: string,
): Promise<Server> {
  const at = (name: string): string => join(home, name);
  writeFileSync(at("token"), `${token}\n`, { mode: 0o600 });
  writeFileSync(at("turns.jsonl"), turns.map((turn) => JSON.stringify(turn)).join("\n"));
  const folder = at("project");
  mkdirSync(folder, { recursive: true });
  const listen = [`tcp://127.0.0.1:${port}`, `unix://${at("v.sock")}`].flatMap((address) => ["--listen", address]);
  const command = [
    "serve",
    ...listen,
    "--token-file",
    at("token"),
    "--model",
    `script:${at("turns.jsonl")}`,
    "--dir",
    folder,
  ];
  // Nothing of whoever runs the tests is read or written.
  const env = { PATH: process.env.PATH ?? "", HOME: home, XDG_RUNTIME_DIR: home };
  const child = spawn(binary(), [...command, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const addresses = await listening(child, 2);
  const clients: Client[] = [];
  const problems: Problem[] = [];
  const address = (transport: Transport): string => {
    const found = addresses.find((address) => address.startsWith(transport));
    if (!found) throw new Error(`the server does not listen on ${transport}: ${addresses.join(", ")}`);
    return found;
  };
  return {
    folder,
    token,
    problems,
    address,
    async client(transport = "tcp", options = {}) {
      const known = transport === "tcp" ? { token } : {};
      const client = await connect(address(transport), {
        onProblem: (problem) => problems.push(problem),
        ...known,
        ...options,
      });
      clients.push(client);
      return client;
    },
    async stop(signal = "SIGKILL") {
      if (signal === "SIGKILL") await Promise.all(clients.map((client) => client.close({ leaveHooks: true })));
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, "exit");
    },
  };
}

/** The addresses that the server says it listens on. */
async function listening(child: ChildProcess, count: number): Promise<string[]> {
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error("the server has no output");
  const ended = once(child, "close");
  ended.catch(() => undefined);
  const said: string[] = [];
  stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
  const addresses: string[] = [];
  for await (const line of createInterface({ input: stdout })) {
    const [, address] = /listening on (\S+)/.exec(line) ?? [];
    if (address) addresses.push(address);
    if (addresses.length === count) {
      stdout.resume();
      return addresses;
    }
  }
  await ended;
  throw new Error(`the server did not start: ${said.join("")}`);
}
