// Written by `vertebra install --host opencode`; `vertebra uninstall --host opencode` removes it.
// Checks every tool call against the policy of vertebra.toml. If the check fails, the call is denied.
import { spawnSync } from "node:child_process"

const COMMAND = $command

function judge(event, more) {
  const asked = { vertebra_shim: { opencode: 1 }, event, ...more }
  const words = [...COMMAND.slice(1), "--event", event]
  const done = spawnSync(COMMAND[0], words, { input: JSON.stringify(asked), encoding: "utf8", timeout: 60000 })
  if (done.error || done.signal || done.status !== 0) {
    const why = (done.stderr ?? "").trim() || String(done.error ?? done.signal ?? `exit code ${done.status}`)
    throw new Error(why)
  }
  return done.stdout.trim() ? JSON.parse(done.stdout) : {}
}

export const Vertebra = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { tool: input.tool, call_id: input.callID, session_id: input.sessionID, cwd: directory }
    const answer = judge("tool.execute.before", { ...call, args: output.args ?? {} })
    if (answer.args) {
      // The tool is called with this same object, so change it in place.
      for (const key of Object.keys(output.args)) delete output.args[key]
      Object.assign(output.args, answer.args)
    }
  },
  "tool.execute.after": async (input, output) => {
    const call = { tool: input.tool, call_id: input.callID, session_id: input.sessionID, cwd: directory }
    // Tools of MCP servers return a list of parts.
    const parts = Array.isArray(output.content) ? output.content : undefined
    const said = output.output ?? parts?.map((part) => part.text ?? JSON.stringify(part)).join("\n")
    const answer = judge("tool.execute.after", { ...call, args: input.args ?? {}, output: said })
    const text = (more) => ({ type: "text", text: more })
    if (answer.output !== undefined) {
      if (parts) output.content = [text(answer.output)]
      else output.output = answer.output
    }
    if (answer.append) {
      if (parts) output.content = [...output.content, text(answer.append)]
      else output.output = `${output.output}\n\n${answer.append}`
    }
  },
})
