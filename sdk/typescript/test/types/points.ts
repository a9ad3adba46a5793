// What the compiler says: an answer that a point cannot honour is not one. Read by `tsc`, never run.

import type { Client } from "../../src/index.js";
import { allow, ask, deny, goOn, halt, hold, proceed, recover, replace, retry, skip, stop } from "../../src/index.js";

export async function everyVerdictWhereItIsHonoured(client: Client): Promise<void> {
  await client.on("SessionStart", () => deny("no"));
  await client.guard("SessionStart", () => deny("no"));
  await client.on("PromptSubmit", () => deny("no"));
  await client.on("ExecutionStart", () => stop("enough"));
  await client.on("BeforeInference", () => replace("said"));
  await client.on("BeforeInference", () => replace({ text: "said", calls: [] }));
  await client.on("InferenceDelta", (event) => (event.last ? halt("no more") : hold()));
  await client.on("InferenceDelta", ({ end }) => (end?.how === "finished" && end.calls ? halt("no tools") : hold()));
  await client.on("AfterInference", () => retry(5));
  await client.on("BeforeToolUse", { tool: "bash" }, async (event) => {
    if (event.args.command === "a") return ask("really?");
    if (event.args.command === "b") return allow();
    return replace({ output: "cached", exit_code: 0 });
  });
  await client.on("PermissionRequest", () => allow());
  await client.on("ToolUseFailed", () => recover("as good"));
  await client.on("AfterStep", () => goOn("and tests"));
  await client.guard("Output", ({ text, stop }) => (text && stop.reason === "finished" ? deny("no") : undefined));
  await client.on("OnError", () => recover("never mind"));
  await client.on("SessionEnd", () => skip());
  await client.on("SessionEnd", () => proceed());
  await client.on("Notification", () => undefined);
  await client.on("Notification", async () => {});
}

export async function changesWhereTheyAreTaken(client: Client): Promise<void> {
  await client.on("BeforeToolUse", () => ({ patch: { timeout_ms: 5 } }));
  await client.on("BeforeToolUse", ({ args }) => ({ modified: { ...args, timeout_ms: 5 }, context: "mind the time" }));
  await client.on("BeforeToolUse", () => ({ ...allow(), set: { timeout_ms: 5 } }));
  await client.on("PromptSubmit", ({ prompt }) => ({ modified: { prompt: prompt.trim() } }));
  await client.on("AfterToolUse", ({ result }) => ({ modified: { result: { ...result, output: "" } } }));
  await client.on("SessionStart", () => ({ modified: { system_prompt: "be kind" } }));
  await client.on("Output", ({ text }) => ({ modified: { text: text.trim() } }));
  // @ts-expect-error: nothing can be changed after a step
  await client.on("AfterStep", () => ({ modified: { text: "x" } }));
  // @ts-expect-error: the model's answer is no part of a prompt
  await client.on("PromptSubmit", () => ({ modified: { response: "x" } }));
  // @ts-expect-error: a prompt is a text
  await client.on("PromptSubmit", () => ({ modified: { prompt: 4 } }));
  // @ts-expect-error: one way to change it
  await client.on("BeforeToolUse", () => ({ modified: {}, patch: {} }));
}

export async function noVerdictWhereItIsNot(client: Client): Promise<void> {
  // @ts-expect-error: nobody asks for permission to submit a prompt
  await client.on("PromptSubmit", () => allow());
  // @ts-expect-error: a prompt is denied, and no run is there to stop
  await client.on("PromptSubmit", async () => stop("x"));
  // @ts-expect-error: a call that was made cannot be denied
  await client.on("AfterToolUse", () => deny("too late"));
  // @ts-expect-error: a session that ends cannot be denied
  await client.on("SessionEnd", () => deny("x"));
  // @ts-expect-error: only pieces of a stream can be held back
  await client.on("BeforeToolUse", () => hold());
  // @ts-expect-error: a failed step is recovered by a text
  await client.on("OnError", () => recover({ output: "x" }));
  // @ts-expect-error: a tool's result is no model's answer
  await client.on("BeforeInference", () => replace({ output: "x" }));
  // @ts-expect-error: there is no such verdict
  await client.on("BeforeToolUse", () => ({ verdict: "denied", reason: "x" }));
  // @ts-expect-error: a deny has a reason
  await client.on("BeforeToolUse", () => ({ verdict: "deny" }));
  // @ts-expect-error: a handler answers with an answer
  await client.on("BeforeToolUse", () => true);
}

export async function rolesAreKept(client: Client): Promise<void> {
  await client.guard("BeforeToolUse", { tool: "bash" }, () => deny("no"), { name: "g", shadow: true });
  // @ts-expect-error: a guard changes nothing
  await client.guard("BeforeToolUse", () => ({ patch: { a: 1 } }));
  // @ts-expect-error: no guard can stand where nothing is decided
  await client.guard("SessionEnd", () => undefined);
  // @ts-expect-error: the failure of a guard is always a no
  await client.guard("BeforeToolUse", () => deny("no"), { onFailure: "open" });
  await client.watch("AfterToolUse", async ({ result }) => void result.output, { detached: true });
  // @ts-expect-error: a watch decides nothing
  await client.watch("BeforeToolUse", async () => deny("no"));
  // @ts-expect-error: somebody waits for a hook
  await client.on("BeforeToolUse", () => deny("no"), { detached: true });
}

export async function eventsAreThoseOfThePoint(client: Client): Promise<void> {
  await client.on("PreToolUse", ({ tool, recent_tools }) => deny(`${tool} after ${recent_tools.length}`));
  await client.on("GenerateEnd", ({ response }) => (response.usage.input_tokens > 9 ? stop("enough") : undefined));
  // @ts-expect-error: there is no result before the call
  await client.on("BeforeToolUse", ({ result }) => deny(String(result)));
  // @ts-expect-error: the verdicts of an alias are those of its point
  await client.on("PostToolUse", () => deny("too late"));
  // @ts-expect-error: there is no such point
  await client.on("BeforeToolUze", () => undefined);
  // @ts-expect-error: there is no such step
  await client.on("AfterStep", { step: "final" }, () => undefined);
}

export async function aTrialIsAnEvent(client: Client): Promise<void> {
  await client.fire({ point: "BeforeToolUse", tool: "bash", args: { command: "ls" } });
  // @ts-expect-error: there is no such field
  await client.fire({ point: "BeforeToolUse", arg: {} });
}
