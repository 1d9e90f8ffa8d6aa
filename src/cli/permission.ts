import { createInterface } from "node:readline";
import { printable } from "../terminal/printable.ts";

/**
 * Asks a person in a terminal for a permission. Anything but "y" or "yes", the end of the input included, is a no.
 * @param text one line that says what would happen
 * @returns undefined after Ctrl-C
 */
export function permission(
  text: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<boolean | undefined> {
  output.write(printable(`${text}\n`));
  const lines = createInterface({ input, output, terminal: true });
  return new Promise((resolve) => {
    const end = (answer: boolean | undefined) => {
      resolve(answer);
      lines.close();
    };
    lines.question("Allow it this once? [y/N] ", (answer) => end(/^y(es)?$/i.test(answer.trim())));
    lines.once("SIGINT", () => end(undefined));
    lines.once("close", () => {
      output.write("\n");
      resolve(false);
    });
  });
}
