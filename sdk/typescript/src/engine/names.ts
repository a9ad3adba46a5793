// The runtime's tools by the names that people know, and back: `bash` is `Bash`, and its `timeout_ms` is `timeout`.

import type { Args } from "../points/data.js";
import { absolute } from "./local/paths.js";

interface Row {
  readonly ours: string;
  readonly theirs: string;
  /** Arguments that are called differently: ours, theirs. */
  readonly args?: readonly (readonly [string, string])[];
}

const FILE = [["path", "file_path"]] as const;

const TOOLS: readonly Row[] = [
  { ours: "bash", theirs: "Bash", args: [["timeout_ms", "timeout"]] },
  { ours: "read_file", theirs: "Read", args: FILE },
  { ours: "write_file", theirs: "Write", args: FILE },
  { ours: "edit_file", theirs: "Edit", args: FILE },
  { ours: "list_dir", theirs: "LS" },
  { ours: "search_files", theirs: "Glob" },
  { ours: "grep", theirs: "Grep" },
  { ours: "spawn_subagent", theirs: "Task" },
  { ours: "load_skill", theirs: "Skill" },
];

const known = (tool: string): Row | undefined => TOOLS.find(({ ours }) => ours === tool);

/** The name that people know. A tool that is not ours keeps its name. */
export const shownTool = (tool: string): string => known(tool)?.theirs ?? tool;

/** The runtime's name of a tool, from either. */
export const ownTool = (tool: string): string => TOOLS.find(({ theirs }) => theirs === tool)?.ours ?? tool;

/** A call's arguments by the names that people know. A file's path is the full one. */
export function shownArgs(tool: string, args: Args, folder: string): Args {
  const names = new Map(known(tool)?.args);
  const shown = Object.fromEntries(Object.entries(args).map(([name, value]) => [names.get(name) ?? name, value]));
  const path: unknown = shown.file_path;
  return typeof path === "string" && names.has("path") ? { ...shown, file_path: absolute(folder, path) } : shown;
}

/** The same arguments as the tool takes them. What is as it was shown is as it was. */
export function ownArgs(tool: string, args: Args, before: Args, folder: string): Args {
  const names = new Map(known(tool)?.args?.map(([ours, theirs]) => [theirs, ours]));
  const shown = shownArgs(tool, before, folder);
  return Object.fromEntries(
    Object.entries(args).map(([theirs, value]) => {
      const ours = names.get(theirs) ?? theirs;
      return [ours, value === shown[theirs] && ours in before ? before[ours] : value];
    }),
  );
}
