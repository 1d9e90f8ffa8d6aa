import { mkdtempSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inKernelRules } from "./kernel-rules.ts";
import { type Command, here, type System } from "./system.ts";
import { enclosed, innermost, isWalled, limit, residentBytes, walls } from "./walls.ts";

type Ran = Partial<ReturnType<System["run"]>>;

/** A system whose programs answer by the first word of the table that their command has. What is not in it succeeds. */
function systemOf(platform: NodeJS.Platform, answers: Readonly<Record<string, Ran>> = {}, files: Record<string, string> = {}) {
  const ran: Command[] = [];
  const answer = (command: Command) => {
    ran.push(command);
    const [, given = {}] = Object.entries(answers).find(([word]) => command.includes(word)) ?? [];
    return { status: 0, stdout: "", stderr: "", ...given };
  };
  const system: System = {
    platform,
    home: "/home/ann",
    which: (program) => `/test/${program}`,
    run: answer,
    start: async (command) => answer(command).stdout,
    read: (file) => {
      const text = files[file];
      if (text === undefined) throw new Error(`ENOENT: ${file}`);
      return text;
    },
  };
  return { system, ran };
}

const command: Command = ["/opt/node", "main.mjs", "1"];
const withUs = ["/test/setpriv", "--pdeathsig=KILL"];
const refused = { status: 1, stderr: "a hint\nunshare failed: Operation not permitted\n" };
const noNamespaces = { unshare: refused };
const landlock = { "--no-new-privs": { stdout: "4 1\nsetpriv 2.40" } };

test("Linux's namespaces close off files, network and processes; the files are those of the interpreter", () => {
  // The libraries of a program are looked for once: no other test has it.
  const linked: Command = ["/apart/node", "main.mjs"];
  const library = (name: string) => `\tlibc.so.6 => ${name} (0x00007f)\n\tlinux-vdso.so.1 (0x00007e)\n`;
  const { system, ran } = systemOf("linux", { "/apart/node": { stdout: library("/lib/libc.so.6") } });
  expect(walls(system)).toEqual([
    { name: "namespaces", holds: true, text: "files, network and processes of its own, no privileges" },
    { name: "limits", holds: true, text: "no new descriptor, no byte to a file, bounded memory" },
  ]);
  ran.length = 0;
  const made = enclosed(linked, ["/a b/main.mjs", "/a b/main.mjs", "/c\\d"], system);
  // No wall is tried again. Its own libraries were known already.
  expect(ran).toEqual([["/test/ldd", "/apart/node"]]);
  const [script = "", ...rest] = made.slice(made.indexOf("-c") + 1);
  expect(made.slice(0, made.indexOf("-c") + 1)).toEqual([
    ...withUs,
    ...["unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--"],
    ...["/bin/sh", "-c"],
  ]);
  expect(script).toMatch(/\nmount -t tmpfs .* none \/sys\n[\s\S]*exec chroot \/sys "\$@"$/);
  expect(rest).toEqual([
    "sh",
    "./test\n./apart\n./lib\n./a b\n./",
    "/test/setpriv\n/apart/node\n/lib/libc.so.6\n/a b/main.mjs\n/c\\d",
    [
      "/test/setpriv /sys/test/setpriv none bind,ro,nosuid,nodev",
      "/apart/node /sys/apart/node none bind,ro,nosuid,nodev",
      "/lib/libc.so.6 /sys/lib/libc.so.6 none bind,ro,nosuid,nodev",
      "/a\\040b/main.mjs /sys/a\\040b/main.mjs none bind,ro,nosuid,nodev",
      "/c\\134d /sys/c\\134d none bind,ro,nosuid,nodev",
    ].join("\n"),
    ...["/test/setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"],
    ...linked,
  ]);
});

test.each<[string, Record<string, Ran>, string, boolean]>([
  ["both rules", landlock, "Landlock 4 and seccomp: no other file or process is acted on", true],
  ["Landlock alone", { "--no-new-privs": { stdout: "4 0\n" } }, "Landlock 4: no other file or process is acted on", true],
  ["seccomp alone", { "--no-new-privs": { stdout: "-1 1\n" } }, "seccomp: no other file or process is acted on", true],
  [
    "neither",
    { "--no-new-privs": { stdout: "0 0\n", stderr: "no Perl" } },
    "no Perl; code that escapes could remove files and signal processes",
    false,
  ],
  [
    "rules that are refused",
    { "--no-new-privs": { status: 2, stdout: "4 1\n", stderr: "landlock: denied\n" } },
    "landlock: denied; code that escapes could remove files and signal processes",
    false,
  ],
])("without namespaces, a Linux with %s says so", (_, answers, text, holds) => {
  const { system } = systemOf("linux", { ...noNamespaces, ...answers });
  expect(walls(system)).toEqual([
    { name: "namespaces", holds: false, text: "not allowed here (unshare failed: Operation not permitted)" },
    { name: "rules", holds, text },
    { name: "limits", holds: true, text: "no new descriptor, no byte to a file, bounded memory" },
  ]);
  const files = ["/test/lib.mjs"];
  const inRules = [...withUs, "--no-new-privs", ...inKernelRules("/test/perl", command, [command[0], ...files])];
  expect(enclosed(command, files, system)).toEqual(holds ? inRules : [...withUs, ...command]);
});

