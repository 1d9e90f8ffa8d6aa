import { TinkerError } from "./errors.ts";

/**
 * The requests of one model, in order. A number is reserved when a request is submitted; it is sent once its predecessor was acknowledged,
 * because servers execute in the order of arrival. Results are awaited elsewhere, later.
 * An optimiser step waits for more: for the results of the passes before it.
 *
 * A request that the server refused gives its number back, and what was submitted behind it is not sent: an optimiser step must not run
 * without the gradient that it was submitted for. A request that may or may not have arrived breaks the sequence for good.
 */
export class Sequence {
  readonly #of: string;
  #next = 1;
  /** Raised by every refusal: requests of an older generation were submitted behind it. */
  #generation = 0;
  #refusal: TinkerError | undefined;
  #broken: TinkerError | undefined;
  #tail: Promise<unknown> = Promise.resolve();

  /** @param of the model, for messages */
  constructor(of: string) {
    this.#of = of;
  }

  /**
   * Sends a request after those before it.
   * @param send with its number; resolves once the server acknowledged the request
   * @param behind the request waits for this, and is not sent if it fails
   * @throws TinkerError as `send`, or of the kind "not-sent"
   */
  submit<T>(call: string, send: (seqId: number) => Promise<T>, behind?: Promise<unknown>): Promise<T> {
    const [seqId, generation] = [this.#next++, this.#generation];
    const sent = this.#tail.then(async () => {
      const cause = this.#broken ?? (generation === this.#generation ? undefined : this.#refusal);
      if (cause !== undefined) throw this.#notSent(call, cause);
      try {
        await behind?.catch((error) => {
          throw this.#notSent(call, failureOf(this.#of, error));
        });
        return await send(seqId);
      } catch (error) {
        this.#fail(error, seqId);
        throw error;
      }
    });
    this.#tail = sent.catch(() => {});
    return sent;
  }

  #fail(error: unknown, seqId: number): void {
    const failure = failureOf(this.#of, error);
    if (failure.retry === "from-checkpoint") this.#broken ??= failure;
    else {
      this.#generation++;
      this.#refusal = failure;
      this.#next = seqId;
    }
  }

  #notSent(call: string, cause: TinkerError): TinkerError {
    return new TinkerError(`${call} of ${this.#of}`, "not sent", {
      kind: "not-sent",
      retry: cause.retry,
      hint: `An earlier request of the model failed: ${cause.message}`,
      cause,
    });
  }
}

function failureOf(of: string, cause: unknown): TinkerError {
  if (cause instanceof TinkerError) return cause;
  return new TinkerError(of, cause, { kind: "lost", retry: "from-checkpoint", cause });
}
