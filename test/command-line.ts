import { main } from "../entries/program.ts";

/** Runs the command line in this process, without a terminal. */
export async function invoke(...args: readonly string[]) {
  const text = { out: "", error: "" };
  const exitCode = await main(
    args,
    { write: (part: string) => (text.out += part) },
    { write: (part: string) => (text.error += part) },
  );
  return { exitCode, ...text };
}
