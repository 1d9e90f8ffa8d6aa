import { fixedText } from "./exact.ts";
import { formatFixed, toFloat } from "./numbers.ts";
import { str } from "./text.ts";
import { isNumber, typeError, typeName, type Value, valueError } from "./values.ts";

const specification = /^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su;

/** Python's `format(value, specification)` for texts and numbers. @throws PyError in CPython's words */
export function formatValue(value: Value, spec: string): string {
  if (spec === "") return str(value);
  const match = specification.exec(spec);
  if (!isNumber(value) && typeof value !== "string")
    throw typeError(`unsupported format string passed to ${typeName(value)}.__format__`);
  if (match === null) throw valueError("Invalid format specifier");
  const [, fill, align, sign = "-", , zero, width, group, precision, type] = match;
  const digits = precision === undefined ? undefined : Number(precision);
  const pad = fill ?? (zero === undefined ? " " : "0");
  if (typeof value === "string") {
    if (type !== undefined && type !== "s") throw valueError(`Unknown format code '${type}' for object of type 'str'`);
    return padded(digits === undefined ? value : [...value].slice(0, digits).join(""), pad, align ?? "<", width);
  }
  const body = grouped(numberText(value, type, digits), group);
  const signed = body.startsWith("-") || sign === "-" ? body : `${sign === "+" ? "+" : " "}${body}`;
  if ((align ?? (zero === undefined ? ">" : "=")) !== "=") return padded(signed, pad, align ?? ">", width);
  const head = /^[-+ ]/.exec(signed)?.[0] ?? "";
  return head + signed.slice(head.length).padStart(Number(width ?? 0) - head.length, pad);
}

function numberText(value: boolean | bigint | number, type: string | undefined, digits: number | undefined): string {
  switch (type) {
    case "f":
    case "F":
      return formatFixed(value, digits ?? 6);
    case "%":
      return `${fixedText(toFloat(value) * 100, digits ?? 6)}%`;
    case "e":
    case "E": {
      const text = toFloat(value)
        .toExponential(digits ?? 6)
        .replace(/e([-+])(\d)$/, "e$10$2");
      return type === "E" ? text.toUpperCase() : text;
    }
    case "g":
      return general(toFloat(value), Math.max(digits ?? 6, 1));
    case "d":
    case undefined:
      if (typeof value !== "number") return BigInt(value).toString();
      if (type === "d") throw valueError("Unknown format code 'd' for object of type 'float'");
      return digits === undefined ? str(value) : general(value, Math.max(digits, 1));
    case "x":
    case "X":
    case "b":
    case "o":
      if (typeof value !== "number") {
        const text = BigInt(value).toString(type === "b" ? 2 : type === "o" ? 8 : 16);
        return type === "X" ? text.toUpperCase() : text;
      }
  }
  throw valueError(`Unknown format code '${type}' for object of type '${typeName(value)}'`);
}

function general(x: number, digits: number): string {
  if (!Number.isFinite(x)) return str(x);
  const text = x.toExponential(digits - 1);
  const power = Number(text.replace(/.*e/, ""));
  const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power >= -4 && power < digits) return trim(fixedText(x, digits - 1 - power));
  return `${trim(text.replace(/e.*/, ""))}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function grouped(text: string, separator: string | undefined): string {
  if (separator === undefined) return text;
  return text.replace(/^(-?)(\d+)/, (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(\d{3})+$)/g, separator));
}

function padded(text: string, fill: string, align: string, width: string | undefined): string {
  const missing = Number(width ?? 0) - [...text].length;
  if (missing <= 0) return text;
  if (align === "<") return text + fill.repeat(missing);
  if (align === ">") return fill.repeat(missing) + text;
  const left = Math.floor(missing / 2);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}
