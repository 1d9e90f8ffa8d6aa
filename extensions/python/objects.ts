import { floatText, reprText } from "./text.ts";
import { PyObject, type Value } from "./values.ts";

/** A complex number: the result of a fractional power of a negative number. */
export class Complex extends PyObject {
  readonly typeName = "complex";
  readonly real: number;
  readonly imaginary: number;

  constructor(real: number, imaginary: number) {
    super();
    this.real = real;
    this.imaginary = imaginary;
  }

  repr(): string {
    const part = (x: number) => floatText(x).replace(/\.0$/, "");
    const sign = this.imaginary >= 0 && !Object.is(this.imaginary, -0) ? "+" : "";
    if (this.real === 0 && !Object.is(this.real, -0)) return `${part(this.imaginary)}j`;
    return `(${part(this.real)}${Number.isNaN(this.imaginary) ? "+" : sign}${part(this.imaginary)}j)`;
  }

  override truth(): boolean {
    return this.real !== 0 || this.imaginary !== 0;
  }

  override equals(other: Value): boolean {
    return other instanceof Complex
      ? other.real === this.real && other.imaginary === this.imaginary
      : this.imaginary === 0 && typeof other === "number" && other === this.real;
  }
}

/** A value that is only printed: Decimal, mpf, mpc, Ellipsis. */
export class Printed extends PyObject {
  readonly typeName: string;
  readonly text: string;
  /** The text that `str(value)` gives. */
  readonly plain: string;

  constructor(name: string, text: string, plain = text) {
    super();
    this.typeName = name;
    this.text = text;
    this.plain = plain;
  }

  repr(): string {
    return this.text;
  }

  override equals(other: Value): boolean {
    return other instanceof Printed && other.text === this.text;
  }

  override hash(): unknown {
    return `\0${this.text}`;
  }
}

export const ellipsis = new Printed("ellipsis", "Ellipsis");

/** Bytes, as a literal gives them: one character for each byte. */
export class Bytes extends PyObject {
  readonly typeName = "bytes";
  readonly characters: string;

  constructor(characters: string) {
    super();
    this.characters = characters;
  }

  repr(): string {
    return `b${reprText(this.characters).replace(/[\x80-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`)}`;
  }

  override truth(): boolean {
    return this.characters !== "";
  }

  override get itemCount(): number {
    return this.characters.length;
  }

  override attribute(name: string): Value | undefined {
    return name === "__iter__" ? [...this.characters].map((character) => BigInt(character.charCodeAt(0))) : undefined;
  }

  override equals(other: Value): boolean {
    return other instanceof Bytes && other.characters === this.characters;
  }

  override hash(): unknown {
    return `\0b${this.characters}`;
  }
}
