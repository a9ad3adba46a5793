// A run that is under way: what happens in it, and how it ends.

import { VertebraError } from "../errors.js";
import { endOf, type RunReport, type SessionEvent } from "./news.js";

/** How many events are buffered for the reader. */
const WAITING = 4096;

/** A run that failed. The report says how far it came. */
export class RunFailed extends Error {
  override readonly name = "RunFailed";
  readonly report: RunReport;

  constructor(report: RunReport) {
    super(`${report.stop.message} (${report.stop.source})`);
    this.report = report;
  }
}

/**
 * A run. Read its events with `for await`, or wait for its end with `await run.result`.
 *
 * The run continues whether you read its events or not. A reader that is too slow misses the oldest events, and an event
 * `missed` says how many; the run does not wait for it.
 */
export class Run implements AsyncIterable<SessionEvent> {
  /** How the run ended, also if it failed. Rejected only if the outcome cannot be known. */
  readonly result: Promise<RunReport>;
  readonly #events: SessionEvent[] = [];
  /** How many events came before those that are kept. */
  #dropped = 0;
  #over = false;
  #failure: VertebraError | undefined;
  #wake: (() => void)[] = [];

  /** Of a stream that ends when the run has ended. */
  constructor(stream: AsyncIterable<SessionEvent>) {
    this.result = this.#read(stream);
    // A caller that only iterates gets the error there.
    this.result.catch(() => undefined);
  }

  /** What the model said in the end. A run that failed is an error; one that was stopped has said what it has. */
  async text(): Promise<string> {
    const report = await this.result;
    if (report.status === "failed") throw new RunFailed(report);
    return report.text;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    let next = 0;
    for (;;) {
      const missed = this.#dropped - next;
      const event = this.#events[Math.max(0, -missed)];
      if (event !== undefined) {
        if (missed > 0) {
          next = this.#dropped;
          yield {
            event: "missed",
            events: missed,
            number: event.number,
            run_id: event.run_id,
            agent: event.agent,
            depth: 0,
          };
        }
        next += 1;
        yield event;
      } else if (this.#failure) {
        throw this.#failure;
      } else if (this.#over) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    }
  }

  async #read(stream: AsyncIterable<SessionEvent>): Promise<RunReport> {
    let report: RunReport | undefined;
    try {
      for await (const event of stream) {
        report = endOf(event) ?? report;
        this.#add(event);
      }
      if (!report) throw new VertebraError("data_loss", "the server did not say how the run ended");
      return report;
    } catch (error) {
      this.#failure = VertebraError.from(error);
      throw this.#failure;
    } finally {
      this.#over = true;
      this.#rouse();
    }
  }

  #add(event: SessionEvent): void {
    this.#events.push(event);
    if (this.#events.length > WAITING) {
      this.#events.shift();
      this.#dropped += 1;
    }
    this.#rouse();
  }

  #rouse(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
