// Hooks of an engine: where they stand, what they match, how they are run.

/** Where a hook stands. */
export const HookEventType = {
  /** Before a tool is used. */
  PreToolUse: "pre_tool_use",
  /** After a tool was used, or was blocked. */
  PostToolUse: "post_tool_use",
  /** Before a model is asked. */
  GenerateStart: "generate_start",
  /** After a model has answered. */
  GenerateEnd: "generate_end",
  /** When a session is opened. */
  SessionStart: "session_start",
  /** When a session is closed. */
  SessionEnd: "session_end",
} as const;

/** Where a hook stands. */
export type HookEventType = (typeof HookEventType)[keyof typeof HookEventType];

const EVENT_TYPES: ReadonlyMap<string, HookEventType> = new Map(
  Object.entries(HookEventType).flatMap(([name, type]) => [
    [name, type],
    [type, type],
  ]),
);

/** The event type of this name, written as `pre_tool_use` or as `PreToolUse`. */
export function eventTypeNamed(name: string): HookEventType {
  const type = EVENT_TYPES.get(name);
  if (type) return type;
  throw new TypeError(`unknown event type \`${name}\`: known are ${Object.values(HookEventType).join(", ")}`);
}

/** What has to hold. All that is given must; nothing given always holds. */
export interface MatcherFields {
  /** The tool's name, without regard to case. */
  readonly tool?: string;
  /** A glob over the paths among the arguments: `*` stays in a folder, `**` crosses folders, `*.ext` is at any depth. */
  readonly path_pattern?: string;
  /** A regular expression over the command. */
  readonly command_pattern?: string;
  /** The session. */
  readonly session_id?: string;
}

/** Says when a hook runs. Each `with_*` gives a new matcher that asks for more. */
export class HookMatcher implements MatcherFields {
  declare readonly tool?: string;
  declare readonly path_pattern?: string;
  declare readonly command_pattern?: string;
  declare readonly session_id?: string;

  private constructor(fields: MatcherFields) {
    Object.assign(this, fields);
  }

  /** Matches everything. */
  static new(): HookMatcher {
    return new HookMatcher({});
  }

  /** Matches a tool. */
  static tool(name: string): HookMatcher {
    return new HookMatcher({ tool: name });
  }

  /** Matches paths by a glob. */
  static path(pattern: string): HookMatcher {
    return new HookMatcher({ path_pattern: pattern });
  }

  /** Matches commands by a regular expression. */
  static command(pattern: string): HookMatcher {
    return new HookMatcher({ command_pattern: pattern });
  }

  /** Matches a session. */
  static session(id: string): HookMatcher {
    return new HookMatcher({ session_id: id });
  }

  /** A matcher from its fields. One that means nothing is an error. */
  static from(fields: MatcherFields): HookMatcher {
    const known = ["tool", "path_pattern", "command_pattern", "session_id"];
    for (const [key, value] of Object.entries(fields)) {
      if (!known.includes(key)) throw new TypeError(`a matcher has no \`${key}\`: it has ${known.join(", ")}`);
      if (typeof value !== "string") throw new TypeError(`\`${key}\` of a matcher is a text`);
    }
    return new HookMatcher(fields);
  }

  /** … and this tool. */
  with_tool(name: string): HookMatcher {
    return new HookMatcher({ ...this, tool: name });
  }

  /** … and such a path. */
  with_path(pattern: string): HookMatcher {
    return new HookMatcher({ ...this, path_pattern: pattern });
  }

  /** … and such a command. */
  with_command(pattern: string): HookMatcher {
    return new HookMatcher({ ...this, command_pattern: pattern });
  }

  /** … and this session. */
  with_session(id: string): HookMatcher {
    return new HookMatcher({ ...this, session_id: id });
  }
}

/** How a hook is run. */
export interface HookConfig {
  /** Lower runs first. */
  readonly priority: number;
  /** How long its handler may take. */
  readonly timeout_ms: number;
  /** The server does not wait for the handler and ignores its answer. */
  readonly async_execution: boolean;
  /** How often a handler that failed is asked again. */
  readonly max_retries: number;
}

const DEFAULTS: HookConfig = { priority: 100, timeout_ms: 30_000, async_execution: false, max_retries: 0 };

function configOf(given: Partial<HookConfig>): HookConfig {
  const unknown = Object.keys(given).find((key) => !(key in DEFAULTS));
  if (unknown !== undefined) {
    throw new TypeError(`a hook's config has no \`${unknown}\`: it has ${Object.keys(DEFAULTS).join(", ")}`);
  }
  const config = { ...DEFAULTS, ...given };
  if (!Number.isInteger(config.priority)) throw new TypeError("`priority` is a whole number");
  for (const [key, least] of [
    ["timeout_ms", 1],
    ["max_retries", 0],
  ] as const) {
    if (!Number.isInteger(config[key]) || config[key] < least) {
      throw new TypeError(`\`${key}\` is a whole number from ${least}`);
    }
  }
  return config;
}

/** A hook written as a plain object. What is left out has its usual value. */
export interface HookFields {
  readonly id: string;
  readonly event_type: HookEventType | keyof typeof HookEventType;
  readonly matcher?: MatcherFields;
  readonly config?: Partial<HookConfig>;
}

/** A hook: where it stands, what it matches, how it is run. What it does is its handler's. */
export class Hook {
  readonly id: string;
  readonly event_type: HookEventType;
  readonly matcher: HookMatcher | undefined;
  readonly config: HookConfig;

  private constructor(id: string, type: HookEventType, matcher: HookMatcher | undefined, config: HookConfig) {
    if (typeof id !== "string" || id === "") throw new TypeError("a hook has an `id`: a text that is not empty");
    this.id = id;
    this.event_type = type;
    this.matcher = matcher;
    this.config = config;
  }

  /** A hook that matches every event of its type. */
  static new(id: string, event_type: HookEventType): Hook {
    return new Hook(id, eventTypeNamed(event_type), undefined, DEFAULTS);
  }

  /** A hook from a plain object. */
  static from(fields: HookFields): Hook {
    if (fields instanceof Hook) return fields;
    const matcher = fields.matcher && HookMatcher.from(fields.matcher);
    return new Hook(fields.id, eventTypeNamed(fields.event_type), matcher, configOf(fields.config ?? {}));
  }

  /** The same hook, for these events alone. */
  with_matcher(matcher: MatcherFields): Hook {
    return new Hook(this.id, this.event_type, HookMatcher.from(matcher), this.config);
  }

  /** The same hook, run like this. What is left out stays. */
  with_config(config: Partial<HookConfig>): Hook {
    return new Hook(this.id, this.event_type, this.matcher, configOf({ ...this.config, ...config }));
  }
}
