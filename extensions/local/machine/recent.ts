/** Values by key. Where there are more than a number of them, the one asked for longest ago is released. */
export class Recent<Value> {
  readonly #most: number;
  readonly #release: (value: Value) => void;
  /** The one asked for longest ago first. */
  readonly #values = new Map<string, Value>();

  constructor(most: number, release: (value: Value) => void) {
    this.#most = most;
    this.#release = release;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    return value && this.#last(key, value);
  }

  /** Adds a value for a key that has none. */
  add(key: string, value: Value): Value {
    this.#last(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#most) this.drop((each) => each === oldest);
    return value;
  }

  /** Releases those that are meant. Default: all. */
  drop(isMeant: (key: string, value: Value) => boolean = () => true): void {
    for (const [key, value] of this.#values)
      if (isMeant(key, value)) {
        this.#values.delete(key);
        this.#release(value);
      }
  }

  #last(key: string, value: Value): Value {
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }
}
