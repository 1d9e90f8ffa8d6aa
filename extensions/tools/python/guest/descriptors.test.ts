import { beforeEach, describe, expect, test } from "vitest";
import { fileCalls } from "./descriptors.mjs";
import { Failure, Files, kinds } from "./files.mjs";
import { GuestMemory } from "./memory.mjs";

/** Numbers of errors in Emscripten's C library (musl's errno.h for WebAssembly). */
const [EACCES, EBADF, EEXIST, EFAULT, EINVAL, EISDIR, EMFILE, ENAMETOOLONG] = [2, 8, 20, 21, 28, 31, 33, 37];
const [ENOENT, ENOTDIR, ENOTEMPTY, ENOTTY, ERANGE, ESPIPE] = [44, 54, 55, 59, 68, 70];
/** Flags of open(), of fcntl.h. */
const [O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY] = [1, 2, 0o100, 0o200, 0o1000, 0o2000, 0o200000];
const AT_FDCWD = -100;

let files: Files;
let memory: GuestMemory;
let calls: ReturnType<typeof fileCalls>;
let printed: string;

beforeEach(() => {
  printed = "";
  memory = new GuestMemory({ buffer: new ArrayBuffer(65_536) } as never);
  files = new Files(() => 1_000_000);
  for (const path of ["/dev", "/tmp"]) files.make(path, kinds.folder | 0o777);
  const print = (bytes: Uint8Array) => {
    printed += Buffer.from(bytes).toString();
  };
  const devices = { stdin: () => {}, stdout: print, stderr: () => {} };
  for (const [name, device] of Object.entries(devices)) files.make(`/dev/${name}`, kinds.device | 0o666, { device });
  calls = fileCalls(files, memory);
});

/** The number of the error that a call ends with; undefined if it ends well. */
function code(work: () => unknown): number | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

/** A text in memory, with its end. */
function text(value: string, place = 4096): number {
  memory.writeText(place, value, 2048);
  return place;
}

function open(path: string, flags = 0, mode = 0o666): number {
  memory.writeWord(300, mode);
  return calls.__syscall_openat(AT_FDCWD, text(path), flags, 300);
}

/** Lists buffers of these lengths, one behind the other from 8192. */
function buffers(...lengths: number[]): [from: number, count: number] {
  let at = 8192;
  for (const [i, length] of lengths.entries()) {
    memory.writeWord(512 + 8 * i, at);
    memory.writeWord(512 + 8 * i + 4, length);
    at += length;
  }
  return [512, lengths.length];
}

function write(fd: number, content: string, ...lengths: number[]): number {
  memory.slice(8192, content.length).set(Buffer.from(content));
  calls.fd_write(fd, ...buffers(...(lengths.length === 0 ? [content.length] : lengths)), 400);
  return memory.word(400);
}

function read(fd: number, ...lengths: number[]): string {
  memory.slice(8192, 1024).fill(35);
  calls.fd_read(fd, ...buffers(...lengths), 400);
  return Buffer.from(memory.slice(8192, memory.word(400))).toString();
}

const seek = (fd: number, offset: number, whence = 0) => {
  calls.fd_seek(fd, offset, whence, 408);
  return Number(memory.view(408, 8).getBigInt64(0, true));
};

/** A file with a content. */
function file(path: string, content: string, mode = 0o644): void {
  const fd = open(path, O_CREAT | O_WRONLY, mode | 0o200);
  write(fd, content);
  calls.fd_close(fd);
  files.find(path).mode = kinds.regular | mode;
}

const contentOf = (path: string) => {
  const fd = open(path);
  const content = read(fd, 500);
  calls.fd_close(fd);
  return content;
};

