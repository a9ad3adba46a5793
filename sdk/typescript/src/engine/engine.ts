// Hooks and handlers by name: put in force on a server, or tried here.

import type { Client } from "../client.js";
import { warn } from "../problem.js";
import { Hook, type HookEventType, type HookFields } from "./hook.js";
import { EngineConnection, type EngineOptions } from "./in_force.js";
import { dispatch, type HookResult } from "./local/dispatch.js";
import type { FiredEvent, HookEvent } from "./payload.js";
import type { HookResponse } from "./response.js";

/** What answers for a hook, at once or later. */
export interface HookHandler<E extends HookEventType = HookEventType> {
  handle(event: HookEvent<E>): HookResponse | Promise<HookResponse>;
}

/**
 * Hooks and their handlers.
 *
 * ```ts
 * const engine = new HookEngine();
 * engine.register(Hook.new("no-force", HookEventType.PreToolUse).with_matcher(HookMatcher.command("--force")));
 * engine.register_handler("no-force", { handle: () => HookResponse.block("force is for people") });
 * await engine.connect(client);
 * ```
 */
export class HookEngine {
  readonly #hooks = new Map<string, Hook>();
  readonly #handlers = new Map<string, HookHandler>();
  readonly #connections = new Set<EngineConnection>();

  /** Registers a hook, in place of one with the same identifier. It has no effect before it has a handler. */
  register(hook: Hook | HookFields): void {
    const registered = hook instanceof Hook ? hook : Hook.from(hook);
    this.#hooks.set(registered.id, registered);
    this.#tell(registered.id);
  }

  /** Takes a hook away; its handler stays. */
  unregister(hook_id: string): Hook | null {
    const hook = this.get_hook(hook_id);
    this.#hooks.delete(hook_id);
    this.#tell(hook_id);
    return hook;
  }

  /** Registers what answers for a hook, in place of what did. Name the event type to have it checked. */
  register_handler<E extends HookEventType = HookEventType>(hook_id: string, handler: HookHandler<E>): void {
    if (typeof handler?.handle !== "function") {
      throw new TypeError(`the handler of \`${hook_id}\` has a function \`handle\``);
    }
    this.#handlers.set(hook_id, handler as unknown as HookHandler);
    this.#tell(hook_id);
  }

  /** Takes a handler away. Its hook stays, without effect. */
  unregister_handler(hook_id: string): void {
    this.#handlers.delete(hook_id);
    this.#tell(hook_id);
  }

  /**
   * Puts an event to the hooks, here: for tests.
   *
   * Order, priorities, time limits and retries are the server's. So are matchers, but for one thing: the server also looks
   * at each simple command inside a command line, and here only the line is looked at.
   */
  fire(event: FiredEvent): Promise<HookResult> {
    const handled = this.all_hooks().map((hook) => {
      const handler = this.#handlers.get(hook.id);
      return { hook, handle: handler && ((event: FiredEvent) => handler.handle(event as HookEvent)) };
    });
    return dispatch(handled, event, (hook, cause) => {
      const message = `the hook \`${hook}\` failed behind ${event.event_type}: ${String(cause)}`;
      warn({ kind: "failed", hook, message, cause });
    });
  }

  /** All hooks, in the order they were registered; those without a handler too. */
  all_hooks(): Hook[] {
    return [...this.#hooks.values()];
  }

  /** The hook with this identifier. */
  get_hook(id: string): Hook | null {
    return this.#hooks.get(id) ?? null;
  }

  /** What answers for a hook, if anything does. */
  get_handler(hook_id: string): HookHandler | null {
    return this.#handlers.get(hook_id) ?? null;
  }

  /** How many hooks there are. */
  hook_count(): number {
    return this.#hooks.size;
  }

  /**
   * Puts the hooks in force on a server, and waits until they are. What is registered and taken away later follows: see
   * {@link EngineConnection.settled}.
   */
  async connect(client: Client, options: EngineOptions = {}): Promise<EngineConnection> {
    const connection = new EngineConnection(this, client, options, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    try {
      for (const id of new Set([...this.#hooks.keys(), ...this.#handlers.keys()])) connection.follow(id);
      await connection.settled();
    } catch (error) {
      await connection.disconnect();
      throw error;
    }
    return connection;
  }

  #tell(id: string): void {
    for (const connection of this.#connections) connection.follow(id);
  }
}