test("a system without any wall runs the command itself", async () => {
  const bare = systemOf("linux", { ...noNamespaces, "--no-new-privs": refused, "/test/prlimit": refused });
  expect(walls(bare.system).map(({ holds }) => holds)).toEqual([false, false, false]);
  expect(walls(bare.system)[2]).toEqual({ name: "limits", holds: false, text: "`prlimit` of util-linux is not installed" });
  const windows = systemOf("win32");
  expect(walls(windows.system)).toEqual([{ name: "limits", holds: false, text: "win32 has none that Node could set" }]);
  expect(isWalled(systemOf("linux", { ...noNamespaces, "--no-new-privs": refused }).system)).toBe(true);
  for (const { system, ran } of [bare, windows]) {
    expect(isWalled(system)).toBe(false);
    ran.length = 0;
    expect(enclosed(command, [], system)).toEqual(command);
    await limit(7, 2 ** 20, system);
    expect(ran).toEqual([]);
  }
});

test("limits allow no descriptor, no file, no process, and memory for Node and twice that of Python", async () => {
  const { system, ran } = systemOf("linux");
  walls(system);
  ran.length = 0;
  await limit(7, 2 ** 20, system);
  expect(ran).toEqual([
    ["/test/prlimit", "--pid=7", "--nofile=0", "--fsize=0", "--core=0", "--nproc=0", `--data=${(384 + 2) * 2 ** 20}`],
  ]);
});

test("macOS's profile allows the interpreter's own files alone", () => {
  const { system, ran } = systemOf("darwin");
  expect(walls(system)).toEqual([
    { name: "profile", holds: true, text: "no network, no writing, no programs, no files of users" },
  ]);
  expect(ran).toHaveLength(1);
  const made = enclosed(["/opt/v20/bin/node", "x"], ['/a "b".mjs'], system);
  expect(made).toEqual([
    ...["/bin/sh", "-c", 'ulimit -c 0; ulimit -f 0; exec "$@"', "sh", "/usr/bin/sandbox-exec", "-p"],
    "(version 1)(allow default)(deny network*)(deny file-write*)(deny process-fork)(deny signal (target others))(deny mach-lookup)" +
      '(deny file-read* (subpath "/Users") (subpath "/Volumes") (subpath "/private/tmp") (subpath "/private/var/folders") (subpath "/home/ann"))' +
      '(deny process-exec*)(allow process-exec (literal "/opt/v20/bin/node"))(allow file-read-metadata)' +
      '(allow file-read* (literal "/opt/v20/bin/node") (literal "/a \\"b\\".mjs") (subpath "/opt/v20"))',
    ...["/opt/v20/bin/node", "x"],
  ]);
  const without = systemOf("darwin", { "/usr/bin/true": { status: null, stderr: "spawn ENOENT" } }).system;
  expect(walls(without)).toEqual([{ name: "profile", holds: false, text: "`sandbox-exec` does not work here (spawn ENOENT)" }]);
  expect(enclosed(command, [], without)).toEqual(command);
});

test("the process behind namespaces is the child of the one that was started", () => {
  const { system } = systemOf("linux", {}, { "/proc/7/task/7/children": "9 11 ", "/proc/8/task/8/children": "" });
  expect([7, 8, 10].map((pid) => innermost(pid, system))).toEqual([9, 8, 10]);
});

test("a process's memory is its resident pages on Linux, kilobytes of ps on macOS, and not known on Windows", async () => {
  const linux = systemOf("linux", {}, { "/proc/7/statm": "900 3 2 1 0 5 0" }).system;
  expect([await residentBytes(7, linux), await residentBytes(8, linux)]).toEqual([3 * 4096, undefined]);
  const { system, ran } = systemOf("darwin", { "/bin/ps": { stdout: " 120\n" } });
  expect(await residentBytes(7, system)).toBe(120 * 1024);
  expect(ran).toEqual([["/bin/ps", "-o", "rss=", "-p", "7"]]);
  expect(await residentBytes(7, systemOf("win32", {}, { "/proc/7/statm": "1 1" }).system)).toBeUndefined();
});

test.each([
  // Numbers of the kernel's tables: rename, unlinkat, ptrace, reboot; without a number of their own: none on AArch64.
  ["x64", ["317", String(0xc000003e), "56"], 67, ["82", "263", "101", "169"], ["62", "234", "302", "203", "142", "144", "314"]],
  [
    "arm64",
    ["277", String(0xc00000b7), "220"],
    52,
    ["38", "35", "117", "142"],
    ["129", "131", "261", "122", "118", "119", "274"],
  ],
  ["riscv64", ["0", "0", "0"], 0, [], []],
])("on %s the kernel's rules name its calls by their numbers", (arch, seccomp, count, some, own) => {
  const [perl, flag, helper, ...rest] = inKernelRules("/bin/perl", command, ["/a", "/b"], arch);
  expect([perl, flag]).toEqual(["/bin/perl", "-e"]);
  expect(helper).toMatch(/^\nuse strict;[\s\S]*\nexec \{ \$ARGV\[0\] \} @ARGV or die/);
  const denied = rest[3]?.split(",").filter(Boolean) ?? [];
  expect(denied).toHaveLength(count);
  expect(denied).toEqual(expect.arrayContaining(some));
  expect([rest.slice(0, 3), rest[4], rest[5], rest.slice(6)]).toEqual([seccomp, own.join(), "/a\n/b", command]);
});

test("this system is the one that the program runs on", () => {
  expect([here.platform, here.home]).toEqual([process.platform, homedir()]);
  const file = join(mkdtempSync(join(tmpdir(), "system-")), "a");
  writeFileSync(file, "ä");
  expect(here.read(file)).toBe("ä");
  expect(() => here.read(`${file}b`)).toThrow("ENOENT");
  expect(here.which("no-such-program-anywhere")).toBe("no-such-program-anywhere");
  // The first folder that has it.
  const found = here.which("sh");
  expect(found === "sh" || /^\/(?:usr\/)?bin\/sh$/.test(found) || found.startsWith("/run/")).toBe(true);
});
