// The hooks of an engine, in force on a server.

import type { Client } from "../client.js";
import type { Match } from "../hooks/match.js";
import { type Answering, type Held, type HookScope, hold } from "../hooks/registration.js";
import { written } from "../points/answer.js";
import type { HookEngine } from "./engine.js";
import type { Hook, MatcherFields } from "./hook.js";
import type { HookEvent } from "./payload.js";
import { checked } from "./response.js";
import { POINT_OF } from "./takes.js";
import { answerOf, type Own, told } from "./translate.js";

/** How an engine's hooks are put in force. */
export interface EngineOptions {
  /** Which sessions they govern: those that the client's owner opens, unless told otherwise. */
  readonly scope?: HookScope;
}

/** The hooks of an engine, in force. */
export class EngineConnection implements AsyncDisposable {
  readonly #engine: HookEngine;
  readonly #client: Client;
  readonly #options: EngineOptions;
  readonly #left: () => void;
  readonly #inForce = new Map<string, { readonly hook: Hook; readonly held: Held }>();
  readonly #reported = new Set<string>();
  /** What was asked of the server, one thing after another. */
  #work: Promise<void> = Promise.resolve();
  #refused: unknown;

  /** @internal */
  constructor(engine: HookEngine, client: Client, options: EngineOptions, left: () => void) {
    this.#engine = engine;
    this.#client = client;
    this.#options = options;
    this.#left = left;
  }

  /**
   * Waits until the server has what the engine has. What it refused since the last time is an error; a hook without a
   * handler is reported, once.
   */
  async settled(): Promise<void> {
    await this.#work;
    this.#reportUnhandled();
    const refused = this.#refused;
    this.#refused = undefined;
    if (refused !== undefined) throw refused;
  }

  /** Takes the hooks out of force, and waits until they are. The engine keeps them. */
  async disconnect(): Promise<void> {
    this.#left();
    await this.#work;
    await Promise.all([...this.#inForce.keys()].map((id) => this.#client.link.unregister(id)));
    this.#inForce.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disconnect();
  }

  /** @internal The engine's hook of this name, or its handler, is another. */
  follow(id: string): void {
    this.#work = this.#work.then(() => this.#bring(id));
  }

  #reportUnhandled(): void {
    for (const { id } of this.#engine.all_hooks()) {
      if (this.#engine.get_handler(id) || this.#reported.has(id)) continue;
      this.#reported.add(id);
      this.#client.report({
        kind: "unhandled",
        hook: id,
        message: `the hook \`${id}\` has no handler, and so no effect`,
      });
    }
  }

  /** Makes it on the server as it is in the engine. */
  async #bring(id: string): Promise<void> {
    const wanted = this.#engine.get_handler(id) ? this.#engine.get_hook(id) : null;
    const there = this.#inForce.get(id);
    if (wanted === (there?.hook ?? null)) return;
    this.#inForce.delete(id);
    try {
      if (wanted) {
        const held = this.#held(wanted);
        await this.#client.link.register(held, there?.held);
        this.#inForce.set(id, { hook: wanted, held });
      } else {
        await this.#client.link.unregister(id);
      }
    } catch (cause) {
      this.#refused ??= cause;
      const message = `the hook \`${id}\` is not in force: ${cause instanceof Error ? cause.message : String(cause)}`;
      this.#client.report({ kind: "refused", hook: id, message, cause });
    }
  }

  #held(hook: Hook): Held {
    const { id, event_type, matcher, config } = hook;
    const role = config.async_execution ? "watch" : "hook";
    const options = {
      priority: config.priority,
      timeout: config.timeout_ms,
      ...(config.async_execution ? { detached: true } : { maxRetries: config.max_retries }),
      ...(this.#options.scope === undefined ? {} : { scope: this.#options.scope }),
    };
    return hold(id, POINT_OF[event_type], role, matcher && matchOf(matcher), options, this.#answering(hook));
  }

  /** What answers for a hook: the handler that it has when it is asked. */
  #answering({ id, event_type, config }: Hook): Answering {
    return async (event) => {
      const handler = this.#engine.get_handler(id);
      if (!handler) return "";
      const own = event as Own;
      const answer = await handler.handle(told(own) as HookEvent);
      if (config.async_execution) return "";
      return written(POINT_OF[event_type], "hook", answerOf(own, checked(answer), id));
    };
  }
}

function matchOf({ tool, path_pattern, command_pattern, session_id }: MatcherFields): Match {
  return {
    ...(tool === undefined ? {} : { tool }),
    ...(path_pattern === undefined ? {} : { path: path_pattern }),
    ...(command_pattern === undefined ? {} : { command: command_pattern }),
    ...(session_id === undefined ? {} : { session: session_id }),
  };
}
