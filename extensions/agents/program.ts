import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { EnvError, reasonOf } from "../../src/core/errors.ts";
import { present } from "../../src/core/present.ts";
import { startGroup } from "../processes/group.ts";
import type { AgentModel } from "./agent.ts";

/** An agent that is a program of its own, in any language. */
export interface AgentProgram {
  /**
   * The program and its arguments, started once an episode. It gets the task as a line of JSON on its input, reaches the model by the customary
   * variables (OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, …), and writes its answer to its output.
   */
  readonly command: readonly string[];
}

const most = { answer: 2 ** 20, errors: 4096 };

/**
 * Runs the program on a task. It ends with the episode, and whatever it started ends with it.
 * @returns its output, trimmed
 * @throws EnvError with the end of its error output if it fails
 */
export function runProgram(
  { command }: AgentProgram,
  task: object,
  { env, signal }: Pick<AgentModel, "env" | "signal">,
  start = startGroup,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command;
    const group = start(present(file, "a program"), args, { env: { ...process.env, ...env } });
    const program = group.child as ChildProcessWithoutNullStreams;
    const stop = () => void group.end();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    let answer = "";
    let errors = "";
    const failed = (what: string, cause?: unknown) =>
      reject(
        new EnvError(`the agent ${command.join(" ")}`, what, { expected: "an answer", hint: errors.trim() || undefined, cause }),
      );
    program.stdout.setEncoding("utf8").on("data", (part: string) => {
      answer += part;
      if (answer.length > most.answer) group.kill();
    });
    program.stderr.setEncoding("utf8").on("data", (part: string) => {
      errors = (errors + part).slice(-most.errors);
    });
    program.on("error", (error) => failed(reasonOf(error), error));
    program.on("close", (code, killed) => {
      signal.removeEventListener("abort", stop);
      if (answer.length > most.answer) failed(`an answer of more than ${most.answer} characters`);
      else if (code === 0) resolve(answer.trim());
      else failed(code === null ? `ended by ${killed}` : `exit code ${code}`);
    });
    // A program that does not read its input closes it.
    program.stdin.on("error", () => {});
    program.stdin.end(`${JSON.stringify(task)}\n`);
  });
}
