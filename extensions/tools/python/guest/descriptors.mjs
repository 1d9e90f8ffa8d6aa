// @ts-check
import { contents, Failure, isFolder, kinds, touch } from "./files.mjs";

/** Flags of open(). */
const how = {
  access: 3,
  write: 1,
  create: 0o100,
  exclusive: 0o200,
  truncate: 0o1000,
  append: 0o2000,
  folder: 0o200000,
};
/** A folder's descriptor and flags of the calls that take them. */
const at = { current: -100, removeFolder: 0x200, emptyPath: 0x1000 };
const maxOpen = 256;
const maxBuffers = 1024;
/** A record of getdents64: a head of 19 bytes and a name with its end. */
const recordBytes = 280;
const statusBytes = 96;
const permissions = 0o777;
/** Nanoseconds that mean the present, and no change. */
const [present, omitted] = [0x3fffffff, 0x3ffffffe];
const user = 1000;

/** @typedef {{ entry: import("./files.mjs").Entry, flags: number, at: number, listed: readonly (readonly [string, import("./files.mjs").Entry])[] }} Open */

/**
 * The system calls about files, of the names and numbers that Emscripten's C library gives them. Each throws a Failure or gives a number.
 * @param {import("./files.mjs").Files} files
 * @param {import("./memory.mjs").GuestMemory} memory
 */
