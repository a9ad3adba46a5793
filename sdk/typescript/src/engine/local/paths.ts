// Paths among arguments, in the form that matchers compare: the runtime's rules.

import type { Args } from "../../points/data.js";

/** Names under which tools commonly take paths. */
const NAMES = new Set(["path", "paths", "file", "files", "filename", "dir", "directory", "folder", "cwd", "root"]);

/** Endings of such names, as in `file_path`, `target_dir`. */
const ENDINGS = ["path", "paths", "file", "files", "dir", "directory", "folder"];

/** Every path among the arguments: the full one, and the one under the working directory if it is there. */
export function pathsIn(args: Args, folder: string): string[] {
  const found: string[] = [];
  collect(args, false, found);
  return found.flatMap((path) => {
    const whole = absolute(folder, path);
    const root = folder.replace(/\/+$/, "");
    return whole.startsWith(`${root}/`) ? [whole.slice(root.length + 1), whole] : [whole];
  });
}

function collect(value: unknown, byName: boolean, found: string[]): void {
  if (typeof value === "string") {
    if (byName || /^(\/|\.\/|\.\.\/|~\/)\S*$/.test(value)) found.push(value);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, byName, found);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) collect(inner, isPathName(name), found);
  }
}

function isPathName(name: string): boolean {
  const lower = name.toLowerCase();
  return NAMES.has(lower) || ENDINGS.some((ending) => lower.endsWith(ending));
}

/** The path without `.`, `..`, doubled or trailing slashes, against the folder if it is relative. */
export function absolute(folder: string, path: string): string {
  const plain = path.replace(/^file:\/\//, "");
  const parts: string[] = [];
  for (const part of `${plain.startsWith("/") ? "" : folder}/${plain}`.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}
