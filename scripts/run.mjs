import { spawnSync } from "node:child_process";

/** Runs a command. Everything it prints goes to standard error: standard output belongs to the command that was asked for. */
export function run([command, ...args], { cwd, hint }) {
  const { status, signal, error } = spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2], shell: command.endsWith(".cmd") });
  if (status === 0) return;
  const reason = error?.message ?? (signal === null ? `exit code ${status}` : `stopped by ${signal}`);
  throw new Error(`\`${args.join(" ")}\` ended with ${reason}. ${hint}`);
}
