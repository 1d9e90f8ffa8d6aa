import { host } from "../../../src/core/host.ts";

/** Numbers that loops pass over between two turns of the event loop: some milliseconds. They are counted, and no time is measured: a run repeats. */
export const numbersInTurn = 2 ** 19;

/** The same of numbers that are copied, or whose memory is given back. */
const copiedInTurn = 2 ** 22;

/** Arithmetic in this thread that lets the event loop turn: servers answer and web sockets live while it is done. */
export class Turns {
  readonly #inTurn: number;
  #left: number;

  constructor(inTurn = numbersInTurn) {
    this.#inTurn = inTurn;
    this.#left = inTurn;
  }

  /** For copies. */
  static ofCopies(): Turns {
    return new Turns(copiedInTurn);
  }

  /**
   * Calls back with one piece of some numbers after another.
   * @param unit each piece but the last has a multiple of as many numbers
   */
  async over(count: number, visit: (from: number, to: number) => void, unit = 1): Promise<void> {
    for (let from = 0; from < count; ) {
      const to = Math.min(count, from + Math.max(unit, this.#left - (this.#left % unit)));
      visit(from, to);
      await this.passed(to - from);
      from = to;
    }
  }

  /** Counts numbers that were passed over. */
  async passed(numbers: number): Promise<void> {
    if (this.isOver(numbers)) await host.nextTurn();
  }

  /** The same where no promise is to be waited for in between: whether the event loop is to turn now. */
  isOver(numbers: number): boolean {
    this.#left -= numbers;
    if (this.#left > 0) return false;
    this.#left = this.#inTurn;
    return true;
  }
}
