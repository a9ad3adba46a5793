// The hooks of a client, and what the server has said of each.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { VertebraError } from "../errors.js";
import { type ClientFrame, ClientFrameSchema } from "../gen/vertebra/v1/hooks_pb.js";
import type { Report } from "../problem.js";
import type { Held } from "./registration.js";

/** A frame of a client. */
export type Frame = NonNullable<MessageInitShape<typeof ClientFrameSchema>["frame"]>;

/** A frame, ready to be sent. */
export const framed = (frame: Frame): ClientFrame => create(ClientFrameSchema, { frame });

/** One hook: whether it is to be in force or to leave, and who waits until the server says so. */
interface Entry {
  readonly held: Held;
  leaving: boolean;
  /** The request that the server has not answered. */
  request: bigint | undefined;
  settle: { readonly done: () => void; readonly failed: (error: Error) => void } | undefined;
}

/** The hooks to keep registered. It outlives the streams to the server. */
export class Book {
  readonly #entries = new Map<string, Entry>();
  readonly #report: Report;
  readonly #send: (frame: ClientFrame) => void;
  #requests = 0n;

  constructor(send: (frame: ClientFrame) => void, report: Report) {
    this.#send = send;
    this.#report = report;
  }

  /** The hook of this name. */
  find(name: string): Held | undefined {
    return this.#entries.get(name)?.held;
  }

  /** All names. */
  names(): string[] {
    return [...this.#entries.keys()];
  }

  /**
   * Puts a hook in force, in place of `before` if that is given: the server changes one for the other, so that there is
   * no moment without. Waits until the server says that it is, over lost connections too.
   */
  async register(held: Held, before?: Held): Promise<void> {
    if (this.find(held.name) !== before) {
      throw new VertebraError("already_exists", `this client has a hook \`${held.name}\` already`);
    }
    const entry: Entry = { held, leaving: false, request: undefined, settle: undefined };
    this.#entries.set(held.name, entry);
    await this.#ask(entry);
  }

  /** Takes a hook out of force. It answers until the server has let go of it. */
  async unregister(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (!entry || entry.leaving) return;
    entry.leaving = true;
    entry.settle?.failed(new VertebraError("canceled", `the hook \`${name}\` was taken back`));
    await this.#ask(entry);
  }

  /** Tells a new stream of all hooks. */
  tellAll(): void {
    for (const entry of this.#entries.values()) this.#tell(entry);
  }

  /** What the server says to a request: nothing is wrong, or what is. */
  heard(request: bigint, wrong: string): void {
    const entry = [...this.#entries.values()].find((entry) => entry.request === request);
    if (!entry) return;
    const { settle, held, leaving } = entry;
    entry.request = undefined;
    entry.settle = undefined;
    if (leaving || wrong) this.#entries.delete(held.name);
    if (leaving || !wrong) {
      // A hook that the server does not know has left already.
      settle?.done();
    } else if (settle) {
      settle.failed(new VertebraError("invalid_argument", wrong));
    } else {
      const message = `the server does not take the hook \`${held.name}\` again, so it is not in force: ${wrong}`;
      this.#report({ kind: "refused", hook: held.name, message });
    }
  }

  /** Nothing more will be heard. */
  end(error: Error): void {
    for (const { settle, leaving } of this.#entries.values()) {
      if (leaving) settle?.done();
      else settle?.failed(error);
    }
    this.#entries.clear();
  }

  #ask(entry: Entry): Promise<void> {
    return new Promise((done, failed) => {
      entry.settle = { done, failed };
      this.#tell(entry);
    });
  }

  #tell(entry: Entry): void {
    this.#requests += 1n;
    const request = this.#requests;
    entry.request = request;
    const { name, hook, scope } = entry.held;
    this.#send(
      framed(
        entry.leaving
          ? { case: "unregister", value: { request, name } }
          : { case: "register", value: { request, hook, scope } },
      ),
    );
  }
}
