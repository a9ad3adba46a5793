// The stream over which a client's hooks are in force. It comes back by itself, registers them again and answers on.

import { setTimeout as wait } from "node:timers/promises";
import { VertebraError } from "../errors.js";
import type { ClientFrame, ServerFrame, Welcome } from "../gen/vertebra/v1/hooks_pb.js";
import type { Report } from "../problem.js";
import { LASTING_MS, pause } from "../transport/again.js";
import type { Wire } from "../transport/wire.js";
import { VERSION } from "../version.js";
import { Book, framed } from "./book.js";
import { Desk } from "./desk.js";
import { Outbox } from "./outbox.js";
import type { Held } from "./registration.js";

/** How long the server has for its first word, and for taking leave. */
const WORD_MS = 10_000;

/** The hooks of one client, and the stream that keeps them in force. */
export class Link {
  readonly #wire: Wire;
  readonly #clientId: string;
  readonly #report: Report;
  readonly #desk: Desk;
  readonly #book: Book;
  readonly #over = new AbortController();
  /** Receives frames while there is a stream. Frames not sent now are sent again on the next one. */
  #outbox: Outbox<ClientFrame> | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(wire: Wire, clientId: string, report: Report) {
    this.#wire = wire;
    this.#clientId = clientId;
    this.#report = report;
    const send = (frame: ClientFrame): void => this.#outbox?.push(frame);
    this.#book = new Book(send, report);
    this.#desk = new Desk(
      (name) => this.#book.find(name),
      (answer) => send(framed({ case: "answer", value: answer })),
      report,
    );
  }

  /** Opens the stream. The first time, a server that is not there is an error; from then on it is come back to. */
  async open(): Promise<Welcome> {
    return await new Promise<Welcome>((resolve, reject) => {
      this.#ended = this.#keep(resolve, reject);
    });
  }

  /** Puts a hook in force, in place of `before` if that is given, and waits until it is. */
  async register(held: Held, before?: Held): Promise<void> {
    if (this.#over.signal.aborted) throw new VertebraError("canceled", "the client is closed");
    await this.#book.register(held, before);
  }

  /** Takes a hook out of force, and waits until it is. One that is not there is fine. */
  async unregister(name: string): Promise<void> {
    await this.#book.unregister(name);
  }

  /**
   * Ends the stream. Hooks that are left behind wait on the server, for its grace time, for a client of the same name,
   * and refuse what they guard; others are taken back first.
   */
  async close(hooks: "leave" | "take back"): Promise<void> {
    if (this.#over.signal.aborted) return;
    if (hooks === "take back" && this.#outbox) {
      const names = this.#book.names();
      const leave = Promise.allSettled(names.map((name) => this.#book.unregister(name)));
      await Promise.race([leave, wait(WORD_MS, undefined, { ref: false, signal: this.#over.signal }).catch(() => [])]);
    }
    this.#end(new VertebraError("canceled", "the client was closed"));
    await this.#ended;
  }

  /** One stream after another, until the client is closed or coming back does not help. */
  async #keep(opened: (welcome: Welcome) => void, failed: (error: Error) => void): Promise<void> {
    let welcomed = false;
    for (let attempt = 0; ; attempt += 1) {
      const began = performance.now();
      const error = await this.#stream((welcome) => {
        welcomed = true;
        opened(welcome);
      });
      // After a stream that lasted, reconnect at once. One that did not may have been taken over by a client of this name.
      if (performance.now() - began > LASTING_MS) attempt = 0;
      if (this.#over.signal.aborted) return;
      if (!welcomed) return failed(error);
      if (!error.isTransient) return this.#giveUp(error);
      if (attempt === 0)
        this.#report({ kind: "lost", message: `the connection was lost: ${error.message}`, cause: error });
      await pause(attempt, this.#over.signal);
      if (this.#over.signal.aborted) return;
    }
  }

  #giveUp(error: VertebraError): void {
    this.#end(error);
    const message = `the server does not take this client back, so none of its hooks is in force: ${error.message}`;
    this.#report({ kind: "left", message, cause: error });
  }

  #end(error: VertebraError): void {
    this.#outbox?.end();
    this.#over.abort();
    this.#book.end(error);
    this.#desk.clear();
  }

  /** One stream, from its first frame to its end; says how it ended. */
  async #stream(welcomed: (welcome: Welcome) => void): Promise<VertebraError> {
    const outbox = new Outbox<ClientFrame>();
    const agent = `vertebra-typescript/${VERSION}`;
    outbox.push(framed({ case: "hello", value: { clientId: this.#clientId, agent } }));
    const silent = new AbortController();
    const clock = setTimeout(() => silent.abort(), WORD_MS);
    const signal = AbortSignal.any([this.#over.signal, silent.signal]);
    try {
      for await (const { frame } of this.#wire.hooks.attach(outbox, { signal })) {
        if (frame.case === "welcome") {
          clearTimeout(clock);
          this.#begin(outbox, frame.value);
          welcomed(frame.value);
        } else {
          this.#hear(frame);
        }
      }
      return new VertebraError("unavailable", "the server ended the stream");
    } catch (thrown) {
      if (silent.signal.aborted) return new VertebraError("unavailable", `the server said nothing for ${WORD_MS} ms`);
      return VertebraError.from(thrown);
    } finally {
      clearTimeout(clock);
      outbox.end();
      this.#outbox = undefined;
    }
  }

  /** The server knows who we are: every hook is registered on this stream. */
  #begin(outbox: Outbox<ClientFrame>, welcome: Welcome): void {
    this.#outbox = outbox;
    this.#desk.maxBytes = welcome.maxAnswerBytes || Number.POSITIVE_INFINITY;
    if (!welcome.resumed) this.#desk.clear();
    this.#book.tellAll();
  }

  #hear(frame: ServerFrame["frame"]): void {
    switch (frame.case) {
      case "registered":
      case "unregistered":
        this.#book.heard(frame.value.request, frame.value.error);
        break;
      case "event":
        this.#desk.take(frame.value);
        break;
      case "withdrawn":
        this.#desk.withdraw(frame.value.id);
        break;
      case "draining":
        this.#report({ kind: "draining", message: `the server goes down within ${frame.value.withinMs} ms` });
        break;
      default:
      // A frame of a later contract asks nothing of us that we know.
    }
  }
}
