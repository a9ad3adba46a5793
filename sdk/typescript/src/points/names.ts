// Other names of points.

import { ALIASES } from "./rows.js";
import { POINTS, type PointName } from "./table.js";

export { ALIASES };

/** A point by its name, or by the name that other agents have for it. */
export type AnyPointName = PointName | keyof typeof ALIASES;

/** The point that a name refers to. */
export type PointOf<N extends AnyPointName> = N extends PointName
  ? N
  : N extends keyof typeof ALIASES
    ? (typeof ALIASES)[N]
    : never;

const plain = (name: string): string => name.replaceAll(/[_\- ]/g, "").toLowerCase();

const KNOWN: ReadonlyMap<string, PointName> = new Map([
  ...(Object.keys(POINTS) as PointName[]).map((point) => [plain(point), point] as const),
  ...Object.entries(ALIASES).map(([alias, point]) => [plain(alias), point] as const),
]);

/** The point of this name, written as `BeforeToolUse`, `before_tool_use`, `PreToolUse`, …; `undefined` if there is none. */
export function pointNamed(name: string): PointName | undefined {
  return KNOWN.get(plain(name));
}
