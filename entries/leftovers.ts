import { reasonOf } from "../src/core/errors.ts";

/** The time that things left open have to close by themselves. */
const patienceMs = 2000;

/** Node's names of what keeps a process alive (`process.getActiveResourcesInfo`), in words. */
const words: readonly (readonly [RegExp, string])[] = [
  [/^(Timeout|Immediate)$/, "a timer"],
  [/^(TCP|TLS|UDP|HTTP|Pipe.*Server)/, "a connection"],
  [/^ProcessWrap$/, "another process"],
  [/^(MessagePort|Worker)$/, "a thread"],
];

/**
 * Ends the process once its work is done, though something that a tool or an environment left open would keep it alive for ever.
 * @param say is given a sentence that names what was open
 */
export function endDespiteLeftovers(say: (message: string) => void): void {
  const onError = (error: unknown) => say(`The work is done, but what it left open failed: ${reasonOf(error)}\n`);
  process.once("uncaughtException", onError).on("uncaughtException", () => {}); // rejected promises that nobody awaits, too
  const timer = setTimeout(() => {
    if (process.stdout.writableLength > 0) return void timer.refresh(); // whoever reads is slow
    const open = process.getActiveResourcesInfo().flatMap((name) => words.find(([kind]) => kind.test(name))?.[1] ?? []);
    const what = [...new Set(open)].join(", ") || "something";
    say(`The work is done, but ${what} of a tool, reward or environment is still open. Ended without it.\n`);
    process.exit();
  }, patienceMs);
  timer.unref();
}
