import assert from "node:assert/strict";
import { test } from "node:test";
import { RunFailed, type RunReport, type SessionEvent, VertebraError } from "../../src/index.js";
import { Run } from "../../src/sessions/run.js";

const at = (number: number) => ({ number, run_id: "run-1", agent: "agent", depth: 0 });
const report = (fields: Partial<RunReport> = {}): RunReport => ({
  session_id: "s",
  run_id: "run-1",
  status: "completed",
  stop: { reason: "finished", message: "done", source: "model", hard: false },
  text: "hello",
  steps: 1,
  tool_calls: 0,
  usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_micros: 0 },
  duration_ms: 1,
  ...fields,
});

async function* stream(count: number, end?: RunReport): AsyncGenerator<SessionEvent> {
  for (let step = 1; step <= count; step += 1) yield { ...at(step), event: "step", step };
  if (end) yield { ...at(count + 1), event: "ended", report: end };
}

async function read(run: Run): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

test("a run tells all of it to whoever reads, and how it ended to whoever waits", async () => {
  const run = new Run(stream(2, report()));
  assert.equal(await run.text(), "hello");
  assert.equal((await run.result).status, "completed");
  assert.deepEqual(
    (await read(run)).map(({ event }) => event),
    ["step", "step", "ended"],
  );
  assert.equal((await read(run)).length, 3);
});

test("the end of a child is not the end of the run", async () => {
  async function* child(): AsyncGenerator<SessionEvent> {
    yield { ...at(1), depth: 1, run_id: "run-2", event: "ended", report: report({ text: "the child's" }) };
    yield { ...at(2), event: "ended", report: report() };
  }
  assert.equal(await new Run(child()).text(), "hello");
});

test("who reads too slowly is told how much was missed", async () => {
  const run = new Run(stream(5000, report()));
  await run.result;
  const [missed, first, ...rest] = await read(run);
  assert.deepEqual(missed, { ...at(906), event: "missed", events: 905 });
  assert.equal(first?.number, 906);
  assert.equal(rest.length, 4095);
});

test("a run that failed is an error only to whoever wants its text", async () => {
  const stop = { reason: "error", message: "the model is gone", source: "model", hard: true } as const;
  const run = new Run(stream(0, report({ status: "failed", stop })));
  assert.equal((await run.result).status, "failed");
  await assert.rejects(run.text(), new RunFailed(report({ status: "failed", stop })));
});

test("a run whose end nobody told is an error to everybody", async () => {
  const run = new Run(stream(1));
  await assert.rejects(run.result, new VertebraError("data_loss", "the server did not say how the run ended"));
  await assert.rejects(read(run), { code: "data_loss" });
});
