// Written by `vertebra install --host amp`; `vertebra uninstall --host amp` removes it.
// Checks every tool call against the policy of vertebra.toml. If the check fails, the call is denied.
import { spawnSync } from "node:child_process"

const COMMAND: string[] = $command

function judge(event: string, more: object): string | undefined {
  const asked = { vertebra_shim: { amp: 1 }, event, cwd: process.cwd(), ...more }
  const words = [...COMMAND.slice(1), "--event", event]
  const done = spawnSync(COMMAND[0], words, { input: JSON.stringify(asked), encoding: "utf8", timeout: 60000 })
  if (!done.error && !done.signal && done.status === 0) return undefined
  return (done.stderr ?? "").trim() || String(done.error ?? done.signal ?? `exit code ${done.status}`)
}

export default function vertebra(amp: any) {
  amp.on("tool.call", async (event: any) => {
    const refused = judge("tool.call", { tool: event.tool ?? event.name, call_id: event.toolUseID, args: event.input ?? {} })
    return refused === undefined ? { action: "allow" } : { action: "reject-and-continue", message: refused }
  })
  amp.on("tool.result", async (event: any) => {
    judge("tool.result", { tool: event.tool ?? event.name, call_id: event.toolUseID, args: event.input ?? {}, output: event.output })
  })
}