describe("a file that is opened", () => {
  beforeEach(() => file("/tmp/a", "abc"));

  test.each([
    ["/tmp/a", 0, undefined],
    ["/tmp/none", 0, ENOENT],
    ["/tmp/none", O_CREAT, undefined],
    ["/tmp/a", O_CREAT, undefined],
    ["/tmp/a", O_CREAT | O_EXCL, EEXIST],
    ["/none/a", O_CREAT, ENOENT],
    ["/tmp/a/b", O_CREAT, ENOTDIR],
    ["/tmp/a/", 0, ENOTDIR],
    ["/tmp/a", O_DIRECTORY, ENOTDIR],
    ["/tmp", O_DIRECTORY, undefined],
    ["/tmp", O_WRONLY, EISDIR],
    ["/tmp", O_RDWR, EISDIR],
    ["", 0, ENOENT],
    [`/tmp/${"x".repeat(255)}`, O_CREAT, undefined],
    [`/tmp/${"x".repeat(256)}`, O_CREAT, ENAMETOOLONG],
  ])("%s with the flags %i ends with %s", (path, flags, expected) => {
    expect(code(() => open(path, flags))).toBe(expected);
  });

  test("may be what its permissions say, and gets those that are asked for but for others' writing", () => {
    file("/tmp/read", "x", 0o444);
    file("/tmp/write", "x", 0o200);
    expect([code(() => open("/tmp/read")), code(() => open("/tmp/read", O_WRONLY))]).toEqual([undefined, EACCES]);
    expect([code(() => open("/tmp/write")), code(() => open("/tmp/write", O_WRONLY))]).toEqual([EACCES, undefined]);
    open("/tmp/new", O_CREAT, 0o4777);
    expect(files.find("/tmp/new").mode).toBe(kinds.regular | 0o755);
  });

  test("is emptied where it is written and truncated, and else stays", () => {
    open("/tmp/a", O_TRUNC);
    expect(contentOf("/tmp/a")).toBe("abc");
    open("/tmp/a", O_TRUNC | O_WRONLY);
    expect(contentOf("/tmp/a")).toBe("");
  });

  test("has the lowest free number; there are 256", () => {
    expect([open("/tmp/a"), open("/tmp/a"), open("/tmp/a")]).toEqual([3, 4, 5]);
    calls.fd_close(4);
    expect(open("/tmp/a")).toBe(4);
    for (let fd = 6; fd < 256; fd++) expect(open("/tmp/a")).toBe(fd);
    expect(code(() => open("/tmp/a"))).toBe(EMFILE);
    expect(code(() => open("/tmp/another", O_CREAT))).toBe(EMFILE);
    expect(code(() => files.find("/tmp/another"))).toBe(ENOENT);
  });

  test("stays readable once its name is gone, and is no more once it is closed", () => {
    const used = files.used;
    const fd = open("/tmp/a");
    calls.__syscall_unlinkat(AT_FDCWD, text("/tmp/a"), 0);
    expect([read(fd, 10), code(() => open("/tmp/a"))]).toEqual(["abc", ENOENT]);
    expect(files.used).toBe(used);
    calls.fd_close(fd);
    // 2048 bytes for the entry, one for its name, three of content.
    expect(files.used).toBe(used - 2052);
    for (const call of [() => calls.fd_close(fd), () => read(fd, 1), () => calls.fd_sync(fd), () => calls.__syscall_dup(fd)])
      expect(code(call)).toBe(EBADF);
  });
});

describe("reading and writing", () => {
  test("continues where it was, over several buffers", () => {
    const fd = open("/tmp/a", O_CREAT | O_RDWR);
    expect(write(fd, "abcdef", 2, 0, 4)).toBe(6);
    expect(write(fd, "ghi")).toBe(3);
    expect(read(fd, 9)).toBe("");
    expect(seek(fd, 1)).toBe(1);
    expect([read(fd, 2, 3), read(fd, 100), read(fd, 1)]).toEqual(["bcdef", "ghi", ""]);
  });

  test("at a place moves nothing", () => {
    const fd = open("/tmp/a", O_CREAT | O_RDWR);
    write(fd, "abcdef");
    memory.slice(8192, 2).set(Buffer.from("XY"));
    calls.fd_pwrite(fd, ...buffers(2), 1, 400);
    expect(memory.word(400)).toBe(2);
    calls.fd_pread(fd, ...buffers(3), 2, 400);
    expect(Buffer.from(memory.slice(8192, memory.word(400))).toString()).toBe("Yde");
    expect(write(fd, "!")).toBe(1);
    expect(contentOf("/tmp/a")).toBe("aXYdef!");
  });

  test("appends behind what others wrote, and fills a gap with zeros", () => {
    file("/tmp/a", "abc");
    const fd = open("/tmp/a", O_WRONLY | O_APPEND);
    file("/tmp/a", "abcdef");
    write(fd, "!");
    expect(contentOf("/tmp/a")).toBe("abcdef!");
    const other = open("/tmp/b", O_CREAT | O_WRONLY);
    seek(other, 3);
    write(other, "x");
    expect(contentOf("/tmp/b")).toBe("\0\0\0x");
  });

  test("is refused against the flags, on folders and beyond memory", () => {
    const [reading, writing] = [open("/tmp/a", O_CREAT), open("/tmp/a", O_WRONLY)];
    const folder = open("/tmp");
    expect([code(() => write(reading, "x")), code(() => read(writing, 1))]).toEqual([EBADF, EBADF]);
    expect([code(() => read(folder, 1)), code(() => write(folder, "x"))]).toEqual([EISDIR, EISDIR]);
    expect(code(() => calls.fd_read(reading, 512, -1, 400))).toBe(EINVAL);
    expect(code(() => calls.fd_read(reading, 512, 1025, 400))).toBe(EINVAL);
    expect(code(() => calls.fd_read(reading, 65_532, 1, 400))).toBe(EFAULT);
    memory.writeWord(512, 65_535);
    memory.writeWord(516, 2);
    expect(code(() => calls.fd_read(reading, 512, 1, 400))).toBe(EFAULT);
  });

  test("of devices: what is written is given on, nothing is read, and there is no place in them", () => {
    expect(write(1, "hello", 2, 3)).toBe(5);
    expect([printed, read(0, 10)]).toEqual(["hello", ""]);
    expect(code(() => seek(1, 0))).toBe(ESPIPE);
    expect(files.find("/dev/stdout").size).toBe(0);
  });
});

