/**
 * How many times longer a computation takes here at this moment than its processor time; at least 1. Other programs make a machine slow,
 * which says nothing of the code under test: limits of real time are multiplied by this.
 */
export function slowdown(): number {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  for (;;) {
    for (let i = 0; i < 1e5; i++) Math.sqrt(i);
    const { user, system } = process.cpuUsage(cpu);
    const used = (user + system) / 1000;
    if (used > 50) return Math.max(1, (performance.now() - wall) / used);
  }
}

/** Milliseconds of this process's own processor time. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
