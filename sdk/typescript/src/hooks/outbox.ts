// Frames on their way to the server.

/** A list that is written at one end and read, once, at the other. */
export class Outbox<T> implements AsyncIterable<T> {
  readonly #waiting: T[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  /** Adds one. After the end it goes nowhere. */
  push(item: T): void {
    if (this.#ended) return;
    this.#waiting.push(item);
    this.#wake?.();
  }

  /** Nothing more comes; what waits still goes out. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      for (let item = this.#waiting.shift(); item !== undefined; item = this.#waiting.shift()) yield item;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
