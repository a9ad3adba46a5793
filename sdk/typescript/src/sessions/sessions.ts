// The sessions of a server.

import { told } from "../errors.js";
import { WhenLost } from "../gen/vertebra/v1/sessions_pb.js";
import type { Wire } from "../transport/wire.js";
import type { Run } from "./run.js";
import { infoOf, Session } from "./session.js";
import { resumeIn } from "./under_way.js";

/** How a session is opened. */
export interface SessionOptions {
  /** The folder that is worked in, under the server's own; that one unless given. */
  readonly folder?: string;
  /** Additional instructions for the model. */
  readonly systemPrompt?: string;
  /** What happens to its runs when a client that governs it is lost: they continue, or are suspended. */
  readonly whenLost?: "go_on" | "suspend";
  /** What to find it by. */
  readonly labels?: Readonly<Record<string, string>>;
}

const WHEN_LOST: Readonly<Record<NonNullable<SessionOptions["whenLost"]>, WhenLost>> = {
  go_on: WhenLost.GO_ON,
  suspend: WhenLost.SUSPEND,
};

/** The sessions of a server that the client may see. */
export class Sessions {
  readonly #wire: Wire;
  readonly #over: AbortSignal;

  /** @internal */
  constructor(wire: Wire, over: AbortSignal) {
    this.#wire = wire;
    this.#over = over;
  }

  /** Opens a session. The caller owns it. */
  async create(options: SessionOptions = {}): Promise<Session> {
    const session = this.#wire.sessions.create({
      folder: options.folder ?? "",
      systemPrompt: options.systemPrompt ?? "",
      whenLost: options.whenLost === undefined ? WhenLost.UNSPECIFIED : WHEN_LOST[options.whenLost],
      labels: { ...options.labels },
    });
    return this.#held(await told(session));
  }

  /** The session with this identifier. */
  async get(id: string): Promise<Session> {
    return this.#held(await told(this.#wire.sessions.get({ sessionId: id })));
  }

  /** Those that are open, and those that wait in the journal; `more` says whether there are others. */
  async list(
    options: { readonly labels?: Readonly<Record<string, string>>; readonly limit?: number } = {},
  ): Promise<{ readonly sessions: readonly Session[]; readonly more: boolean }> {
    const { sessions, more } = await told(
      this.#wire.sessions.list({ labels: { ...options.labels }, limit: options.limit ?? 0 }),
    );
    return { sessions: sessions.map((session) => this.#held(session)), more };
  }

  /** Takes up a session that another process left, or that was suspended, and finishes its run. */
  resume(id: string): Run {
    return resumeIn({ wire: this.#wire, over: this.#over, id });
  }

  #held(session: Parameters<typeof infoOf>[0]): Session {
    return new Session(this.#wire, this.#over, infoOf(session));
  }
}