test("a place is sought from the beginning, from where it is or from the end", () => {
  file("/tmp/a", "abcdef");
  const fd = open("/tmp/a");
  expect([seek(fd, 4), seek(fd, -1, 1), seek(fd, -2, 2), seek(fd, 9, 2), seek(fd, 0)]).toEqual([4, 3, 4, 15, 0]);
  for (const [offset, whence] of [
    [-1, 0],
    [-1, 1],
    [-7, 2],
    [0, 3],
    [0, -1],
  ])
    expect(code(() => seek(fd, offset, whence))).toBe(EINVAL);
});

test("a copy of a descriptor shares its place; flags can be asked for, and appending set", () => {
  const fd = open("/tmp/a", O_CREAT | O_RDWR);
  write(fd, "abcdef");
  const copy = calls.__syscall_dup(fd);
  expect(copy).toBe(4);
  seek(copy, 2);
  expect(read(fd, 2)).toBe("cd");
  expect(calls.__syscall_dup3(fd, 9)).toBe(9);
  expect(code(() => calls.__syscall_dup3(fd, fd))).toBe(EINVAL);
  expect(code(() => calls.__syscall_dup3(fd, 256))).toBe(EMFILE);
  expect(code(() => calls.__syscall_dup3(fd, -1))).toBe(EMFILE);
  memory.writeWord(500, 7);
  const control = (command: number) => calls.__syscall_fcntl64(fd, command, 500);
  expect([control(0), control(1), control(2), control(3)]).toEqual([7, 0, 0, O_CREAT | O_RDWR]);
  memory.writeWord(500, O_APPEND | O_WRONLY);
  expect([control(4), control(3)]).toEqual([0, O_CREAT | O_RDWR | O_APPEND]);
  expect(code(() => control(5))).toBe(EINVAL);
  expect(code(() => calls.__syscall_ioctl(fd, 0))).toBe(ENOTTY);
  expect(code(() => calls.__syscall_ioctl(99, 0))).toBe(EBADF);
});

test("a status has kind, permissions, links, size and times; kinds of descriptors are those of WASI", () => {
  file("/tmp/a", "x".repeat(513));
  const entry = files.find("/tmp/a");
  entry.times = { accessed: 1500, modified: 2000.25, changed: -500 };
  calls.__syscall_stat64(text("/tmp/a"), 1024);
  const status = memory.view(1024, 96);
  expect([0, 4, 8, 12, 16, 32, 36].map((at) => status.getUint32(at, true))).toEqual([1, 0o100644, 1, 1000, 1000, 4096, 2]);
  expect([24, 40, 48, 56, 64, 72, 80, 88].map((at) => Number(status.getBigInt64(at, true)))).toEqual([
    ...[513, 1, 500_000_000, 2, 250_000, -1, 500_000_000, entry.id],
  ]);
  calls.__syscall_newfstatat(open("/tmp"), text(""), 1024, 0x1000);
  expect([memory.word(1028), memory.word(1032)]).toEqual([0o40777, 2]);
  expect(code(() => calls.__syscall_newfstatat(AT_FDCWD, text(""), 1024, 0))).toBe(ENOENT);
  const kindOf = (fd: number) => {
    calls.fd_fdstat_get(fd, 600);
    return memory.slice(600, 1)[0];
  };
  expect([kindOf(1), kindOf(open("/tmp")), kindOf(open("/tmp/a"))]).toEqual([2, 3, 4]);
});

