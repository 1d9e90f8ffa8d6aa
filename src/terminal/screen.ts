import { type Paint, paintFor } from "./paint.ts";
import { printable, printableLine } from "./printable.ts";

/** The output of a command: lines that stay and, on a terminal, one last line that is rewritten. */
export interface Screen {
  readonly paint: Paint;
  /** Characters in a line. */
  readonly width: number;
  /** False without a terminal: `status` then shows nothing. */
  readonly live: boolean;
  line(text?: string): void;
  /** A line with an address that this program made up: its key is for the reader, and no other line shows one. */
  address(label: string, url: string): void;
  /** Replaces the last line. */
  status(text: string): void;
  /** Takes the last line away. */
  clear(): void;
}

export interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export function createScreen(stream: TextStream): Screen {
  const live = stream.isTTY === true && process.env.TERM !== "dumb";
  const paint = paintFor(stream);
  // A pseudo-terminal that nobody has sized says 0.
  const width = Math.min(Math.max(stream.columns || 100, 20), 120);
  let shown = "";
  // Erasing and writing in one call, so that no empty line is ever seen.
  const replace = (text: string) => {
    const next = printable(text)
      .replaceAll(/\s/g, " ")
      .slice(0, width - 1);
    if (next === shown) return;
    stream.write(`\r${paint.dim(next)}\x1b[K`);
    shown = next;
  };
  const write = (text: string) => stream.write(shown === "" ? `${text}\n` : `\r${text}\x1b[K\n${paint.dim(shown)}`);
  return {
    paint,
    width,
    live,
    line: (text = "") => write(printableLine(text)),
    address: (label, url) => write(`${printable(label)}: ${url}`),
    status: (text) => {
      if (live) replace(text);
    },
    clear: () => {
      if (shown !== "") stream.write("\r\x1b[K");
      shown = "";
    },
  };
}
