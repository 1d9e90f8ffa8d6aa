import { asciiDigits } from "./characters.ts";
import { reprText } from "./text.ts";
import { typeError, typeName, type Value, valueError } from "./values.ts";

/** A date and time without a zone. */
export interface DateTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

type Format = "%Y-%m-%d" | "%Y-%m-%d %H:%M:%S";

const date = String.raw`^(\p{Nd}{4})-(1[0-2]|0[1-9]|[1-9])-(3[01]|[12]\p{Nd}|0[1-9]|[1-9]| [1-9])`;
const patterns: Readonly<Record<Format, RegExp>> = {
  "%Y-%m-%d": new RegExp(date, "u"),
  "%Y-%m-%d %H:%M:%S": new RegExp(
    String.raw`${date}\s+(2[0-3]|[01]\p{Nd}|\p{Nd}):([0-5]\p{Nd}|\p{Nd}):(6[01]|[0-5]\p{Nd}|\p{Nd})`,
    "u",
  ),
};

/** Python's `datetime.strptime(text, format)`. @throws PyError ValueError with its sentences; TypeError if it is no text */
export function parseDate(text: Value, format: Format): DateTime {
  if (typeof text !== "string")
    throw typeError(`strptime() argument 1 must be str, not ${text === null ? "None" : typeName(text)}`);
  const match = patterns[format].exec(text);
  if (match === null) throw valueError(`time data ${reprText(text)} does not match format '${format}'`);
  if (match[0].length < text.length) throw valueError(`unconverted data remains: ${text.slice(match[0].length)}`);
  const field = (i: number) => Number(asciiDigits(match[i] ?? "0"));
  const parts = { year: field(1), month: field(2), day: field(3), hour: field(4), minute: field(5), second: field(6) };
  const { year, month, day, second } = parts;
  if (year === 0) throw valueError("year 0 is out of range");
  if (day > daysIn(year, month)) throw valueError("day is out of range for month");
  if (second > 59) throw valueError("second must be in 0..59");
  return parts;
}

/** A number that grows with time. */
export function orderOf({ year, month, day, hour, minute, second }: DateTime): number {
  return ((((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute) * 60 + second;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
