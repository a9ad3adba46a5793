// Whether a matcher holds, as far as it can be said here. The server also takes the command line apart: each simple command
// inside lists, pipelines, substitutions and `sh -c` is matched there as well, and here only the line is.

import type { MatcherFields } from "../hook.js";
import { ownTool, shownTool } from "../names.js";
import type { FiredEvent } from "../payload.js";
import { nameGlob, pathGlob } from "./glob.js";
import { pathsIn } from "./paths.js";

/** Whether the matcher holds for the event. A pattern that is none is an error. */
export function holds(matcher: MatcherFields | undefined, event: FiredEvent): boolean {
  if (!matcher) return true;
  const { tool, path_pattern, command_pattern, session_id } = matcher;
  const { payload } = event;
  if (session_id !== undefined && payload.session_id !== session_id) return false;
  if (tool === undefined && path_pattern === undefined && command_pattern === undefined) return true;
  if (event.event_type !== "pre_tool_use" && event.event_type !== "post_tool_use") return false;
  const call = event.payload;
  const folder = "working_directory" in call ? call.working_directory : "/";
  return (
    (tool === undefined || isTool(tool, call.tool)) &&
    (path_pattern === undefined || pathsIn(call.args, folder).some((path) => pathGlob(path_pattern).test(path))) &&
    (command_pattern === undefined || commandsIn(call.args).some((line) => pattern(command_pattern).test(line)))
  );
}

/** Whether a pattern names a tool, by the runtime's name or by the one that people know. */
function isTool(given: string, tool: string): boolean {
  const names = [tool, ownTool(tool), shownTool(tool)];
  const [, inner] = /^\/(.*)\/$/s.exec(given) ?? [];
  if (inner !== undefined) return names.some((name) => pattern(`(?i)^(?:${inner})$`).test(name));
  const globs = given.split("|").map((name) => nameGlob(name.trim()));
  return names.some((name) => globs.some((glob) => glob.test(name)));
}

function commandsIn(args: Record<string, unknown>): string[] {
  return ["command", "cmd"].flatMap((name) => {
    const value = args[name];
    if (typeof value === "string") return [value];
    return Array.isArray(value) ? [value.filter((word) => typeof word === "string").join(" ")] : [];
  });
}

/** A regular expression in the runtime's syntax, with flags in front, as in `(?i)rm`. */
function pattern(source: string): RegExp {
  const [, flags = "", rest = source] = /^\(\?([ims]+)\)(.*)$/s.exec(source) ?? [];
  return new RegExp(rest, flags);
}
