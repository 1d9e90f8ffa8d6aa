/**
 * Makes calls take effect in the order in which they were made: each begins when the one before it has ended, well or not.
 * A call that is made from within another one would wait for itself, so engines queue only at their public methods.
 * @example
 * const order = new CallOrder();
 * const gradient = order.run(() => slowly("forwardBackward"));
 * const step = order.run(() => slowly("step")); // begins when the gradient is there
 * await Promise.all([gradient, step]);
 */
export class CallOrder {
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;
  #broken = false;

  /** The result of the call, which begins after all calls before it. */
  run<T>(call: () => Promise<T> | T): Promise<T> {
    this.#pending++;
    const result = this.#last.then(() => {
      this.requireUnbroken();
      return call();
    });
    const ended = () => {
      this.#pending--;
    };
    this.#last = result.then(ended, ended);
    return result;
  }

  /** Ends calls that were made before: those that wait fail, and the one that runs fails where it next asks. @returns when all have ended */
  async breakOff(): Promise<void> {
    this.#broken = true;
    await this.settled();
    this.#broken = false;
  }

  /** For a call that takes long, between two of its parts. @throws Error if the call was broken off */
  requireUnbroken(): void {
    if (this.#broken) throw new Error("This call was broken off.");
  }

  /** Whether every call has ended. */
  get idle(): boolean {
    return this.#pending === 0;
  }

  /** Resolves when every call so far has ended. */
  async settled(): Promise<void> {
    await this.#last;
  }
}
