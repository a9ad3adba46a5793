const PATTERNS = $patterns

const event = JSON.parse(require("fs").readFileSync(0, "utf8"))
const command = event.tool_input?.command ?? ""
PATTERNS.forEach((pattern, number) => {
  if (new RegExp(pattern).test(command)) {
    console.error(`rule ${number} says no`)
    process.exit(2)
  }
})
