// @ts-check
import { Failure } from "./files.mjs";

const longestPath = 4096;

/** The memory of an interpreter, as its system reads and writes it. Addresses come from code that is not trusted: each is checked. */
export class GuestMemory {
  /** @param {WebAssembly.Memory} memory */
  constructor(memory) {
    this.memory = memory;
  }

  /**
   * @param {number} from
   * @param {number} length
   * @throws Failure if it is outside
   */
  slice(from, length) {
    const [start, size] = [from >>> 0, length >>> 0];
    if (start + size > this.memory.buffer.byteLength) throw new Failure("EFAULT");
    return new Uint8Array(this.memory.buffer, start, size);
  }

  /**
   * @param {number} from
   * @param {number} length
   * @returns a view whose numbers are little-endian, as WebAssembly's are
   */
  view(from, length) {
    const { buffer, byteOffset, byteLength } = this.slice(from, length);
    return new DataView(buffer, byteOffset, byteLength);
  }

  /** A path. @param {number} from */
  text(from) {
    const start = from >>> 0;
    const part = new Uint8Array(this.memory.buffer).subarray(start, start + longestPath);
    const end = part.indexOf(0);
    if (end < 0) throw new Failure("ENAMETOOLONG");
    return String.fromCharCode(...part.subarray(0, end));
  }

  /**
   * Writes as much of a text as has room, and its end where it has.
   * @param {number} to
   * @param {string} text
   * @param {number} room
   */
  writeText(to, text, room) {
    const into = this.slice(to, Math.min(room, text.length + 1));
    for (let i = 0; i < into.length; i++) into[i] = text.charCodeAt(i) || 0;
  }

  /**
   * @param {number} to
   * @param {number} value
   */
  writeWord(to, value) {
    this.view(to, 4).setUint32(0, value, true);
  }

  /** @param {number} from */
  word(from) {
    return this.view(from, 4).getUint32(0, true);
  }
}
