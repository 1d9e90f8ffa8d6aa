import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { startGroup } from "./group.ts";
import { stubborn } from "./stubborn.fixture.ts";

/** A process that nobody has waited for yet has ended all the same. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s*Z/m.test(process.platform === "linux" ? readFileSync(`/proc/${pid}/status`, "utf8") : "");
  } catch {
    return false;
  }
}

const allEnd = (pids: readonly number[]) =>
  vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), { timeout: 60_000, interval: 50 });

const numbersOf = (text: string) => text.trim().split(/\s+/).map(Number);

async function firstLine(child: ReturnType<typeof spawn>): Promise<string> {
  let text = "";
  for await (const part of child.stdout ?? []) {
    text += String(part);
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  return text;
}

describe.skipIf(process.platform === "win32")("programs that ignore SIGTERM, and their children", () => {
  test.each([
    ["is ended in order", "end", undefined],
    ["exits", "exit", undefined],
    ["throws", "throw", undefined],
    ["is ended by Ctrl-C", "stay", "SIGINT"],
    ["is killed", "stay", "SIGKILL"],
  ] as const)("0 of 10 stay when the program that started them %s", async (_, way, signal) => {
    const host = join(import.meta.dirname, "host.fixture.ts");
    const stdio = ["ignore", "pipe", "ignore"] as const;
    const child = spawn(process.execPath, ["--import", "jiti/register", host, way], { stdio: [...stdio] });
    const pids = numbersOf(await firstLine(child));
    expect(pids).toHaveLength(20);
    if (signal !== undefined) {
      expect(pids.filter(isAlive)).toHaveLength(20);
      child.kill(signal);
    }
    await allEnd(pids);
  });

  test("what a program leaves behind when it ends is ended", async () => {
    const { child } = startGroup("/bin/sh", ["-c", "sleep 1000 & echo $! $$"], { stdio: ["ignore", "pipe", "ignore"] });
    await allEnd(numbersOf(await firstLine(child)));
  });

  test.runIf(process.platform === "linux")("a child in a group of its own is ended too", async () => {
    const program = `require("child_process").spawn("/bin/sh", ["-c", ${JSON.stringify(stubborn)}], { detached: true, stdio: "inherit" })`;
    const group = startGroup(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"] });
    const pids = numbersOf(await firstLine(group.child));
    await group.end(100);
    await allEnd(pids);
  });

  test("a program that ends at SIGTERM has the time to do so", async () => {
    const group = startGroup("/bin/sh", ["-c", 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done'], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    let said = "";
    group.child.stdout?.on("data", (part: Buffer) => (said += String(part)));
    await vi.waitFor(() => expect(said).toBe("up\n"), 60_000);
    const code = new Promise((resolve) => group.child.once("close", resolve));
    await group.end(10_000);
    expect([await code, said]).toEqual([3, "up\nbye\n"]);
  });

  test("a program that is not there is an error of its process", async () => {
    const group = startGroup("/no/such/program", []);
    const error = await new Promise<Error>((resolve) => group.child.once("error", resolve));
    expect(error.message).toMatch(/ENOENT/);
    await group.end();
    group.kill();
  });
});

/** What the command interpreter makes of a line: carets outside of quotes are escapes. @returns undefined where a character would be an operator */
function interpreted(line: string): string | undefined {
  let [text, isQuoted] = ["", false];
  for (let i = 0; i < line.length; i++) {
    const each = line.charAt(i);
    if (each === '"') isQuoted = !isQuoted;
    if (!isQuoted && each === "^") text += line.charAt(++i);
    else if (!isQuoted && /[&|<>()]/.test(each)) return undefined;
    else text += each;
  }
  return text;
}

/** The arguments that a program of Windows finds in its line, by the rules of its C library. */
function argumentsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\+(?!\\*")|(?:\\\\)*\\"|(?:\\\\)+(?="))*)"|([^\s"]+)/g)].map(([, quoted, plain]) =>
    quoted === undefined
      ? (plain ?? "")
      : quoted.replace(/(\\+)("|$)/g, (_, slashes: string, end: string) => slashes.slice(0, slashes.length >> 1) + end),
  );
}

describe("on Windows a `.cmd` program is started by the command interpreter", () => {
  const root = mkdtempSync(join(tmpdir(), "retrograde-cmd-"));
  afterAll(() => rmSync(root, { recursive: true }));

  async function started(folder: string, args: readonly string[]) {
    const at = join(root, folder);
    mkdirSync(at, { recursive: true });
    writeFileSync(join(at, "server.cmd"), "@echo off\r\n");
    chmodSync(join(at, "server.cmd"), 0o755);
    const fixture = join(import.meta.dirname, "windows.fixture.ts");
    const child = spawn(process.execPath, ["--import", "jiti/register", fixture, join(at, "server"), ...args], {
      env: { ...process.env, PATHEXT: ".exe;.cmd", comspec: "cmd.exe" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    return JSON.parse(await firstLine(child));
  }

  const plain = ["a b", "& calc", "%PATH%", "100%", "(x) <y> |z^", 'say "hi" \\', "C:\\a b\\", ""];

  test("its arguments arrive as they are, also where the script passes them on", async () => {
    const { args, ...rest } = await started("bin", plain);
    expect(rest).toEqual({ command: "cmd.exe", verbatim: true, detached: false, hidden: true });
    expect(args.slice(0, 3)).toEqual(["/d", "/s", "/c"]);
    const line = interpreted(args[3].slice(1, -1));
    expect(argumentsOf(line ?? "").slice(1)).toEqual(plain);
    expect(argumentsOf(interpreted(line ?? "") ?? "").slice(1)).toEqual(plain);
  });

  test("npm's own scripts take quotation marks beside operators", async () => {
    const given = ['" & calc & "', '{"a": "x|y"}'];
    const { args } = await started("node_modules/.bin", given);
    const line = interpreted(args[3].slice(1, -1));
    expect(argumentsOf(interpreted(line ?? "") ?? "").slice(1)).toEqual(given);
  });

  test.each(['" & calc & "', '{"a": "x|y"}', "two\nlines"])(
    "%j is refused elsewhere, since it could be another command",
    async (given) => {
      expect((await started("bin", ["a", given])).error).toMatch(
        /ConfigError: an argument of .*server\.cmd is .*Start the program/s,
      );
    },
  );
});
