import type { RemoteStats } from "../../engines/engine.ts";
import type { TimingRecord } from "../../runs/records.ts";

/** Returns what a step exchanged with a server; nothing for an engine in this process. */
export function remoteTiming(parts: readonly (RemoteStats | undefined)[]): Partial<TimingRecord> {
  const given = parts.filter((part) => part !== undefined);
  if (given.length === 0) return {};
  const sum = (of: (part: RemoteStats) => number) => given.reduce((total, part) => total + of(part), 0);
  return {
    requests: sum(({ requests }) => requests),
    serverWaits: sum(({ waits }) => waits),
    sentMb: sum(({ sentBytes }) => sentBytes) / 2 ** 20,
    receivedMb: sum(({ receivedBytes }) => receivedBytes) / 2 ** 20,
    sharedTokens: sum(({ sharedTokens }) => sharedTokens),
  };
}
