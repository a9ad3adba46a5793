// What several tests do.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Client, RunReport, SessionEvent, ToolResult } from "../../src/index.js";
import type { Server } from "./server.js";

/** Nobody is asked: what is refused, a hook of the test refused. */
export const FREE = ["--mode", "bypass"] as const;

/** A folder in the project, with full path. */
export function folderIn(server: Server, name: string): string {
  const folder = join(server.folder, name);
  mkdirSync(folder);
  return folder;
}

/** What came of one prompt in a new session. */
export interface Ran {
  readonly session: string;
  readonly events: readonly SessionEvent[];
  readonly report: RunReport;
  /** What came of each tool call, in order. */
  readonly results: readonly ToolResult[];
}

/** Runs one prompt in a new session to its end. */
export async function prompted(client: Client, text = "go"): Promise<Ran> {
  const session = await client.sessions.create();
  const run = session.prompt(text);
  const events: SessionEvent[] = [];
  for await (const event of run) events.push(event);
  const results = events.flatMap((event) => (event.event === "tool_ended" ? [event.result] : []));
  return { session: session.id, events, report: await run.result, results };
}

/** A promise, and the way to keep it. */
export function later<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