describe("names", () => {
  beforeEach(() => {
    file("/tmp/a", "abc");
    calls.__syscall_mkdirat(AT_FDCWD, text("/tmp/d"), 0o777);
    file("/tmp/d/b", "b");
  });
  const unlink = (path: string, folder = false) => code(() => calls.__syscall_unlinkat(AT_FDCWD, text(path), folder ? 0x200 : 0));
  const rename = (from: string, to: string) =>
    code(() => calls.__syscall_renameat(AT_FDCWD, text(from), AT_FDCWD, text(to, 6144)));

  test("are removed where they are what they are taken for, and hold nothing", () => {
    expect(files.find("/tmp/d").mode).toBe(kinds.folder | 0o755);
    expect([unlink("/tmp/d"), unlink("/tmp/a", true), unlink("/tmp/none"), unlink("/", true)]).toEqual([
      ...[EISDIR, ENOTDIR, ENOENT, EINVAL],
    ]);
    expect([unlink("/tmp/d", true), unlink("/tmp/d/b"), unlink("/tmp/d", true)]).toEqual([ENOTEMPTY, undefined, undefined]);
    expect(code(() => calls.__syscall_rmdir(text("/tmp/a")))).toBe(ENOTDIR);
    expect(code(() => calls.__syscall_mkdirat(AT_FDCWD, text("/tmp"), 0o777))).toBe(EEXIST);
  });

  test("are moved, onto others of their kind too, and never into themselves", () => {
    expect([rename("/tmp/a", "/tmp/d/b"), contentOf("/tmp/d/b")]).toEqual([undefined, "abc"]);
    expect([rename("/tmp/d", "/tmp/d/e"), rename("/tmp/d", "/tmp/d")]).toEqual([EINVAL, undefined]);
    expect([rename("/tmp/none", "/tmp/x"), rename("/tmp/d/b", "/tmp/d"), rename("/tmp/d", "/tmp/d/b")]).toEqual([
      ...[ENOENT, EISDIR, EINVAL],
    ]);
    expect([rename("/tmp/d", "/tmp/e"), contentOf("/tmp/e/b"), unlink("/tmp/d", true)]).toEqual([undefined, "abc", ENOENT]);
  });

  test("are listed as far as there is room, from where the last part ended", () => {
    for (const name of ["x", "y", "z"]) file(`/tmp/d/${name}`, "");
    const fd = open("/tmp/d");
    const list = (room: number) => {
      const bytes = calls.__syscall_getdents64(fd, 16_384, room);
      return Array.from({ length: bytes / 280 }, (_, i) => {
        const record = memory.view(16_384 + 280 * i, 280);
        return `${memory.text(16_384 + 280 * i + 19)} ${record.getUint8(18)} ${record.getUint16(16, true)}`;
      });
    };
    expect([list(600), list(279), list(10_000), list(10_000)]).toEqual([
      ...[["b 8 280", "x 8 280"], [], ["y 8 280", "z 8 280"], []],
    ]);
    expect(code(() => calls.__syscall_getdents64(open("/tmp/a"), 16_384, 1000))).toBe(ENOTDIR);
  });

  test("are relative to the current folder, or to an open one", () => {
    calls.__syscall_chdir(text("/tmp/d"));
    expect([contentOf("b"), contentOf("../a"), contentOf("./b"), contentOf("/tmp/../tmp/a")]).toEqual(["b", "abc", "b", "abc"]);
    expect(calls.__syscall_getcwd(700, 7)).toBe(7);
    expect(memory.text(700)).toBe("/tmp/d");
    expect(code(() => calls.__syscall_getcwd(700, 6))).toBe(ERANGE);
    expect(code(() => calls.__syscall_chdir(text("/tmp/a")))).toBe(ENOTDIR);
    calls.__syscall_fchdir(open("/tmp"));
    expect(contentOf("a")).toBe("abc");
    expect(calls.__syscall_openat(open("/tmp/d"), text("b"), 0, 300)).toBeGreaterThan(2);
    expect(code(() => calls.__syscall_openat(99, text("b"), 0, 300))).toBe(EBADF);
  });

  test("permissions are changed and asked for, and kinds stay", () => {
    calls.__syscall_chmod(text("/tmp/a"), 0o7777);
    expect(files.find("/tmp/a").mode).toBe(kinds.regular | 0o777);
    calls.__syscall_fchmod(open("/tmp/a"), 0o500);
    calls.__syscall_fchmodat2(AT_FDCWD, text("/tmp/d"), 0o400, 0);
    const may = (path: string, mode: number) => code(() => calls.__syscall_faccessat(AT_FDCWD, text(path), mode, 0));
    expect([
      may("/tmp/a", 4),
      may("/tmp/a", 5),
      may("/tmp/a", 2),
      may("/tmp/d", 1),
      may("/tmp/d", 0),
      may("/tmp/none", 0),
    ]).toEqual([...[undefined, undefined, EACCES, EACCES, undefined, ENOENT]]);
  });
});

