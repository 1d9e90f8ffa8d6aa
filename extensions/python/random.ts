import { present } from "../../src/core/present.ts";

/**
 * Python's `random.Random(seed)`: the Mersenne Twister MT19937, seeded by an array (Matsumoto and Nishimura 1998), with the draws of
 * CPython's `random` module on top.
 */
export class PythonRandom {
  private readonly seed: bigint;
  /** Computed when the first number is drawn, since most episodes draw none. Shared by all generators of a seed while it is the first block. */
  private block: Block | undefined;
  private index = 0;

  constructor(seed: bigint) {
    this.seed = seed < 0n ? -seed : seed;
  }

  private word(): number {
    this.block ??= firstBlock(this.seed);
    if (this.index >= 624) {
      this.block = blockAfter(this.block.state);
      this.index = 0;
    }
    return wordAt(this.block.words, this.index++);
  }

  /** Uniform in [0, 1), with 53 bits. */
  random(): number {
    const high = this.word() >>> 5;
    return (high * 67108864 + (this.word() >>> 6)) / 9007199254740992;
  }

  /** `bits` random bits, 1 to 53: the lowest word first, the last one shifted. */
  getrandbits(bits: number): number {
    if (bits <= 32) return this.word() >>> (32 - bits);
    const low = this.word();
    return (this.word() >>> (64 - bits)) * 2 ** 32 + low;
  }

  /** Uniform in [low, high], both included; they are at most 2^53 apart. */
  randint(low: number, high: number): bigint {
    const count = high - low + 1;
    const bits = count < 2 ** 32 ? 32 - Math.clz32(count) : 64 - Math.clz32(count / 2 ** 32);
    let drawn = this.getrandbits(bits);
    while (drawn >= count) drawn = this.getrandbits(bits);
    return BigInt(low + drawn);
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * this.random();
  }

  clone(): PythonRandom {
    const copy = new PythonRandom(this.seed);
    copy.block = this.block;
    copy.index = this.index;
    return copy;
  }
}

/** A state of the twister, and the 624 words that it gives. Neither changes. */
interface Block {
  readonly state: Uint32Array;
  readonly words: Uint32Array;
}

/** First blocks by seed: the backends use three. */
const firstBlocks = new Map<bigint, Block>();

function firstBlock(seed: bigint): Block {
  const known = firstBlocks.get(seed);
  if (known !== undefined) return known;
  const block = blockAfter(seeded(seed));
  if (firstBlocks.size < 16) firstBlocks.set(seed, block);
  return block;
}

function blockAfter(previous: Uint32Array): Block {
  const state = previous.slice();
  for (let k = 0; k < 624; k++) {
    const y = (wordAt(state, k) & 0x80000000) | (wordAt(state, k + 1) & 0x7fffffff);
    state[k] = wordAt(state, k + 397) ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
  }
  const words = state.map((word) => {
    let y = word ^ (word >>> 11);
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return y ^ (y >>> 18);
  });
  return { state, words };
}

function wordAt(words: Uint32Array, index: number): number {
  return present(words[index % 624], "a word of the generator");
}

/** Seeds by an array of 32-bit words, as CPython does. */
function seeded(seed: bigint): Uint32Array {
  const words = new Uint32Array(624);
  const key: number[] = [];
  for (let rest = seed; rest > 0n || key.length === 0; rest >>= 32n) key.push(Number(rest & 0xffffffffn));
  words[0] = 19650218;
  /** The word before an index, its bits mixed. */
  const mixed = (i: number, factor: number) => {
    const before = wordAt(words, i - 1);
    return Math.imul(before ^ (before >>> 30), factor);
  };
  for (let i = 1; i < 624; i++) words[i] = mixed(i, 1812433253) + i;
  let i = 1;
  const next = () => {
    if (++i >= 624) words[(i = 1) - 1] = wordAt(words, 623);
  };
  let j = 0;
  for (let k = Math.max(624, key.length); k > 0; k--) {
    words[i] = (wordAt(words, i) ^ mixed(i, 1664525)) + present(key[j], "a word of the seed") + j;
    next();
    if (++j >= key.length) j = 0;
  }
  for (let k = 623; k > 0; k--) {
    words[i] = (wordAt(words, i) ^ mixed(i, 1566083941)) - i;
    next();
  }
  words[0] = 0x80000000;
  return words;
}
