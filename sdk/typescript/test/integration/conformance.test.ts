// The cases of `conformance/cases`, with hooks of this package, against a real server.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Client, Fired, Match } from "../../src/index.js";
import { serving } from "./server.js";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Fields = Readonly<Record<string, Json>>;

interface HookCase {
  readonly name: string;
  readonly point?: string;
  readonly role?: "hook" | "guard" | "watch";
  readonly match?: Match;
  readonly priority?: number;
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  readonly timeout_ms?: number;
  readonly max_retries?: number;
  readonly on_failure?: "open" | "closed" | "ask";
  readonly shadow?: boolean;
  readonly detached?: boolean;
  readonly answers?: Json;
  readonly says?: string;
  readonly fails?: string;
  readonly hangs?: boolean;
  readonly sees?: Fields;
}

interface Case {
  readonly name: string;
  readonly hooks: readonly HookCase[];
  readonly event: Fields & { readonly point: string };
  readonly expect: Fields;
  readonly not_in?: Readonly<Record<string, string>>;
}

/** Events by the hook that saw them last. */
type Saw = Map<string, Json>;

const CASES = join(import.meta.dirname, "../../../../../conformance/cases");
const RUNNERS = ["remote", "typescript"];

test("hooks of this package come to what the cases say", { timeout: 120_000 }, async (t) => {
  await serving([], async (server) => {
    for (const file of readdirSync(CASES).toSorted()) {
      const { cases } = JSON.parse(readFileSync(join(CASES, file), "utf8")) as { cases: readonly Case[] };
      for (const one of cases.filter((one) => !RUNNERS.some((runner) => one.not_in?.[runner]))) {
        await t.test(`${file}: ${one.name}`, async () => {
          const client = await server.client("unix");
          const saw: Saw = new Map();
          try {
            assert.deepEqual(await came(client, one, saw), one.expect);
            for (const hook of one.hooks) checkSeen(hook, saw.get(hook.name));
          } finally {
            await client.close();
          }
        });
      }
    }
  });
});

/** What comes of a case, in the form that cases are written in. */
async function came(client: Client, one: Case, saw: Saw): Promise<Fields> {
  let fired: Fired;
  try {
    for (const hook of one.hooks) await put(client, hook, one, saw);
    fired = await client.fire(one.event as never);
  } catch (error) {
    assert.ok(error instanceof Error && /TypeError|VertebraError/.test(error.name), `${error}`);
    return { refused: true };
  }
  return plain(fired.record as never, fired.judgement as never);
}

function put(client: Client, hook: HookCase, one: Case, saw: Saw): Promise<unknown> {
  const options = {
    name: hook.name,
    ...(hook.priority === undefined ? {} : { priority: hook.priority }),
    ...(hook.timeout_ms === undefined ? {} : { timeout: hook.timeout_ms }),
    ...(hook.max_retries === undefined ? {} : { maxRetries: hook.max_retries }),
    ...(hook.on_failure === undefined ? {} : { onFailure: hook.on_failure }),
    ...(hook.before === undefined ? {} : { before: hook.before }),
    ...(hook.after === undefined ? {} : { after: hook.after }),
    ...(hook.shadow === undefined ? {} : { shadow: hook.shadow }),
    ...(hook.detached === undefined ? {} : { detached: hook.detached }),
  };
  const handler = async (event: Json): Promise<unknown> => {
    saw.set(hook.name, event);
    if (hook.fails !== undefined) throw new Error(hook.fails);
    if (hook.hangs) await new Promise(() => {});
    // An invalid answer is invalid here too; no answer means no opinion.
    return hook.says === undefined ? hook.answers : hook.says.trim() || undefined;
  };
  // The points and answers of cases are known when they run, not when this is compiled.
  const put = { hook: client.on, guard: client.guard, watch: client.watch }[hook.role ?? "hook"] as (
    ...written: unknown[]
  ) => Promise<unknown>;
  const point = hook.point ?? one.event.point;
  return hook.match === undefined
    ? put.call(client, point, handler, options)
    : put.call(client, point, hook.match, handler, options);
}

function checkSeen(hook: HookCase, event: Json | undefined): void {
  for (const [at, expected] of Object.entries(hook.sees ?? {})) {
    const steps = at.slice(1).split("/");
    const seen = steps.reduce((place: Json | undefined, step) => (place as Fields | undefined)?.[step], event);
    assert.deepEqual(seen, expected, `${hook.name} sees ${at}`);
  }
}

type Traced = Fields & { readonly ran: Fields & { readonly why?: Fields } };

/** Without times, and without the words in which a failure is told. */
function plain(record: Fields & { readonly hooks: readonly Traced[] }, judgement: Fields): Fields {
  const byFailure = record.hooks.some(({ hook, ran }) => hook === record.decided_by && ran.ran === "failed");
  const { shadow: _, stop, ...effects } = (judgement.effects ?? {}) as Fields;
  const told = stop === undefined || byFailure ? effects : { ...effects, stop };
  const context = judgement.model_context as readonly Json[];
  const made = picked({
    decision: judgement.decision ?? undefined,
    args: judgement.tool_input ?? undefined,
    context: context.length > 0 ? context : undefined,
    continue: judgement.continue === false ? false : undefined,
    effects: Object.keys(told).length > 0 ? told : undefined,
  });
  return picked({
    hooks: record.hooks.map(({ hook, role, ran, changes, shadow }) => {
      const { verdict, reason, policy, attempts, why } = ran;
      const { because, by } = why ?? {};
      return picked({ hook, role, ran: ran.ran, verdict, reason, policy, attempts, because, by, changes, shadow });
    }),
    verdict: record.verdict,
    decided_by: record.decided_by,
    reason: byFailure ? undefined : record.reason,
    judgement: Object.keys(made).length > 0 ? made : undefined,
  });
}

function picked(fields: Readonly<Record<string, Json | undefined>>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}