export function fileCalls(files, memory) {
  /** @type {Map<number, Open>} */
  const open = new Map();

  /**
   * @param {Open} stream
   * @param {number} [lowest]
   */
  function claim(stream, lowest = 0) {
    let fd = lowest;
    while (open.has(fd)) fd++;
    if (fd < 0 || fd >= maxOpen) throw new Failure("EMFILE");
    open.set(fd, stream);
    stream.entry.opened++;
    return fd;
  }

  /** @param {number} fd */
  function opened(fd) {
    const stream = open.get(fd);
    if (stream === undefined) throw new Failure("EBADF");
    return stream;
  }

  /** @param {number} fd */
  function close(fd) {
    const { entry } = opened(fd);
    open.delete(fd);
    entry.opened--;
    files.freeIfLost(entry);
    return 0;
  }

  /** @param {number} fd */
  function folderOf(fd) {
    return fd === at.current ? files.current : opened(fd).entry;
  }

  /**
   * @param {number} fd
   * @param {number} path
   * @param {number} [flags]
   */
  function found(fd, path, flags = 0) {
    const name = memory.text(path);
    if (name === "" && (flags & at.emptyPath) !== 0) return folderOf(fd);
    return files.find(name, folderOf(fd));
  }

  /**
   * @param {number} fd
   * @param {"read" | "write"} aim
   */
  function file(fd, aim) {
    const stream = opened(fd);
    if (isFolder(stream.entry)) throw new Failure("EISDIR");
    if ((stream.flags & how.access) === (aim === "read" ? how.write : 0)) throw new Failure("EBADF");
    return stream;
  }

  /**
   * @param {number} from
   * @param {number} count
   */
  function buffers(from, count) {
    if (count < 0 || count > maxBuffers) throw new Failure("EINVAL");
    return Array.from({ length: count }, (_, i) => memory.slice(memory.word(from + 8 * i), memory.word(from + 8 * i + 4)));
  }

  /**
   * @param {Open} stream
   * @param {readonly Uint8Array[]} into
   * @param {number} from
   */
  function read({ entry }, into, from) {
    let total = 0;
    for (const buffer of into) {
      const part =
        entry.device === undefined ? contents(entry).subarray(from + total, from + total + buffer.length) : new Uint8Array(0);
      buffer.set(part);
      total += part.length;
    }
    return total;
  }

  /**
   * @param {Open} stream
   * @param {readonly Uint8Array[]} parts
   * @param {number} to
   */
  function write({ entry }, parts, to) {
    let total = 0;
    for (const part of parts) {
      const end = to + total + part.length;
      if (entry.device !== undefined) entry.device(part);
      else if (part.length > 0) {
        if (end > entry.size || entry.shared !== undefined) files.resize(entry, Math.max(end, entry.size));
        entry.bytes.set(part, to + total);
        touch(entry);
      }
      total += part.length;
    }
    return total;
  }

  /**
   * @param {number} to
   * @param {import("./files.mjs").Entry} entry
   */
  function writeStatus(to, entry) {
    const { id, mode, entries, times, size } = entry;
    const into = memory.view(to, statusBytes);
    const words = [1, mode, 1 + entries.size, user, user, 0];
    for (const [i, word] of words.entries()) into.setUint32(4 * i, word, true);
    into.setBigInt64(24, BigInt(size), true);
    into.setUint32(32, 4096, true);
    into.setUint32(36, Math.ceil(size / 512), true);
    for (const [i, time] of [times.accessed, times.modified, times.changed].entries()) {
      const seconds = Math.floor(time / 1000);
      into.setBigInt64(40 + 16 * i, BigInt(seconds), true);
      into.setBigInt64(48 + 16 * i, BigInt(Math.round((time - 1000 * seconds) * 1e6)), true);
    }
    into.setBigInt64(88, BigInt(id), true);
    return 0;
  }

  /** @param {number} to */
  function writeFileSystem(to) {
    memory.slice(to, 72).fill(0);
    for (const [offset, value] of /** @type {const} */ ([
      [4, 4096],
      [56, 255],
      [60, 4096],
    ]))
      memory.writeWord(to + offset, value);
    return 0;
  }

  /**
   * @param {import("./files.mjs").Entry} entry
   * @param {number} mode
   */
  function changeMode(entry, mode) {
    entry.mode = (entry.mode & kinds.mask) | (mode & permissions);
    entry.times.changed = Date.now();
    return 0;
  }

  /**
   * @param {import("./files.mjs").Entry} entry
   * @param {number} size
   */
  function truncate(entry, size) {
    if (isFolder(entry)) throw new Failure("EISDIR");
    if (entry.device !== undefined || size < 0) throw new Failure("EINVAL");
    files.resize(entry, size);
    return 0;
  }

  /** @param {import("./files.mjs").Entry} entry */
  function enter(entry) {
    if (!isFolder(entry)) throw new Failure("ENOTDIR");
    files.enter(entry);
    return 0;
  }

  /**
   * @param {number} fd
   * @param {number} path
   * @param {boolean} folder
   */
  function remove(fd, path, folder) {
    const { folder: holder, name, entry } = files.walk(memory.text(path), folderOf(fd));
    if (entry === undefined) throw new Failure("ENOENT");
    if (isFolder(entry) !== folder) throw new Failure(folder ? "ENOTDIR" : "EISDIR");
    if (name === "") throw new Failure("EINVAL");
    if (entry.entries.size > 0) throw new Failure("ENOTEMPTY");
    files.remove(holder, name);
    return 0;
  }

  for (const name of ["stdin", "stdout", "stderr"]) claim({ entry: files.find(`/dev/${name}`), flags: 2, at: 0, listed: [] });

  /** @type {Record<string, (...numbers: number[]) => number>} */
  const calls = {
    __syscall_openat(fd, path, flags, rest) {
      const from = folderOf(fd);
      const name = memory.text(path);
      const there = files.walk(name, from).entry;
      if (there === undefined && (flags & how.create) === 0) throw new Failure("ENOENT");
      if (there !== undefined && (flags & how.create) !== 0 && (flags & how.exclusive) !== 0) throw new Failure("EEXIST");
      const writes = (flags & how.access) !== 0;
      if (there !== undefined) {
        if ((flags & how.folder) !== 0 && !isFolder(there)) throw new Failure("ENOTDIR");
        if (writes && isFolder(there)) throw new Failure("EISDIR");
        if ((there.mode & (writes ? 0o200 : 0o400)) === 0) throw new Failure("EACCES");
      }
      if (open.size >= maxOpen) throw new Failure("EMFILE");
      const entry = there ?? files.make(name, kinds.regular | (memory.word(rest) & permissions & ~0o22), { from });
      if ((flags & how.truncate) !== 0 && writes && entry.device === undefined) files.resize(entry, 0);
      return claim({ entry, flags, at: 0, listed: [] });
    },
    fd_close: close,
    fd_read(fd, from, count, to) {
      const stream = file(fd, "read");
      const total = read(stream, buffers(from, count), stream.at);
      stream.at += total;
      memory.writeWord(to, total);
      return 0;
    },
    fd_write(fd, from, count, to) {
      const stream = file(fd, "write");
      if ((stream.flags & how.append) !== 0) stream.at = stream.entry.size;
      const total = write(stream, buffers(from, count), stream.at);
      stream.at += total;
      memory.writeWord(to, total);
      return 0;
    },
    fd_pread(fd, from, count, place, to) {
      memory.writeWord(to, read(file(fd, "read"), buffers(from, count), place));
      return 0;
    },
    fd_pwrite(fd, from, count, place, to) {
      memory.writeWord(to, write(file(fd, "write"), buffers(from, count), place));
      return 0;
    },
    fd_seek(fd, offset, whence, to) {
      const stream = opened(fd);
      if (stream.entry.device !== undefined) throw new Failure("ESPIPE");
      const place = offset + ([0, stream.at, stream.entry.size][whence] ?? Number.NaN);
      if (!(place >= 0)) throw new Failure("EINVAL");
      stream.at = place;
      memory.view(to, 8).setBigInt64(0, BigInt(place), true);
      return 0;
    },
    fd_sync: (fd) => Number(opened(fd) === undefined),
    __syscall_fdatasync: (fd) => Number(opened(fd) === undefined),
    fd_fdstat_get(fd, to) {
      const { entry } = opened(fd);
      memory.slice(to, 24).fill(0);
      memory.slice(to, 1)[0] = entry.device !== undefined ? 2 : isFolder(entry) ? 3 : 4;
      return 0;
    },
    __syscall_dup: (fd) => claim(opened(fd)),
    __syscall_dup3(from, to) {
      const stream = opened(from);
      if (from === to) throw new Failure("EINVAL");
      if (open.has(to)) close(to);
      return claim(stream, to);
    },
    __syscall_fcntl64(fd, command, rest) {
      const stream = opened(fd);
      if (command === 0) return claim(stream, memory.word(rest) | 0);
      if (command === 3) return stream.flags;
      if (command === 4) stream.flags |= memory.word(rest) & how.append;
      return [1, 2, 4].includes(command) ? 0 : refuse("EINVAL");
    },
    __syscall_ioctl: (fd) => refuse(opened(fd) === undefined ? "EBADF" : "ENOTTY"),
    __syscall_fstat64: (fd, to) => writeStatus(to, opened(fd).entry),
    __syscall_stat64: (path, to) => writeStatus(to, found(at.current, path)),
    __syscall_lstat64: (path, to) => writeStatus(to, found(at.current, path)),
    __syscall_newfstatat: (fd, path, to, flags) => writeStatus(to, found(fd, path, flags)),
    __syscall_statfs64: (_path, _size, to) => writeFileSystem(to),
    __syscall_fstatfs64: (_fd, _size, to) => writeFileSystem(to),
    __syscall_faccessat(fd, path, mode, flags) {
      const needed = (mode & 7) << 6;
      return (found(fd, path, flags).mode & needed) === needed ? 0 : refuse("EACCES");
    },
    __syscall_chmod: (path, mode) => changeMode(found(at.current, path), mode),
    __syscall_fchmod: (fd, mode) => changeMode(opened(fd).entry, mode),
    __syscall_fchmodat2: (fd, path, mode, flags) => changeMode(found(fd, path, flags), mode),
    __syscall_truncate64: (path, size) => truncate(found(at.current, path), size),
    __syscall_ftruncate64: (fd, size) => truncate(file(fd, "write").entry, size),
    __syscall_fallocate: (fd, _, from, length) =>
      truncate(file(fd, "write").entry, Math.max(from + length, opened(fd).entry.size)),
    __syscall_fadvise64: () => 0,
    __syscall_chdir: (path) => enter(found(at.current, path)),
    __syscall_fchdir: (fd) => enter(opened(fd).entry),
    __syscall_getcwd(to, room) {
      const path = files.pathOf(files.current);
      if (room < path.length + 1) throw new Failure("ERANGE");
      memory.writeText(to, path, room);
      return path.length + 1;
    },
    __syscall_getdents64(fd, to, room) {
      const stream = opened(fd);
      if (!isFolder(stream.entry)) throw new Failure("ENOTDIR");
      if (stream.at === 0) stream.listed = [...stream.entry.entries];
      const first = Math.floor(stream.at / recordBytes);
      const part = stream.listed.slice(first, first + Math.floor(room / recordBytes));
      for (const [i, [name, { id, mode }]] of part.entries()) {
        const record = to + i * recordBytes;
        const into = memory.view(record, recordBytes);
        into.setBigInt64(0, BigInt(id), true);
        into.setBigInt64(8, BigInt((first + i + 1) * recordBytes), true);
        into.setUint16(16, recordBytes, true);
        into.setUint8(18, mode >> 12);
        memory.writeText(record + 19, name, 256);
      }
      stream.at += part.length * recordBytes;
      return part.length * recordBytes;
    },
    __syscall_mkdirat(fd, path, mode) {
      files.make(memory.text(path), kinds.folder | (mode & permissions & ~0o22), { from: folderOf(fd) });
      return 0;
    },
    __syscall_unlinkat: (fd, path, flags) => remove(fd, path, (flags & at.removeFolder) !== 0),
    __syscall_rmdir: (path) => remove(at.current, path, true),
    __syscall_renameat(fromFd, from, toFd, to) {
      files.move(files.walk(memory.text(from), folderOf(fromFd)), files.walk(memory.text(to), folderOf(toFd)));
      return 0;
    },
    __syscall_utimensat(fd, path, times, flags) {
      const entry = found(fd, path, flags | at.emptyPath);
      const time = (/** @type {number} */ from, /** @type {number} */ before) => {
        if (times === 0) return Date.now();
        const nanoseconds = memory.word(from + 8);
        if (nanoseconds === omitted) return before;
        return nanoseconds === present
          ? Date.now()
          : Number(memory.view(from, 8).getBigInt64(0, true)) * 1000 + nanoseconds / 1e6;
      };
      const { accessed, modified } = entry.times;
      entry.times = { accessed: time(times, accessed), modified: time(times + 16, modified), changed: Date.now() };
      return 0;
    },
    __syscall_poll(from, count) {
      let ready = 0;
      for (let i = 0; i < Math.min(count, maxOpen); i++) {
        const each = memory.view(from + 8 * i, 8);
        const events = open.has(each.getInt32(0, true)) ? each.getInt16(4, true) & 5 : 32;
        each.setInt16(6, events, true);
        if (events !== 0) ready++;
      }
      return ready;
    },
  };
  return calls;
}

/**
 * @param {ConstructorParameters<typeof Failure>[0]} name
 * @returns {never}
 */
function refuse(name) {
  throw new Failure(name);
}
