import { main } from "../entries/program.ts";

/** Runs a program in this process, without a terminal. */
export const invokerOf =
  (program: typeof main) =>
  async (...args: readonly string[]) => {
    const text = { out: "", error: "" };
    const exitCode = await program(
      args,
      { write: (part: string) => (text.out += part) },
      { write: (part: string) => (text.error += part) },
    );
    return { exitCode, ...text };
  };

export const invoke = invokerOf(main);
