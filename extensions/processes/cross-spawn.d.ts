/** The package has no types of its own. */
declare module "cross-spawn" {
  import type { ChildProcess, SpawnOptions } from "node:child_process";

  function spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  namespace spawn {
    /** Returns what would be started: `file` is the program that was found, where this is Windows. */
    function _parse(command: string, args: readonly string[], options: SpawnOptions): { readonly file?: string | null };
  }
  export default spawn;
}