test("sizes are changed where a file is, and may be written", () => {
  file("/tmp/a", "abcdef");
  const cut = (size: number) => code(() => calls.__syscall_truncate64(text("/tmp/a"), size));
  expect([cut(3), contentOf("/tmp/a"), cut(5), contentOf("/tmp/a"), cut(-1)]).toEqual([
    undefined,
    "abc",
    undefined,
    "abc\0\0",
    EINVAL,
  ]);
  expect(code(() => calls.__syscall_truncate64(text("/tmp"), 0))).toBe(EISDIR);
  expect(code(() => calls.__syscall_truncate64(text("/dev/stdout"), 0))).toBe(EINVAL);
  expect(code(() => calls.__syscall_ftruncate64(open("/tmp/a"), 0))).toBe(EBADF);
  const fd = open("/tmp/a", O_WRONLY);
  calls.__syscall_fallocate(fd, 0, 2, 2);
  expect(files.find("/tmp/a").size).toBe(5);
  calls.__syscall_fallocate(fd, 0, 4, 4);
  expect(files.find("/tmp/a").size).toBe(8);
});

test("times are set as they are given: now, unchanged, or in seconds and nanoseconds", () => {
  file("/tmp/a", "");
  const entry = files.find("/tmp/a");
  entry.times = { accessed: 1, modified: 2, changed: 3 };
  const put = (at: number, seconds: bigint, nanoseconds: number) => {
    memory.view(at, 8).setBigInt64(0, seconds, true);
    memory.writeWord(at + 8, nanoseconds);
  };
  put(1024, 7n, 500_000_000);
  put(1040, 0n, 0x3ffffffe);
  calls.__syscall_utimensat(AT_FDCWD, text("/tmp/a"), 1024, 0);
  expect([entry.times.accessed, entry.times.modified]).toEqual([7500, 2]);
  const before = Date.now();
  put(1024, 0n, 0x3fffffff);
  calls.__syscall_utimensat(AT_FDCWD, text("/tmp/a"), 1024, 0);
  expect([entry.times.accessed >= before, entry.times.changed >= before, entry.times.modified]).toEqual([true, true, 2]);
  calls.__syscall_utimensat(AT_FDCWD, text("/tmp/a"), 0, 0);
  expect(entry.times.modified).toBeGreaterThanOrEqual(before);
});

test("open descriptors are ready for what is asked, closed ones are none", () => {
  for (const [i, [fd, events]] of [
    [1, 4],
    [0, 1],
    [1, 2],
    [9, 5],
  ].entries()) {
    memory.view(800 + 8 * i, 8).setInt32(0, fd, true);
    memory.view(800 + 8 * i, 8).setInt16(4, events, true);
  }
  expect(calls.__syscall_poll(800, 4)).toBe(3);
  expect([0, 1, 2, 3].map((i) => memory.view(806 + 8 * i, 2).getInt16(0, true))).toEqual([4, 1, 0, 32]);
});

test("memory is read and written within its bounds alone", () => {
  expect(code(() => memory.slice(65_536, 0))).toBeUndefined();
  for (const [from, length] of [
    [65_536, 1],
    [-1, 1],
    [0, 65_537],
    [0, -1],
    [2 ** 32 - 1, 2],
  ])
    expect(code(() => memory.slice(from, length))).toBe(EFAULT);
  memory.writeWord(0, 0x01020304);
  expect([...memory.slice(0, 4), memory.word(0)]).toEqual([4, 3, 2, 1, 0x01020304]);
  memory.slice(100, 8).fill(120);
  memory.writeText(100, "abcdef", 4);
  expect(Buffer.from(memory.slice(100, 5)).toString()).toBe("abcdx");
  memory.writeText(100, "ab", 8);
  expect(memory.text(100)).toBe("ab");
  memory.slice(200, 5000).fill(120);
  expect(code(() => memory.text(200))).toBe(ENAMETOOLONG);
  memory.slice(200 + 4095, 1)[0] = 0;
  expect(memory.text(200)).toHaveLength(4095);
});
