import { commandPrefix, quoted } from "../../../src/terminal/invocation.ts";

/** Returns a command over an agent that a person can copy: the arguments of a program, which may be flags, are behind --. */
export function agentCommand(
  command: string,
  agent: readonly string[],
  { tasks = "", reward = "" }: { readonly tasks?: string; readonly reward?: string },
  options = "",
): string {
  const words = agent.map(quoted).join(" ");
  const files = `--tasks ${quoted(tasks)} --reward ${quoted(reward)}${options}`;
  return `${commandPrefix()} ${command} ${agent.length > 1 ? `${files} -- ${words}` : `${words} ${files}`}`;
}
