/**
 * Python's `random.Random(seed)`: the Mersenne Twister MT19937, seeded by an array (Matsumoto and Nishimura 1998), with the draws of
 * CPython's `random` module on top.
 */
export class PythonRandom {
  private readonly seed: bigint;
  /** Made when the first number is drawn, since most episodes draw none. */
  private words: Uint32Array | undefined;
  private index = 624;

  constructor(seed: bigint) {
    this.seed = seed < 0n ? -seed : seed;
  }

  private word(): number {
    this.words ??= firstWords(this.seed);
    const { words } = this;
    if (this.index >= 624) {
      for (let k = 0; k < 624; k++) {
        const y = (words[k] & 0x80000000) | (words[(k + 1) % 624] & 0x7fffffff);
        words[k] = words[(k + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      this.index = 0;
    }
    let y = words[this.index++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  }

  /** Uniform in [0, 1), with 53 bits. */
  random(): number {
    const high = this.word() >>> 5;
    return (high * 67108864 + (this.word() >>> 6)) / 9007199254740992;
  }

  /** `bits` random bits, 1 or more: the lowest word first, the last one shifted. */
  getrandbits(bits: number): bigint {
    let value = 0n;
    for (let shift = 0; shift < bits; shift += 32) {
      const take = Math.min(32, bits - shift);
      value |= BigInt(take === 32 ? this.word() : this.word() >>> (32 - take)) << BigInt(shift);
    }
    return value;
  }

  /** Uniform in [low, high], both included. */
  randint(low: number, high: number): bigint {
    const count = BigInt(high) - BigInt(low) + 1n;
    const bits = count.toString(2).length;
    let drawn = this.getrandbits(bits);
    while (drawn >= count) drawn = this.getrandbits(bits);
    return BigInt(low) + drawn;
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * this.random();
  }

  clone(): PythonRandom {
    const copy = new PythonRandom(this.seed);
    copy.words = this.words?.slice();
    copy.index = this.index;
    return copy;
  }
}

/** First states by seed: the backends use three. */
const states = new Map<bigint, Uint32Array>();

function firstWords(seed: bigint): Uint32Array {
  let state = states.get(seed);
  if (state === undefined) {
    state = seeded(seed);
    if (states.size < 16) states.set(seed, state);
  }
  return state.slice();
}

/** Seeds by an array of 32-bit words, as CPython does. */
function seeded(seed: bigint): Uint32Array {
  const words = new Uint32Array(624);
  const key: number[] = [];
  for (let rest = seed; rest > 0n || key.length === 0; rest >>= 32n) key.push(Number(rest & 0xffffffffn));
  words[0] = 19650218;
  for (let i = 1; i < 624; i++) words[i] = Math.imul(1812433253, words[i - 1] ^ (words[i - 1] >>> 30)) + i;
  let i = 1;
  let j = 0;
  for (let k = Math.max(624, key.length); k > 0; k--) {
    words[i] = (words[i] ^ Math.imul(words[i - 1] ^ (words[i - 1] >>> 30), 1664525)) + key[j] + j;
    if (++i >= 624) words[(i = 1) - 1] = words[623];
    if (++j >= key.length) j = 0;
  }
  for (let k = 623; k > 0; k--) {
    words[i] = (words[i] ^ Math.imul(words[i - 1] ^ (words[i - 1] >>> 30), 1566083941)) - i;
    if (++i >= 624) words[(i = 1) - 1] = words[623];
  }
  words[0] = 0x80000000;
  return words;
}
