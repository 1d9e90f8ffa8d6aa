/*
 * Linux's Landlock and seccomp, for systems that forbid namespaces. Node can set neither, and the `setpriv` that can is in few distributions; Perl
 * can, without a module, and is part of every Debian, Ubuntu and image of Node that is made of them.
 */

/** Calls that act on a path or another process without a descriptor: name, number on x86-64 and on AArch64. */
const denied = `
rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, unlink 87 -, unlinkat 263 35,
mkdir 83 -, mkdirat 258 34, rmdir 84 -, mknod 133 -, mknodat 259 33, truncate 76 45, chmod 90 -, fchmodat 268 53, fchmodat2 452 452, chown 92 -,
lchown 94 -, fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, removexattr 197 14,
lremovexattr 198 15, setxattrat 463 463, removexattrat 466 466, fork 57 -, vfork 58 -, tkill 200 130, rt_sigqueueinfo 129 138,
rt_tgsigqueueinfo 297 240, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, setpriority 141 140,
ioprio_set 251 30, migrate_pages 256 238, move_pages 279 239, shmget 29 194, shmat 30 196, shmctl 31 195, semget 64 190, semop 65 193,
semctl 66 191, semtimedop 220 192, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_unlink 241 181, add_key 248 217,
request_key 249 218, keyctl 250 219, unshare 272 97, mount 165 40, umount2 166 39, swapon 167 224, swapoff 168 225, acct 163 89,
sethostname 170 161, reboot 169 142`;

/** Calls whose first argument is a process: allowed on the own one alone. */
const ownOnly = `
kill 62 129, tgkill 234 131, prlimit64 302 261, sched_setaffinity 203 122, sched_setparam 142 118, sched_setscheduler 144 119, sched_setattr 314 274`;

const architectures = {
  x64: { column: 1, audit: 0xc000003e, seccomp: 317, clone: 56 },
  arm64: { column: 2, audit: 0xc00000b7, seccomp: 277, clone: 220 },
} as const;

/** Returns a command that runs another one under the kernel's rules. It reads and starts nothing but `files`, and fails where a rule is refused. */
export function inKernelRules(
  perl: string,
  command: readonly string[],
  files: readonly string[],
  arch: string = process.arch,
): [string, ...string[]] {
  const of = architectures[arch as keyof typeof architectures];
  const numbers = (table: string) =>
    table.split(",").flatMap((call) => call.trim().split(" ")[of?.column ?? 0]?.match(/^\d+$/) ?? []);
  const seccomp = of === undefined ? [0, 0, 0] : [of.seccomp, of.audit, of.clone];
  return [
    perl,
    "-e",
    helper,
    ...seccomp.map(String),
    numbers(denied).join(),
    numbers(ownOnly).join(),
    files.join("\n"),
    ...command,
  ];
}

/** Prints Landlock's version, or -1, and whether seccomp holds; then it is the command. */
const helper = String.raw`
use strict;
my ($seccomp, $audit, $clone, $denied, $own, $files) = splice @ARGV, 0, 6;
my $version = syscall 444, 0, 0, 1;
if ($version > 0) {
  my $paths = 0x1fff | ($version > 1) << 13 | ($version > 2) << 14 | ($version > 4) << 15;
  my $set = syscall 444, pack("Q3", $paths, $version > 3 ? 3 : 0, $version > 5 ? 3 : 0), 24, 0;
  die "landlock: $!" if $set < 0;
  for (split /\n/, $files) {
    sysopen my $file, $_, 0x200000 or die "$_: $!";
    die "landlock: $_: $!" if syscall 445, $set, 1, pack("Ql", 5, fileno $file), 0;
  }
  die "landlock: $!" if syscall 446, $set, 0;
}
if ($seccomp > 0) {
  my ($load, $equal, $least, $bits, $return) = (0x20, 0x15, 0x35, 0x45, 0x06);
  my ($allow, $refuse) = (0x7fff0000, 0x50001);
  my @rules = ([$load, 0, 0, 4], [$equal, 1, 0, $audit], [$return, 0, 0, 0x80000000], [$load, 0, 0, 0]);
  push @rules, [$least, 0, 1, 0x40000000], [$return, 0, 0, $refuse];
  push @rules, [$equal, 0, 1, $_], [$return, 0, 0, $refuse] for split /,/, $denied;
  push @rules, [$equal, 0, 5, $_], [$load, 0, 0, 16], [$equal, 2, 0, 0], [$equal, 1, 0, $$], [$return, 0, 0, $refuse], [$return, 0, 0, $allow]
    for split /,/, $own;
  push @rules, [$equal, 0, 1, 435], [$return, 0, 0, 0x50026];
  push @rules, [$equal, 0, 3, $clone], [$load, 0, 0, 16], [$bits, 1, 0, 0x10000], [$return, 0, 0, $refuse], [$return, 0, 0, $allow];
  my $program = join "", map { pack "SCCL", @$_ } @rules;
  die "seccomp: $!" if syscall 0 + $seccomp, 1, 0, pack("S x6 P", scalar @rules, $program);
}
# OpenSSL fails at a configuration that it may not read, and not at one that is not there.
$ENV{OPENSSL_CONF} = "/nowhere/openssl.cnf";
syswrite STDOUT, "$version " . ($seccomp > 0) . "\n";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!";`;
