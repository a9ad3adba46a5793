// Events that came in, and the answers to them. Each is asked of its hook once, however often it is put to us.

import { create } from "@bufbuild/protobuf";
import { type Answer, AnswerSchema, type Event } from "../gen/vertebra/v1/hooks_pb.js";
import type { Report } from "../problem.js";
import type { Held } from "./registration.js";

/** One event, and what is known of its answer. */
interface Exchange {
  readonly event: Event;
  readonly over: AbortController;
  /** Rings when the time is up. */
  clock?: NodeJS.Timeout;
  answer?: Answer;
}

/** How many answers are kept, in case the server has not got them. */
const KEPT = 1024;

/** Where events are answered. */
export class Desk {
  readonly #exchanges = new Map<bigint, Exchange>();
  readonly #find: (hook: string) => Held | undefined;
  readonly #send: (answer: Answer) => void;
  readonly #report: Report;
  /** How large an answer may be; the server says so. */
  maxBytes = Number.POSITIVE_INFINITY;

  constructor(find: (hook: string) => Held | undefined, send: (answer: Answer) => void, report: Report) {
    this.#find = find;
    this.#send = send;
    this.#report = report;
  }

  /**
   * Takes an event. One that is put again after the connection was lost gets the answer that it has, or the one that is
   * being worked on; its hook is not asked twice.
   */
  take(event: Event): void {
    const known = this.#exchanges.get(event.id);
    if (known && known.event.hook === event.hook && known.event.json === event.json) {
      if (known.answer) this.#send(known.answer);
      return;
    }
    this.withdraw(event.id);
    const exchange: Exchange = { event, over: new AbortController() };
    this.#exchanges.set(event.id, exchange);
    void this.#work(exchange);
  }

  /** The server no longer waits for this answer. */
  withdraw(id: bigint): void {
    this.#drop(id, new Error("the answer is not waited for any more"));
  }

  /** The server waits for no answer: it does not know this client from before. */
  clear(): void {
    for (const id of [...this.#exchanges.keys()]) this.withdraw(id);
  }

  #drop(id: bigint, reason: Error): void {
    const exchange = this.#exchanges.get(id);
    clearTimeout(exchange?.clock);
    exchange?.over.abort(reason);
    this.#exchanges.delete(id);
  }

  async #work(exchange: Exchange): Promise<void> {
    const { id, deadlineMs } = exchange.event;
    const late = (): void => this.#drop(id, new DOMException(`no answer within ${deadlineMs} ms`, "TimeoutError"));
    if (deadlineMs > 0) exchange.clock = setTimeout(late, deadlineMs);
    const answer = await this.#ask(exchange);
    clearTimeout(exchange.clock);
    // A late or withdrawn event needs no answer.
    if (this.#exchanges.get(id) !== exchange) return;
    exchange.answer = answer;
    this.#forget();
    this.#send(answer);
  }

  async #ask({ event, over }: Exchange): Promise<Answer> {
    const { id, hook } = event;
    try {
      const held = this.#find(hook);
      if (!held) throw new Error(`this client has no hook \`${hook}\``);
      const call = { signal: over.signal, deadlineMs: event.deadlineMs };
      const json = await held.answer(JSON.parse(event.json), call);
      const bytes = Buffer.byteLength(json);
      if (bytes > this.maxBytes) throw new Error(`the answer has ${bytes} bytes; the server takes ${this.maxBytes}`);
      return create(AnswerSchema, { id, answer: { case: "json", value: json } });
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      if (!over.signal.aborted) {
        this.#report({
          kind: "failed",
          hook,
          message: `the hook \`${hook}\` failed at ${event.point}: ${message}`,
          cause,
        });
      }
      return create(AnswerSchema, { id, answer: { case: "failed", value: message } });
    }
  }

  /** Forgets the oldest answers beyond those that are kept. */
  #forget(): void {
    let beyond = this.#exchanges.size - KEPT;
    for (const [id, { answer }] of this.#exchanges) {
      if (beyond <= 0) return;
      if (answer) {
        this.#exchanges.delete(id);
        beyond -= 1;
      }
    }
  }
}
