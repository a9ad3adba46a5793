// Matchers: when a hook runs. The server evaluates them; this file converts them to the wire form.

import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Matcher,
  MatcherSchema,
  type Patterns,
  PatternsSchema,
  type Test,
  TestSchema,
} from "../gen/vertebra/v1/hooks_pb.js";
import type { Json, StepKind } from "../points/data.js";

type OneOrMore = string | readonly string[];

/** What must hold for a value: it is there, it is this, or it is text that matches this regular expression. */
export type MatchTest = { readonly exists: true } | { readonly equals: Json } | { readonly matches: string };

/** Everything that is given must hold. Of several patterns in one field one must. */
export interface Match {
  /** The tool's name or an alias: `bash`, `edit|write`, `read_*`, `/regex/`. */
  readonly tool?: OneOrMore;
  /** A glob over every path among the arguments: `*.rs`, `src/**`. */
  readonly path?: OneOrMore;
  /** A regular expression over the command line and over each simple command inside it. */
  readonly command?: OneOrMore;
  readonly session?: OneOrMore;
  readonly agent?: OneOrMore;
  readonly step?: StepKind;
  /** By key. */
  readonly metadata?: Readonly<Record<string, MatchTest>>;
  /** By JSON pointer: `/timeout_ms`. */
  readonly args?: Readonly<Record<string, MatchTest>>;
  /** Attributes of a custom point: `{ service: "api-*" }`. */
  readonly attributes?: Readonly<Record<string, OneOrMore>>;
  readonly all?: readonly Match[];
  readonly any?: readonly Match[];
  readonly not?: Match;
}

const list = (given: OneOrMore | undefined): string[] =>
  given === undefined ? [] : typeof given === "string" ? [given] : [...given];

const KEYS: Readonly<Record<keyof Match, true>> = {
  tool: true,
  path: true,
  command: true,
  session: true,
  agent: true,
  step: true,
  metadata: true,
  args: true,
  attributes: true,
  all: true,
  any: true,
  not: true,
};

/** Converts a matcher to the wire form. An unknown key is an error: without it the hook would always run. */
export function wireMatcher(match: Match): Matcher {
  const unknown = Object.keys(match).find((key) => !Object.hasOwn(KEYS, key));
  if (unknown !== undefined) {
    throw new TypeError(`a matcher has no \`${unknown}\`: it has ${Object.keys(KEYS).join(", ")}`);
  }
  return create(MatcherSchema, {
    tool: list(match.tool),
    path: list(match.path),
    command: list(match.command),
    session: list(match.session),
    agent: list(match.agent),
    step: match.step ?? "",
    metadata: tests(match.metadata),
    args: tests(match.args),
    attributes: patterns(match.attributes),
    all: (match.all ?? []).map(wireMatcher),
    any: (match.any ?? []).map(wireMatcher),
    ...(match.not === undefined ? {} : { not: wireMatcher(match.not) }),
  });
}

function patterns(given: Readonly<Record<string, OneOrMore>> | undefined): Record<string, Patterns> {
  const wire = (any: OneOrMore): Patterns => create(PatternsSchema, { any: list(any) });
  return Object.fromEntries(Object.entries(given ?? {}).map(([key, any]) => [key, wire(any)]));
}

function tests(given: Readonly<Record<string, MatchTest>> | undefined): Record<string, Test> {
  return Object.fromEntries(Object.entries(given ?? {}).map(([place, is]) => [place, test(is)]));
}

function test(is: MatchTest): Test {
  if ("exists" in is) return create(TestSchema, { test: { case: "exists", value: is.exists } });
  if ("matches" in is) return create(TestSchema, { test: { case: "matches", value: is.matches } });
  if (!("equals" in is)) throw new TypeError("a test is one of `exists`, `equals` and `matches`");
  return create(TestSchema, { test: { case: "equals", value: fromJson(ValueSchema, is.equals as never) } });
}
