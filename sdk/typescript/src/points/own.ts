// Points that the server's program or its `vertebra.toml` declares.

import type { Json } from "./data.js";
import type { Head } from "./events.js";
import type { VerdictWord } from "./table.js";

/** What is declared of a point. */
export interface Declaration {
  /** Its powers: what hooks may answer besides `proceed` and `skip`. */
  readonly verdicts?: readonly VerdictWord[];
  /** The fields that hooks may change. */
  readonly changes?: readonly string[];
}

/** The fields of an event of which nothing more is known. */
export type Fields = Readonly<Record<string, Json>>;

/**
 * A point that the server knows and this package does not: made by `ownPoint`. `E` are the fields of its events.
 *
 * The server has the last word: a hook that does not fit the declaration is an error there.
 */
export class OwnPoint<E extends object = Fields> {
  /** Its name. */
  readonly name: string;
  /** What hooks may answer. */
  readonly verdicts: readonly VerdictWord[];
  /** The fields that hooks may change. */
  readonly change: readonly string[];
  /** The type of its events. It exists for the compiler only. */
  declare readonly event?: E;

  /** @internal */
  constructor(name: string, { verdicts = [], changes = [] }: Declaration) {
    this.name = name;
    this.verdicts = verdicts;
    this.change = changes;
  }

  /** Whether a guard is possible. */
  get guard(): boolean {
    return this.verdicts.length > 0;
  }

  toString(): string {
    return this.name;
  }
}

/**
 * Describes a point that the server declares, for `client.guard` and its like.
 *
 * ```ts
 * const beforeDeploy = ownPoint<{ service: string }>("BeforeDeploy", { verdicts: ["deny"] });
 * await client.guard(beforeDeploy, { attributes: { service: "bank" } }, () => deny("not today"));
 * ```
 */
export function ownPoint<E extends object = Fields>(name: string, declared: Declaration = {}): OwnPoint<E> {
  return new OwnPoint<E>(name, declared);
}

/** An event of a custom point: its fields, and what every event has. */
export type OwnEvent<E extends object> = Head & Readonly<E> & { readonly point: string };
